import { addYears, dateInZone, startOfDay } from '#domain/instant.ts'
import type { PersonKind } from '#domain/personal-data.ts'
import { markTable } from '#postgres/table-marks.ts'
import { IS_OPEN } from '#projections/finance.ts'

export const NEEDS = ['sale', 'receivable', 'payable', 'order', 'store_credit'] as const

/** Record that needs a person's identity. */
export interface Need {
  readonly kind: (typeof NEEDS)[number]
  readonly id: number
  /** Authorization of a sale's fiscal document (UTC); null for open records, which have no date. */
  readonly since: string | null
}

/** Records that need the person, and finished records about the person. */
export interface Holding {
  /** First of each kind: sales by newest document, the others by id. */
  readonly needs: readonly Need[]
  readonly count: number
  /** Orders of the person that are neither erased nor pending. */
  readonly finished_orders: readonly number[]
}

/** What the needs of a person say about time. */
export interface HoldingPeriod {
  readonly needed_by: readonly { kind: Need['kind']; id: number; until: string | null }[]
  /** First day on which no document needs the person; null without dated needs. */
  readonly until: string | null
  /** Whether an account or an order of the person is open. */
  readonly hasOpen: boolean
}

export function holdingPeriod(needs: readonly Need[], retentionYears: number, zone: string): HoldingPeriod {
  const needed_by = needs.map(({ kind, id, since }) => ({
    kind,
    id,
    until: since && addYears(dateInZone(new Date(since).toISOString(), zone), retentionYears, 1),
  }))
  const days = needed_by.flatMap(({ until }) => until ?? [])
  return { needed_by, until: days.sort().at(-1) ?? null, hasOpen: days.length < needed_by.length }
}

/** Authorization from which a document still needs its person (UTC). `today` is the company's day. */
export const documentsSince = (retentionYears: number, today: string, zone: string): string =>
  startOfDay(addYears(today, -retentionYears), zone)

/** Listed records per kind. The first determines the date; the count covers the rest. */
const TOLD = 10

/** SQL of one kind of records that need the person. */
interface Source {
  readonly kind: Need['kind']
  readonly from: string
  readonly since: string
  readonly order: string
}

const sales: Source = {
  kind: 'sale',
  from: `${markTable('sales')} where company_id = $1 and customer_id = $2 and documented_at >= $3`,
  since: 'documented_at',
  order: 'documented_at desc',
}
const accounts = (kind: 'receivable' | 'payable'): Source => ({
  kind,
  from: `${markTable(`${kind}s`)} where company_id = $1 and party_id = $2 and ${IS_OPEN}`,
  since: 'null',
  order: 'id',
})
const orders = (column: 'customer_id' | 'id'): Source => ({
  kind: 'order',
  from: `${markTable('orders')} where company_id = $1 and ${column} = $2 and status = 'pending'`,
  since: 'null',
  order: 'id',
})

/** Store credit that the customer may still spend, or spent beyond the balance; its id is the customer's. */
const storeCredit: Source = {
  kind: 'store_credit',
  from: `${markTable('customer_credits')} where company_id = $1 and id = $2 and balance <> 0`,
  since: 'null',
  order: 'id',
}

const SOURCES: Readonly<Record<PersonKind, readonly Source[]>> = {
  customer: [sales, accounts('receivable'), orders('customer_id'), storeCredit],
  supplier: [accounts('payable')],
  user: [],
  order: [orders('id')],
}

const needsOf = ({ kind, from, since, order }: Source): string =>
  `(select '${kind}' as kind, id, ${since}::timestamptz as since from ${from} order by ${order} limit ${TOLD})`

const countOf = ({ from }: Source): string => `(select count(*) from ${from})`

const FINISHED = `select id from ${markTable('orders')}
  where company_id = $1 and customer_id = $2 and status <> 'pending' and doc->>'forgotten_at' is null order by id`

/** Statement of a reader that returns one `Holding` of the person of this kind ($2), counting documents since $3 (UTC). */
export function holdingStatement(kind: PersonKind): { name: string; text: string } {
  const sources = SOURCES[kind]
  const needs = sources.length > 0 ? sources.map(needsOf).join(' union all ') : 'select null, null, null where false'
  const count = sources.length > 0 ? sources.map(countOf).join(' + ') : '0'
  const finished = kind === 'customer' ? FINISHED : 'select 0 where false'
  return {
    name: `holding_of_${kind}`,
    text: `select (select coalesce(json_agg(json_build_object('kind', kind, 'id', id, 'since', since)), '[]')
                   from (${needs}) n(kind, id, since)) as needs,
                  (${count})::int as count,
                  array(${finished}) as finished_orders
           where $1::bigint is not null and $2::bigint is not null and $3::timestamptz is not null`,
  }
}
