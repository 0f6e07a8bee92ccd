import type { SaleObject } from '#projections/sales.ts'
import type { Reader } from '../reader.ts'
import { t } from '../table-names.ts'

/** The revisions of a sale's events. */
interface SaleEvents {
  /** Of the event that created it. */
  readonly revision: number
  /** Of later events, ascending. */
  readonly later: readonly number[]
  readonly isCancelled: boolean
  /** Revision of the read model. */
  readonly head: number
}

const SALE_EVENTS = `
  select s.first_revision, s.revision, s.past_revisions, s.status, l.revision as head,
    (select json_agg(p.revisions) from ${t.row_pasts} p
     where p.company_id = s.company_id and p.of_table = 'sales' and p.row_id = s.id) as pasts
  from ${t.sales} s join ${t.ledgers} l on l.company_id = s.company_id
  where s.company_id = $1 and s.id = $2`

interface SaleEventsRow {
  first_revision: number
  revision: number
  past_revisions: readonly number[] | null
  status: SaleObject['status']
  head: number
  pasts: readonly (readonly number[])[] | null
}

/** Null if the sale does not exist. */
export async function findSaleEvents(reader: Reader, id: number): Promise<SaleEvents | null> {
  const { rows } = await reader.query<SaleEventsRow>({ name: 'sale_events', text: SALE_EVENTS, values: [id] })
  const [row] = rows
  if (!row) return null
  const changes = new Set([...(row.pasts ?? []).flat(), ...(row.past_revisions ?? []), row.revision])
  changes.delete(row.first_revision)
  const later = [...changes].sort((a, b) => a - b)
  return { revision: row.first_revision, later, isCancelled: row.status === 'cancelled', head: row.head }
}
