import { type AnyTable, isRowHistory } from '#ledger/table.ts'
import { payablePayments, payables, receivables } from '#projections/finance.ts'
import { orders } from '#projections/orders.ts'
import { customers, suppliers } from '#projections/people.ts'
import { PERSONAL_MEMBERS } from '#projections/personal-members.ts'
import { sales } from '#projections/sales.ts'
import { users } from '#projections/users.ts'
import { maskedRecord } from './masked-members.ts'
import { OWN_ROLLUPS, OWN_ROWS, type Places } from './own-sales.ts'

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
  /** Rows of a user who sees own sales only (ROLE-105): all, none, those that meet a condition on the row `t`. */
  readonly own: 'all' | 'none' | ((places: Places) => string)
  /** Or rows computed in their place: of sums, which are of all sales. */
  readonly ownRollup?: (places: Places) => string
  /** For roles that do not see personal data (PANEL-83). */
  readonly persons?: MaskedColumns
  /** What was sent or received, in any shape: hidden from roles that do not see all of the company (ROLE-951). */
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
    ...{ settled_at: 'timestamptz', settled_by: 'bigint', settled_note: 'text', sale_id: 'bigint' },
  },
  { payload: 'text' },
)
const CALLS = hiding(
  {
    ...{ company_id: 'bigint', id: 'uuid', at: 'timestamptz', api_key_id: 'bigint', method: 'text', path: 'text' },
    ...{ query: 'text', status: 'integer', code: 'text', duration_ms: 'integer', replayed: 'boolean' },
    ...{ traceparent: 'text', bytes: 'integer' },
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
  companies: OPEN,
  company_logos: OPEN,
  credit_movements: { own: OWN_ROWS.credit_movements },
  customer_credits: OPEN,
  customers: { own: 'all', persons: masked(customers, 'customer', SEARCHED) },
  fiscal_documents: { own: OWN_ROWS.fiscal_documents },
  forgettings: OPEN,
  gtin_holders: OPEN,
  inventories: OPEN,
  inventory_counts: OPEN,
  item_pictures: OPEN,
  item_stocks: OPEN,
  ledgers: OPEN,
  limit_uses: OPEN,
  notifications: OPEN,
  offline_returns: { own: OWN_ROWS.offline_returns },
  offline_sales: { own: OWN_ROWS.offline_sales },
  orders: { own: OWN_ROWS.orders, persons: masked(orders, 'order') },
  payable_payments: { own: 'all', persons: masked(payablePayments, 'payable'), isPayable: true },
  payables: { own: 'all', persons: masked(payables, 'payable'), isPayable: true },
  payment_keys: OPEN,
  payment_notifications: { own: 'all', persons: PAYMENT_NOTIFICATIONS },
  payment_proofs: OPEN,
  payment_types: OPEN,
  quotas: OPEN,
  receivable_payments: { own: OWN_ROWS.receivable_payments },
  receivables: { own: OWN_ROWS.receivables, persons: masked(receivables, 'receivable') },
  refused_movements: { own: OWN_ROWS.refused_movements },
  refused_sales: { own: OWN_ROWS.refused_sales, persons: REFUSED_SALES },
  returns: { own: OWN_ROWS.returns },
  row_pasts: OPEN,
  sale_returns: { own: OWN_ROWS.sale_returns },
  sales: { own: OWN_ROWS.sales, persons: masked(sales, 'sale', { seller_name: 'null' }) },
  sales_sums: { own: 'all', ownRollup: OWN_ROLLUPS.sales_sums },
  stock_movements: { own: OWN_ROWS.stock_movements },
  stores: OPEN,
  summed_sales: { own: 'all', ownRollup: OWN_ROLLUPS.summed_sales },
  suppliers: { own: 'all', persons: masked(suppliers, 'supplier', SEARCHED) },
  user_returns: { own: OWN_ROWS.user_returns },
  users: { own: 'all', persons: masked(users, 'user') },
  variant_counts: OPEN,
  webhook_deliveries: { own: 'all', contents: WEBHOOK_DELIVERIES },
  webhook_health: OPEN,
  webhook_hours: OPEN,
  webhook_messages: { own: 'all', contents: WEBHOOK_MESSAGES },
  webhook_replays: OPEN,
  webhooks: OPEN,
} satisfies Readonly<Record<string, Rule>>

/** @throws Error if the table has no rule */
export function ruleOf(name: string): Rule {
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
