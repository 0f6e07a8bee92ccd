import { hash } from 'node:crypto'
import * as z from 'zod'
import { IMPOSSIBLE, Instant, isImpossible } from '#domain/instant.ts'
import { fromCents, fromThousandths, Quantity, toCents, toThousandths } from '#domain/money.ts'
import { type Refusal, refuse, refuseField, refuseForgotten } from '#domain/refusals.ts'
import { boundedText, Id, NewExternalId, REQUIRED_FIELD } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import type { PaymentKind } from '#events/company-events.ts'
import { accept, command, isRefusal } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { testMark } from '#projections/companies.ts'
import { customerById } from '#projections/people.ts'
import { returnByExternalId } from '#projections/returns.ts'
import { type SaleRow, saleById } from '#projections/sales.ts'
import { paymentTypeById } from '#projections/stores.ts'
import { voucherUntil } from '#projections/vouchers.ts'
import { findClosedSession, type NamedSession, namedSessionRefs } from './named-drawers.ts'
import { lowerReceivables, receivableRefs } from './receivables-payables.ts'
import {
  dueBack,
  isInCash,
  isMoney,
  MoneyBackInput,
  type ReturnableSale,
  type ReturnLine,
  saleMoney,
  shareMoneyBack,
  shareWorth,
  stockOfReturn,
  stockRefs,
  sumCents,
  toReturnableSale,
} from './returned-goods.ts'

type Refunds = DataOf<'SaleReturned'>['refunds']

/** 32 characters, none of which is misread. */
const CODE_CHARACTERS = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'

/** Code of a new voucher from a new secret: ten characters, 50 bits, beyond guessing. */
export const toVoucherCode = (secret: string): string =>
  Array.from(hash('sha256', secret, 'buffer').subarray(0, 10), (byte) => CODE_CHARACTERS[byte % 32]).join('')

const Line = z
  .strictObject({
    /** Position in the sale's items, from 0. */
    line: z.int().min(0),
    quantity: Quantity,
    /** Whether the goods go back to stock; true if absent. */
    restock: z.boolean().nullish(),
  })
  .meta({ id: 'ReturnItemInput' })

/** Body of POST /sales/{id}/returns (RETURN-1). */
export const ReturnBody = z.strictObject({
  external_id: NewExternalId.nullish(),
  reason: boundedText(500),
  returned_at: Instant.nullish(),
  /** Customer who gets store credit; the sale's, if absent. */
  customer_id: Id.nullish(),
  /** Whether a new voucher gets it instead. */
  voucher: z.boolean().nullish(),
  items: z.array(Line).min(1, 'informe ao menos um item').max(500, 'no máximo 500 itens'),
  /** Whether the delivery fee is given back too. */
  delivery_fee: z.boolean().nullish(),
  refunds: z.array(MoneyBackInput).max(50, 'no máximo 50 pagamentos').nullish(),
})
export type ReturnInput = z.infer<typeof ReturnBody> & {
  /** The sale. */
  readonly id: number
  /** Open session of a till that gives the money back. */
  readonly cash_session_id?: z.infer<typeof NamedSession>
  /** Code of the voucher, if there shall be one. */
  readonly voucher_code?: string
}

/** Kinds in which a return may be given back although the sale was paid otherwise. */
const ANY_SALE = ['cash', 'transfer', 'pix', 'exchange_credit'] as const

