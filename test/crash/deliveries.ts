import { expect } from 'chai'
import { BASIC_WEBHOOK_EVENTS } from '#events/catalogue.ts'
import type { Core } from '#service/core.ts'
import { until } from '../support/wait.ts'
import type { Received } from '../webhooks/receiver.ts'
import type { PlayedCompany } from './companies.ts'

interface Address {
  readonly webhook_id: number
  readonly ids: readonly string[]
  readonly sequences: readonly number[]
  readonly revisions: readonly number[]
  readonly last: number
}

/** Asserts one delivery per outbound event and endpoint, numbered without gaps in ledger order, all delivered. */
export async function expectDeliveries(core: Core, shop: PlayedCompany, received: readonly Received[]): Promise<void> {
  const addresses = await addressesOf(core, shop)
  for (const { sequences, revisions, last } of addresses) {
    expect(sequences).to.deep.equal(Array.from({ length: last }, (_, n) => n + 1))
    expect(revisions).to.deep.equal([...new Set(revisions)].sort((a, b) => a - b))
  }
  const own = addresses.find(({ webhook_id }) => webhook_id === shop.webhook)
  // Subscribed to every event of `basic`.
  expect(own?.revisions).to.deep.equal(await toldRevisions(core, shop))
  await allDelivered(core, shop)
  const arrived = new Set(received.map(({ headers }) => headers['x-service-delivery']))
  expect(own?.ids.filter((id) => !arrived.has(id))).to.deep.equal([])
}

async function addressesOf({ pool }: Core, { companyId }: PlayedCompany): Promise<Address[]> {
  const { rows } = await pool.query<Address>(
    `select d.webhook_id, array_agg(d.id::text) as ids, array_agg(d.sequence order by d.sequence) as sequences,
       array_agg(d.revision order by d.sequence) as revisions,
       (select last_sequence from ops.webhook_sequences s where s.company_id = $1 and s.webhook_id = d.webhook_id) as last
     from ops.webhook_deliveries d where d.company_id = $1 and d.sequence is not null group by d.webhook_id`,
    [companyId],
  )
  return rows
}

async function toldRevisions({ pool }: Core, { companyId }: PlayedCompany): Promise<number[]> {
  const { rows } = await pool.query<{ revision: number }>(
    `select revision from ops.webhook_messages
     where company_id = $1 and revision is not null and event = any($2) order by revision`,
    [companyId, BASIC_WEBHOOK_EVENTS],
  )
  return rows.map(({ revision }) => revision)
}

/** Waits for dispatchers, which are not notified of the recovery. */
async function allDelivered({ pool }: Core, { companyId, webhook }: PlayedCompany): Promise<void> {
  // Expires the leases of dead dispatchers to shorten the test.
  const own = `company_id = $1 and webhook_id = $2 and status <> 'delivered'`
  await pool.query(
    `update ops.webhook_deliveries set next_attempt_at = now(), leased_until = null where ${own} and status = 'pending'`,
    [companyId, webhook],
  )
  await until(
    async () => {
      const open = await pool.query(`select from ops.webhook_deliveries where ${own} limit 1`, [companyId, webhook])
      return open.rowCount === 0
    },
    { timeout_ms: 120_000, interval_ms: 100, what: 'the end of all deliveries' },
  )
}
