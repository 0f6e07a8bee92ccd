import { phoneKey } from '#domain/person-values.ts'
import { sameBarcodes } from '#domain/record-values.ts'
import { searchKey } from '#domain/text.ts'
import { nsuKey, pixKey } from '#projections/cash-takings.ts'
import type { SaleObject } from '#projections/sales.ts'
import { type BalanceSide, listDeletedDebtors } from './open-balances.ts'
import type { Reader } from './reader.ts'
import { toWordPatterns } from './record-queries.ts'
import { t } from './table-names.ts'

/** A search result. */
export interface FoundRecord {
  readonly id: number
  /** Name, null if erased, or description; for a sale its time. */
  readonly text: string | null
  /** Price, document or total, as stored. */
  readonly detail: string | null
  /** For sales. */
  readonly status?: SaleObject['status']
}

export interface SearchResults {
  readonly sales: readonly FoundRecord[]
  readonly orders: readonly FoundRecord[]
  readonly items: readonly FoundRecord[]
  readonly customers: readonly FoundRecord[]
  readonly suppliers: readonly FoundRecord[]
  readonly receivables: readonly FoundRecord[]
  readonly payables: readonly FoundRecord[]
}

/** Of each kind; lists show the rest. */
export const MAX_SEARCH_RESULTS = 8

/** Bound of sales whose amounts are compared: an index of amounts would have to be written with each sale. */
const AMOUNTS_AMONG = 50_000
/** Bound of orders and of accounts that are looked through, newest first. */
const NEWEST = 20_000

interface SearchTerms {
  /** As typed, trimmed. */
  readonly text: string
  /** The text as a number; null if it is none. */
  readonly id: number | null
  /** The amounts in cents that the text may mean, `125` all with these reais; null if it is none. */
  readonly cents: { readonly from: number; readonly to: number } | null
  /** The digits of a document, or a code. */
  readonly code: string
  /** Digits of a phone or a part of one, without country code; null if the text is none. */
  readonly phone: string | null
}

/** The last four digits suffice. */
const MIN_PHONE_DIGITS = 4

function phoneOf(text: string): string | null {
  const digits = text.replace(/[\s()+.-]/g, '')
  return /^\d{1,20}$/.test(digits) && digits.length >= MIN_PHONE_DIGITS ? phoneKey(digits) : null
}

/** Classifies a search text: a number may be an id, an amount or a part of a phone, anything else is a text. */
export function parseSearchText(typed: string): SearchTerms {
  const text = typed.trim()
  const number = /^[nN]?[ºo°]?\s*(\d{1,15})$/.exec(text)?.[1]
  const [, whole, fraction] = /^(?:R\$\s*)?(\d{1,3}(?:\.\d{3})+|\d{1,12})(?:,(\d{2}))?$/.exec(text) ?? []
  const [from, to] = [fraction ?? '00', fraction ?? '99'].map((each) => Number(`${whole?.replaceAll('.', '')}${each}`))
  return {
    text,
    id: number === undefined ? null : Number(number),
    cents: whole === undefined || from === undefined || to === undefined ? null : { from, to },
    code: text.replace(/[\s./-]/g, '').toUpperCase(),
    phone: phoneOf(text),
  }
}

/** SQL of ids by relevance, each once. */
const collectIds = (parts: readonly string[]): string => `(
  select coalesce(json_agg(f.id order by f.place, f.at), '[]') from (
    select u.id, min(u.place) as place, min(u.at) as at from (${parts.map((part) => `(${part})`).join(' union all ')}) u
    group by u.id order by 2, 3 limit $2::bigint) f)`

/** A short text matches too many names: the first 1,000 by name are considered. */
const NAMED = (table: SearchedTable): string => `
  select id, 1, row_number() over (order by sort_key collate "C") from (
    select id, sort_key from ${t[table]}
    where company_id = $1 and deleted_at is null and cardinality($7::text[]) > 0 and search like all ($7::text[])
    limit (select 1000::bigint)) named`

const idsByCode = (table: SearchedTable, column: string, value: string): string =>
  `select id, 0 as place, 0::bigint as at from ${t[table]} where company_id = $1 and ${column} = ${value}::text and deleted_at is null`

