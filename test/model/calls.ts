import fc from 'fast-check'

/** Body fields in units of the model. */
export interface ItemBody {
  readonly external_id?: string
  readonly name: string
  readonly price: number
  readonly stock?: number | null
  readonly barcode?: string | null
}
export interface ItemChanges {
  readonly price?: number
  readonly stock?: number | null
  readonly stock_adjustment?: number
  readonly barcode?: string | null
}
export interface CustomerBody {
  readonly external_id?: string
  readonly name: string
}
export interface ReceivableBody {
  readonly external_id?: string
  readonly amount: number
}
export interface SaleBody {
  readonly external_id?: string
  readonly customer_external_id?: string
  readonly lines: readonly { readonly item: number; readonly units: number; readonly price?: number }[]
  readonly paid: number
}
export interface OfflineBody {
  readonly offline_id: string
  readonly cancelled: boolean
  readonly lines: readonly { readonly item: number; readonly units: number; readonly price: number }[]
  readonly onCredit: boolean
}

/** Call with record ids. */
export type Call =
  | { readonly act: 'createItem'; readonly body: ItemBody }
  | { readonly act: 'putItem'; readonly at: string; readonly body: ItemBody }
  | { readonly act: 'patchItem'; readonly id: number; readonly body: ItemChanges }
  | { readonly act: 'deleteItem' | 'getItem'; readonly id: number }
  | { readonly act: 'listItems' }
  | { readonly act: 'batchItems'; readonly items: readonly (ItemBody & { readonly external_id: string })[] }
  | { readonly act: 'createCustomer'; readonly body: CustomerBody }
  | { readonly act: 'putCustomer'; readonly at: string; readonly body: CustomerBody }
  | { readonly act: 'patchCustomer'; readonly id: number; readonly body: { readonly name: string } }
  | { readonly act: 'deleteCustomer' | 'getCustomer'; readonly id: number }
  | { readonly act: 'batchCustomers'; readonly items: readonly (CustomerBody & { readonly external_id: string })[] }
  | { readonly act: 'createReceivable'; readonly body: ReceivableBody }
  | { readonly act: 'putReceivable'; readonly at: string; readonly body: ReceivableBody }
  | { readonly act: 'patchReceivable'; readonly id: number; readonly body: { readonly amount: number } }
  | { readonly act: 'deleteReceivable' | 'getReceivable'; readonly id: number }
  | { readonly act: 'settle'; readonly id: number; readonly key: string; readonly amount?: number }
  | { readonly act: 'sell'; readonly key?: string; readonly body: SaleBody }
  | { readonly act: 'cancel' | 'getSale'; readonly id: number }
  | { readonly act: 'upload'; readonly sales: readonly OfflineBody[] }

export type Kind = 'item' | 'customer' | 'receivable' | 'sale'

/** Call with positions instead of record ids, so that a shrunk case stays valid. */
export interface Step {
  readonly call: Call
  /** Number of concurrent copies. */
  readonly copies: number
}

/** Calls of several clients, sequential per client. */
export interface Case {
  /** Run by one client first, so that the others find records. */
  readonly before: readonly Step[]
  readonly clients: readonly (readonly Step[])[]
}

/** Few values, so that they collide. */
const place = fc.nat({ max: 3 })
const externalId = fc.constantFrom('a', 'b', 'c')
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })
const price = fc.integer({ min: 1, max: 9 })
const stock = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 6 }) },
  { weight: 1, arbitrary: fc.constant(null) },
)
const barcode = fc.option(fc.constantFrom('1', '2'), { nil: null, freq: 3 })
const itemBody = { name: fc.constantFrom('Café', 'Chá'), price, stock: maybe(stock), barcode: maybe(barcode) }
const name = fc.constantFrom('Ana', 'ANA', 'ana', 'Bia', 'Caio', 'Davi')
const amount = fc.integer({ min: 1, max: 3 })
const line = fc.record(
  { item: place, units: fc.integer({ min: 1, max: 3 }), price: maybe(price) },
  { requiredKeys: ['item', 'units'] },
)
const offlineLine = fc.record({ item: place, units: fc.integer({ min: 1, max: 3 }), price })
const lines = <T>(one: fc.Arbitrary<T>) => fc.array(one, { minLength: 1, maxLength: 3 })
const key = fc.constantFrom('k1', 'k2', 'k3', 'k4')

