import type { Pool, QueryConfig } from 'pg'
import { WITHHELD } from '#domain/personal-data.ts'
import { type AnyTable, isLineage } from '#ledger/table.ts'
import { payables, receivables } from '#projections/finance.ts'
import { orders } from '#projections/orders.ts'
import { customers, suppliers } from '#projections/people.ts'
import { sales } from '#projections/sales.ts'
import { users } from '#projections/users.ts'

/** SQL of a JSON object with these members withheld, where they are there and say anything. */
const withheldIn = (json: string, members: readonly string[], value = `to_jsonb('${WITHHELD}'::text)`): string =>
  members.reduce(
    (object, member) =>
      `${object} || case when coalesce(${json} ->> '${member}', '') = '' then '{}' else jsonb_build_object('${member}', ${value}) end`,
    json,
  )

/** SQL of a JSON object whose member, an object itself, is another one; as it is where it has none. */
const within = (json: string, member: string, inner: (json: string) => string): string =>
  `case when jsonb_typeof(${json} -> '${member}') = 'object'
     then jsonb_set(${json}, '{${member}}', ${inner(`(${json} -> '${member}')`)}) else ${json} end`

/** The steps, one on what the other has made: each a SELECT of `d` from the one before. */
const inSteps = (steps: readonly ((json: string) => string)[]): string =>
  steps.reduce((from, step) => `(select ${step('d')} as d from ${from} x)`, '(select t.doc::jsonb as d)')

const PERSON = ['name', 'trade_name', 'document', 'phone', 'email', 'notes']
const person = inSteps([
  (json) => withheldIn(json, PERSON),
  (json) => withheldIn(json, ['address'], `jsonb_build_object('street', '${WITHHELD}')`),
])
const BUYER = ['name', 'email', 'document']

const madePayment = (json: string): string =>
  inSteps([
    (payment) => within(payment, 'card', (card) => withheldIn(card, ['last_four'])),
    (payment) => within(payment, 'pix', (pix) => withheldIn(pix, ['ticket_url'])),
    (payment) => within(payment, 'boleto', (slip) => withheldIn(slip, ['ticket_url'])),
  ]).replace('t.doc::jsonb', json)

const order = inSteps([
  (json) => within(json, 'customer', (buyer) => withheldIn(buyer, BUYER)),
  (json) => within(json, 'payment', madePayment),
  (json) =>
    `jsonb_set(${json}, '{payments}', coalesce((select jsonb_agg(${madePayment('each.value')} order by each.place)
       from jsonb_array_elements(${json} -> 'payments') with ordinality as each (value, place)), '[]'))`,
])

/** SQL of the columns that say something of persons, as they are shown where that is withheld; `t` is the table. */
const COLUMNS: readonly (readonly [AnyTable, Readonly<Record<string, string>>])[] = [
  [customers, { doc: person, sort_key: `''`, search: `''`, document: 'null' }],
  [suppliers, { doc: person, sort_key: `''`, search: `''`, document: 'null' }],
  [users, { doc: inSteps([(json) => withheldIn(json, ['name', 'email'])]) }],
  [sales, { doc: inSteps([(json) => within(json, 'customer', (buyer) => withheldIn(buyer, BUYER))]) }],
  [receivables, { doc: inSteps([(json) => withheldIn(json, ['customer_name'])]) }],
  [payables, { doc: inSteps([(json) => withheldIn(json, ['supplier_name'])]) }],
  [orders, { doc: order }],
]

/** Its rows are found by nobody who is not told what the company owes. */
const PAYABLES = payables.name

const shownAs = (type: string, sql: string): string => (type === 'json' ? `${sql}::json` : `${sql}::${type}`)

/**
 * What stands in front of a statement, for a table that it names: a name that a statement gives goes before that of a table.
 * The lineage of rows is there for statements that name it; in the past there is none.
 */
const SHADOWS = COLUMNS.map(([table, withheld]) => {
  const kept = Object.entries(table.columns).filter(([name]) => !table.past?.without?.includes(name))
  const select = (columns: typeof kept): string => {
    const shown = columns.map(([name, type]) =>
      withheld[name] ? `${shownAs(type, withheld[name])} as ${name}` : `t.${name}`,
    )
    return `select ${shown.join(', ')} from ${table.name} t`
  }
  return {
    name: table.name,
    named: new RegExp(`\\b${table.name}\\b`),
    text: select(kept.filter(([name]) => !isLineage(name))),
    withLineage: select(kept),
  }
})

const NAMES_LINEAGE = /\b(first_revision|past_revisions)\b/

/** What somebody is not told: names, documents and contacts of persons (PANEL-83), what items cost, what the company owes (PANEL-201). */
export interface Withheld {
  readonly persons: boolean
  readonly costs: boolean
  readonly payables: boolean
}

function shadowsOf(text: string, { persons, payables }: Withheld): string[] {
  const form = NAMES_LINEAGE.test(text) ? 'withLineage' : 'text'
  return SHADOWS.filter(({ named }) => named.test(text)).flatMap((shadow) => {
    if (payables && shadow.name === PAYABLES) return `${shadow.name} as not materialized (${shadow[form]} where false)`
    return persons ? `${shadow.name} as not materialized (${shadow[form]})` : []
  })
}

function withholdingText(text: string, withheld: Withheld): string {
  const shadows = shadowsOf(text, withheld)
  if (shadows.length === 0) return text
  const own = /^\s*with\s+/i.exec(text)
  return `with ${shadows.join(',\n')}${own ? `,\n${text.slice(own[0].length)}` : `\n${text}`}`
}

/** A member in the JSON text of a record: inside of a string its quotes would be escaped. */
const COST = /"cost"\s*:\s*"[^"]*"/g

/** The same value with null for each cost in it, also in JSON texts. */
export function withoutCosts<T>(value: T): T {
  if (typeof value === 'string') return (/^[{[]/.test(value) ? value.replace(COST, '"cost":null') : value) as T
  if (Array.isArray(value)) return value.map(withoutCosts) as T
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return value
  const members = Object.entries(value).map(([name, inner]) => [name, name === 'cost' ? null : withoutCosts(inner)])
  return Object.fromEntries(members) as T
}

/**
 * A pool whose statements find withheld what somebody is not told: persons and accounts whatever they select, filter or sort by,
 * costs in what they answer. All that the panel shows of the read model, now or as of then, comes through statements. It has
 * `query` only.
 */
export function withholding(pool: Pool, withheld: Withheld): Pool {
  const { persons, costs, payables } = withheld
  if (!persons && !costs && !payables) return pool
  const suffix = `${persons ? '_w' : ''}${payables ? '_o' : ''}`
  const query = async (asked: string | (QueryConfig & { name?: string }), values?: unknown[]) => {
    const config = typeof asked === 'string' ? { text: asked, ...(values && { values }) } : asked
    const result = await pool.query({
      ...config,
      ...(config.name && { name: `${config.name}${suffix}` }),
      text: withholdingText(config.text, withheld),
    })
    return costs ? { ...result, rows: result.rows.map(withoutCosts) } : result
  }
  return { query } as unknown as Pool
}
