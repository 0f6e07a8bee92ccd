import * as z from 'zod'
import { fromCents, fromThousandths, Money, toCents, toThousandths } from '#domain/money.ts'
import { amountOfPart, type LinePart, shareDiscount } from '#domain/payment-rules.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import { Id } from '#domain/text.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { type AccountObject, receivableById, standingPayments } from '#projections/finance.ts'
import { type SaleMoneyBack, type SaleObject, type SaleRow, splitSaleDiscount } from '#projections/sales.ts'
import { getStock, type StockMove, stockById, thousandthsByItem } from '#projections/stock.ts'
import { type PaymentTypeObject, paymentTypeById } from '#projections/stores.ts'

type ReturnItems = DataOf<'SaleReturned'>['items']

interface ReturnableLine {
  readonly catalog_item_id: number | null
  readonly description: string
  /** Whether the sale took it from stock. */
  readonly moves_stock: boolean
  /** What was sold, with its share of what was paid for the sale. */
  readonly sold: LinePart
  /** What came back before. */
  readonly returned: LinePart
}

/** A sale as its returns see it; fees in cents. */
export interface ReturnableSale {
  readonly lines: readonly ReturnableLine[]
  readonly delivery_fee: number
  readonly returned_fee: number
}

/** A line of a return. */
export interface ReturnLine {
  readonly line: number
  readonly thousandths: number
  readonly restock: boolean
}

/** Rows of the stock that may come back. */
export const stockRefs = (moves: readonly StockMove[]): AnyRef[] =>
  moves.map(({ catalog_item_id }) => stockById(catalog_item_id))

/** All lines of an item either took stock or did not: they were sold at once. */
export function toReturnableSale({
  doc,
  returned,
  stock_moves,
}: Pick<SaleRow, 'doc' | 'returned' | 'stock_moves'>): ReturnableSale {
  const moved = new Set(stock_moves.map(({ catalog_item_id }) => catalog_item_id))
  return {
    lines: doc.items.map((item, line) => ({
      catalog_item_id: item.catalog_item_id,
      description: item.description,
      moves_stock: item.catalog_item_id !== null && moved.has(item.catalog_item_id),
      sold: {
        thousandths: toThousandths(item.quantity),
        cents: toCents(item.total) - toCents(item.discount_share),
      },
      returned: { thousandths: toThousandths(item.returned), cents: returned?.cents[line] ?? 0 },
    })),
    delivery_fee: toCents(doc.delivery_fee),
    returned_fee: returned?.delivery_fee ?? 0,
  }
}

/** A sale that is being recorded. */
export function returnableUpload(sale: Pick<DataOf<'SaleCompleted'>, 'items' | 'discount'>): ReturnableSale {
  const shares = splitSaleDiscount(sale)
  return {
    lines: sale.items.map((item, line) => ({
      catalog_item_id: item.catalog_item_id,
      description: item.description,
      moves_stock: item.moves_stock,
      sold: { thousandths: toThousandths(item.quantity), cents: toCents(item.total) - (shares?.[line] ?? 0) },
      returned: { thousandths: 0, cents: 0 },
    })),
    delivery_fee: 0,
    returned_fee: 0,
  }
}

export const sumCents = (amounts: readonly number[]): number => amounts.reduce((sum, cents) => sum + cents, 0)

const lineAt = ({ lines }: ReturnableSale, line: number): ReturnableLine => {
  const of = lines[line]
  if (!of) throw new Error(`return: the sale has no line ${line}`)
  return of
}

/** Share of the returned lines in what was to be paid for the sale, in cents. */
export const shareWorth = (goods: ReturnableSale, returned: readonly ReturnLine[]): number[] =>
  returned.map(({ line, thousandths }) => {
    const { sold, returned: before } = lineAt(goods, line)
    return amountOfPart(sold, before, thousandths)
  })