const idsByPhone = (table: SearchedTable): string => `
  select id, 0, row_number() over (order by is_end desc, id) from (
    select id, phone_key like '%' || $9::text as is_end from ${t[table]}
    where company_id = $1 and $9::text is not null and phone_key like '%' || $9::text || '%'
    order by 2 desc, 1 limit $2::bigint) phoned`

/** SQL of an amount that the text may mean. */
const isMeant = (column: string): string => `${column} between $5::bigint and $11::bigint`

const HAS_WORDS = 'cardinality($7::text[]) > 0 and search like all ($7::text[])'

/** Characters of a CPF. */
const MIN_DOCUMENT = 11

const ORDERS = collectIds([
  `select id, 0 as place, 0::bigint as at from ${t.orders} where company_id = $1 and id = $4::bigint`,
  `select id, 0, 0 from ${t.orders} where company_id = $1 and external_id = $3::text`,
  `select id, 1, -id from (
     select id, search, phone_key, total_cents from ${t.orders} where company_id = $1
     order by id desc limit (select ${NEWEST}::bigint)) newest
   where (${HAS_WORDS}) or phone_key like '%' || $9::text || '%' or ${isMeant('total_cents')}
     or (length($6::text) >= ${MIN_DOCUMENT} and position(lower($6::text) in search) > 0)
   order by id desc limit $2::bigint`,
])

/** By description, party and amount, the open ones first. */
const accountsOf = (table: 'receivables' | 'payables', parties: 'customers' | 'suppliers'): string =>
  collectIds([
    `select id, 0 as place, 0::bigint as at from ${t[table]}
     where company_id = $1 and external_id = $3::text and deleted_at is null`,
    `select id, case status when 'pending' then 1 else 2 end, -id from (
       select id, status, search, party_id, amount_cents, open_cents from ${t[table]}
       where company_id = $1 and deleted_at is null order by id desc limit (select ${NEWEST}::bigint)) newest
     where (${HAS_WORDS}) or ${isMeant('amount_cents')} or ${isMeant('open_cents')}
       or party_id in (select id from ${t[parties]} where company_id = $1 and ${HAS_WORDS})
     order by 2, 3 limit $2::bigint`,
  ])

const personsOf = (table: SearchedTable): string =>
  collectIds([
    idsByCode(table, 'external_id', '$3'),
    idsByCode(table, 'document', '$6'),
    idsByPhone(table),
    NAMED(table),
  ])

/**
 * $1 company, $2 bound per kind, $3 text, $4 number, $5 least cents, $6 code, $7 word patterns, $8 spellings of a barcode,
 * $9 digits of a phone, $10 sales of a Pix or an NSU, $11 most cents.
 */
const IDS = {
  name: 'panel_search',
  text: `select ${collectIds([
    `select id, 0 as place, 0::bigint as at from ${t.sales} where company_id = $1 and id = $4::bigint`,
    `select id, 1, 0 from ${t.sales} where company_id = $1 and external_id = $3::text`,
    `select id, 0, 0 from ${t.sales} where company_id = $1 and access_key = $6::text`,
    `select s.id, 0, -s.id from ${t.sales} s where s.company_id = $1 and s.id = any($10::bigint[])`,
    `select id, 2, at from (
       select id, total_cents, row_number() over (order by sold_at desc, id desc) as at from (
         select id, total_cents, sold_at from ${t.sales} where company_id = $1 and $5::bigint is not null
         order by sold_at desc, id desc limit (select ${AMOUNTS_AMONG}::bigint)) newest
     ) l where ${isMeant('total_cents')} order by at limit $2::bigint`,
  ])} as sales, ${collectIds([
    `select id, 0 as place, 0::bigint as at from ${t.catalog_items}
     where company_id = $1 and barcode = any($8::text[]) and deleted_at is null`,
    idsByCode('catalog_items', 'external_id', '$3'),
    NAMED('catalog_items'),
  ])} as items, ${personsOf('customers')} as customers, ${personsOf('suppliers')} as suppliers, ${ORDERS} as orders,
    ${accountsOf('receivables', 'customers')} as receivables, ${accountsOf('payables', 'suppliers')} as payables`,
}

type SearchedTable = (typeof TABLES)[keyof typeof TABLES]

const TABLES = {
  sales: 'sales',
  orders: 'orders',
  items: 'catalog_items',
  customers: 'customers',
  suppliers: 'suppliers',
  receivables: 'receivables',
  payables: 'payables',
} as const

