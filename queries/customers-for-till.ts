import type { Database } from '#postgres/database.ts'
import type { ListOrder, Source } from './list-statement.ts'
import { ORDER_BY_CHANGE, ORDER_BY_ID } from './record-queries.ts'
import { t } from './table-names.ts'
import { inSnapshot, streamPass, type TakeRecords, type TillDownload, utc } from './till-downloads.ts'

/** SQL of a customer's JSON text. `k`: its store credit, which is exact at any size. */
const CUSTOMER_RECORD = `'{"id":' || t.id
  || ',"name":' || to_json(t.doc ->> 'name')::text
  || ',"document":' || coalesce(to_json(t.document)::text, '""')
  || ',"credit":' || coalesce(k.balance, '0.00')
  || ',"updated_at":"' || ${utc('greatest(t.changed_at, k.changed_at)')} || '"}'`

/** An erased customer has no name. */
const IS_CUSTOMER = `t.deleted_at is null and t.doc ->> 'forgotten_at' is null`

const CREDIT = `${t.customer_credits} k on k.company_id = t.company_id and k.id = t.id`

const customers: Source = {
  resource: 'sync_customers',
  from: `${t.customers} t left join ${CREDIT}`,
  record: CUSTOMER_RECORD,
  where: IS_CUSTOMER,
}

/** Those whose credit moved and who did not change themselves. */
const credited: Source = { ...customers, resource: 'sync_credits', from: `${t.customers} t join ${CREDIT}` }
const BY_CREDIT: ListOrder = {
  name: 'credit',
  columns: ORDER_BY_CHANGE.columns.map((column) => ({ ...column, of: 'k' })),
}
const UNCHANGED = { before: (value: string) => `t.changed_at < ${value}::timestamptz` }

const DELETED_SINCE = {
  name: 'list_sync_customers_deleted',
  text: `select coalesce(string_agg(t.id::text, ',' order by t.changed_at, t.revision, t.id), '') as ids
         from ${t.customers} t where t.company_id = $1 and t.changed_at >= $2 and not (${IS_CUSTOMER})`,
}

/** Since the test company was emptied: the till may know any former customer. */
const ERASED_SINCE = {
  name: 'list_sync_customers_erased',
  text: `select coalesce(string_agg(given.id::text, ',' order by given.id), '') as ids
         from ${t.companies} c join ${t.ledgers} l on l.company_id = c.company_id
         cross join lateral generate_series(1, (l.ids->>'customer')::bigint) as given(id)
         where c.company_id = $1 and c.erased_at > $2
           and not exists (select from ${t.customers} t where t.company_id = $1 and t.id = given.id and ${IS_CUSTOMER})`,
}

/**
 * Streams all customers of one snapshot, or those changed since `since` (UTC, inclusive). A moved store credit counts as
 * a change. Null when `take` stopped the stream.
 */
export function listCustomersForTill(
  pool: Database,
  companyId: number,
  since: string | undefined,
  take: TakeRecords,
): Promise<TillDownload | null> {
  return inSnapshot(pool, companyId, async (reader) => {
    if (since === undefined) {
      const all = { source: customers, order: ORDER_BY_ID, start: 'first', bounds: [] } as const
      const found = await streamPass(reader, all, take)
      return found && { syncTimestamp: found.time, total: found.total, deleted: '' }
    }
    const changed = { source: customers, order: ORDER_BY_CHANGE, start: 'since', bounds: [since] } as const
    const found = await streamPass(reader, changed, take)
    const moved = { ...changed, source: credited, order: BY_CREDIT, conditions: UNCHANGED, values: [since] }
    const more = found && (await streamPass(reader, moved, take))
    if (!found || !more) return null
    const [erased, deleted] = await Promise.all(
      [ERASED_SINCE, DELETED_SINCE].map((statement) =>
        reader.query<{ ids: string }>({ ...statement, values: [since] }),
      ),
    )
    return {
      syncTimestamp: found.time,
      total: found.total + more.total,
      deleted: erased?.rows[0]?.ids || deleted?.rows[0]?.ids || '',
    }
  })
}
