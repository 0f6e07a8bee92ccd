import { fromCents, lineTotal, lineTotalFits, MAX_CENTS, toCents } from '#domain/money.ts'
import { toThousandths } from '#domain/quantity.ts'
import type { OfflineSaleWarning } from '#projections/offline-sales.ts'
import type { OfflineSale } from './offline-sale-input.ts'
import { warning } from './offline-sale-warnings.ts'

/** Sums of a sale: total = item totals - `discount` (UP-21). Amounts are decimal texts. */
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
 * against quantity × price is a discount (UP-20).
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
 * a till that rounds only at the end: that many lines get one cent more each (UP-21).
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
 * recorded with a warning: tills without a drawer send 0. A sale that was cancelled before payment has no payments
 * (UP-7).
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
