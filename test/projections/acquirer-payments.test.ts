import assert from 'node:assert/strict'
import fc from 'fast-check'
import { addDays, startOfDay, workingDayFrom } from '#domain/instant.ts'
import { fromCents, percentOfCents } from '#domain/money.ts'
import { toAcquiredPayment } from '#domain/payment-rules.ts'
import { event } from '#events/catalogue.ts'
import { readModel } from '#projections/index.ts'
import { companyRegistered, receivableCreated, receivablePaid, saleCompleted, saleReturned } from '../support/facts.ts'
import { given } from '../support/given.ts'
import { explore } from '../support/random.ts'

const table = readModel.projections.flatMap(({ tables }) => tables).find(({ name }) => name === 'acquirer_payments')

const rate = fc.option(fc.integer({ min: 0, max: 999 }).map(fromCents))
const terms = fc.record({
  acquirer_rate: fc.integer({ min: 0, max: 999 }).map(fromCents),
  acquirer_rate_2_6: rate,
  acquirer_rate_7_12: rate,
  settles_in_days: fc.integer({ min: 0, max: 31 }),
  isFeeRefunded: fc.boolean(),
})
type Terms = typeof terms extends fc.Arbitrary<infer T> ? T : never

const cents = fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 500_000 }))
const card = fc.record({ cents, instalments: fc.constantFrom(1, 2, 3, 6, 7, 12) })

type Act =
  | { do: 'sell'; cards: { cents: number; instalments: number }[]; cash: number; day: number }
  /** Percent of what is left, on the card or in cash. */
  | { do: 'return'; sale: number; percent: number; isCash: boolean; day: number }
  | { do: 'undo'; back: number }
  | { do: 'cancel'; sale: number; how: 'as paid' | 'cash' | 'card' }
  | { do: 'receive'; cents: number; day: number }
  | { do: 'reverse'; receipt: number }

const day = fc.nat(700)
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({
    do: fc.constant('sell' as const),
    cards: fc.array(card, { minLength: 1, maxLength: 2 }),
    cash: fc.constantFrom(0, 777),
    day,
  }),
  fc.record({
    do: fc.constant('return' as const),
    sale: fc.nat(9),
    percent: fc.constantFrom(10, 33, 50, 100),
    isCash: fc.boolean(),
    day,
  }),
  fc.record({ do: fc.constant('undo' as const), back: fc.nat(9) }),
  fc.record({
    do: fc.constant('cancel' as const),
    sale: fc.nat(9),
    how: fc.constantFrom('as paid' as const, 'cash' as const, 'card' as const),
  }),
  fc.record({ do: fc.constant('receive' as const), cents, day }),
  fc.record({ do: fc.constant('reverse' as const), receipt: fc.nat(9) }),
)

const at = (n: number): string =>
  new Date(Date.parse(startOfDay(addDays('2026-01-01', n), 'America/Sao_Paulo')) + 40_000_000).toISOString()
const [CARD, CASH] = [1, 2]

interface Sale {
  readonly id: number
  readonly cards: readonly { readonly charged: number; readonly fee: number }[]
  /** Cents that went back on the card. */
  back: number
  isCancelled: boolean
}

