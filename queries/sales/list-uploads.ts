import type { Pool } from 'pg'
import type { Refusal } from '#domain/refusal.ts'
import { HAS_WARNINGS, type SaleObject } from '#projections/sales.ts'
import { type Listing, listInOrder, localTime, type Page, type Paging } from '../list.ts'
import type { Order } from '../list-statement.ts'
import type { SaleUpload } from './sale-traces.ts'

/** A sale that a till has uploaded. `recorded_at` is when it came, on the company's clock. */
export interface UploadedSale extends SaleUpload {
  readonly sale: SaleObject
}

const LATEST_FIRST: Order = { name: 'latest', columns: [{ name: 'sale_id', type: 'bigint' }], descending: true }

/** The sale is looked up for each listed upload: joined, all sales would be walked through for a few uploads with warnings. */
const uploads: Listing<object> = {
  resource: 'uploads',
  from: 'offline_sales t',
  record: `json_build_object('offline_id', t.offline_id, 'recorded_at', t.recorded_at, 'actor', t.actor,
    'warnings', t.warnings, 'sale', (select s.doc from sales s where s.company_id = t.company_id and s.id = t.sale_id))::text`,
  filters: {},
  present: (record, timezone) => {
    const entry = record as UploadedSale
    return { ...entry, recorded_at: localTime(entry.recorded_at, timezone) }
  },
}

const withWarnings: Listing<object> = { ...uploads, resource: 'uploads_with_warnings', where: HAS_WARNINGS }

/** Uploaded sales, the last recorded first: all of them, or those that somebody should look at. */
export const listUploads = (
  pool: Pool,
  companyId: number,
  { warned, ...paging }: Paging & { readonly warned: boolean },
): Promise<Page | Refusal> => listInOrder(pool, warned ? withWarnings : uploads, LATEST_FIRST, companyId, paging)
