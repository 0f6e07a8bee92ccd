import { addDays, dateInZone, workingDayFrom } from '#domain/instant.ts'
import { percentOfCents, toCents } from '#domain/money.ts'
import { equalParts, sumReceived } from '#domain/payment-rules.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef, getTimezone } from './companies.ts'
import { existing, projection } from './define-projection.ts'
import { receivableById } from './finance.ts'
import { returnById } from './returns.ts'
import { type SaleObject, saleById } from './sales.ts'

/** What an acquirer pays on a day, in cents: gross less fee; negative where money went back on the card. */
interface AcquirerLine {
  /** Null if its days are unknown. */
  readonly due_on: string | null
  readonly payment_type_id: number
  /** Payments; 0 of money that went back. */
  readonly count: number
  readonly gross: number
  readonly fee: number
}

/** The acquirers' payments that an event changed. They follow the money, not the state of its sale. */
interface AcquirerPaymentsRow {
  company_id: number
  /** Of the event. */
  revision: number
  /** When the money moved (UTC); a cancellation is of the time of its sale. */
  at: string
  /** Null for an account that no sale made. */
  sale_id: number | null
  /** Sum of the fees, in cents. */
  fee_cents: number
  /** The part of a sale with known costs, which has a margin. */
  known_fee_cents: number
  /** Null without days. */
  last_due_on: string | null
  lines: readonly AcquirerLine[]
}

const acquirerPayments = table<AcquirerPaymentsRow>('acquirer_payments', {
  about: 'What acquirers pay for a card payment, by instalment; amounts in cents.',
  columns: {
    company_id: 'bigint',
    revision: 'bigint',
    at: 'timestamptz',
    sale_id: 'bigint',
    fee_cents: 'bigint',
    known_fee_cents: 'bigint',
    last_due_on: 'date',
    lines: 'json',
  },
  keys: { pk: ['company_id', 'revision'] },
  indexes: ['(company_id, last_due_on)', '(company_id, at) include (fee_cents, known_fee_cents)'],
  past: { id: 'revision', isFixed: true },
})

const paymentsOf = (revision: number) => byPk(acquirerPayments, revision)

/** What went back on the payments of a sale so far. */
interface CardRefundsRow {
  company_id: number
  sale_id: number
  /** By position of the payment. */
  cents: readonly number[]
}

const cardRefunds = table<CardRefundsRow>('card_refunds', {
  about: 'Money that went back on cards; amounts in cents.',
  columns: { company_id: 'bigint', sale_id: 'bigint', cents: 'json' },
  keys: { pk: ['company_id', 'sale_id'] },
})

/** A payment that an acquirer pays for, of a sale or of an account. */
type Settled = Pick<
  SaleObject['payments'][number],
  'payment_type_id' | 'acquirer_fee' | 'acquirer_fee_refunded' | 'settlements'
>

/** A payment with the cents that were charged, and those that went back before. */
interface Charged extends Settled {
  readonly cents: number
  readonly back: number
}

function add(
  rows: Changes,
  moved: Pick<AcquirerPaymentsRow, 'revision' | 'at' | 'sale_id'>,
  lines: readonly AcquirerLine[],
  isCostKnown: boolean,
): void {
  if (lines.length === 0) return
  const fee_cents = lines.reduce((sum, { fee }) => sum + fee, 0)
  const days = lines.flatMap(({ due_on }) => due_on ?? []).sort()
  rows.add(acquirerPayments, {
    ...{ company_id: companyRef(rows).company_id, ...moved, fee_cents, lines },
    known_fee_cents: isCostKnown ? fee_cents : 0,
    last_due_on: days.at(-1) ?? null,
  })
}

/** Charged cents of a payment of a sale. */
const chargedCents = ({ net, surcharge }: Pick<SaleObject['payments'][number], 'net' | 'surcharge'>): number =>
  toCents(net) + toCents(surcharge)