/** Worth of the goods that the buyer still has, with the delivery fee, in cents. */
export const sumKeptWorth = ({ lines, delivery_fee, returned_fee }: ReturnableSale): number =>
  lines.reduce(
    (sum, { sold, returned }) =>
      sum + sold.cents - amountOfPart(sold, { thousandths: 0, cents: 0 }, returned.thousandths),
    delivery_fee - returned_fee,
  )

/**
 * Items and delivery fee of a return, whose amounts sum to the money back: where that is not their `worth`, of which the
 * fee is the last, it is shared in proportion.
 */
export function shareMoneyBack(
  goods: ReturnableSale,
  returned: readonly ReturnLine[],
  worth: readonly number[],
  total: number,
): Pick<DataOf<'SaleReturned'>, 'items' | 'delivery_fee'> {
  const sum = sumCents(worth)
  const weights = sum === 0 ? worth.map((_, place) => (place < returned.length ? 1 : 0)) : worth
  const shares = total === sum ? worth : shareDiscount(weights, total)
  const items = returned.map(({ line, thousandths, restock }, place) => {
    const { catalog_item_id, description } = lineAt(goods, line)
    const amount = fromCents(shares[place] ?? 0)
    return { line, catalog_item_id, description, quantity: fromThousandths(thousandths), amount, restock }
  })
  return { items, delivery_fee: fromCents(shares[returned.length] ?? 0) }
}

/** Stock that comes back: of lines that took stock and are to be restocked, if the item is still tracked. */
export function stockOfReturn(rows: Rows, { lines }: ReturnableSale, items: ReturnItems): StockMove[] {
  const moves = items.flatMap(({ line, catalog_item_id, quantity, restock }) =>
    restock && catalog_item_id !== null && lines[line]?.moves_stock ? [{ catalog_item_id, quantity }] : [],
  )
  return [...thousandthsByItem(moves)].flatMap(([catalog_item_id, thousandths]) =>
    getStock(rows, catalog_item_id) === null ? [] : [{ catalog_item_id, quantity: fromThousandths(thousandths) }],
  )
}

/** Money of a sale and of its accounts, in cents. */
export interface SaleMoney {
  /** When it was sold, and since then for its accounts. */
  readonly received: number
  /** Still owed for it. */
  readonly open: number
  /** Given back for its goods, without what lowered its accounts. */
  readonly given_back: number
}

export type SoldMoney = Pick<SaleRow, 'status' | 'received_cents'> & {
  readonly doc: Pick<SaleRow['doc'], 'returned_total'>
}
export type SaleAccount = Pick<AccountObject<unknown>, 'open_amount' | 'payments'>

const sumOf = (amounts: readonly string[]): number => amounts.reduce((sum, amount) => sum + toCents(amount), 0)

/** Of a sale with its accounts, deleted ones left out. A cancellation gave everything back. */
export function toSaleMoney({ status, received_cents, doc }: SoldMoney, accounts: readonly SaleAccount[]): SaleMoney {
  if (status === 'cancelled') return { received: 0, open: 0, given_back: 0 }
  const payments = accounts.flatMap(standingPayments)
  const lowered = payments.flatMap(({ kind, amount }) => (kind === 'return' ? [amount] : []))
  return {
    received: received_cents + sumOf(payments.map(({ received }) => received)),
    open: sumOf(accounts.map(({ open_amount }) => open_amount)),
    given_back: toCents(doc.returned_total) - sumOf(lowered),
  }
}

/** The same of loaded rows. */
export function saleMoney(rows: Rows, sale: SoldMoney & Pick<SaleRow, 'receivable_ids'>): SaleMoney {
  const accounts = sale.receivable_ids.flatMap((id) => {
    const account = rows.get(receivableById(id))
    return account && account.deleted_at === null ? [account.doc] : []
  })
  return toSaleMoney(sale, accounts)
}

/** What is due for goods, in cents, and the part of it that lowers what is owed. */
export interface MoneyDue {
  readonly total: number
  readonly on_credit: number
}

