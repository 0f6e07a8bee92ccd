import * as z from 'zod'
import { dateInZone } from '#domain/instant.ts'
import { fromBigCents, fromCents, toCents } from '#domain/money.ts'
import { findCarrier } from '#domain/order-states.ts'
import { refuse, refuseField, refuseForgotten } from '#domain/refusals.ts'
import { boundedText, Id, nameText, orNone, Phone, REQUIRED_FIELD } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command, type NewEvent } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { companyRef, getTimezone } from '#projections/companies.ts'
import { type AccountPayment, receivableById } from '#projections/finance.ts'
import type { PaymentObject } from '#projections/order-payments.ts'
import { isUnseen, type OrderObject, type OrderRow, orderById } from '#projections/orders.ts'
import { customerById } from '#projections/people.ts'
import { paymentTypeById, storeByAlias } from '#projections/stores.ts'
import { isPaid, refundableCents } from './order-attempts.ts'
import { receiptEvents, toAcquired } from './pay-accounts.ts'
import { receivableSide } from './receivables-payables.ts'

export const ChargeReceivableInput = z.strictObject({
  id: Id,
  store_alias: boundedText(60),
  /** Of an account without a customer. */
  name: nameText(120).nullish(),
  phone: orNone(Phone),
})
export type ChargeReceivableInput = z.infer<typeof ChargeReceivableInput>

/** Places an order over what is open of an account: its link is paid as that of any order, and it sells nothing. */
export const chargeReceivable = command<ChargeReceivableInput>({
  permission: 'receive',
  needs: ({ id, store_alias }) => [receivableById(id), storeByAlias(store_alias)],
  needsMore(rows, { id }) {
    const customer = rows.get(receivableById(id))?.party_id
    return typeof customer === 'number' ? [customerById(customer)] : []
  },
  decide(rows, { id, store_alias, ...input }, { nextId }) {
    const account = rows.get(receivableById(id))
    if (!account || account.deleted_at) return refuse('not_found')
    if (account.open_cents === 0) return refuse('already_settled')
    const store = rows.get(storeByAlias(store_alias))
    if (!store) return refuseField('store_alias', 'loja não encontrada')
    if (!store.enabled) return refuseField('store_alias', 'a loja está desativada')
    const known = account.party_id === null ? null : rows.get(customerById(account.party_id))
    if (known && known.doc.forgotten_at !== null) return refuseForgotten(`customer/${known.id}`)
    const { email = null, document = null } = known?.doc ?? {}
    const name = known?.doc.name ?? account.doc.customer_name ?? input.name ?? null
    if (name === null) return refuseField('name', REQUIRED_FIELD)
    const { open_amount: total, description } = account.doc
    const placed = event('OrderPlaced', {
      id: nextId('order'),
      external_id: null,
      store_id: store.id,
      store_alias: store.alias,
      customer: {
        id: known?.id ?? null,
        external_id: known?.external_id ?? null,
        ...{ name, email, document, phone: input.phone ?? known?.doc.phone ?? null },
      },
      items: [{ catalog_item_id: null, external_id: null, description, quantity: '1.000', unit_price: total, total }],
      subtotal: total,
      delivery_fee: '0.00',
      total,
      receivable_id: id,
    })
    return accept('created', placed.subject, [placed])
  },
})

/** Rows that the receipt of a charge needs. */
export const chargeRefs = (rows: Rows, { receivable_id }: Readonly<OrderRow>) => {
  const { online_payment_type_id: type } = companyRef(rows)
  return [
    ...(receivable_id === null ? [] : [receivableById(receivable_id)]),
    ...(type === null ? [] : [paymentTypeById(type)]),
  ]
}

const METHODS = { pix: 'pix', card: 'credit_card', boleto: 'bank_slip' } as const

/** The payments of a charge after the provider's report. */
interface ChargeState {
  readonly after: readonly PaymentObject[]
  readonly provider_payment_id: string
  /** Whether the order is paid after it. */
  readonly isPaid: boolean
}

interface Charged {
  readonly doc: { readonly payments: readonly AccountPayment[] }
}

/** The receipt of the account that an order charges, while it stands. */
const receiptOf = ({ doc }: Charged, { id }: Readonly<OrderRow>) =>
  doc.payments.find((each) => each.order_id === id && each.reversed_at === null)

/**
 * Events of the account that an order charges, whose receipt follows the money: it is what the carrying payment brought,
 * less what went back. What the account does not owe any more is its excess, and raises an alarm. What of it became store
 * credit stays so, as far as the money does.
 */
