import * as z from 'zod'
import { dateInZone, Instant } from '#domain/instant.ts'
import { fromCents, fromThousandths, Money, toCents, toThousandths } from '#domain/money.ts'
import { DELIVERY_METHODS, findCarrier, hasBeenPaid } from '#domain/order-states.ts'
import type { SalePaymentDetails } from '#domain/payment-rules.ts'
import { MetadataInput, toEventMetadata } from '#domain/record-values.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import {
  boundedText,
  Email,
  Id,
  NewExternalId,
  nameText,
  optionalText,
  orNone,
  Phone,
  REQUIRED_FIELD,
} from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { accept, command, type DecisionContext, isRefusal, type NewEvent } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { itemById } from '#projections/catalog.ts'
import { companyRef, getTimezone, testMark } from '#projections/companies.ts'
import type { PaymentObject } from '#projections/order-payments.ts'
import { isUnseen, type OrderRow, orderByExternalId, orderById } from '#projections/orders.ts'
import { customerById, type PersonRow } from '#projections/people.ts'
import { type SaleRow, saleById } from '#projections/sales.ts'
import { getStock, stockById } from '#projections/stock.ts'
import { paymentTypeById, storeByAlias, storeById } from '#projections/stores.ts'
import { AddressInput, Document } from '#records/persons.ts'
import { refuseDuplicate } from './record-commands.ts'
import { findUsed, takePayments } from './register-sale.ts'
import { type ReturnableSale, returnableUpload, shareMoneyBack, shareWorth, sumCents } from './returned-goods.ts'
import {
  customerRefs,
  customerShape,
  findCustomer,
  LinesInput,
  lineRefs,
  priceLines,
  quantitiesTaken,
} from './sale-lines.ts'

type Delivery = NonNullable<DataOf<'OrderPlaced'>['delivery']>

/** How the goods reach the buyer; an address that is absent is that of the customer's record. */
export const DeliveryInput = z
  .strictObject({ method: z.enum(DELIVERY_METHODS), due_at: Instant.nullish(), address: AddressInput.nullish() })
  .superRefine(({ method, address }, context) => {
    if (method === 'delivery' || !address) return
    context.addIssue({ code: 'custom', path: ['address'], message: 'uma retirada não tem endereço' })
  })
  .meta({ id: 'OrderDeliveryInput' })
type DeliveryInput = z.infer<typeof DeliveryInput>

const NO_STREET = 'informe ao menos a rua: o cliente não tem endereço no cadastro'

/** What the event says of the delivery; null if it was left open. */
function toDelivery(input: DeliveryInput | null, customer: Readonly<PersonRow> | null): Delivery | null | Refusal {
  if (!input) return null
  const { method, due_at = null } = input
  if (method === 'pickup') return { method, due_at, address: null }
  const { zip, street, number, complement, district, city, state } = input.address ?? customer?.doc.address ?? {}
  if (!street) return refuseField('delivery.address.street', NO_STREET)
  const more = { number: number ?? null, complement: complement ?? null, district: district ?? null }
  return { method, due_at, address: { zip: zip ?? null, street, ...more, city: city ?? null, state: state ?? null } }
}

const NO_GOODS = refuseField('id', 'cobra uma conta: não tem mercadoria a entregar')

/** POST /orders/{id}/dispatch, /deliver and /undeliver. */
export const MarkOrderInput = z.strictObject({ id: Id })
export type MarkOrderInput = z.infer<typeof MarkOrderInput>

/** A mark of a paid order. One that has it, or a later one, stays as it is, even if it was refunded since. */
const markOrder = (name: 'OrderDispatched' | 'OrderDelivered', isMarked: (order: OrderRow['doc']) => boolean) =>
  command<MarkOrderInput>({
    permission: 'sell',
    needs: ({ id }) => [orderById(id)],
    decide(rows, { id }) {
      const order = rows.get(orderById(id))
      if (!order) return refuse('not_found')
      if (order.receivable_id !== null) return NO_GOODS
      if (isMarked(order.doc)) return accept('unchanged', `order/${id}`)
      if (order.status !== 'paid') return refuse('order_not_paid')
      return accept('updated', `order/${id}`, [event(name, { id })])
    },
  })