/**
 * What is due for goods that come back, in cents: first less is owed for the sale, then money goes back, at
 * most what was received. What was neither received nor is owed, is not due.
 */
export function dueBack({ received, open, given_back }: SaleMoney, goods: number): MoneyDue {
  const on_credit = Math.min(open, goods)
  const money = Math.min(goods - on_credit, Math.max(received - given_back, 0))
  return { on_credit, total: on_credit + money }
}

/** Money given back by a payment type. */
export const MoneyBackInput = z
  .strictObject({
    payment_type_id: Id,
    amount: Money.refine((value) => value !== '0.00', 'deve ser maior que zero'),
  })
  .meta({ id: 'MoneyBackInput' })

/** How the money of a cancelled sale went back. */
export const SaleRefunds = z.array(MoneyBackInput).max(50, 'no máximo 50 devoluções')
export type SaleRefunds = z.infer<typeof SaleRefunds>

type PaidSale = Pick<SaleObject, 'payments'>

/** Payment types that `toSaleRefunds` reads. */
export const refundTypes = (
  { payment_type_ids }: Pick<SaleRow, 'payment_type_ids'>,
  refunds: SaleRefunds | null | undefined,
): AnyRef[] =>
  refunds === undefined || refunds === null
    ? []
    : [...payment_type_ids, ...refunds.map(({ payment_type_id }) => payment_type_id)].map(paymentTypeById)

type Kind = Pick<PaymentTypeObject, 'kind'> | undefined

/** What was sold on credit is no money yet; promotions and cashback are discounts, which the shop gives. */
export const isMoney = (type: Kind): boolean =>
  type === undefined || !['credit_account', 'promotion', 'cashback'].includes(type.kind)

/** Store credit goes back to its customer by itself (CREDIT-3). */
export const isNoMoney = (type: Kind): boolean => !isMoney(type) || type?.kind === 'exchange_credit'

/** Payments of a sale whose money the shop has, in cents by payment type and without change. */
export function moneyTaken(
  { payments }: PaidSale,
  typeOf: (id: number) => Pick<PaymentTypeObject, 'kind'> | undefined,
): Map<number, number> {
  const taken = new Map<number, number>()
  for (const { payment_type_id: id, net, surcharge } of payments) {
    if (isNoMoney(typeOf(id))) continue
    const cents = (taken.get(id) ?? 0) + toCents(net) + toCents(surcharge)
    if (cents > 0) taken.set(id, cents)
  }
  return taken
}

/** The stated refunds with the names of their payment types; they must be all the money that the sale took. */
export function toSaleRefunds(
  rows: Rows,
  { doc }: Pick<SaleRow, 'doc'>,
  refunds: SaleRefunds,
): SaleMoneyBack[] | Refusal {
  const typeOf = (id: number) => rows.get(paymentTypeById(id))?.doc
  const named: SaleMoneyBack[] = []
  for (const [position, { payment_type_id, amount }] of refunds.entries()) {
    const type = typeOf(payment_type_id)
    const field = `refunds[${position}].payment_type_id`
    if (!type) return refuseField(field, 'forma de pagamento não encontrada')
    if (isNoMoney(type))
      return refuseField(field, 'não devolve dinheiro: fiado e crédito de troca são desfeitos pelo cancelamento')
    named.push({ payment_type_id, name: type.name, amount })
  }
  const total = [...moneyTaken(doc, typeOf).values()].reduce((sum, cents) => sum + cents, 0)
  const paid = refunds.reduce((sum, { amount }) => sum + toCents(amount), 0)
  return total === paid ? named : refuse('payment_mismatch', { total: fromCents(total), paid: fromCents(paid) })
}

/** Whether money leaves a drawer. The payment types are loaded. */
export const isInCash = (rows: Rows, refunds: readonly { readonly payment_type_id: number }[]): boolean =>
  refunds.some(({ payment_type_id }) => rows.get(paymentTypeById(payment_type_id))?.doc.is_cash === true)
