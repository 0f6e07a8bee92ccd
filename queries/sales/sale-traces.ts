import type { Pool } from 'pg'
import type { OfflineSaleWarning } from '#projections/sales.ts'

/** What a sale has left beside its own record. */
export interface SaleTraces {
  /** Whether its customer is still there to be looked at. */
  readonly has_customer: boolean
  /** What its credit-on-account payments made, also what was deleted since. */
  readonly receivables: readonly OwedForSale[]
  /** How a till uploaded it; null where none did. */
  readonly upload: SaleUpload | null
}

export interface OwedForSale {
  readonly id: number
  readonly amount: string
  readonly due_date: string
  readonly status: 'pending' | 'settled'
  readonly is_deleted: boolean
}

export interface SaleUpload {
  readonly offline_id: string
  /** As Postgres prints it, with an offset. */
  readonly recorded_at: string
  /** Who uploaded it, as `user/3`. */
  readonly actor: string | null
  readonly warnings: readonly OfflineSaleWarning[]
}

const TEXT = `
  select coalesce(owed.list, '[]') as receivables, upload.entry as upload,
    exists (select from customers c where c.company_id = s.company_id and c.id = s.customer_id and c.deleted_at is null) as has_customer
  from sales s
  left join lateral (
    select json_agg(json_build_object('id', r.id, 'amount', r.doc->>'amount', 'due_date', r.due_date, 'status', r.status,
      'is_deleted', r.deleted_at is not null) order by r.id) as list
    from json_array_elements_text(s.receivable_ids) made
    join receivables r on r.company_id = s.company_id and r.id = made.value::bigint) owed on true
  left join lateral (
    select json_build_object('offline_id', t.offline_id, 'recorded_at', t.recorded_at, 'actor', t.actor,
      'warnings', t.warnings) as entry
    from offline_sales t where t.company_id = s.company_id and t.sale_id = s.id) upload on true
  where s.company_id = $1 and s.id = $2`

/** Null when there is no such sale. */
export async function getSaleTraces(pool: Pool, companyId: number, id: number): Promise<SaleTraces | null> {
  const { rows } = await pool.query<SaleTraces>({ name: 'sale_traces', text: TEXT, values: [companyId, id] })
  return rows[0] ?? null
}