/** Gone to the buyer, or ready to be picked up. */
export const dispatchOrder = markOrder(
  'OrderDispatched',
  ({ dispatched_at, delivered_at }) => dispatched_at !== null || delivered_at !== null,
)

export const deliverOrder = markOrder('OrderDelivered', ({ delivered_at }) => delivered_at !== null)

/**
 * Takes the marks back that an order got by mistake. An order that is not marked stays as it is. Money and
 * stock do not depend on the marks.
 */
export const undoDelivery = command<MarkOrderInput>({
  permission: 'sell',
  needs: ({ id }) => [orderById(id)],
  decide(rows, { id }) {
    const order = rows.get(orderById(id))
    if (!order) return refuse('not_found')
    if (order.doc.delivered_at === null && order.doc.dispatched_at === null) return accept('unchanged', `order/${id}`)
    return accept('updated', `order/${id}`, [event('OrderDeliveryUndone', { id })])
  },
})

type Placed = DataOf<'OrderPlaced'>

const Buyer = z
  .strictObject({
    name: nameText(120).nullish(),
    email: orNone(Email),
    document: orNone(Document),
    phone: orNone(Phone),
  })
  .meta({ id: 'BuyerInput' })

/**
 * POST /orders. An alias of invalid format is simply not found. The buyer is a customer of the company, a description,
 * or both; the description applies to this order only.
 */
export const OrderInput = z
  .strictObject({
    store_alias: boundedText(60),
    external_id: NewExternalId.nullish(),
    ...customerShape,
    customer: Buyer.nullish(),
    items: LinesInput,
    delivery_fee: Money.nullish(),
    delivery: DeliveryInput.nullish(),
    metadata: MetadataInput.nullish(),
  })
  .superRefine(({ customer, customer_id, customer_external_id }, context) => {
    if (customer?.name ?? customer_id ?? customer_external_id) return
    if (customer) context.addIssue({ code: 'custom', path: ['customer', 'name'], message: REQUIRED_FIELD })
    else
      context.addIssue({
        code: 'custom',
        path: ['customer'],
        message: 'informe customer, customer_id ou customer_external_id',
      })
  })
export type OrderInput = z.infer<typeof OrderInput>

/** Places an order to be paid online. Prices follow the rules of sales; stock does not change and no sale is made. */
export const placeOrder = command<OrderInput>({
  permission: 'sell',
  needs: (input) => [
    storeByAlias(input.store_alias),
    ...(input.external_id ? [orderByExternalId(input.external_id)] : []),
    ...customerRefs(input),
    ...lineRefs(input.items),
  ],
  decide(rows, input, { nextId }) {
    const { external_id } = input
    const same = external_id ? rows.get(orderByExternalId(external_id)) : null
    const duplicate = refuseDuplicate('external_id', same, null)
    if (duplicate) return duplicate
    const store = rows.get(storeByAlias(input.store_alias))
    if (!store) return refuseField('store_alias', 'loja não encontrada')
    if (!store.enabled) return refuseField('store_alias', 'a loja está desativada')
    const customer = findCustomer(rows, input)
    if (customer && isRefusal(customer)) return customer
    const delivery = toDelivery(input.delivery ?? null, customer)
    if (isRefusal(delivery)) return delivery
    const priced = priceLines(rows, input)
    if (isRefusal(priced)) return priced
    if (toCents(priced.total) === 0) return refuseField('items', 'o total do pedido deve ser maior que zero')
    const placed = event('OrderPlaced', {
      id: nextId('order'),
      external_id: external_id ?? null,
      store_id: store.id,
      store_alias: store.alias,
      customer: buyerOf(customer, input.customer ?? null),
      ...priced,
      items: priced.items.map(({ catalog_item_id, external_id, description, quantity, unit_price, total }) => {
        return { catalog_item_id, external_id, description, quantity, unit_price, total }
      }),
      ...(delivery && { delivery }),
      ...toEventMetadata(input),
    })
    return accept('created', placed.subject, [placed])
  },
})

