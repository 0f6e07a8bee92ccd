import { dateInZone } from '#domain/instant.ts'
import {
  fromCents,
  fromThousandths,
  isBrokenPiece,
  lineTotal,
  lineTotalFits,
  MAX_CENTS,
  toBigCents,
  toCents,
  toThousandths,
} from '#domain/money.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { Rows } from '#ledger/working-set.ts'
import { itemById } from '#projections/catalog.ts'
import { getTimezone } from '#projections/companies.ts'
import type { OfflineSaleWarning } from '#projections/fiscal-documents.ts'
import { customerById } from '#projections/people.ts'
import { getStock } from '#projections/stock.ts'
import { paymentTypeById } from '#projections/stores.ts'
import { userById } from '#projections/users.ts'
import { voucherByCode, voucherParts } from '#projections/vouchers.ts'
import { findOlder, isFarAhead } from './cash-commands.ts'
import { isOfOther } from './named-drawers.ts'
import type { OfflineSale, OfflineSaleUpload } from './offline-sale-input.ts'
import { quantitiesTaken } from './sale-lines.ts'

type Parts = Pick<DataOf<'OfflineSaleCompleted'>, 'items' | 'payments' | 'change'>

/** Remaining stock of each item with moved stock, in thousandths. */
export function stockAfter(rows: Rows, items: Parts['items']): { id: number; thousandths: number }[] {
  return [...quantitiesTaken(items)].map(([id, taken]) => {
    const before = getStock(rows, id) ?? '0'
    return { id, thousandths: toThousandths(before) - taken }
  })
}

/** Problems of a recorded sale to review, except those of its sums. */
export function findWarnings(rows: Rows, sale: OfflineSaleUpload, parts: Parts, now: string): OfflineSaleWarning[] {
  return [
    ...customerWarnings(rows, sale),
    ...productWarnings(rows, sale),
    ...stockAfter(rows, parts.items).flatMap(({ id, thousandths }) =>
      thousandths < 0 ? [warning('negative_stock', { product_id: id, found: fromThousandths(thousandths) })] : [],
    ),
    ...paymentWarnings(rows, sale, parts.change),
    ...sessionWarnings(rows, sale),
    ...clockWarnings(rows, sale, now),
  ]
}

/** The drawer that a till names is another user's. */
export const sessionWarnings = (rows: Rows, { cash_session_id: found, sellerId, tillId }: OfflineSaleUpload) =>
  isOfOther(rows, found, sellerId, tillId) ? [warning('session_of_other', { found })] : []

export const warning = (
  code: OfflineSaleWarning['code'],
  { product_id = null, found = null, expected = null }: Partial<OfflineSaleWarning> = {},
): OfflineSaleWarning => ({ code, product_id: product_id || null, found, expected })

/** Vouchers with less than the sale takes of them, as two tills may take one before either knows, and expired ones. */
export function voucherWarnings(
  rows: Rows,
  { status, created_at }: OfflineSale,
  { payments }: Parts,
  now: string,
): OfflineSaleWarning[] {
  if (status === 'cancelled') return []
  return voucherParts(payments).flatMap(({ voucher, amount }) => {
    const { balance, valid_until } = rows.get(voucherByCode(voucher)) ?? { balance: '0.00', valid_until: null }
    const isExpired = valid_until !== null && dayOfSale(rows, created_at, now) > valid_until
    return [
      ...(toBigCents(amount) > toBigCents(balance)
        ? [warning('credit_exceeded', { found: amount, expected: balance })]
        : []),
      ...(isExpired ? [warning('voucher_expired', { found: voucher, expected: valid_until })] : []),
    ]
  })
}

/** A till's clock may be ahead. */
export const dayOfSale = (rows: Rows, soldAt: string, now: string): string =>
  dateInZone(soldAt < now ? soldAt : now, getTimezone(rows))

/** One warning of each kind per product, one per differing price, and one per fraction of a piece. */
function productWarnings(rows: Rows, { items }: OfflineSale): OfflineSaleWarning[] {
  const warnings = new Map<string, OfflineSaleWarning>()
  for (const { product_id, price, quantity, name = null } of items) {
    const product = rows.get(itemById(product_id))
    if (!product) {
      warnings.set(`${product_id} ${name}`, warning('product_unknown', { product_id, found: name }))
      continue
    }
    const { deleted_at, doc } = product
    if (deleted_at) warnings.set(`${product_id}`, warning('product_deactivated', { product_id }))
    if (isBrokenPiece(doc.unit, quantity)) {
      const broken = warning('quantity_not_whole', { product_id, found: quantity })
      warnings.set(`${product_id} of ${quantity}`, broken)
    }
    if (price === doc.price) continue
    const differs = warning('price_differs', { product_id, found: price, expected: doc.price })
    warnings.set(`${product_id} ${price}`, differs)
  }
  return [...warnings.values()]
}

