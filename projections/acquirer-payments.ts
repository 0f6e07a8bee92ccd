import { equalParts } from '#domain/acquirer-terms.ts'
import { addDays, dateInZone } from '#domain/instant.ts'
import { percentOfCents, toCents } from '#domain/money.ts'
import { workingDayFrom } from '#domain/working-days.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef, timezoneOf } from './companies.ts'
import { existing, projection } from './define.ts'
import { type SaleObject, saleById } from './sales.ts'

/** What an acquirer pays on a day, in cents: gross less fee; negative where money went back on the card. */
interface AcquirerLine {
  readonly due_on: string
  readonly payment_type_id: number
  /** Payments; 0 of money that went back. */
  readonly count: number
  readonly gross: number
  readonly fee: number
}

/** The acquirers' payments that an event changed. They follow the money, not the state of its sale (PANEL-780). */
interface AcquirerPaymentsRow {
  company_id: number
  /** Of the event. */
  revision: number
  last_due_on: string
  lines: readonly AcquirerLine[]
}

const acquirerPayments = table<AcquirerPaymentsRow>('acquirer_payments', {
  columns: { company_id: 'bigint', revision: 'bigint', last_due_on: 'date', lines: 'json' },
  keys: { pk: ['company_id', 'revision'] },
  indexes: ['(company_id, last_due_on)'],
  past: { id: 'revision', isFixed: true },
})

const paymentsOf = (revision: number) => byPk(acquirerPayments, revision)

/** A payment that an acquirer pays for, of a sale or of an account. */
type Settled = Pick<
  SaleObject['payments'][number],
  'payment_type_id' | 'acquirer_fee' | 'acquirer_fee_refunded' | 'settlements'
>

/** A payment with the cents that were charged. */
interface Charged extends Settled {
  readonly cents: number
}

function add(rows: Changes, revision: number, lines: readonly AcquirerLine[]): void {
  const last_due_on = lines
    .map(({ due_on }) => due_on)
    .sort()
    .at(-1)
  if (last_due_on === undefined) return
  rows.add(acquirerPayments, { company_id: companyRef(rows).company_id, revision, last_due_on, lines })
}

/** Lines of a payment: each is one of the acquirer's, with its part of the fee. */
function linesOf({ payment_type_id, acquirer_fee, settlements = [] }: Settled): AcquirerLine[] {
  const fees = settlements.length === 0 ? [] : equalParts(toCents(acquirer_fee ?? '0.00'), settlements.length)
  return settlements.map(({ due_on, net }, n) => {
    const fee = fees[n] as number
    return { due_on, payment_type_id, count: 1, gross: toCents(net) + fee, fee }
  })
}

/**
 * Lines of money that went back on the card on a day: less in equal parts of what is still to be paid, or of the next
 * payment if nothing is. The fee stays with the acquirer unless its terms say otherwise.
 */
function backLines(of: Charged, cents: number, day: string): AcquirerLine[] {
  const { payment_type_id, acquirer_fee = '0.00', settlements = [] } = of
  if (cents === 0 || settlements.length === 0) return []
  const open = settlements.map(({ due_on }) => due_on).filter((due_on) => due_on > day)
  const days = open.length > 0 ? open : [workingDayFrom(addDays(day, 1))]
  const back = of.acquirer_fee_refunded ? percentOfCents(toCents(acquirer_fee), cents, of.cents) : 0
  const [gross, fees] = [equalParts(-cents, days.length), equalParts(-back, days.length)]
  return days.map((due_on, n) => ({
    ...{ due_on, payment_type_id, count: 0 },
    gross: gross[n] as number,
    fee: (fees[n] as number) + 0,
  }))
}

const chargedOf = ({ payments }: Pick<SaleObject, 'payments'>): Charged[] =>
  payments.map((payment) => ({ ...payment, cents: toCents(payment.net) + toCents(payment.surcharge) }))

/** Lines of money that went back by ways of paying: of the sale's payments of the type, in their order. */
function backByWays(
  payments: readonly Charged[],
  refunds: readonly { readonly payment_type_id: number; readonly amount: string }[],
  day: string,
): AcquirerLine[] {
  return refunds.flatMap(({ payment_type_id, amount }) => {
    let left = toCents(amount)
    const same = payments.filter((payment) => payment.payment_type_id === payment_type_id)
    return same.flatMap((payment, n) => {
      const part = n === same.length - 1 ? left : Math.min(left, payment.cents)
      left -= part
      return backLines(payment, part, day)
    })
  })
}

/** The payment that refunds of an order take back: the largest. */
const largest = (payments: readonly Charged[]): Charged | undefined =>
  payments.toSorted((one, other) => other.cents - one.cents)[0]

const sold = {
  apply(rows: Changes, { revision, data }: { revision: number; data: Pick<DataOf<'SaleCompleted'>, 'payments'> }) {
    add(rows, revision, data.payments.flatMap(linesOf))
  },
}

export const acquirerPaymentsProjection = projection('acquirer_payments', [acquirerPayments], {
  SaleCompleted: sold,
  OfflineSaleCompleted: sold,
  SaleReturned: {
    refs: ({ data }) => [saleById(data.sale_id)],
    apply(rows, { revision, data }) {
      const { doc } = existing(rows, saleById(data.sale_id))
      add(rows, revision, backByWays(chargedOf(doc), data.refunds, dateInZone(data.returned_at, timezoneOf(rows))))
    },
  },
  SaleRefunded: {
    refs: ({ data }) => [saleById(data.id)],
    apply(rows, { revision, recorded_at, data }) {
      const payment = largest(chargedOf(existing(rows, saleById(data.id)).doc))
      const day = dateInZone(recorded_at, timezoneOf(rows))
      if (payment) add(rows, revision, backLines(payment, toCents(data.amount), day))
    },
  },
  SaleCancelled: {
    refs: ({ data }) => [saleById(data.id)],
    apply(rows, { revision, recorded_at, data }) {
      const { doc } = existing(rows, saleById(data.id))
      const payments = chargedOf(doc)
      const day = dateInZone(recorded_at, timezoneOf(rows))
      if (data.refunds) add(rows, revision, backByWays(payments, data.refunds, day))
      else {
        // As it was paid, less what the refunds of its order took back before.
        const refunded = largest(payments)
        const left = (payment: Charged) => payment.cents - (payment === refunded ? toCents(doc.refunded_total) : 0)
        add(
          rows,
          revision,
          payments.flatMap((payment) => backLines(payment, left(payment), day)),
        )
      }
    },
  },
  ReceivablePaymentReceived: {
    apply(rows, { revision, data: { acquired } }) {
      if (acquired) add(rows, revision, linesOf(acquired))
    },
  },
  ReceivablePaymentReversed: {
    refs: ({ data }: EventOf<'ReceivablePaymentReversed'>) => [paymentsOf(data.payment_id)],
    apply(rows, { revision, data }) {
      const lines = rows.get(paymentsOf(data.payment_id))?.lines ?? []
      const undone = lines.map((line) => ({ ...line, count: -line.count, gross: -line.gross + 0, fee: -line.fee + 0 }))
      add(rows, revision, undone)
    },
  },
})
