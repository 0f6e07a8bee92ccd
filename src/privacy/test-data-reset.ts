import type { DataOf } from '#events/catalogue.ts'
import type { Envelope } from '#ledger/command.ts'
import type { Reactor } from '#ledger/projection.ts'
import type { Transaction } from '#postgres/transaction.ts'

/** Pending deliveries follow the company's clock: they become due earlier by the amount it was moved. */
const BRING_FORWARD = {
  name: 'bring_deliveries_forward',
  text: `update webhook_deliveries set next_attempt_at = greatest(clock_timestamp(), next_attempt_at - $2 * interval '1 millisecond')
         where company_id = $1 and status = 'pending' and next_attempt_at > clock_timestamp()`,
}

/** Rows per statement. */
const SLICE_ROWS = 10_000

/**
 * Rows of `ops` from before the event ($2 its time, $3 its revision). Rows without personal data stay, for example
 * endpoint health.
 */
const FORMER: readonly (readonly [table: string, condition: string])[] = [
  ['idempotent_answers', 'created_at < $2 and $3::bigint >= 0'],
  ['webhook_replays', 'requested_at < $2 and $3::bigint >= 0'],
  ['webhook_stock_changes', 'recorded_at < $2 and $3::bigint >= 0'],
  ['webhook_deliveries', 'coalesce(revision < $3, created_at < $2)'],
  ['webhook_messages', 'coalesce(revision < $3, created_at < $2)'],
  ['payment_notifications', 'received_at < $2 and $3::bigint >= 0'],
  ['payment_sweeps', 'attempted_at < $2 and $3::bigint >= 0'],
  ['refused_sales', 'first_refused_at < $2 and $3::bigint >= 0'],
  ['item_pictures', 'stored_at < $2 and $3::bigint >= 0'],
]

const DELETIONS = FORMER.map(([table, condition]) => ({
  name: `empty_ops_${table}`,
  text: `delete from ops.${table} where ctid = any(array(
           select ctid from ops.${table} where company_id = $1 and ${condition} limit ${SLICE_ROWS}))`,
}))

/** Persons without a record can no longer be erased one by one, so their keys are destroyed here. */
const END_KEYS = {
  name: 'end_keys_of_test_data',
  text: `update ops.person_keys set wrapped = null, destroyed_at = $2 where ctid = any(array(
           select ctid from ops.person_keys where company_id = $1 and wrapped is not null and created_at < $2 and $3::bigint >= 0
             and (subject like 'customer/%' or subject like 'supplier/%' or subject like 'order/%') limit ${SLICE_ROWS}))`,
}

/** Side effects of moving a test company's clock, and of emptying the company. */
export const testDataReset: Reactor = {
  refs: (_rows, { type }) => (type === 'TestClockMoved' || type === 'TestDataErased' ? [] : null),
  react() {},
  finish: (tx, companyId, event) =>
    event.type === 'TestClockMoved' ? bringForward(tx, companyId, event) : empty(tx, companyId, event),
}

async function bringForward(tx: Transaction, companyId: number, { data }: Envelope): Promise<void> {
  await tx.query(BRING_FORWARD, [companyId, (data as DataOf<'TestClockMoved'>).by_ms])
}

async function empty(tx: Transaction, companyId: number, { recorded_at, revision }: Envelope): Promise<void> {
  for (const statement of [...DELETIONS, END_KEYS]) {
    for (;;) {
      const { rowCount } = await tx.query(statement, [companyId, recorded_at, revision])
      if ((rowCount ?? 0) < SLICE_ROWS) break
    }
  }
}
