import { gapsIn, lastSettled, type NumberRange } from '#projections/tills.ts'
import type { Reader } from './reader.ts'
import { t } from './table-names.ts'

/** A till of the company. */
export interface CompanyTill {
  readonly id: number
  readonly number: number
  readonly name: string
  /** UTC; null if it has not called yet. */
  readonly last_seen_at: string | null
  /** The last that it has recorded, as far as is known; 0 if none. */
  readonly last_number: number
  /** Numbers up to it that have not come and were not given up. */
  readonly missing: readonly NumberRange[]
  readonly ended_at: string | null
}

interface FoundTill {
  readonly id: number
  readonly doc: { readonly number: number; readonly name: string; readonly settled: readonly NumberRange[] }
  readonly ended_at: string | null
  readonly last_seen_at: string | null
  readonly last_number: number | null
}

/** Tills shown at once; at most 50 are not ended. */
const MOST = 1_000

/** Tills of a company by number, those that are not ended first. */
export async function listTills(reader: Reader): Promise<CompanyTill[]> {
  const { rows } = await reader.query<FoundTill>({
    name: 'list_tills',
    text: `select t.id, t.doc, t.ended_at, c.last_seen_at, c.last_number
           from ${t.tills} t left join ${t.till_contacts} c on c.company_id = t.company_id and c.till_id = t.id
           where t.company_id = $1 order by t.ended_at is not null, t.id limit ${MOST}`,
  })
  return rows.map(({ id, doc, ended_at, last_seen_at, last_number }) => {
    const last = Math.max(last_number ?? 0, lastSettled(doc))
    const { number, name } = doc
    return { id, number, name, last_seen_at, last_number: last, missing: gapsIn(doc.settled, last), ended_at }
  })
}