/** Buyer of the order: described fields, completed from the customer's record. */
function buyerOf(known: Readonly<PersonRow> | null, described: z.infer<typeof Buyer> | null): Placed['customer'] {
  const { id = null, external_id = null, doc } = known ?? {}
  const { email = doc?.email, document = doc?.document, phone = doc?.phone } = described ?? {}
  const name = described?.name ?? doc?.name
  if (name === undefined) throw new Error('place order: input without a buyer passed validation')
  return { id, external_id, name, email: email ?? null, document: document ?? null, phone: phone ?? null }
}

/** POST /orders/{id}/cancel; the reason is optional. */
export const CancelOrderInput = z.strictObject({ id: Id, reason: optionalText(500) })
export type CancelOrderInput = z.infer<typeof CancelOrderInput>

/**
 * Cancels an unpaid order: it accepts no further attempts. The caller cancels pending attempts at the
 * provider first. If one is approved nevertheless, `recordPayment` records it and raises an alarm. Refused with
 * `order_already_paid` for a paid or refunded order; a second request changes nothing.
 */
export const cancelOrder = command<CancelOrderInput>({
  permission: 'cancel_all',
  needs: ({ id }) => [orderById(id)],
  decide(rows, { id, reason }) {
    const order = rows.get(orderById(id))
    if (!order) return refuse('not_found')
    if (hasBeenPaid(order.doc.payments)) return refuse('order_already_paid')
    if (order.doc.cancelled_at !== null) return accept('unchanged', `order/${id}`)
    return accept('updated', `order/${id}`, [event('OrderCancelledByStore', { id, reason: reason ?? null })])
  },
})

/** POST /orders/{id}/alarms/{provider_payment_id}/acknowledge. Acknowledges all alarms of the payment. */
export const AcknowledgeAlarmInput = z.strictObject({ id: Id, provider_payment_id: boundedText(100) })
export type AcknowledgeAlarmInput = z.infer<typeof AcknowledgeAlarmInput>

/** Acknowledges the alarms of a payment; the event's actor and time tell who and when. A second request changes nothing. */
export const acknowledgeAlarm = command<AcknowledgeAlarmInput>({
  permission: 'refund_orders',
  needs: ({ id }) => [orderById(id)],
  decide(rows, { id, provider_payment_id }) {
    const alarms = rows.get(orderById(id))?.doc.alarms ?? []
    const ofPayment = alarms.filter((each) => each.provider_payment_id === provider_payment_id)
    if (ofPayment.length === 0) return refuse('not_found')
    if (!ofPayment.some(isUnseen)) return accept('unchanged', `order/${id}`)
    return accept('updated', `order/${id}`, [event('OrderAlarmAcknowledged', { id, provider_payment_id })])
  },
})

type SaleItems = DataOf<'SaleCompleted'>['items']
type Warnings = NonNullable<DataOf<'SaleCompleted'>['warnings']>

/** Rows that the sale of an order needs. */
export function orderSaleRefs(rows: Rows, { doc, status, customer_id }: Readonly<OrderRow>): AnyRef[] {
  const { online_payment_type_id } = companyRef(rows)
  const mayBeSold: AnyRef[] =
    status === 'paid'
      ? []
      : [
          ...(online_payment_type_id === null ? [] : [paymentTypeById(online_payment_type_id)]),
          ...(customer_id === null ? [] : [customerById(customer_id)]),
          ...itemsOf(doc.items).flatMap((id) => [itemById(id), stockById(id)]),
        ]
  return [...mayBeSold, ...(doc.sale_id === null ? [] : [saleById(doc.sale_id)])]
}

const itemsOf = (lines: readonly { readonly catalog_item_id: number | null }[]): number[] => [
  ...new Set(lines.flatMap(({ catalog_item_id }) => catalog_item_id ?? [])),
]

/** A payment of the order as it is now: what happens to the order's sale. */
interface PaidState {
  /** Payments after the report. */
  readonly after: readonly PaymentObject[]
  readonly provider_payment_id: string
  /** Whether the order is paid after it. */
  readonly isPaid: boolean
  /** Events of the same decision that come before. */
  readonly earlier: readonly NewEvent[]
  /** The Pix that paid it; absent if it is not known. */
  readonly proofs?: readonly SalePaymentDetails[]
}

/**
 * Events of an order's sale, which follows the money: the sale is registered when the order is paid, is cancelled when
 * it no longer is, and counts what was given back of the payment that carries it.
 */
