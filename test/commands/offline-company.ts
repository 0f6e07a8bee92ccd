import { expect } from 'chai'
import { OfflineSaleInput } from '#commands/offline-sale-input.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { Accepted } from '#ledger/command.ts'
import { companyRegistered, itemCreated, paymentTypeCreated } from '../support/facts.ts'
import type { Decided } from '../support/given.ts'
import { offlineSaleOf } from '../support/offline-sales.ts'

export const CASH = 1
export const CARD = 2
export const ACCOUNT = 3
export const shop = [
  companyRegistered(),
  paymentTypeCreated({ id: CASH }),
  paymentTypeCreated({ id: CARD, name: 'Cartão', kind: 'card', fee_percentage: '25.00' }),
  paymentTypeCreated({ id: ACCOUNT, name: 'Crediário', kind: 'credit_account', due_days: 30 }),
  itemCreated({ id: 10, stock: '5.000' }),
  itemCreated({ id: 11, name: 'Chá', price: '4.00', stock: null }),
]

export const input = (fields: object = {}) => OfflineSaleInput.parse(offlineSaleOf(fields))
export const paidBy = (payment_type_id: number, status = 'completed', amount = 10) => ({
  payments: [{ payment_type_id, amount, status }],
})
export const ofProduct = (product_id: number, quantity = 1, price = 10) => ({
  items: [{ product_id, quantity, price, total: quantity * price }],
  total: quantity * price,
  amount_received: quantity * price,
  ...paidBy(CASH, 'completed', quantity * price),
})

/** Event data of the single recorded sale, and the warnings returned to the till. */
export function recorded({ decision }: Decided): { data: DataOf<'OfflineSaleCompleted'>; warnings: object[] } {
  const { outcome, events, remarks } = decision as Accepted
  expect(outcome).to.equal('created')
  const data = events[0]?.data as DataOf<'OfflineSaleCompleted'>
  expect((remarks as { warnings: object[] }).warnings).to.deep.equal(data.warnings)
  return { data, warnings: data.warnings }
}

export const warning = (code: string, rest: object = {}) => ({
  code,
  product_id: null,
  found: null,
  expected: null,
  ...rest,
})