/** Takes goods of a sale back, and gives their share of its price back. */
export const returnGoods = command<ReturnInput>({
  needs: ({ id, external_id, customer_id, refunds, cash_session_id }) => [
    saleById(id),
    ...namedSessionRefs(cash_session_id),
    ...(external_id ? [returnByExternalId(external_id)] : []),
    ...(customer_id ? [customerById(customer_id)] : []),
    ...(refunds ?? []).map(({ payment_type_id }) => paymentTypeById(payment_type_id)),
  ],
  needsMore(rows, { id }) {
    const sale = rows.get(saleById(id))
    return sale ? returnRefs(sale) : []
  },
  decide(rows, input, { now, nextId, actor, permit }) {
    const sale = rows.get(saleById(input.id))
    if (!sale) return refuse('not_found')
    const same = input.external_id ? rows.get(returnByExternalId(input.external_id)) : null
    const obstacle = findObstacle(sale, same?.id ?? null, input, now)
    if (obstacle) return obstacle
    const closed = findClosedSession(rows, input.cash_session_id, { actor, permit })
    if (closed) return closed
    const goods = toReturnableSale(sale)
    const lines = linesOf(goods, input)
    if (isRefusal(lines)) return lines
    const fee = input.delivery_fee ? goods.delivery_fee - goods.returned_fee : 0
    if (input.delivery_fee && fee === 0 && goods.delivery_fee > 0) return alreadyReturned(null, goods.delivery_fee, 0)
    const worth = shareWorth(goods, lines)
    const due = dueBack(saleMoney(rows, sale), sumCents(worth) + fee)
    const { items, delivery_fee } = shareMoneyBack(goods, lines, [...worth, fee], due.total)
    const granted = permit('return_goods', { cents: due.total, before: toCents(sale.doc.returned_total) })
    if (isRefusal(granted)) return granted
    const named = findRefunds(rows, sale, input, due)
    if (isRefusal(named)) return named
    const returned_at = input.returned_at ?? now
    const refunds = toVoucher(rows, input, named, voucherUntil(rows, returned_at, now))
    if (isRefusal(refunds)) return refunds
    const credit = findCredit(rows, sale, input, refunds)
    if (credit && isRefusal(credit)) return credit
    const returned = event('SaleReturned', {
      id: nextId('return'),
      sale_id: sale.id,
      external_id: input.external_id ?? null,
      reason: input.reason,
      returned_at,
      items,
      delivery_fee,
      total: fromCents(due.total),
      refunds,
      stock: stockOfReturn(rows, goods, items),
      ...(credit && { credit }),
      cash_session_id: isInCash(rows, refunds) ? (input.cash_session_id ?? null) : null,
      ...granted,
      ...testMark(rows),
    })
    return accept('created', returned.subject, [
      returned,
      ...lowerReceivables(rows, sale, sumOfKind(rows, refunds, 'credit_account'), returned_at),
    ])
  },
})

/** Rows that a return of a sale reads and changes. */
const returnRefs = (sale: Readonly<SaleRow>): AnyRef[] => [
  ...stockRefs(sale.stock_moves),
  ...receivableRefs(sale),
  ...sale.payment_type_ids.map(paymentTypeById),
  ...(sale.customer_id === null ? [] : [customerById(sale.customer_id)]),
]

function findObstacle(
  sale: Readonly<SaleRow>,
  conflicting_id: number | null,
  { returned_at }: ReturnInput,
  now: string,
): Refusal | null {
  // Money of the provider goes back through the provider.
  if (sale.doc.order_id !== null) return refuse('managed_by_order', { order_id: sale.doc.order_id })
  if (conflicting_id !== null) return refuse('duplicate_resource', { field: 'external_id', conflicting_id })
  if (sale.status === 'cancelled') return refuse('sale_cancelled')
  if (!returned_at) return null
  if (isImpossible(returned_at, now)) return refuseField('returned_at', IMPOSSIBLE)
  const isEarlier = Date.parse(returned_at) < Date.parse(sale.sold_at)
  return isEarlier ? refuseField('returned_at', 'não pode ser antes da venda') : null
}

const alreadyReturned = (line: number | null, requested: number, available: number): Refusal =>
  line === null
    ? refuse('already_returned', { line, requested: fromCents(requested), available: fromCents(available) })
    : refuse('already_returned', { line, requested: fromThousandths(requested), available: fromThousandths(available) })

/** The lines in the input, or the refusal of one that the sale lacks, or of which less is left. */
function linesOf({ lines: sold }: ReturnableSale, { items }: ReturnInput): ReturnLine[] | Refusal {
  const named = new Set<number>()
  for (const [position, { line, quantity }] of items.entries()) {
    const of = sold[line]
    if (!of) return refuseField(`items[${position}].line`, `a venda não tem este item: vai de 0 a ${sold.length - 1}`)
    if (named.has(line)) return refuseField(`items[${position}].line`, 'o item já está nesta devolução')
    named.add(line)
    const [requested, available] = [toThousandths(quantity), of.sold.thousandths - of.returned.thousandths]
    if (requested > available) return alreadyReturned(line, requested, Math.max(available, 0))
  }
  return items.map(({ line, quantity, restock }) => ({
    line,
    thousandths: toThousandths(quantity),
    restock: restock ?? true,
  }))
}

