import { MASKED } from '#domain/person-values.ts'
import type { RecordKind } from '#domain/record-values.ts'
import { type AnyTable, isRowHistory, markTable } from '#ledger/table.ts'
import { groupBy } from '#lib/collections.ts'
import { payablePayments, payables, receivables } from '#projections/finance.ts'
import { orders } from '#projections/orders.ts'
import { customers, PERSONAL_MEMBERS, suppliers } from '#projections/people.ts'
import { sales } from '#projections/sales.ts'
import { rollUp, SOLD, spanStartSql } from '#projections/sales-rollups.ts'
import { users } from '#projections/users.ts'

type Path = readonly string[]

/** An address is shown as one object. */
const shownFor = (member: string): string =>
  member === 'address' ? `jsonb_build_object('street', '${MASKED}')` : `to_jsonb('${MASKED}'::text)`

/**
 * SQL of a JSON object with the members at these paths masked; null and empty ones stay, and so does what is no object.
 * The fence (`offset 0`) keeps the planner from repeating the object's expression for each member, which would double
 * the work with every one.
 */
function maskedJson(json: string, paths: readonly Path[], depth = 0): string {
  const object = `m${depth}.d`
  const groups = [...groupBy(paths, ([name]) => name as string)].map(([name, group]) => {
    const inner = group.map((path) => path.slice(1))
    return { name, inner, isWhole: inner.every(([first]) => first === undefined) }
  })
  const whole = groups.flatMap(({ name, isWhole }) =>
    isWhole ? [`'${name}', case when ${object} ->> '${name}' <> '' then ${shownFor(name)} end`] : [],
  )
  const parts = [
    ...(whole.length > 0 ? [`jsonb_strip_nulls(jsonb_build_object(${whole.join(', ')}))`] : []),
    ...groups.flatMap(({ name, inner, isWhole }) => (isWhole ? [] : [maskedMember(object, name, inner, depth + 1)])),
  ]
  return `(select ${[object, ...parts].join(' || ')} from (select ${json} as d offset 0) m${depth})`
}

/** SQL of an object with a member of which a part is hidden, or a part of each element; without it if it has none. */
function maskedMember(object: string, name: string, inner: readonly Path[], depth: number): string {
  const value = `(${object} -> '${name}')`
  const replaced = (type: 'object' | 'array', sql: string) =>
    `case when jsonb_typeof${value} = '${type}' then jsonb_build_object('${name}', ${sql}) else '{}' end`
  if (inner.every(([first]) => first !== '*')) return replaced('object', maskedJson(value, inner, depth))
  const elements = inner.map((path) => path.slice(1))
  const element = `a${depth}.value`
  return replaced(
    'array',
    `coalesce((select jsonb_agg(case when jsonb_typeof(${element}) = 'object' then ${maskedJson(element, elements, depth)}
        else ${element} end order by a${depth}.place)
      from jsonb_array_elements${value} with ordinality as a${depth} (value, place)), '[]')`,
  )
}

/** SQL of a kind's record `t.doc` without what its events mark as personal. */
const maskedRecord = (kind: RecordKind): string =>
  maskedJson(
    't.doc::jsonb',
    (PERSONAL_MEMBERS.get(kind) ?? []).map(({ path }) => path),
  )

/** Members with costs, of records and events. */
const COSTS = ['cost', 'unit_cost', 'total_cost', 'former_cost']
/** Such a member in a record's JSON text: inside a string its quotes would be escaped. */
const COST = /"(cost|unit_cost|total_cost|former_cost)"\s*:\s*(?:"[^"]*"|-?\d[\d.]*)/g