/** Lines of a payment of some cents: each is one of the acquirer's, with its part of the fee. */
function linesOf({ payment_type_id, acquirer_fee, settlements }: Settled, cents: number): AcquirerLine[] {
  if (acquirer_fee === undefined) return []
  const fee = toCents(acquirer_fee)
  if (!settlements) return [{ due_on: null, payment_type_id, count: 1, gross: cents, fee }]
  const fees = equalParts(fee, settlements.length)
  return settlements.map(({ due_on, net }, n) => {
    const fee = fees[n] as number
    return { due_on, payment_type_id, count: 1, gross: toCents(net) + fee, fee }
  })
}

/** Days of an acquirer's payments that money which goes back lowers: those to come, or the next one. */
function daysOfRefund({ settlements }: Settled, day: string): (string | null)[] {
  if (!settlements) return [null]
  const open = settlements.map(({ due_on }) => due_on).filter((due_on) => due_on > day)
  return open.length > 0 ? open : [workingDayFrom(addDays(day, 1))]
}

/**
 * Lines of money that went back on the card on a day, in equal parts. The fee stays with the acquirer unless its terms
 * say otherwise; what comes back of it is rounded once for all that went back.
 */
function backLines(of: Charged, cents: number, day: string): AcquirerLine[] {
  const { payment_type_id, acquirer_fee, back } = of
  if (cents === 0 || acquirer_fee === undefined) return []
  const days = daysOfRefund(of, day)
  const feeBack = (part: number) =>
    of.acquirer_fee_refunded && of.cents > 0 ? percentOfCents(toCents(acquirer_fee), part, of.cents) : 0
  const [gross, fees] = [
    equalParts(-cents, days.length),
    equalParts(feeBack(back) - feeBack(back + cents), days.length),
  ]
  return days.map((due_on, n) => ({
    ...{ due_on, payment_type_id, count: 0 },
    gross: gross[n] as number,
    fee: (fees[n] as number) + 0,
  }))
}

/** Refunds by ways of paying, as parts of the sale's payments of the type, in their order; taken back with the sign -1. */
function partsByWay(
  payments: readonly Charged[],
  refunds: readonly { readonly payment_type_id: number; readonly amount: string }[],
  sign: 1 | -1 = 1,
): number[] {
  const parts = payments.map(() => 0)
  const partAt = (at: number): number => parts[at] ?? 0
  for (const { payment_type_id, amount } of refunds) {
    let left = toCents(amount)
    const same = payments.flatMap((payment, at) => (payment.payment_type_id === payment_type_id ? [at] : []))
    const ordered = sign > 0 ? same : same.reverse()
    for (const at of ordered) {
      const { cents, back } = payments[at] as Charged
      const room = sign > 0 ? cents - back - partAt(at) : back + partAt(at)
      const part = at === ordered.at(-1) ? left : Math.min(left, Math.max(room, 0))
      parts[at] = partAt(at) + sign * part
      left -= part
    }
  }
  return parts
}

/** Parts of the refund of an order: of the largest payment. */
function partOfLargest(payments: readonly Charged[], cents: number): number[] {
  const [largest] = payments.toSorted((one, other) => other.cents - one.cents)
  return payments.map((payment) => (payment === largest ? cents : 0))
}

/** Rows of a sale whose money goes back. */
const refundedRefs = (saleId: number) => [saleById(saleId), byPk(cardRefunds, saleId)]

/** When money of a sale went back, and on which day of the company. */
interface MoneyBack {
  readonly revision: number
  readonly sale_id: number
  readonly at: string
  readonly day: string
}