/** Plays a history, and adds up what the acquirer has to pay by its terms. */
async function play({ isFeeRefunded, ...terms }: Terms, acts: readonly Act[]) {
  const scenario = await given(companyRegistered())
  const sales: Sale[] = []
  const returns: { readonly id: number; readonly sale: Sale; readonly cents: number; isUndone: boolean }[] = []
  const receipts: { readonly account: number; readonly revision: number; net: number }[] = []
  let revision = 0
  const happen = async (what: Parameters<typeof scenario.happens>[0]) => {
    await scenario.happens(what)
    return ++revision
  }
  const among = <T>(all: readonly T[], place: number): T | undefined => all[place % Math.max(all.length, 1)]
  const paid = (charged: number, instalments: number, n: number) => {
    const parts = toAcquiredPayment(terms, { cents: charged, instalments, daySold: () => addDays('2026-01-01', n) })
    assert(parts)
    return { ...parts, ...(isFeeRefunded && { acquirer_fee_refunded: true as const }) }
  }
  const refund = (type: number, cents: number) => ({ payment_type_id: type, name: 'Forma', amount: fromCents(cents) })

  async function sell({ cards, cash, day }: Extract<Act, { do: 'sell' }>) {
    const id = sales.length + 1
    const payments = cards.map(({ cents, instalments }) => ({
      ...{ payment_type_id: CARD, name: 'Crédito', amount: fromCents(cents), surcharge: '0.00', net: fromCents(cents) },
      ...paid(cents, instalments, day),
    }))
    const total = fromCents(cards.reduce((sum, { cents }) => sum + cents, cash))
    const inCash = { payment_type_id: CASH, name: 'Dinheiro', amount: '7.77', surcharge: '0.00', net: '7.77' }
    const all = cash > 0 ? [...payments, inCash] : payments
    await happen(saleCompleted({ id, sold_at: at(day), payments: all, subtotal: total, total }))
    const kept = cards.map(({ cents }, n) => ({ charged: cents, fee: centsIn(payments[n]?.acquirer_fee ?? '') }))
    sales.push({ id, cards: kept, back: 0, isCancelled: false })
  }

  async function giveBack({ sale: place, percent, isCash, day }: Extract<Act, { do: 'return' }>) {
    const sale = among(sales, place)
    if (!sale || sale.isCancelled) return
    const left = sale.cards.reduce((sum, { charged }) => sum + charged, -sale.back)
    const cents = Math.ceil((left * percent) / 100)
    if (cents === 0) return
    const id = returns.length + 1
    const refunds = [refund(isCash ? CASH : CARD, cents)]
    await happen(saleReturned({ id, sale_id: sale.id, returned_at: at(day), refunds, total: fromCents(cents) }))
    if (!isCash) sale.back += cents
    returns.push({ id, sale, cents: isCash ? 0 : cents, isUndone: false })
  }

  async function undo(place: number) {
    const one = among(
      returns.filter(({ isUndone }) => !isUndone),
      place,
    )
    if (!one) return
    const data = { id: one.id, sale_id: one.sale.id, reason: 'engano', items: [], stock: [], is_in_drawer: false }
    await happen(event('ReturnReversed', { ...data, delivery_fee: '0.00', total: '0.00' }))
    one.isUndone = true
    one.sale.back -= one.cents
  }

  async function cancel({ sale: place, how }: Extract<Act, { do: 'cancel' }>) {
    const sale = among(sales, place)
    if (!sale || sale.isCancelled || returns.some((each) => each.sale === sale && !each.isUndone)) return
    const charged = sale.cards.reduce((sum, each) => sum + each.charged, 0)
    const refunds = how === 'as paid' ? {} : { refunds: [refund(how === 'cash' ? CASH : CARD, charged)] }
    await happen(event('SaleCancelled', { id: sale.id, reason: null, restock: [], ...refunds }))
    sale.isCancelled = true
    if (how !== 'cash') sale.back = charged
  }

  async function receive({ cents, day }: Extract<Act, { do: 'receive' }>) {
    const account = receipts.length + 1
    await happen(receivableCreated({ id: account, amount: fromCents(cents) }))
    const acquired = { payment_type_id: CARD, ...paid(cents, 1, day) }
    const receipt = { amount: fromCents(cents), paid_at: at(day), payment_method: 'credit_card', acquired }
    const paidAt = await happen(receivablePaid(account, receipt))
    receipts.push({ account, revision: paidAt, net: cents - centsIn(acquired.acquirer_fee) })
  }

  async function reverse(place: number) {
    const receipt = among(
      receipts.filter(({ net }) => net !== 0),
      place,
    )
    if (!receipt) return
    const { account: id, revision: payment_id } = receipt
    await happen(event('ReceivablePaymentReversed', { id, payment_id, reason: 'engano' }))
    receipt.net = 0
  }

  for (const each of acts) {
    if (each.do === 'sell') await sell(each)
    else if (each.do === 'return') await giveBack(each)
    else if (each.do === 'undo') await undo(each.back)
    else if (each.do === 'cancel') await cancel(each)
    else if (each.do === 'receive') await receive(each)
    else await reverse(each.receipt)
  }
  const netOf = ({ cards, back }: Sale): number => {
    let left = back
    return cards.reduce((sum, { charged, fee }) => {
      const part = Math.min(left, charged)
      left -= part
      return sum + charged - fee - part + (isFeeRefunded ? percentOfCents(fee, part, charged) : 0)
    }, 0)
  }
  const nets = [...sales.map(netOf), ...receipts.map(({ net }) => net)]
  return { scenario, net: nets.reduce((sum, each) => sum + each, 0) }
}

const centsIn = (amount: string): number => Math.round(Number(amount) * 100)

interface Line {
  readonly due_on: string
  readonly gross: number
  readonly fee: number
}

describe('acquirer payments projection', () => {
  it('sums forecasts of random histories to the nets of their payments, on working days [PANEL-780]', () =>
    explore(
      fc.asyncProperty(terms, fc.array(act, { minLength: 4, maxLength: 25 }), async (terms, acts) => {
        const { scenario, net } = await play(terms, acts)
        assert(table)
        const rows = scenario.changed(table) as { lines: Line[]; fee_cents: number }[]
        const lines = rows.flatMap((row) => row.lines)
        assert.equal(
          lines.reduce((sum, { gross, fee }) => sum + gross - fee, 0),
          net,
        )
        for (const { due_on } of lines) assert.equal(workingDayFrom(due_on), due_on)
        for (const { lines, fee_cents } of rows)
          assert.equal(
            lines.reduce((sum, { fee }) => sum + fee, 0),
            fee_cents,
          )
      }),
      60,
    ))
})
