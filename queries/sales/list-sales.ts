import type { Pool } from 'pg'
import { addDays, startOfDay } from '../../src/domain/instant.ts'
import type { Refusal } from '../../src/domain/refusal.ts'
import { type Listing, type ListPaging, list, type Page } from '../list.ts'

/** The moments between which a sale was made. */
interface Period {
  readonly sold_from?: string
  readonly sold_before?: string
}

interface Filters {
  readonly status?: 'completed' | 'cancelled'
  readonly customer_id?: number
  readonly origin?: 'api' | 'pdv' | 'system'
  readonly external_id?: string
}

export interface SaleFilters extends Filters {
  /** First and last day of sale, both inclusive: days of the company's own calendar. */
  readonly sold_from?: string
  readonly sold_to?: string
}

export const saleListing: Listing<Filters & Period> = {
  resource: 'sales',
  from: 'sales t',
  record: 't.doc::text',
  filters: {
    status: (value) => `t.status = ${value}::text`,
    customer_id: (value) => `t.customer_id = ${value}::bigint`,
    origin: (value) => `t.origin = ${value}::text`,
    external_id: (value) => `t.external_id = ${value}::text`,
    sold_from: (value) => `t.sold_at >= ${value}::timestamptz`,
    sold_before: (value) => `t.sold_at < ${value}::timestamptz`,
  },
}

/** `timezone` is the company's: it says when its days begin. */
export function listSales(
  pool: Pool,
  companyId: number,
  { timezone, sold_from, sold_to, ...query }: ListPaging & SaleFilters & { readonly timezone: string },
): Promise<Page | Refusal> {
  return list(pool, saleListing, companyId, {
    ...query,
    sold_from: sold_from && startOfDay(sold_from, timezone),
    sold_before: sold_to && startOfDay(addDays(sold_to, 1), timezone),
  })
}