/** SQL of the records with the ids of a parameter, in its order. */
const shown = (table: SearchedTable, ids: string, fields: string): string => `(
  select coalesce(json_agg(json_build_object('id', t.id, ${fields}) order by o.at), '[]')
  from unnest(${ids}::bigint[]) with ordinality as o (id, at)
  join ${t[table]} t on t.company_id = $1 and t.id = o.id)`

const ACCOUNT = `'text', t.doc->>'description', 'detail', t.doc->>'amount'`

const RECORDS = {
  name: 'panel_search_records',
  text: `select
    ${shown('sales', '$2', `'text', t.sold_at, 'detail', t.doc->>'total', 'status', t.status`)} as sales,
    ${shown('catalog_items', '$3', `'text', t.doc->>'name', 'detail', t.doc->>'price'`)} as items,
    ${shown('customers', '$4', `'text', t.doc->>'name', 'detail', t.doc->>'document'`)} as customers,
    ${shown('suppliers', '$5', `'text', t.doc->>'name', 'detail', t.doc->>'document'`)} as suppliers,
    ${shown('orders', '$6', `'text', t.doc->'customer'->>'name', 'detail', t.doc->>'total'`)} as orders,
    ${shown('receivables', '$7', ACCOUNT)} as receivables,
    ${shown('payables', '$8', ACCOUNT)} as payables`,
}

/**
 * Searches sales by number, external id, amount, key of the fiscal document, Pix and NSU; orders by number, external id,
 * buyer, phone and amount; items and persons by name and code, persons by document and phone; accounts by description,
 * party and amount. A few results of each kind. `present` is the read model of now: of payment proofs there is no past.
 */
export async function searchAll(reader: Reader, typed: string, present = reader): Promise<SearchResults> {
  const { text, id, cents, code, phone } = parseSearchText(typed)
  const proved = await findProved(present, text)
  const words = text.length < 2 ? [] : toWordPatterns(text)
  const found = await reader.query<Record<keyof SearchResults, number[]>>({
    ...IDS,
    values: [
      ...[MAX_SEARCH_RESULTS, text, id, cents?.from ?? null, code, words, sameBarcodes(text), phone, proved],
      cents?.to ?? null,
    ],
    readSet: Object.fromEntries(Object.values(TABLES).map((table) => [table, 'columns'] as const)),
  })
  const { sales = [], items = [], customers = [], suppliers = [], orders = [] } = found.rows[0] ?? {}
  const { receivables = [], payables = [] } = found.rows[0] ?? {}
  const { rows } = await reader.query<SearchResults>({
    ...RECORDS,
    values: [sales, items, customers, suppliers, orders, receivables, payables],
    readSet: { sales, catalog_items: items, customers, suppliers, orders, receivables, payables },
  })
  const results = rows[0] as SearchResults
  const [debtors, creditors] = await Promise.all(
    (['receivables', 'payables'] as const).map((side) => findDebtors(reader, side, text)),
  )
  return {
    ...results,
    customers: [...results.customers, ...(debtors ?? [])].slice(0, MAX_SEARCH_RESULTS),
    suppliers: [...results.suppliers, ...(creditors ?? [])].slice(0, MAX_SEARCH_RESULTS),
  }
}

/** Sales with a Pix or an NSU, also those that are later than the moment of the search. */
async function findProved(reader: Reader, text: string): Promise<number[]> {
  if (text === '') return []
  const { rows } = await reader.query<{ sale_ids: number[] }>({
    name: 'panel_search_proofs',
    text: `select sale_ids from ${t.payment_proofs} where company_id = $1 and key = any($2::text[])`,
    values: [[pixKey(text), nsuKey(text)]],
  })
  return rows.flatMap(({ sale_ids }) => sale_ids)
}

/** Deleted persons with open accounts whose name has all words of the text. */
async function findDebtors(reader: Reader, side: BalanceSide, text: string): Promise<FoundRecord[]> {
  const words = text.length < 2 ? [] : searchKey(text).split(' ')
  if (words.length === 0) return []
  const debtors = await listDeletedDebtors(reader, side)
  return debtors.flatMap(({ id, name }) => {
    const key = name === null ? '' : searchKey(name)
    return words.every((word) => key.includes(word)) ? [{ id, text: name, detail: null }] : []
  })
}