export function saleFollows(
  rows: Rows,
  order: Readonly<OrderRow>,
  state: PaidState,
  context: Pick<DecisionContext, 'now' | 'nextId'>,
): NewEvent[] {
  const sale = order.doc.sale_id === null ? null : rows.get(saleById(order.doc.sale_id))
  const stands = sale?.status === 'completed'
  if (!state.isPaid) return stands ? cancelled(order, sale, state) : []
  if (stands) return returned(order, sale.id, toCents(sale.doc.refunded_total), state)
  const isNowPaid = order.status !== 'paid'
  if (!isNowPaid || !rows.get(storeById(order.store_id))?.doc.registers_sales) return []
  const id = context.nextId('sale')
  return [...registered(rows, order, id, state, context.now), ...returned(order, id, 0, state)]
}

/** The money went back, so the sale ends even if a fiscal document forbids that to people. */
function cancelled(order: Readonly<OrderRow>, sale: Readonly<SaleRow>, { after, provider_payment_id }: PaidState) {
  const { id } = order
  const isContested = after.some(
    ({ provider_payment_id: of, dispute }) =>
      of === provider_payment_id && dispute !== null && dispute.status !== 'won',
  )
  const reason = isContested ? `Pedido ${id} contestado pelo comprador` : `Pedido ${id} devolvido`
  return [
    // Goods return only as refunds say.
    event('SaleCancelled', { id: sale.id, reason, restock: [] }),
    ...(sale.fiscal === 'present' ? [alarm(id, provider_payment_id, 'fiscal_document_issued')] : []),
  ]
}

const alarm = (id: number, provider_payment_id: string, code: DataOf<'OrderAlarmRaised'>['code']): NewEvent =>
  event('OrderAlarmRaised', { id, provider_payment_id, code })

/** `known`: cents of the sale that were given back before. */
function returned(
  { doc, carrying_payment_id }: Readonly<OrderRow>,
  id: number,
  known: number,
  { after }: PaidState,
): NewEvent[] {
  const carrier = findCarrier(after, carrying_payment_id)
  if (carrier?.provider_payment_id == null) return []
  const { provider_payment_id, refunded } = carrier
  const cents = toCents(refunded) - known
  if (cents === 0) return []
  return [event('SaleRefunded', { id, order_id: doc.id, provider_payment_id, amount: fromCents(cents), refunded })]
}

function registered(rows: Rows, order: Readonly<OrderRow>, id: number, state: PaidState, now: string): NewEvent[] {
  const { doc, customer_id } = order
  const { subtotal, delivery_fee, total } = doc
  const customer = customer_id === null ? null : rows.get(customerById(customer_id))
  const isKnown = customer && !customer.deleted_at && customer.doc.forgotten_at === null
  const { items, takenAgain, keptBack } = goodsOf(rows, order, state)
  const { proofs = [] } = state
  const short = shortages(rows, items)
  const used = findUsed(rows, proofs).map(({ sale_id }) => ({ code: 'payment_already_used', sale_id }) as const)
  const completed = event('SaleCompleted', {
    id,
    external_id: null,
    order_id: doc.id,
    customer: isKnown ? { id: customer.id, external_id: customer.external_id, name: customer.doc.name } : null,
    sold_at: now,
    ...{ items, subtotal, delivery_fee, total },
    payments: takePayments(
      [{ type: onlineTypeOf(rows), amount: total, ...(proofs[0] && { details: proofs[0] }) }],
      0,
      () => dateInZone(now, getTimezone(rows)),
    ),
    change: '0.00',
    warnings: [...short, ...used],
    ...testMark(rows),
  })
  const isShort = short.length > 0 ? [alarm(doc.id, state.provider_payment_id, 'stock_short')] : []
  return [completed, ...takenAgain, ...isShort, ...saleRestocked(id, doc.id, returnableUpload({ items }), keptBack)]
}

function onlineTypeOf(rows: Rows) {
  const { company_id, online_payment_type_id: id } = companyRef(rows)
  const type = id === null ? null : rows.get(paymentTypeById(id))
  if (!type) throw new Error(`company ${company_id}: payment type of its online store not found`)
  return type.doc
}