/** The value with all costs replaced by null, in JSON texts too. */
export function maskCosts<T>(value: T): T {
  if (typeof value === 'string') return (/^[{[]/.test(value) ? value.replace(COST, '"$1":null') : value) as T
  if (Array.isArray(value)) return value.map(maskCosts) as T
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return value
  const members = Object.entries(value).map(([name, inner]) => [name, COSTS.includes(name) ? null : maskCosts(inner)])
  return Object.fromEntries(members) as T
}

/** The sales that a user without `see_all_sales` sees: own ones of one day of the company, in UTC instants. */
export interface OwnSales {
  readonly userId: number
  readonly from: string
  readonly to: string
}

/** SQL of the parameters, of those that a condition uses. */
export interface Places {
  readonly company: string
  readonly user: string
  readonly from: string
  readonly to: string
}

/** SQL condition on a row of sales. */
const isOwn = ({ company, user, from, to }: Places, row = 't'): string =>
  `${row}.company_id = ${company} and ${row}.seller_id = ${user} and ${row}.sold_at >= ${from} and ${row}.sold_at < ${to}`

/** SQL condition on a row with the id of a sale. */
const isOfOwn = (saleId: string) => (places: Places) =>
  `exists (select from ${markTable('sales')} own where own.company_id = ${places.company} and own.id = ${saleId} and ${isOwn(places, 'own')})`

/** SQL condition on the instant in a column. */
const isToday = (column: string, { from, to }: Places): string => `${column} >= ${from} and ${column} < ${to}`

/** SQL of the user as the actor of an event. */
const actorOf = ({ user }: Places): string => `'user/' || ${user}`

/** SQL condition on a return: of an own sale, or money that the user gave back today. */
const isOwnReturn =
  (actor: string) =>
  (places: Places, row = 't'): string =>
    `(${isOfOwn(`${row}.sale_id`)(places)} or (${row}.${actor} = ${actorOf(places)} and ${isToday(`${row}.returned_at`, places)}))`

/** SQL condition on a cash session: the user opened or closed it today, or has it open. */
const isOwnSession = (places: Places, row = 't'): string =>
  `${places.user} in ((${row}.doc ->> 'opened_by')::bigint, (${row}.doc ->> 'closed_by')::bigint)
    and (${row}.closed_at is null or (${isToday(`coalesce(${row}.opened_at, ${row}.closed_at)`, places)}))`

/** SQL condition on a receivable. */
const isShownReceivable = (places: Places, row = 't'): string =>
  `(${row}.status = 'pending' or (${isToday(`${row}.changed_at`, places)}))`

/** SQL condition on the rows of a table, which a statement names `row`. */
type RowCondition = (places: Places, row?: string) => string

/** SQL condition on an order. */
const isShownOrder = ({ from }: Places, row = 't'): string =>
  `(${row}.changed_at >= ${from} or ${row}.has_open_alarm or ${row}.status = 'pending' or (${row}.status = 'paid' and ${row}.delivery_state <> 'delivered'))`

/** SQL condition on a row of which another table has a row, which meets a condition. */
const isOfShown = (table: string, condition: RowCondition, link: string) => (places: Places) =>
  `exists (select from ${markTable(table)} shown where shown.company_id = ${places.company} and ${link}
    and ${condition(places, 'shown')})`

/** SQL of the id in a subject, as of `sale/9`. */
const idOf = (subject: string): string => `split_part(${subject}, '/', 2)::bigint`

/** SQL condition on a movement of store credit: its document is an own sale, a return of one, or an order that is shown. */
const isOwnCredit = (places: Places): string => {
  const id = idOf('t.document')
  const returned = `(select r.sale_id from ${markTable('returns')} r where r.company_id = ${places.company} and r.id = ${id})`
  return `case split_part(t.document, '/', 1) when 'sale' then ${isOfOwn(id)(places)}
    when 'order' then ${isOfShown('orders', isShownOrder, `shown.id = ${id}`)(places)}
    else ${isOfOwn(returned)(places)} end`
}

/** SQL condition on a stock movement: of a sale, return or order that is shown, or of none. */
const isOwnMovement = (places: Places): string => {
  const id = idOf('t.record')
  return `case split_part(t.record, '/', 1)
    when 'sale' then ${isOfOwn(id)(places)}
    when 'return' then ${isOfShown('returns', isOwnReturn('actor'), `shown.id = ${id}`)(places)}
    when 'order' then ${isOfShown('orders', isShownOrder, `shown.id = ${id}`)(places)}
    else true end`
}

/**
 * SQL conditions on the rows `t` of each table that shows sales or takings. Orders are handed over by all users, so
 * those that wait are shown too; accounts are received by all users, so the pending ones are; store credit is taken by
 * all users, so its balances are, without the sales that moved it.
 */
export const OWN_ROWS = {
  sales: isOwn,
  returns: isOwnReturn('actor'),
  sale_returns: isOwnReturn('till'),
  offline_returns: (places) =>
    `case when t.state = 'recorded' then ${isOfShown(
      'returns',
      (each, row) => `${row}.actor = ${actorOf(each)} and ${isToday(`${row}.returned_at`, each)}`,
      'shown.id = t.return_id',
    )(places)} else t.user_id = ${places.user} end`,
  user_returns: ({ user }) => `t.user_id = ${user}`,
  // They wait for a sale that is not known yet.
  awaited_returns: () => 'false',
  credit_movements: isOwnCredit,
  voucher_movements: isOwnCredit,
  cash_sessions: isOwnSession,
  cash_movements: isOfShown('cash_sessions', isOwnSession, 'shown.id = t.cash_session_id'),
  cash_drawers: ({ user }) => `t.user_id = ${user}`,
  refused_movements: ({ user }) => `t.user_id = ${user}`,
  offline_sales: isOfOwn('t.sale_id'),
  acquirer_payments: isOfOwn('t.sale_id'),
  fiscal_documents: isOfOwn('t.sale_id'),
  refused_sales: ({ user, from }) => `t.user_id = ${user} and (t.resolved_at is null or t.resolved_at >= ${from})`,
  stock_movements: isOwnMovement,
  orders: isShownOrder,
  receivables: isShownReceivable,
  receivable_payments: isOfShown('receivables', isShownReceivable, 'shown.id = t.account_id'),
} satisfies Readonly<Record<string, (places: Places) => string>>

/** The narrowest span of a rollup, which fits the days of all time zones. */
const SPAN_MINUTES = '15'

/** SQL of tables that are computed from the own sales: rollups are of all sales. */
export const OWN_ROLLUPS = {
  sales_sums: (places) => `
    select ${places.company} as company_id, r.* from (${rollUp(
      `select ${spanStartSql('t.sold_at', SPAN_MINUTES)} as span, ${SOLD} from ${markTable('sales')} t where ${isOwn(places)}`,
    )}) r`,
  rollup_states: ({ company }) => `
    select ${company} as company_id, 'infinity'::timestamptz as changed_at, 9223372036854775807 as revision,
      ${SPAN_MINUTES} as span_minutes, 'infinity'::timestamptz as filled_to, true as is_filled,
      null::timestamptz as widened_to`,
} satisfies Readonly<Record<string, (places: Places) => string>>

/** A table outside of the read model: its columns with their types. */
type OuterTable = Pick<AnyTable, 'columns'> & { readonly past?: undefined }

/** SQL in place of columns of the table `t`. */
export interface MaskedColumns {
  readonly table: AnyTable | OuterTable
  readonly columns: Readonly<Record<string, string>>
  /** Paths of the masked members, of columns that are not hidden whole. */
  readonly members?: Readonly<Record<string, readonly string[]>>
}

/** What of a table roles see that do not see everything of the company. */
export interface Rule {
  /** Rows of a user who sees own sales only: all, none, those that meet a condition on the row `t`. */
  readonly own: 'all' | 'none' | ((places: Places) => string)
  /** Or rows computed in their place: of sums, which are of all sales. */
  readonly ownRollup?: (places: Places) => string
  /** For roles that do not see personal data (PANEL-83). */
  readonly persons?: MaskedColumns
  /** What was sent or received, in any shape: hidden from roles that do not see all of the company. */
  readonly contents?: MaskedColumns
  /** Hidden entirely from roles that do not see payables (PANEL-201). */
  readonly isPayable?: true
}

/** Columns of persons' tables that repeat personal fields of the document. */
const SEARCHED = { sort_key: `''`, search: `''`, document: 'null', phone_key: 'null' }

const masked = (
  table: AnyTable,
  kind: Parameters<typeof maskedRecord>[0],
  columns: MaskedColumns['columns'] = {},
): MaskedColumns => ({
  table,
  columns: { ...columns, doc: maskedRecord(kind) },
  members: { doc: (PERSONAL_MEMBERS.get(kind) ?? []).map(({ path }) => path.join('.')) },
})

type ColumnTypes = OuterTable['columns']

/** Columns of a table outside of the read model, of which some are hidden. */
const hiding = (shown: ColumnTypes, hidden: ColumnTypes): MaskedColumns => ({
  table: { columns: { ...shown, ...hidden } },
  columns: Object.fromEntries(Object.keys(hidden).map((name) => [name, 'null'])),
})

const REFUSED_SALES = hiding(
  {
    ...{ company_id: 'bigint', id: 'bigint', digest: 'bytea', offline_id: 'text', user_id: 'bigint' },
    ...{ first_refused_at: 'timestamptz', last_refused_at: 'timestamptz', times: 'integer', code: 'text' },
    ...{ message: 'text', errors: 'json', sold_at: 'timestamptz', total_cents: 'bigint' },
    ...{ resolved_at: 'timestamptz', resolved_by: 'bigint', resolution_note: 'text', sale_id: 'bigint' },
  },
  { payload: 'text' },
)
const CALLS = hiding(
  {
    ...{ company_id: 'bigint', id: 'uuid', at: 'timestamptz', api_key_id: 'bigint', method: 'text', path: 'text' },
    ...{ query: 'text', status: 'integer', code: 'text', duration_ms: 'integer', replayed: 'boolean' },
    ...{ traceparent: 'text', via: 'text', bytes: 'integer' },
  },
  { body: 'text', details: 'text' },
)
const PAYMENT_NOTIFICATIONS = hiding(
  {
    ...{ company_id: 'bigint', id: 'bigint', order_id: 'bigint', store_alias: 'text', order_path: 'text' },
    ...{ request_id: 'uuid', received_at: 'timestamptz', http_status: 'integer', duration_ms: 'integer' },
    outcome: 'text',
  },
  { payload: 'text', response: 'text' },
)
const WEBHOOK_DELIVERIES: MaskedColumns = {
  table: {
    columns: {
      ...{ company_id: 'bigint', id: 'uuid', webhook_id: 'bigint', message_id: 'uuid', event: 'text' },
      ...{ revision: 'bigint', sequence: 'bigint', replay: 'boolean', status: 'text', attempts: 'json' },
      ...{ tries: 'integer', next_attempt_at: 'timestamptz', leased_until: 'timestamptz', created_at: 'timestamptz' },
    },
  },
  columns: {
    attempts: `coalesce((select jsonb_agg(a.value || '{"response": null}' order by a.place)
      from jsonb_array_elements(t.attempts::jsonb) with ordinality as a (value, place)), '[]')`,
  },
  members: { attempts: ['*.response'] },
}
const WEBHOOK_MESSAGES = hiding(
  {
    ...{ company_id: 'bigint', id: 'uuid', revision: 'bigint', event: 'text', actor: 'text', traceparent: 'text' },
    created_at: 'timestamptz',
  },
  { body: 'text' },
)

/** Shown alike to all roles that reach a page of it. */
const OPEN: Rule = { own: 'all' }

/** A table that is not here has no name in a query. */
export const RULES = {
  acquirer_payments: { own: OWN_ROWS.acquirer_payments },
  api_key_uses: OPEN,
  api_keys: OPEN,
  awaited_returns: { own: OWN_ROWS.awaited_returns },
  barcode_holders: OPEN,
  request_log: { own: 'all', contents: CALLS },
  card_refunds: { own: 'none' },
  cash_drawers: { own: OWN_ROWS.cash_drawers },
  cash_movements: { own: OWN_ROWS.cash_movements },
  cash_sessions: { own: OWN_ROWS.cash_sessions },
  catalog_items: OPEN,
  categories: OPEN,
  checkpoint_faults: OPEN,
  companies: OPEN,
  company_logos: OPEN,
  credit_movements: { own: OWN_ROWS.credit_movements },
  customer_credits: OPEN,
  customers: { own: 'all', persons: masked(customers, 'customer', SEARCHED) },
  downloads: OPEN,
  fiscal_documents: { own: OWN_ROWS.fiscal_documents },
  queued_erasures: OPEN,
  goods_receipts: { own: 'all', isPayable: true },
  gtin_holders: OPEN,
  installation_checkpoints: OPEN,
  installation_entries: OPEN,
  inventories: OPEN,
  inventory_counts: OPEN,
  item_pictures: OPEN,
  item_stocks: OPEN,
  ledger_checkpoints: OPEN,
  ledgers: OPEN,
  limit_uses: OPEN,
  notifications: OPEN,
  offline_records: OPEN,
  offline_returns: { own: OWN_ROWS.offline_returns },
  offline_sales: { own: OWN_ROWS.offline_sales },
  orders: { own: OWN_ROWS.orders, persons: masked(orders, 'order', { search: `''`, phone_key: 'null' }) },
  payable_payments: { own: 'all', persons: masked(payablePayments, 'payable'), isPayable: true },
  payables: { own: 'all', persons: masked(payables, 'payable'), isPayable: true },
  payment_keys: OPEN,
  payment_notification_hours: OPEN,
  payment_notifications: { own: 'all', persons: PAYMENT_NOTIFICATIONS },
  payment_proofs: OPEN,
  payment_types: OPEN,
  price_changes: OPEN,
  quotas: OPEN,
  receivable_payments: { own: OWN_ROWS.receivable_payments },
  receivables: { own: OWN_ROWS.receivables, persons: masked(receivables, 'receivable') },
  refused_movements: { own: OWN_ROWS.refused_movements },
  refused_sales: { own: OWN_ROWS.refused_sales, persons: REFUSED_SALES },
  returns: { own: OWN_ROWS.returns },
  row_histories: OPEN,
  sale_returns: { own: OWN_ROWS.sale_returns },
  sales: { own: OWN_ROWS.sales, persons: masked(sales, 'sale', { seller_name: 'null' }) },
  sales_sums: { own: 'all', ownRollup: OWN_ROLLUPS.sales_sums },
  till_contacts: OPEN,
  till_elements: OPEN,
  tills: OPEN,
  stock_movements: { own: OWN_ROWS.stock_movements },
  shared_links: OPEN,
  stores: OPEN,
  rollup_states: { own: 'all', ownRollup: OWN_ROLLUPS.rollup_states },
  supplier_items: OPEN,
  suppliers: { own: 'all', persons: masked(suppliers, 'supplier', SEARCHED) },
  sync_tokens: OPEN,
  table_checks: OPEN,
  user_returns: { own: OWN_ROWS.user_returns },
  users: { own: 'all', persons: masked(users, 'user') },
  variant_counts: OPEN,
  voucher_movements: { own: OWN_ROWS.voucher_movements },
  vouchers: OPEN,
  webhook_deliveries: { own: 'all', contents: WEBHOOK_DELIVERIES },
  webhook_health: OPEN,
  webhook_hours: OPEN,
  webhook_messages: { own: 'all', contents: WEBHOOK_MESSAGES },
  webhook_replays: OPEN,
  webhooks: OPEN,
} satisfies Readonly<Record<string, Rule>>

/** @throws Error if the table has no rule */
export function getTableRule(name: string): Rule {
  if (!Object.hasOwn(RULES, name)) throw new Error(`the table ${name} has no rule in queries/tables.ts`)
  return RULES[name as keyof typeof RULES]
}

const shownAs = (type: string, sql: string): string => `${sql}::${type}`

/**
 * SQL of all columns of the table `t`, with masks. Columns that past tables do not have are null: the history of rows in
 * the past, those that depend on other rows always, since they repeat personal data.
 */
export function maskedSelection({ table, columns }: MaskedColumns, isPast: boolean): string {
  const shown = Object.entries(table.columns).map(([name, type]) => {
    const isAbsent = table.past?.without?.includes(name) || (isPast && isRowHistory(name))
    const mask = isAbsent ? 'null' : columns[name]
    return mask === undefined ? `t.${name}` : `${shownAs(type, mask)} as ${name}`
  })
  return shown.join(', ')
}