function paymentWarnings(rows: Rows, { payments }: OfflineSale, change: string): OfflineSaleWarning[] {
  const unknown = payments.filter(({ payment_type_id }) => !rows.get(paymentTypeById(payment_type_id)))
  const types = payments.flatMap(({ payment_type_id, status }) => {
    const type = rows.get(paymentTypeById(payment_type_id))?.doc
    return type ? [{ type, isPending: status === 'pending' }] : []
  })
  const open = types.filter(({ type, isPending }) => isPending && type.kind !== 'credit_account')
  const names = new Set(open.map(({ type }) => type.name))
  const pending = [
    ...unknown.map(({ payment_type_id }) => warning('payment_type_unknown', { found: String(payment_type_id) })),
    ...[...names].map((found) => warning('payment_pending', { found })),
  ]
  const isGiven = change !== '0.00' && !types.some(({ type }) => type.is_cash)
  return isGiven ? [...pending, warning('change_without_cash', { found: change })] : pending
}

function customerWarnings(rows: Rows, { customer }: OfflineSale): OfflineSaleWarning[] {
  if (!customer) return []
  const known = customer.id === null ? null : rows.get(customerById(customer.id))
  if (!known) return [warning('customer_unknown', { found: customer.sent })]
  if (known.doc.forgotten_at !== null) return [warning('customer_forgotten', { found: customer.sent })]
  return known.deleted_at ? [warning('customer_deleted', { found: customer.sent })] : []
}

function clockWarnings(rows: Rows, sale: OfflineSaleUpload, now: string): OfflineSaleWarning[] {
  const { created_at, cancelled_at, items, sellerId } = sale
  const user = sellerId === undefined ? null : rows.get(userById(sellerId))
  const products = items.map(({ product_id }) => rows.get(itemById(product_id))?.doc.created_at)
  const older = sale.isHistory ? null : findOlder(created_at, now, [user?.doc.created_at, ...products])
  return [
    ...(isFarAhead(created_at, now) ? [warning('created_at_in_future', { found: created_at, expected: now })] : []),
    ...(older === null ? [] : [warning('created_at_old', { found: created_at, expected: older })]),
    ...cancellationWarnings(cancelled_at, created_at, now),
  ]
}

/** Problems of the time at which a till cancelled a sale. */
export function cancellationWarnings(at: string | null, soldAt: string, now: string): OfflineSaleWarning[] {
  if (at === null) return []
  if (isFarAhead(at, now)) return [warning('cancelled_at_in_future', { found: at, expected: now })]
  const isEarlier = Date.parse(at) < Date.parse(soldAt)
  return isEarlier ? [warning('cancelled_at_before_sale', { found: at, expected: soldAt })] : []
}

/** Sums of a sale: total = item totals - `discount`. Amounts are decimal texts. */
export interface OfflineSaleSums {
  /** One per item, in order. */
  readonly lines: readonly { readonly total: string; readonly discount: string }[]
  /** Discount on the whole sale, in addition to item discounts. */
  readonly discount: string
  readonly amount_received: string
  readonly change: string
  readonly warnings: readonly OfflineSaleWarning[]
  /** Messages by field for contradictory amounts. */
  readonly wrong: Readonly<Record<string, string[]>>
  /** Whether a sum exceeds the limit. */
  readonly isTooLarge: boolean
}

type Amounts = Pick<OfflineSale, 'items' | 'payments' | 'total' | 'amount_received' | 'change' | 'status'>

const sumOf = (amounts: readonly string[]): number => amounts.reduce((sum, amount) => sum + toCents(amount), 0)

/** Checks the sums of an uploaded sale. `isCash`: whether a payment's type is cash. */
export function addUp(sale: Amounts, isCash: (payment: OfflineSale['payments'][number]) => boolean): OfflineSaleSums {
  const lines = sale.items.map(addUpLine)
  const whole = addUpItems(sale, lines)
  const cash = sumOf(sale.payments.filter(isCash).map(({ amount }) => amount))
  const paid = addUpPayments(sale, { cash, hasCash: sale.payments.some(isCash) })
  const wrong = Object.fromEntries(
    [...lines.map(({ wrong }, position) => [`items[${position}].total`, wrong] as const), ...whole.wrong, ...paid.wrong]
      .filter(([, message]) => message !== null)
      .map(([field, message]) => [field, [message as string]]),
  )
  return {
    lines: lines.map(({ cents, discount }, position) => ({
      total: fromCents(cents + (position < whole.shared ? 1 : 0)),
      discount: fromCents(discount),
    })),
    discount: fromCents(whole.discount),
    amount_received: fromCents(paid.received),
    change: fromCents(paid.change),
    warnings: [...lines.flatMap(({ warnings }) => warnings), ...whole.warnings, ...paid.warnings],
    wrong,
    isTooLarge: whole.isTooLarge || paid.isTooLarge,
  }
}

