import type { Pool } from 'pg'
import type { Transaction } from '#ledger/transaction.ts'
import { BY_CHANGE, BY_ID } from '../list.ts'
import {
  keyColumn,
  type LedgerRow,
  listStatement,
  type RecordRow,
  readRows,
  type Source,
  type Start,
} from '../list-statement.ts'
import { inSnapshot, type TakeRecords } from '../snapshot.ts'
import { IS_PRODUCT, ITEM_DETAILS, PRODUCT_RECORD } from './product-record.ts'

/** Some 200 kB of text: Postgres, this process and others at the same time get along with a few milliseconds each. */
const CHUNK_PRODUCTS = 1_000

const products: Source = {
  resource: 'sync_products',
  from: `catalog_items t ${ITEM_DETAILS}`,
  record: PRODUCT_RECORD,
  where: IS_PRODUCT,
}

/** What belongs to the products that were read. */
export interface ProductsRead {
  /** Time of the ledger's last event in the snapshot: the next `last_sync`, which then misses nothing. */
  readonly syncTimestamp: string
  readonly total: number
  /** Ids with commas of what a till has to drop; null in a full answer, which names all that there is. */
  readonly deleted: string | null
}

/**
 * Hands over all products of one moment, or those that changed since `lastSync` (UTC, inclusive); stock counts as a change.
 * Null when `take` wanted no more.
 */
export function readProducts(
  pool: Pool,
  companyId: number,
  lastSync: string | undefined,
  take: TakeRecords,
): Promise<ProductsRead | null> {
  return inSnapshot(pool, async (tx) => {
    const order = lastSync === undefined ? BY_ID : BY_CHANGE
    let start: Start = lastSync === undefined ? 'first' : 'since'
    let bounds: unknown[] = lastSync === undefined ? [] : [lastSync]
    for (let total = 0; ; start = 'after') {
      const statement = listStatement(products, order, {}, [], start)
      const { rows } = await tx.query<LedgerRow | RecordRow>(statement, [companyId, CHUNK_PRODUCTS, ...bounds])
      const [ledger, found] = readRows(rows, companyId)
      const listed = found.slice(0, CHUNK_PRODUCTS)
      if (listed.length > 0 && !take(listed.map(({ record }) => record).join(','))) return null
      total += listed.length
      const last = found.length > CHUNK_PRODUCTS ? listed.at(-1) : undefined
      if (!last) {
        const deleted = lastSync === undefined ? null : await deletedSince(tx, companyId, lastSync)
        return { syncTimestamp: ledger.last_recorded_at, total, deleted }
      }
      bounds = order.columns.map(({ name }) => last[keyColumn(name)])
    }
  })
}

/** An item that became a service is gone for tills too. Ids that a till never had are among them, of records that came and went. */
async function deletedSince(tx: Transaction, companyId: number, lastSync: string): Promise<string> {
  const { rows } = await tx.query<{ ids: string }>(DELETED_SINCE, [companyId, lastSync])
  return rows[0]?.ids ?? ''
}

const DELETED_SINCE = {
  name: 'list_sync_products_deleted',
  text: `select coalesce(string_agg(gone.id::text, ','), '') as ids
         from (
           select t.id
           from catalog_items t
           where t.company_id = $1 and t.changed_at >= $2
             and (t.deleted_at >= $2 or t.deleted_at is null and t.type <> 'product')
           order by t.changed_at, t.revision, t.id
         ) gone`,
}
