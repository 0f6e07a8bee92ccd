import { fromCents, lineTotal, lineTotalFits, MAX_CENTS, toCents } from '#domain/money.ts'
import { toThousandths } from '#domain/quantity.ts'
import type { OfflineSaleWarning } from '#projections/sales.ts'
import type { OfflineSale } from './offline-sale-input.ts'
import { warning } from './offline-sale-warnings.ts'

/** What a sale adds up to: the items' totals less `discount` are its total (UP-21). All in decimal texts. */
export interface Sums {
  /** Of each item, in their order. */
  readonly lines: readonly { readonly total: string; readonly discount: string }[]
  /** Taken off at the end, beside the discounts of the items. */
  readonly discount: string
  readonly amount_received: string
  readonly change: string
  readonly warnings: readonly OfflineSaleWarning[]
  /** Messages by field, where amounts contradict each other. */
  readonly wrong: Readonly<Record<string, string[]>>
  /** Whether they are more than can be shown. */
  readonly isTooLarge: boolean
}

type Amounts = Pick<OfflineSale, 'items' | 'payments' | 'total' | 'amount_received' | 'change' | 'status'>

const sumOf = (amounts: readonly string[]): number => amounts.reduce((sum, amount) => sum + toCents(amount), 0)

/** Adds up what a till says. `isCash` tells of a payment whether its type is cash. */
export function addUp(sale: Amounts, isCash: (payment: OfflineSale['payments'][number]) => boolean): Sums {
  const lines = sale.items.map(addUpLine)
  const whole = addUpItems(sale, lines)
  const cash = sumOf(sale.payments.filter(isCash).map(({ amount }) => amount))
  const paid = addUpPayments(sale, cash)
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
 * A line may be off by one cent for each unit, or part of one: tills truncate, and divide the price of a package. What is
 * farther below quantity × price is a discount (UP-20).
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

type Wrong = readonly (readonly [field: string, message: string | null])[]

/**
 * What the total is below the items is a discount at the end. Above them it may be by one cent a line, as of a till that
 * rounds at the end only: that many lines are recorded with one cent more each (UP-21).
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
  const wrong: Wrong = [['total', isTooLarge ? 'a soma dos itens é grande demais' : above]]
  return { discount, shared, warnings, wrong, isTooLarge }
}

/**
 * The payments are the total, or with the change what was given for it. `amount_received` may be of all payments, or of cash
 * alone, as in mixed payments or where nothing was paid in cash. A sale that was cancelled before it was paid has no payments (UP-7).
 */
function addUpPayments({ payments, status, ...sale }: Amounts, cash: number) {
  const [total, paid] = [toCents(sale.total), sumOf(payments.map(({ amount }) => amount))]
  const surplus = paid - total
  /** What remained to be paid in cash. */
  const due = total - (paid - cash)
  const given = sale.change === null ? null : toCents(sale.change)
  const said = sale.amount_received === null ? null : toCents(sale.amount_received)
  const received = said ?? (given === null ? paid : total + given)
  const change =
    given ?? (surplus > 0 ? surplus : Math.max(received - (received < total ? Math.max(due, 0) : total), 0))
  const taken = received - change
  const isUnpaid = status === 'cancelled' && payments.length === 0
  const isTooLarge = Math.max(received, paid, change) > MAX_CENTS
  const sums = { received, change, isTooLarge, warnings: [] as OfflineSaleWarning[] }
  if (isUnpaid) return { ...sums, wrong: [] as Wrong }
  const isPaid = surplus === 0 || received === paid || (surplus > 0 && surplus === change)
  const expected = `o total da venda (${sale.total}) ou o valor recebido (${fromCents(received)})`
  const notPaid = isPaid ? null : `somam ${fromCents(paid)}, mas devem somar ${expected}`
  const isTaken = (taken === total || (taken === due && surplus >= 0)) && (surplus <= 0 || surplus === change)
  if (isTaken && taken !== total) {
    sums.warnings.push(
      warning('amount_received_differs', { found: fromCents(received), expected: fromCents(total + change) }),
    )
  }
  const wrong: Wrong = [
    ['payments', isTooLarge ? 'a soma dos pagamentos é grande demais' : notPaid],
    ['change', isTaken ? null : 'o valor recebido menos o troco deve ser o total da venda'],
  ]
  return { ...sums, wrong }
}
