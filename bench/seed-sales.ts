import type { PoolClient } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { registerSale, SaleInput } from '../commands/sales/register-sale.ts'
import { readModel } from '../projections/index.ts'
import type { Core } from '../src/core.ts'
import { invoke } from '../src/ledger/command.ts'
import { type Envelope, hashOf, streamOf } from '../src/ledger/envelope.ts'
import { advance, clock, lock, type OpenLedger, open } from '../src/ledger/ledgers.ts'
import { project, refsOf } from '../src/ledger/projection.ts'
import { inTransaction, pipelined, type Transaction } from '../src/ledger/transaction.ts'
import { createWorkingSet } from '../src/ledger/working-set.ts'
import { saleBody } from './sale-requests.ts'
import { run, type Shop } from './shop.ts'

/** Events of one transaction. */
const CHUNK = 2_000

/** One sale a minute since then. */
const OPENED = Date.parse('2020-01-01T12:00:00Z')
const MINUTE_MS = 60_000

/**
 * Fills a company's ledger with `count` sales. The first is made by the service's own command; the others are its event with
 * an id of their own, sealed and projected as ever but with nothing decided, and many to a transaction. Returns their ids.
 */
export async function seedSales(core: Core, shop: Shop, count: number): Promise<number[]> {
  const [first = 0] = await run(core, shop.companyId, [
    invoke(registerSale, SaleInput.parse(saleBody(shop, 'semente'))),
  ])
  const { rows } = await core.pool.query<{ last: number }>(
    `select setval('ops.sale_ids', nextval('ops.sale_ids') + $1) as last`,
    [count],
  )
  const from = (rows[0] as { last: number }).last - count
  const ids = Array.from({ length: count - 1 }, (_, place) => from + place + 1)
  const pattern = await lastEvent(core, shop.companyId)
  for (let start = 0; start < ids.length; start += CHUNK) {
    const chunk = ids.slice(start, start + CHUNK)
    await inTransaction(core.pool, (tx, client) => recordSales(core, tx, client, pattern, chunk))
  }
  return [first, ...ids]
}

async function lastEvent(core: Core, companyId: number): Promise<Envelope> {
  let last: Envelope | undefined
  for await (const event of core.store.read(streamOf(companyId), 0)) last = event
  if (last?.type !== 'SaleCompleted') throw new Error(`the last event is ${last?.type}, not a sale`)
  return last
}

async function recordSales(
  core: Core,
  tx: Transaction,
  client: PoolClient,
  pattern: Envelope,
  ids: readonly number[],
): Promise<void> {
  const companyId = Number(pattern.stream.slice('company-'.length))
  const row = (await lock(tx, [companyId])).get(companyId)
  if (!row) throw new Error(`company ${companyId} has no ledger`)
  const ledger = open(row, (await clock(tx)).now)
  const events = ids.map((id) => saleLike(pattern, id, ledger))
  const set = createWorkingSet()
  for (const event of events) set.want(companyId, refsOf(readModel, event))
  await Promise.all(set.load(tx))
  for (const event of events) project(readModel, set.of(companyId), event)
  await pipelined(client, () => [
    ...set.flush(tx),
    advance(tx, [ledger]),
    core.store.append([{ stream: pattern.stream, expectedRevision: ledger.expectedRevision, commands: [events] }], tx),
  ])
}

/** The next event of the ledger. */
function saleLike(pattern: Envelope, id: number, ledger: OpenLedger): Envelope {
  const { hash: _, ...rest } = pattern
  const soldAt = OPENED + ledger.revision * MINUTE_MS
  const unhashed = {
    ...rest,
    id: uuidv7(),
    revision: ledger.revision + 1,
    recorded_at: ledger.lastRecordedAt,
    subject: `sale/${id}`,
    previous_hash: ledger.hash,
    data: { ...pattern.data, id, external_id: `semente-${id}`, sold_at: new Date(soldAt).toISOString() },
  }
  const event = { ...unhashed, hash: hashOf(unhashed) }
  ledger.revision = event.revision
  ledger.hash = event.hash
  return event
}
