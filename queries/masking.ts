import type { QueryConfig } from 'pg'
import { MASKED } from '#domain/personal-data.ts'
import type { RecordKind } from '#domain/record-kinds.ts'
import { type AnyTable, isRowHistory } from '#ledger/table.ts'
import { groupBy } from '#lib/group-by.ts'
import type { Database, Queryable } from '#postgres/database.ts'
import { payablePayments, payables, receivables } from '#projections/finance.ts'
import { orders } from '#projections/orders.ts'
import { customers, suppliers } from '#projections/people.ts'
import { PERSONAL_MEMBERS } from '#projections/personal-members.ts'
import { sales } from '#projections/sales.ts'
import { users } from '#projections/users.ts'
import { OWN_ROLLUPS, OWN_ROWS, type OwnSales, ownSalesValues, placesAfter, typesOf } from './own-sales.ts'

type Path = readonly string[]

const TEXT = `to_jsonb('${MASKED}'::text)`
/** An address is shown as one object. */
const ADDRESS = `jsonb_build_object('street', '${MASKED}')`

/** SQL of a JSON object with a member masked if it is present and not empty. */
const maskedMember = (json: string, member: string): string =>
  `${json} || case when coalesce(${json} ->> '${member}', '') = '' then '{}'
     else jsonb_build_object('${member}', ${member === 'address' ? ADDRESS : TEXT}) end`

/** SQL of a JSON object with a nested object replaced; unchanged if the member is no object. */
const within = (json: string, member: string, inner: (json: string) => string): string =>
  `case when jsonb_typeof(${json} -> '${member}') = 'object'
     then jsonb_set(${json}, '{${member}}', ${inner(`(${json} -> '${member}')`)}) else ${json} end`

/** SQL of a JSON object with each element of a list replaced. */
const withinList = (json: string, member: string, inner: (json: string) => string): string =>
  `jsonb_set(${json}, '{${member}}', coalesce((select jsonb_agg(${inner('each.value')} order by each.place)
     from jsonb_array_elements(${json} -> '${member}') with ordinality as each (value, place)), '[]'))`

/** SQL of a JSON object with the members at these paths masked. Each step is a SELECT of `d` from the previous one. */
function maskedJson(json: string, paths: readonly Path[]): string {
  const steps = [...groupBy(paths, ([name]) => name as string)].map(([name, group]) => (d: string) => {
    const inner = group.map((path) => path.slice(1))
    if (inner.every(([first]) => first === undefined)) return maskedMember(d, name)
    if (inner.every(([first]) => first !== '*')) return within(d, name, (object) => maskedJson(object, inner))
    return withinList(d, name, (element) =>
      maskedJson(
        element,
        inner.map((path) => path.slice(1)),
      ),
    )
  })
  return steps.reduce((from, step) => `(select ${step('d')} as d from ${from} x)`, `(select ${json} as d)`)
}

/** Columns of persons' tables that repeat personal fields of the document; `email` of users is not selectable. */
const SEARCHED = { sort_key: `''`, search: `''`, document: 'null', phone_key: 'null' }

/** Tables of records with personal data, and their columns beside the document. */
const TABLES: readonly (readonly [AnyTable, RecordKind, Readonly<Record<string, string>>?])[] = [
  [customers, 'customer', SEARCHED],
  [suppliers, 'supplier', SEARCHED],
  [users, 'user'],
  [sales, 'sale', { seller_name: 'null' }],
  [receivables, 'receivable'],
  [payables, 'payable'],
  [payablePayments, 'payable'],
  [orders, 'order'],
]

/** SQL of the columns with personal data, masked; `t` is the table. */
const COLUMNS = TABLES.map(([table, kind, columns]) => {
  const paths = (PERSONAL_MEMBERS.get(kind) ?? []).map(({ path }) => path)
  const masked: Readonly<Record<string, string>> = { ...columns, doc: maskedJson('t.doc::jsonb', paths) }
  return [table, masked] as const
})

/** Hidden entirely from roles that do not see payables. */
const PAYABLES: readonly string[] = [payables.name, payablePayments.name]

const shownAs = (type: string, sql: string): string => (type === 'json' ? `${sql}::json` : `${sql}::${type}`)

/**
 * CTEs that shadow a table of a statement: a CTE's name takes precedence over the table's. Row history is added for
 * statements that name it; as-of tables have none.
 */
const SHADOWS = COLUMNS.map(([table, withheld]) => {
  const columns = Object.entries(table.columns).filter(([name]) => !table.past?.without?.includes(name))
  const select = (selected: typeof columns): string => {
    const shown = selected.map(([name, type]) =>
      withheld[name] ? `${shownAs(type, withheld[name])} as ${name}` : `t.${name}`,
    )
    return `select ${shown.join(', ')} from ${table.name} t`
  }
  return {
    name: table.name,
    named: new RegExp(`\\b${table.name}\\b`),
    text: select(columns.filter(([name]) => !isRowHistory(name))),
    withLineage: select(columns),
  }
})