interface Line {
  readonly cents: number
  readonly discount: number
  readonly warnings: readonly OfflineSaleWarning[]
  readonly wrong: string | null
}

/**
 * A line total may be off by one cent per started unit: tills truncate, and divide package prices. A larger shortfall
 * against quantity × price is a discount.
 */
function addUpLine({ product_id, quantity, price, total }: OfflineSale['items'][number]): Line {
  const [thousandths, unitCents, cents] = [toThousandths(quantity), toCents(price), toCents(total)]
  const line = { cents, discount: 0, warnings: [], wrong: null }
  if (!lineTotalFits(thousandths, unitCents)) return { ...line, wrong: 'o total do item é grande demais' }
  const exact = lineTotal(thousandths, unitCents)
  const expected = fromCents(exact)
  if (cents === exact) return line
  if (Math.abs(cents - exact) <= Math.ceil(thousandths / 1000)) {
    return { ...line, warnings: [warning('line_total_rounded', { product_id, found: total, expected })] }
  }
  if (cents > exact) return { ...line, wrong: `deve ser quantidade × preço, ou menos com desconto: ${expected}` }
  const discount = exact - cents
  return {
    ...line,
    discount,
    warnings: [warning('line_discount', { product_id, found: fromCents(discount), expected })],
  }
}

type AmountErrors = readonly (readonly [field: string, message: string | null])[]

/**
 * A total below the sum of the items is a discount on the sale. A total above it by up to one cent per line comes from
 * a till that rounds only at the end: that many lines get one cent more each.
 */
function addUpItems({ total }: Amounts, lines: readonly Line[]) {
  const [sum, wanted] = [lines.reduce((cents, line) => cents + line.cents, 0), toCents(total)]
  const discount = Math.max(sum - wanted, 0)
  const shared = wanted - sum <= lines.length ? Math.max(wanted - sum, 0) : 0
  const isTooLarge = sum > MAX_CENTS
  const expected = fromCents(sum)
  const warnings: OfflineSaleWarning[] = []
  if (discount > 0) warnings.push(warning('discount', { found: fromCents(discount), expected }))
  if (shared > 0) warnings.push(warning('total_rounded', { found: total, expected }))
  const above = sum + shared < wanted ? `a soma dos itens é ${expected}` : null
  const wrong: AmountErrors = [['total', isTooLarge ? 'a soma dos itens é grande demais' : above]]
  return { discount, shared, warnings, wrong, isTooLarge }
}

/**
 * Payments must sum to the total, or to the received amount including change. `amount_received` may cover all payments,
 * or cash alone (mixed payments, or no cash). With a cash payment, a received amount and change that do not fit are
 * recorded with a warning: tills without a drawer send 0. A sale that was cancelled before payment has no payments.
 */
function addUpPayments(
  { payments, status, ...sale }: Amounts,
  { cash, hasCash }: { readonly cash: number; readonly hasCash: boolean },
) {
  const [total, paid] = [toCents(sale.total), sumOf(payments.map(({ amount }) => amount))]
  const surplus = paid - total
  /** Remaining amount to be paid in cash. */
  const due = total - (paid - cash)
  const statedChange = sale.change === null ? null : toCents(sale.change)
  const statedReceived = sale.amount_received === null ? null : toCents(sale.amount_received)
  const received = statedReceived ?? (statedChange === null ? paid : total + statedChange)
  const change =
    statedChange ?? (surplus > 0 ? surplus : Math.max(received - (received < total ? Math.max(due, 0) : total), 0))
  const taken = received - change
  const isUnpaid = status === 'cancelled' && payments.length === 0
  const isTooLarge = Math.max(received, paid, change) > MAX_CENTS
  const sums = { received, change, isTooLarge, warnings: [] as OfflineSaleWarning[] }
  if (isUnpaid) return { ...sums, wrong: [] as AmountErrors }
  const isPaid = surplus === 0 || received === paid || (surplus > 0 && surplus === change)
  const expected = `o total da venda (${sale.total}) ou o valor recebido (${fromCents(received)})`
  const notPaid = isPaid ? null : `somam ${fromCents(paid)}, mas devem somar ${expected}`
  const isTaken = (taken === total || (taken === due && surplus >= 0)) && (surplus <= 0 || surplus === change)
  const isTolerated = !isTaken && hasCash && isPaid && surplus >= 0
  if (isTolerated || (isTaken && taken !== total)) {
    sums.warnings.push(
      warning('amount_received_differs', { found: fromCents(received), expected: fromCents(total + change) }),
    )
  }
  const wrong: AmountErrors = [
    ['payments', isTooLarge ? 'a soma dos pagamentos é grande demais' : notPaid],
    ['change', isTaken || isTolerated ? null : 'o valor recebido menos o troco deve ser o total da venda'],
  ]
  return { ...sums, wrong }
}