const acts: readonly { readonly name: Call['act']; readonly weight: number; readonly arbitrary: fc.Arbitrary<Call> }[] =
  [
    act(3, 'createItem', { body: fc.record({ external_id: maybe(externalId), ...itemBody }) }),
    act(4, 'putItem', { at: externalId, body: fc.record(itemBody) }),
    act(6, 'patchItem', {
      id: place,
      body: fc.oneof(
        fc.record({ stock }),
        fc.record({ stock_adjustment: fc.constantFrom(-4, -1, 1, 3) }),
        fc.record({ price, barcode: maybe(barcode) }),
        fc.record({ price, stock_adjustment: fc.constantFrom(-2, 2) }),
      ),
    }),
    act(2, 'deleteItem', { id: place }),
    act(3, 'getItem', { id: place }),
    act(2, 'listItems', {}),
    act(2, 'batchItems', { items: lines(fc.record({ external_id: externalId, ...itemBody })) }),
    act(4, 'createCustomer', { body: fc.record({ external_id: maybe(externalId), name }) }),
    act(3, 'putCustomer', { at: externalId, body: fc.record({ name }) }),
    act(2, 'patchCustomer', { id: place, body: fc.record({ name }) }),
    act(2, 'deleteCustomer', { id: place }),
    act(2, 'getCustomer', { id: place }),
    act(2, 'batchCustomers', { items: lines(fc.record({ external_id: externalId, name })) }),
    act(2, 'createReceivable', { body: fc.record({ external_id: maybe(externalId), amount }) }),
    act(2, 'putReceivable', { at: externalId, body: fc.record({ amount }) }),
    act(2, 'patchReceivable', { id: place, body: fc.record({ amount }) }),
    act(2, 'deleteReceivable', { id: place }),
    act(3, 'settle', { id: place, key, amount: maybe(amount) }),
    act(2, 'getReceivable', { id: place }),
    act(9, 'sell', {
      key: maybe(key),
      body: fc.record({
        external_id: maybe(fc.constantFrom('a', 'b', 'c', 'd', 'e')),
        customer_external_id: fc.option(externalId, { nil: undefined, freq: 3 }),
        lines: lines(line),
        // Cash, so that any surplus is change.
        paid: fc.constantFrom(1_000, 1_000, 1_000, 1_000, 5),
      }),
    }),
    act(5, 'cancel', { id: place }),
    act(2, 'getSale', { id: place }),
    act(4, 'upload', {
      sales: lines(
        fc.record({
          offline_id: fc.constantFrom('p1', 'p2', 'p3'),
          cancelled: fc.constantFrom(false, false, false, true),
          lines: lines(offlineLine),
          onCredit: fc.boolean(),
        }),
      ),
    }),
  ]

function act(weight: number, name: Call['act'], fields: Record<string, fc.Arbitrary<unknown>>) {
  return { name, weight, arbitrary: fc.record({ act: fc.constant(name), ...fields }) as unknown as fc.Arbitrary<Call> }
}

const MAKING: readonly Call['act'][] = ['createItem', 'putItem', 'createCustomer', 'createReceivable', 'sell', 'upload']

const stepOf = (some: typeof acts): fc.Arbitrary<Step> =>
  fc.record({ call: fc.oneof(...some), copies: fc.constantFrom(1, 1, 1, 1, 1, 2) })

const anything = stepOf(acts)
const making = stepOf(acts.filter(({ name }) => MAKING.includes(name)))

export const aCase: fc.Arbitrary<Case> = fc.record({
  before: fc
    .tuple(stepOf(acts.filter(({ name }) => name === 'putItem')), fc.array(making, { minLength: 1, maxLength: 3 }))
    .map(([first, rest]) => [first, ...rest]),
  clients: fc.array(fc.array(anything, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 3 }),
})

/** Unused id. */
const NOBODY = 900_000_001

/** Call with ids instead of positions. */
export function resolved(call: Call, known: Readonly<Record<Kind, readonly number[]>>): Call {
  const idOf = (kind: Kind, at: number) => known[kind][at % known[kind].length] ?? NOBODY
  const linesOf = <L extends { readonly item: number }>(all: readonly L[]) =>
    all.map((one) => ({ ...one, item: idOf('item', one.item) }))
  if (call.act === 'sell') return { ...call, body: { ...call.body, lines: linesOf(call.body.lines) } }
  if (call.act === 'upload') {
    return { ...call, sales: call.sales.map((sale) => ({ ...sale, lines: linesOf(sale.lines) })) }
  }
  return 'id' in call ? { ...call, id: idOf(KIND_OF[call.act], call.id) } : call
}

const KIND_OF: Readonly<Record<Extract<Call, { id: number }>['act'], Kind>> = {
  patchItem: 'item',
  deleteItem: 'item',
  getItem: 'item',
  patchCustomer: 'customer',
  deleteCustomer: 'customer',
  getCustomer: 'customer',
  patchReceivable: 'receivable',
  deleteReceivable: 'receivable',
  getReceivable: 'receivable',
  settle: 'receivable',
  cancel: 'sale',
  getSale: 'sale',
}