/** Gives money of a sale back: `partsOf` are the cents of each of its payments. */
function giveBack(
  rows: Changes,
  { day, ...moved }: MoneyBack,
  partsOf: (payments: readonly Charged[]) => readonly number[],
): void {
  const { sale_id } = moved
  const { doc, company_id, cost_cents } = existing(rows, saleById(sale_id))
  const before = rows.get(byPk(cardRefunds, sale_id))
  const payments = doc.payments.map((payment, at) => ({
    ...payment,
    cents: chargedCents(payment),
    back: before?.cents[at] ?? 0,
  }))
  if (payments.every(({ acquirer_fee }) => acquirer_fee === undefined)) return
  const parts = partsOf(payments)
  const row = { company_id, sale_id, cents: payments.map(({ back }, at) => back + (parts[at] ?? 0)) }
  if (before) rows.put(cardRefunds, row)
  else rows.add(cardRefunds, row)
  const lines = payments.flatMap((payment, at) => backLines(payment, parts[at] ?? 0, day))
  add(rows, moved, lines, cost_cents !== null)
}

const sold = {
  apply(
    rows: Changes,
    { revision, data }: { revision: number; data: Pick<DataOf<'SaleCompleted'>, 'id' | 'sold_at' | 'payments'> },
  ) {
    const { id: sale_id, sold_at: at, payments } = data
    const lines = payments.flatMap((payment) => linesOf(payment, chargedCents(payment)))
    // The sale's own row is of this event.
    if (lines.length > 0)
      add(rows, { revision, at, sale_id }, lines, existing(rows, saleById(sale_id)).cost_cents !== null)
  },
}

/** The company's day of an instant. */
const dayOf = (rows: Changes, at: string): string => dateInZone(at, getTimezone(rows))

export const acquirerPaymentsProjection = projection('acquirer_payments', [acquirerPayments, cardRefunds], {
  SaleCompleted: sold,
  OfflineSaleCompleted: sold,
  SaleReturned: {
    refs: ({ data }) => refundedRefs(data.sale_id),
    apply(rows, { revision, data: { sale_id, returned_at: at, refunds } }) {
      giveBack(rows, { revision, sale_id, at, day: dayOf(rows, at) }, (payments) => partsByWay(payments, refunds))
    },
  },
  ReturnReversed: {
    refs: ({ data }) => [...refundedRefs(data.sale_id), returnById(data.id)],
    apply(rows, { revision, recorded_at: at, data: { id, sale_id } }) {
      const { refunds } = existing(rows, returnById(id)).doc
      giveBack(rows, { revision, sale_id, at, day: dayOf(rows, at) }, (payments) => partsByWay(payments, refunds, -1))
    },
  },
  SaleRefunded: {
    refs: ({ data }) => refundedRefs(data.id),
    apply(rows, { revision, recorded_at: at, data: { id: sale_id, amount } }) {
      giveBack(rows, { revision, sale_id, at, day: dayOf(rows, at) }, (payments) =>
        partOfLargest(payments, toCents(amount)),
      )
    },
  },
  SaleCancelled: {
    refs: ({ data }) => refundedRefs(data.id),
    apply(rows, { revision, recorded_at, data: { id: sale_id, refunds } }) {
      const { sold_at: at } = existing(rows, saleById(sale_id))
      giveBack(rows, { revision, sale_id, at, day: dayOf(rows, recorded_at) }, (payments) =>
        refunds ? partsByWay(payments, refunds) : payments.map(({ cents, back }) => cents - back),
      )
    },
  },
  ReceivablePaymentReceived: {
    refs: ({ data }) => [receivableById(data.id)],
    apply(rows, { revision, data: { id, acquired, paid_at: at, ...paid } }) {
      if (!acquired) return
      const { sale_id } = existing(rows, receivableById(id)).doc
      add(rows, { revision, at, sale_id }, linesOf(acquired, sumReceived(paid)), false)
    },
  },
  ReceivablePaymentReversed: {
    refs: ({ data }: EventOf<'ReceivablePaymentReversed'>) => [paymentsOf(data.payment_id)],
    apply(rows, { revision, data, recorded_at: at }) {
      const { lines = [], sale_id = null } = rows.get(paymentsOf(data.payment_id)) ?? {}
      const undone = lines.map((line) => ({ ...line, count: -line.count, gross: -line.gross + 0, fee: -line.fee + 0 }))
      add(rows, { revision, at, sale_id }, undone, false)
    },
  },
})
