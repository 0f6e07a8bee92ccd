import { receivedCents } from '#domain/account-payments.ts'
import { acquiredOf } from '#domain/acquirer-terms.ts'
import { dateInZone } from '#domain/instant.ts'
import { paymentMethodName } from '#domain/payment-method.ts'
import { searchKey } from '#domain/text.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { companyRef, timezoneOf } from '#projections/companies.ts'
import { paymentTypeById } from '#projections/payment-types.ts'

type Receipt = Omit<DataOf<'ReceivablePaymentReceived'>, 'id' | 'paid_on'>

interface Side {
  readonly name: 'receivable' | 'payable'
}

/** Ways of paying with terms of an acquirer; an account may be received by one of them. */
export const acquirerTypeRefs = (rows: Rows, { name }: Side): AnyRef[] =>
  name === 'payable' ? [] : companyRef(rows).acquirer_type_ids.map(paymentTypeById)

/**
 * What the acquirer keeps and pays of an account that was received by card. Accounts name a method, not a way of paying
 * of the shop: it is the one with that name, else the only one whose name has the method's word.
 */
export function acquiredReceipt(rows: Rows, { name }: Side, receipt: Receipt): Pick<Receipt, 'acquired'> {
  const { kind, payment_method } = receipt
  const cents = receivedCents(receipt)
  if (name === 'payable' || kind !== 'payment' || payment_method === null || cents <= 0) return {}
  const types = companyRef(rows).acquirer_type_ids.flatMap((id) => rows.get(paymentTypeById(id))?.doc ?? [])
  const method = searchKey(paymentMethodName(payment_method))
  const word = { credit_card: 'credito', debit_card: 'debito' }[payment_method]
  const alike = types.filter(
    (type) => type.kind === 'card' && word !== undefined && searchKey(type.name).includes(word),
  )
  const type = types.find((each) => searchKey(each.name) === method) ?? (alike.length === 1 ? alike[0] : undefined)
  if (!type) return {}
  const daySold = () => dateInZone(receipt.paid_at, timezoneOf(rows))
  const acquired = acquiredOf(type, { cents, instalments: 1, daySold })
  if (!acquired) return {}
  return {
    acquired: {
      payment_type_id: type.id,
      ...acquired,
      ...(type.acquirer_fee_refunded && { acquirer_fee_refunded: true }),
    },
  }
}