/**
 * Lines of the sale, stock of goods that leave once more, and goods that came back. The first sale takes all tracked
 * items. A later one, after a refund or a dispute, takes only what came back with refunds of other payments: what came
 * back with its own payment stays back, the rest never returned.
 */
function goodsOf(
  rows: Rows,
  { doc, carrying_payment_id }: Readonly<OrderRow>,
  { after, earlier }: PaidState,
): { items: SaleItems; takenAgain: NewEvent[]; keptBack: GoodsBack[] } {
  const isFirst = doc.goods_out === null
  const items = doc.items.map((line) => ({
    ...line,
    moves_stock: isFirst && line.catalog_item_id !== null && getStock(rows, line.catalog_item_id) !== null,
  }))
  if (isFirst) return { items, takenAgain: [], keptBack: [] }
  const carrier = findCarrier(after, carrying_payment_id)?.provider_payment_id
  const back = doc.refunds.filter(({ status }) => status === 'completed')
  const ofCarrier = back.filter(({ provider_payment_id }) => provider_payment_id === carrier)
  const ofOthers = back.filter((refund) => !ofCarrier.includes(refund))
  const missingOf = (id: number) => sumQuantity(doc.items, id) - sumQuantity(doc.goods_out ?? [], id)
  const takenAgain = itemsOf(doc.items).flatMap((id) => {
    const quantity = Math.min(missingOf(id) - restockedBy(ofCarrier, id), restockedBy(ofOthers, id))
    const before = stockAfter(earlier, id) ?? getStock(rows, id)
    if (quantity <= 0 || before === null) return []
    const left = fromThousandths(toThousandths(before) - quantity)
    return [event('StockAdjusted', { id, reason: 'adjustment', before, after: left, order_id: doc.id })]
  })
  const keptBack = itemsOf(doc.items).map((id) => ({
    id,
    quantity: Math.min(missingOf(id), restockedBy(ofCarrier, id)),
  }))
  return { items, takenAgain, keptBack }
}

/** Quantity of an item that came back, in thousandths. */
interface GoodsBack {
  readonly id: number
  readonly quantity: number
}

/** Goods that came back with refunds of the sale's order, on its lines in their order. */
export function saleRestocked(
  id: number,
  order_id: number,
  sale: ReturnableSale,
  back: readonly GoodsBack[],
): NewEvent[] {
  const lines = back.flatMap((each) => {
    let left = each.quantity
    return sale.lines.flatMap(({ catalog_item_id, sold, returned: before }, line) => {
      if (catalog_item_id !== each.id) return []
      const thousandths = Math.min(left, sold.thousandths - before.thousandths)
      left -= thousandths
      return thousandths > 0 ? [{ line, thousandths, restock: true }] : []
    })
  })
  if (lines.length === 0) return []
  const worth = shareWorth(sale, lines)
  const { items } = shareMoneyBack(sale, lines, worth, sumCents(worth))
  return [event('SaleRestocked', { id, order_id, items })]
}

/** Stock of an item after the events, if one of them changed it. */
const stockAfter = (events: readonly NewEvent[], id: number): string | null =>
  events
    .filter(({ type, subject }) => type === 'StockAdjusted' && subject === `catalog_item/${id}`)
    .map(({ data }) => (data as DataOf<'StockAdjusted'>).after)
    .at(-1) ?? null

/** Quantity of an item in lines, in thousandths. */
export const sumQuantity = (
  lines: readonly { readonly catalog_item_id?: number | null; readonly quantity: string }[],
  id: number,
): number => lines.reduce((sum, line) => (line.catalog_item_id === id ? sum + toThousandths(line.quantity) : sum), 0)

const restockedBy = (refunds: OrderRow['doc']['refunds'], id: number): number =>
  refunds.reduce((sum, { restock }) => sum + sumQuantity(restock, id), 0)

/** Items of which the sale takes more than there is. */
const shortages = (rows: Rows, items: SaleItems): Warnings =>
  [...quantitiesTaken(items)].flatMap(([catalog_item_id, thousandths]) => {
    const available = getStock(rows, catalog_item_id)
    if (available === null || toThousandths(available) >= thousandths) return []
    return [{ code: 'stock_short', catalog_item_id, requested: fromThousandths(thousandths), available } as const]
  })
