import * as z from 'zod'
import { fromCents, Money, toCents } from '#domain/money.ts'
import { invalid, type Refusal, refuse } from '#domain/refusal.ts'
import { Id } from '#domain/text.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { type PaymentTypeObject, paymentTypeById } from '#projections/payment-types.ts'
import type { SaleMoneyBack, SaleObject, SaleRow } from '#projections/sales.ts'

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

/** Payment types that `refundsOf` reads. */
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
export function refundsOf(rows: Rows, { doc }: Pick<SaleRow, 'doc'>, refunds: SaleRefunds): SaleMoneyBack[] | Refusal {
  const typeOf = (id: number) => rows.get(paymentTypeById(id))?.doc
  const named: SaleMoneyBack[] = []
  for (const [position, { payment_type_id, amount }] of refunds.entries()) {
    const type = typeOf(payment_type_id)
    const field = `refunds[${position}].payment_type_id`
    if (!type) return invalid(field, 'forma de pagamento não encontrada')
    if (isNoMoney(type))
      return invalid(field, 'não devolve dinheiro: fiado e crédito de troca são desfeitos pelo cancelamento')
    named.push({ payment_type_id, name: type.name, amount })
  }
  const total = [...moneyTaken(doc, typeOf).values()].reduce((sum, cents) => sum + cents, 0)
  const paid = refunds.reduce((sum, { amount }) => sum + toCents(amount), 0)
  return total === paid ? named : refuse('payment_mismatch', { total: fromCents(total), paid: fromCents(paid) })
}
