import type { Json, Reply } from '../support/api.ts'
import type { Call, ItemBody, ItemChanges, OfflineBody, ReceivableBody, SaleBody } from './calls.ts'
import { type Outcome, reais, units } from './state.ts'

/** Payment types of every test company. */
export interface Ways {
  readonly cash: number
  readonly credit: number
}

/** HTTP form of a call. */
export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below /api/v1; for tills, below /api. */
  readonly path: string
  readonly body?: object
  readonly key?: string
  readonly isTill?: true
}

const optional = <T>(value: T | null | undefined, text: (value: T) => string) =>
  value === null || value === undefined ? value : text(value)

const item = ({ price, stock, ...rest }: ItemBody) => ({ ...rest, price: reais(price), stock: optional(stock, units) })

const itemChanges = ({ price, stock, stock_adjustment, ...rest }: ItemChanges) => ({
  ...rest,
  price: optional(price, reais),
  stock: optional(stock, units),
  stock_adjustment: optional(stock_adjustment, units),
})

const receivable = ({ amount, ...rest }: ReceivableBody) => ({
  ...rest,
  description: 'Fiado',
  due_date: '2026-12-01',
  amount: reais(amount),
})

const sale = ({ lines, paid, ...rest }: SaleBody, { cash }: Ways) => ({
  ...rest,
  items: lines.map(({ item, units: count, price }) => ({
    catalog_item_id: item,
    quantity: units(count),
    unit_price: optional(price, reais),
  })),
  payments: [{ payment_type_id: cash, amount: reais(paid) }],
})

function offline({ offline_id, cancelled, lines, onCredit }: OfflineBody, { cash, credit }: Ways) {
  const items = lines.map(({ item, units: quantity, price }) => ({
    product_id: item,
    quantity,
    price,
    total: quantity * price,
  }))
  const total = items.reduce((sum, line) => sum + line.total, 0)
  const how = onCredit ? { payment_type_id: credit, status: 'pending' } : { payment_type_id: cash, status: 'completed' }
  return {
    offline_id,
    status: cancelled ? 'cancelled' : 'completed',
    created_at: '2026-03-10T14:00:00.000Z',
    total,
    amount_received: total,
    change: 0,
    items,
    payments: [{ ...how, amount: total }],
  }
}

const PATHS = { Item: '/catalog/items', Customer: '/customers', Receivable: '/finance/receivables' } as const
type Resource = keyof typeof PATHS
const resourceOf = (act: string) => /(Item|Customer|Receivable)s?$/.exec(act)?.[1] as Resource

const bodyOf: { readonly [R in Resource]: (body: never) => object } = {
  Item: item,
  Customer: (body: object) => body,
  Receivable: receivable,
}

export function requestOf(call: Call, ways: Ways): Request {
  const path = PATHS[resourceOf(call.act)]
  const write = (body: object) => bodyOf[resourceOf(call.act)](body as never)
  switch (call.act) {
    case 'createItem':
    case 'createCustomer':
    case 'createReceivable':
      return { method: 'POST', path, body: write(call.body) }
    case 'putItem':
    case 'putCustomer':
    case 'putReceivable':
      return { method: 'PUT', path: `${path}/by-external/${call.at}`, body: write(call.body) }
    case 'patchItem':
      return { method: 'PATCH', path: `${path}/${call.id}`, body: itemChanges(call.body) }
    case 'patchCustomer':
      return { method: 'PATCH', path: `${path}/${call.id}`, body: call.body }
    case 'patchReceivable':
      return { method: 'PATCH', path: `${path}/${call.id}`, body: { amount: reais(call.body.amount) } }
    case 'deleteItem':
    case 'deleteCustomer':
    case 'deleteReceivable':
      return { method: 'DELETE', path: `${path}/${call.id}` }
    case 'getItem':
    case 'getCustomer':
    case 'getReceivable':
      return { method: 'GET', path: `${path}/${call.id}` }
    case 'listItems':
      return { method: 'GET', path: `${path}?limit=200` }
    case 'batchItems':
    case 'batchCustomers':
      return { method: 'POST', path: `${path}/batch`, body: { items: call.items.map(write) } }
    case 'settle': {
      const body = { payment_method: 'pix', amount: optional(call.amount, reais) }
      return { method: 'POST', path: `/finance/receivables/${call.id}/settle`, body, key: call.key }
    }
    case 'sell':
      return { method: 'POST', path: '/sales', body: sale(call.body, ways), key: call.key }
    case 'cancel':
      return { method: 'POST', path: `/sales/${call.id}/cancel`, body: {} }
    case 'getSale':
      return { method: 'GET', path: `/sales/${call.id}` }
    case 'upload': {
      const sales = call.sales.map((one) => offline(one, ways))
      return { method: 'POST', path: '/sync/sales', body: { sales }, isTill: true }
    }
  }
}

/** Response in units of the model. */
export function outcomeOf(call: Call, { status, body }: Reply): Outcome {
  if (status >= 400) return { status, body: body.error ? errorOf(body.error) : body }
  if (status === 204) return { status, body: null }
  const shown = shownAs(call.act)
  switch (call.act) {
    case 'upload':
      return { status, body: body.results.map(resultOf) }
    case 'listItems':
      return { status, body: body.data.map(shown) }
    case 'batchItems':
    case 'batchCustomers': {
      const errors = body.meta.errors.map((error: Json) => ({
        index: error.index,
        external_id: error.external_id,
        ...errorOf(error),
      }))
      return { status, body: { data: body.data.map(shown), errors } }
    }
    default:
      return { status, body: shown(body.data) }
  }
}

/** Messages of fields and suggested names are not compared. */
function errorOf({ code, details }: Json): object {
  if (details?.fields) return { code, details: { fields: Object.keys(details.fields) } }
  const { suggested_name: _, ...rest } = details ?? {}
  return { code, details: details ? rest : null }
}

const FIELDS = {
  Item: ['id', 'external_id', 'name', 'price', 'stock', 'barcode'],
  Customer: ['id', 'external_id', 'name'],
  Receivable: ['id', 'external_id', 'origin', 'amount', 'status'],
  Sale: ['id', 'external_id', 'status', 'origin', 'customer', 'items', 'total', 'change'],
} as const

const pick = (record: Json, fields: readonly string[]) => Object.fromEntries(fields.map((name) => [name, record[name]]))

/** Fields of a record that the model covers. */
export function shownAs(act: Call['act']): (record: Json) => object {
  if (act === 'settle') return (record) => pick(record, FIELDS.Receivable)
  const resource = resourceOf(act)
  if (resource) return (record) => pick(record, FIELDS[resource])
  const items = (sold: Json) => sold.items.map((line: Json) => pick(line, ['catalog_item_id', 'quantity', 'total']))
  return (record) => ({ ...pick(record, FIELDS.Sale), items: items(record) })
}

function resultOf({ offline_id, status, sale_id, code, warnings = [] }: Json): object {
  if (status === 'error') return { offline_id, status, sale_id, code }
  const told = warnings.map((warning: Json) =>
    [warning.code, warning.product_id, warning.price ?? warning.stock].filter((part) => part !== undefined).join(' '),
  )
  return { offline_id, status, sale_id, warnings: told.sort() }
}