/**
 * The refunds, which sum to what is due. Of a sale on credit what is still owed is lowered first, so that this part
 * stands under its own credit type.
 */
function findRefunds(
  rows: Rows,
  sale: Readonly<SaleRow>,
  { refunds }: ReturnInput,
  due: ReturnType<typeof dueBack>,
): Refunds | Refusal {
  if (!refunds && due.total > 0) return refuseField('refunds', REQUIRED_FIELD)
  const given: Refunds = []
  for (const [position, { payment_type_id, amount }] of (refunds ?? []).entries()) {
    const field = `refunds[${position}].payment_type_id`
    const type = rows.get(paymentTypeById(payment_type_id))?.doc
    if (!type) return refuseField(field, 'forma de pagamento não encontrada')
    const isOfSale =
      sale.payment_type_ids.includes(payment_type_id) && (isMoney(type) || type.kind === 'credit_account')
    if (!isOfSale && !ANY_SALE.some((kind) => kind === type.kind))
      return refuseField(field, 'deve ser uma forma da venda, dinheiro, transferência, Pix ou crédito de troca')
    given.push({ payment_type_id, name: type.name, amount })
  }
  const refunded = given.reduce((sum, { amount }) => sum + toCents(amount), 0)
  const onCredit = sumOfKind(rows, given, 'credit_account')
  if (refunded === due.total && onCredit === due.on_credit) return given
  return refuse('payment_mismatch', {
    due: fromCents(due.total),
    refunded: fromCents(refunded),
    ...((due.on_credit > 0 || onCredit > 0) && { on_credit: fromCents(due.on_credit) }),
  })
}

const sumOfKind = (rows: Rows, refunds: Refunds, kind: PaymentKind): number =>
  refunds
    .filter(({ payment_type_id }) => rows.get(paymentTypeById(payment_type_id))?.doc.kind === kind)
    .reduce((sum, { amount }) => sum + toCents(amount), 0)

/** The refunds, of which store credit goes to a voucher if that is asked. */
function toVoucher(
  rows: Rows,
  { voucher: isAsked, voucher_code: voucher, customer_id }: ReturnInput,
  refunds: Refunds,
  voucher_until: string,
): Refunds | Refusal {
  if (!isAsked || voucher === undefined) return refunds
  if (customer_id) return refuseField('voucher', 'informe o cliente ou peça um vale-troca, não os dois')
  if (sumOfKind(rows, refunds, 'exchange_credit') === 0)
    return refuseField('voucher', 'só há vale-troca se uma das formas é crédito de troca')
  return refunds.map((refund) => {
    const isCredit = rows.get(paymentTypeById(refund.payment_type_id))?.doc.kind === 'exchange_credit'
    return isCredit ? { ...refund, voucher, voucher_until } : refund
  })
}

/** Store credit among the refunds, of no voucher: of the customer in the input, else of the sale's. */
function findCredit(
  rows: Rows,
  sale: Readonly<SaleRow>,
  { customer_id }: ReturnInput,
  refunds: Refunds,
): DataOf<'SaleReturned'>['credit'] | null | Refusal {
  const named = customer_id ? rows.get(customerById(customer_id)) : null
  if (customer_id && (!named || named.deleted_at)) return refuseField('customer_id', 'cliente não encontrado')
  const cents = sumOfKind(
    rows,
    refunds.filter(({ voucher }) => voucher === undefined),
    'exchange_credit',
  )
  if (cents === 0) return null
  const customer = named ?? (sale.customer_id === null ? null : rows.get(customerById(sale.customer_id)))
  if (!customer || customer.deleted_at) return refuseField('customer_id', 'informe o cliente que recebe o crédito')
  if (customer.doc.forgotten_at !== null) return refuseForgotten(`customer/${customer.id}`)
  return { customer_id: customer.id, amount: fromCents(cents) }
}