const NAMES_LINEAGE = /\b(first_revision|past_revisions)\b/

/**
 * What a role does not see: names, documents and contacts of persons (PANEL-83), costs of items, payables (PANEL-201),
 * sales of others.
 */
export interface ReadMask {
  readonly persons: boolean
  readonly costs: boolean
  readonly payables: boolean
  /** The only sales that are shown; null for all (ROLE-105). */
  readonly sales: OwnSales | null
}

const isNamed = (name: string, text: string): boolean => new RegExp(`\\b${name}\\b`).test(text)

/** Names of the tables whose rows are limited to own sales, and those computed from them. */
const OWN_TABLES = Object.keys(OWN_ROWS).filter((name) => !SHADOWS.some((shadow) => shadow.name === name))

/** CTEs for a statement with `count` parameters. Rollups come first: they read the tables, not the shadows. */
function shadowsOf(text: string, { persons, payables, sales: own }: ReadMask, count: number): string[] {
  const form = NAMES_LINEAGE.test(text) ? 'withLineage' : 'text'
  const places = placesAfter(count)
  const shadow = (name: string, select: string) => {
    const conditions = [
      ...(payables && PAYABLES.includes(name) ? ['false'] : []),
      ...(own && OWN_ROWS[name] ? [OWN_ROWS[name](places)] : []),
    ]
    const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
    return persons || where ? `${name} as not materialized (${select}${where})` : []
  }
  const whole = (name: string) => `select t.* from ${name} t`
  return [
    ...Object.entries(own ? OWN_ROLLUPS : {}).flatMap(([name, rows]) =>
      isNamed(name, text) ? `${name} as (${rows(places)})` : [],
    ),
    ...OWN_TABLES.filter((name) => own && isNamed(name, text)).flatMap((name) => shadow(name, whole(name))),
    ...SHADOWS.filter(({ named }) => named.test(text)).flatMap(({ name, ...forms }) =>
      shadow(name, persons ? forms[form] : whole(name)),
    ),
  ]
}

/** The statement with its shadows; `null` if it needs none. */
function maskStatement(text: string, withheld: ReadMask, count: number): string | null {
  const shadows = shadowsOf(text, withheld, count)
  if (shadows.length === 0) return null
  if (withheld.sales) shadows.unshift(typesOf(placesAfter(count)))
  const own = /^\s*with\s+/i.exec(text)
  return `with ${shadows.join(',\n')}${own ? `,\n${text.slice(own[0].length)}` : `\n${text}`}`
}

/** A member in a record's JSON text: inside a string its quotes would be escaped. */
const COST = /"cost"\s*:\s*"[^"]*"/g

/** The value with all costs replaced by null, in JSON texts too. */
export function maskCosts<T>(value: T): T {
  if (typeof value === 'string') return (/^[{[]/.test(value) ? value.replace(COST, '"cost":null') : value) as T
  if (Array.isArray(value)) return value.map(maskCosts) as T
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return value
  const members = Object.entries(value).map(([name, inner]) => [name, name === 'cost' ? null : maskCosts(inner)])
  return Object.fromEntries(members) as T
}

/**
 * A pool whose statements see masked data: persons, payables and sales whatever they select, filter or sort by, costs in their
 * answers. Everything the panel shows of the read model goes through statements. It has `query` only.
 */
export function maskReads(pool: Queryable, withheld: ReadMask): Queryable {
  const { persons, costs, payables, sales: own } = withheld
  if (!persons && !costs && !payables && !own) return pool
  const suffix = `${persons ? '_w' : ''}${payables ? '_o' : ''}${own ? '_s' : ''}`
  const query = async (asked: string | (QueryConfig & { name?: string }), values?: unknown[]) => {
    const config = typeof asked === 'string' ? { text: asked, ...(values && { values }) } : asked
    const asks = config.values ?? []
    const text = maskStatement(config.text, withheld, asks.length)
    const result = await pool.query(
      text === null
        ? config
        : {
            ...config,
            ...(config.name && { name: `${config.name}${suffix}` }),
            text,
            ...(own && { values: [...asks, ...ownSalesValues(own)] }),
          },
    )
    return costs ? { ...result, rows: result.rows.map(maskCosts) } : result
  }
  return { query } as unknown as Queryable
}

/**
 * A pool whose statements see own sales only; its transactions, which write, see all. For what pages read beside the
 * read model of their session, such as rows of `ops`.
 */
export function limitToOwnSales(pool: Database, own: OwnSales): Database {
  const { query } = maskReads(pool, { persons: false, costs: false, payables: false, sales: own })
  return new Proxy(pool, {
    get(target, name) {
      if (name === 'query') return query
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}
