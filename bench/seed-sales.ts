import type pg from 'pg'
import { registerSale, SaleInput } from '#commands/sales/register-sale.ts'
import { invoke } from '#ledger/command.ts'
import { canonicalJson, type Envelope, streamOf } from '#ledger/envelope.ts'
import type { Core } from '#service/core.ts'
import { administer } from './database.ts'
import { saleBody } from './sale-requests.ts'
import { run, type Shop } from './shop.ts'

/** Placeholders in the pattern for values of each event; digits where JSON has a number. */
const REVISION = 8_000_000_000_000_001
const SALE = 8_000_000_000_000_002
const EVENT = '00000000-0000-7000-8000-000000000000'
const PREVIOUS = 'f'.repeat(64)
const HASH = 'e'.repeat(64)

/**
 * Creates `count` sales in a company without any, and returns their ids. The service's own command creates the first
 * one; Postgres copies its event with valid hashes and chain; then the tables are rebuilt.
 */
export async function seedSales(
  core: Core,
  databaseUrl: string,
  shop: Pick<Shop, 'companyId' | 'items' | 'cardId'>,
  count: number,
): Promise<number[]> {
  const { companyId } = shop
  const [first = 0] = await run(core, companyId, [invoke(registerSale, SaleInput.parse(saleBody(shop, 'semente')))])
  let event: Envelope | undefined
  for await (const each of core.store.read(streamOf(companyId), 0)) event = each
  if (event?.subject !== `sale/${first}`) throw new Error(`the last event is about ${event?.subject}`)
  const pattern = event
  return administer(databaseUrl, async (client) => {
    await client.query('begin')
    await repeatEvents(client, pattern, first, count - 1)
    await client.query('commit')
    await core.rebuild()
    return Array.from({ length: count }, (_, place) => first + place)
  })
}

const FILL = `
create function pg_temp.own(p_pattern text, p_revision bigint, p_sale bigint, p_id uuid, p_previous text) returns text language sql as $$
  select replace(replace(replace(replace(p_pattern, '${REVISION}', p_revision::text), '${SALE}', p_sale::text),
    '${EVENT}', p_id::text), '${PREVIOUS}', p_previous)
$$;
create function pg_temp.fill_ledger(p_company bigint, p_stream text, p_hashed text, p_stored text, p_revision bigint, p_sale bigint,
  p_count integer, p_hash text, p_at timestamptz)
returns void language plpgsql as $$
declare
  v_previous text;
  v_hash text := p_hash;
  v_id uuid;
begin
  for n in 1..p_count loop
    v_previous := v_hash;
    v_id := gen_random_uuid();
    v_hash := encode(sha256(convert_to(pg_temp.own(p_hashed, p_revision + n, p_sale + n, v_id, v_previous), 'UTF8')), 'hex');
    insert into ledger.events (stream, revision, id, type, subject, recorded_at, envelope)
    values (p_stream, p_revision + n, v_id, 'SaleCompleted', 'sale/' || (p_sale + n), p_at,
      replace(pg_temp.own(p_stored, p_revision + n, p_sale + n, v_id, v_previous), '${HASH}', v_hash)::json);
  end loop;
  update ops.ledgers set revision = revision + p_count, reacted_revision = reacted_revision + p_count, hash = v_hash,
    ids = (ids::jsonb || jsonb_build_object('sale', p_sale + p_count))::json
  where company_id = p_company;
end $$`

async function repeatEvents(client: pg.Client, event: Envelope, from: number, count: number): Promise<void> {
  // In the member order of stored events, because rows copy it, not in the canonical one.
  const stored: Envelope = {
    ...event,
    id: EVENT,
    revision: REVISION,
    subject: `sale/${SALE}`,
    previous_hash: PREVIOUS,
    hash: HASH,
    data: { ...event.data, id: SALE, external_id: `semente-${SALE}` },
  }
  const { hash: _, ...hashed } = stored
  await client.query(FILL)
  const companyId = event.stream.slice('company-'.length)
  await client.query('select pg_temp.fill_ledger($1, $2, $3, $4, $5, $6, $7, $8, $9)', [
    ...[companyId, event.stream, canonicalJson(hashed), JSON.stringify(stored)],
    ...[event.revision, from, count, event.hash, event.recorded_at],
  ])
}