export function receiptFollows(
  rows: Rows,
  order: Readonly<OrderRow>,
  { after, provider_payment_id, isPaid }: ChargeState,
  now: string,
): NewEvent[] {
  const { id, receivable_id } = order
  const account = receivable_id === null ? null : rows.get(receivableById(receivable_id))
  if (!account) throw new Error(`order ${id}: receivable ${receivable_id} not found`)
  const carrier = isPaid ? findCarrier(after, order.carrying_payment_id) : null
  const cents = carrier ? toCents(carrier.amount) - toCents(carrier.refunded) : 0
  const known = receiptOf(account, order)
  if (cents === (known ? toCents(known.received) : 0)) return []
  const reason = cents === 0 ? `Pedido ${id}: dinheiro devolvido` : `Pedido ${id}: estorno parcial`
  const reversed = known ? [receivableSide.paymentReversed(account.id, { payment_id: known.id, reason })] : []
  const kept_cents = Math.min(cents, creditedCents(order.doc))
  const credit = creditEvents(order.doc, kept_cents)
  if (!carrier || cents === 0) return [...reversed, ...credit]
  const open_cents = account.deleted_at ? 0 : account.open_cents + (known ? toCents(known.amount) : 0)
  const receipt = receiptEvents(
    receivableSide,
    { id: account.id, open_cents },
    {
      ...{ cents, kept_cents, at: known ? new Date(known.paid_at).toISOString() : now, order_id: id },
      payment_method: carrier.method === null ? 'other' : METHODS[carrier.method],
      ...feesOf(rows, cents, now),
    },
    getTimezone(rows),
  )
  const isSurplus = receipt.excess_cents > (known ? toCents(known.excess) : 0)
  const alarm = event('OrderAlarmRaised', { id, provider_payment_id, code: 'account_overpaid' })
  return [...reversed, ...receipt.events, ...credit, ...(isSurplus ? [alarm] : [])]
}

const creditedCents = ({ surplus_credit }: Pick<OrderObject, 'surplus_credit'>): number =>
  surplus_credit ? toCents(surplus_credit.amount) : 0

/** Events by which so much of a charge is store credit of its customer. */
function creditEvents({ id, surplus_credit }: Pick<OrderObject, 'id' | 'surplus_credit'>, cents: number): NewEvent[] {
  if (!surplus_credit) return []
  const { provider_payment_id, customer_id, amount } = surplus_credit
  if (cents === toCents(amount)) return []
  const credit = { customer_id, amount: fromBigCents(BigInt(cents - toCents(amount))) }
  return [event('OrderSurplusCredited', { id, provider_payment_id, credit, credited: fromCents(cents) })]
}

/** What a charge brought beyond its account that is neither store credit nor on its way back, in cents, with its payment. */
export function findSurplus(order: OrderObject, excess: string) {
  const carrier = findCarrier(order.payments.filter(isPaid), order.surplus_credit?.provider_payment_id ?? null)
  if (carrier === null) return null
  const cents = Math.min(toCents(excess) - creditedCents(order), refundableCents(carrier, order))
  return cents > 0 ? { cents, provider_payment_id: carrier.provider_payment_id } : null
}

export const KeepSurplusInput = z.strictObject({
  id: Id,
  /** Who gets the credit; the account's customer, if absent. */
  customer_id: Id.nullish(),
})
export type KeepSurplusInput = z.infer<typeof KeepSurplusInput>

/** Keeps what a charge brought beyond its account as store credit, once, and reads its alarm. */
export const keepSurplus = command<KeepSurplusInput>({
  permission: 'refund_orders',
  needs: ({ id, customer_id }) => [orderById(id), ...(customer_id ? [customerById(customer_id)] : [])],
  needsMore(rows, { id }) {
    const account = rows.get(orderById(id))?.receivable_id
    return typeof account === 'number' ? [receivableById(account)] : []
  },
  needsLast: (rows, input) => debtorIds(rows, input).map(customerById),
  decide(rows, input) {
    const order = rows.get(orderById(input.id))
    const account = order && accountOf(rows, order)
    if (!order || !account) return refuse('not_found')
    const surplus = findSurplus(order.doc, receiptOf(account, order)?.excess ?? '0.00')
    const { surplus_credit: before } = order.doc
    if (!surplus)
      return before ? accept('unchanged', `order/${order.id}`) : refuseField('id', 'não há valor a mais nesta cobrança')
    const [customerId] = before
      ? [before.customer_id]
      : [...(input.customer_id ? [input.customer_id] : []), ...debtorIds(rows, input)]
    const customer = customerId === undefined ? null : rows.get(customerById(customerId))
    if (!customer || customer.deleted_at) return refuseField('customer_id', 'informe o cliente que recebe o crédito')
    if (customer.doc.forgotten_at !== null) return refuseForgotten(`customer/${customer.id}`)
    const { provider_payment_id, cents } = surplus
    const kept = before ?? { provider_payment_id, customer_id: customer.id, amount: '0.00' }
    const credited = creditEvents({ id: order.id, surplus_credit: kept }, toCents(kept.amount) + cents)
    const isRead = !order.doc.alarms.some(
      (alarm) => isUnseen(alarm) && alarm.provider_payment_id === provider_payment_id,
    )
    const read = isRead ? [] : [event('OrderAlarmAcknowledged', { id: order.id, provider_payment_id })]
    return accept('updated', `order/${order.id}`, [...credited, ...read])
  },
})

const accountOf = (rows: Rows, { receivable_id }: Readonly<OrderRow>) =>
  receivable_id === null ? null : rows.get(receivableById(receivable_id))

/** Customers of the account, and of the order. */
function debtorIds(rows: Rows, { id }: KeepSurplusInput): number[] {
  const order = rows.get(orderById(id))
  const account = order && accountOf(rows, order)
  return [account?.party_id, order?.customer_id, order?.doc.surplus_credit?.customer_id].filter(
    (each): each is number => typeof each === 'number',
  )
}

/** What the acquirer of the online store keeps and pays. */
function feesOf(rows: Rows, cents: number, now: string) {
  const { online_payment_type_id: id } = companyRef(rows)
  const type = id === null ? null : rows.get(paymentTypeById(id))?.doc
  return type ? toAcquired(type, cents, () => dateInZone(now, getTimezone(rows))) : {}
}
