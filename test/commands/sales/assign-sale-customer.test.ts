import { expect } from 'chai'
import { assignSaleCustomer } from '#commands/register-sale.ts'
import { event } from '#events/catalogue.ts'
import {
  companyRegistered,
  customerCreated,
  offlineSaleCompleted,
  paymentTypeCreated,
  receivableCreated,
  saleCompleted,
} from '../../support/facts.ts'
import { from, given } from '../../support/given.ts'

const shop = [
  companyRegistered(),
  paymentTypeCreated({ id: 1 }),
  customerCreated({ id: 5, external_id: 'bia', name: 'Bia' }),
  customerCreated({ id: 6, external_id: 'ana', name: 'Ana' }),
]
const bia = { id: 5, external_id: 'bia', name: 'Bia' }
const changes = { customer_id: 5, customer_external_id: 'bia', customer_name: 'Bia' }
const owed = (id: number, fields: object = {}) =>
  from('pdv', receivableCreated({ id, origin: 'sale', sale_id: 8, ...fields }))
const onCredit = (...receivable_ids: number[]) => from('pdv', offlineSaleCompleted({ id: 8, receivable_ids }))
const wrong = (field: string, message: string) => ({ fields: { [field]: [message] }, unknown_fields: [] })

describe('customer of a sale on credit', () => {
  it('is given to the sale and to its receivables that have none [SALE-102]', async () => {
    const other = { customer_id: 6, customer_external_id: 'ana', customer_name: 'Ana' }
    const deleted = event('ReceivableDeleted', { id: 43 })
    const scenario = await given(...shop, onCredit(41, 42, 43), owed(41), owed(42, other), owed(43), deleted)
    const decided = await scenario.when(assignSaleCustomer, { id: 8, customer_external_id: 'bia' })
    decided.accepts(
      'updated',
      event('SaleCustomerAssigned', { id: 8, customer: bia }),
      event('ReceivableUpdated', { id: 41, changes }),
    )
    expect(await scenario.show('sale/8')).to.deep.include({ customer: bia, status: 'completed' })
    expect(await scenario.show('receivable/41')).to.deep.include(changes)
    expect(await scenario.show('receivable/42')).to.deep.include(other)
    const again = await scenario.when(assignSaleCustomer, { id: 8, customer_id: 5 })
    again.accepts('unchanged')
  })

  it('is given to no other sale, and does not change [SALE-103]', async () => {
    const cases = [
      [[onCredit(41), owed(41)], { id: 9, customer_id: 5 }, 'not_found', undefined],
      [[onCredit(41), owed(41)], { id: 8 }, 'validation_failed', wrong('customer_id', 'informe o cliente')],
      [
        [onCredit(41), owed(41)],
        { id: 8, customer_id: 77 },
        'validation_failed',
        wrong('customer_id', 'cliente não encontrado'),
      ],
      [
        [saleCompleted({ id: 8 })],
        { id: 8, customer_id: 5 },
        'validation_failed',
        wrong('sale', 'a venda não é a prazo'),
      ],
      [
        [onCredit(41), owed(41), from('pdv', event('SaleCancelled', { id: 8, reason: null, restock: [] }))],
        { id: 8, customer_id: 5 },
        'validation_failed',
        wrong('sale', 'a venda está cancelada'),
      ],
      [
        [from('pdv', offlineSaleCompleted({ id: 8, receivable_ids: [41], customer: { ...bia, id: 6 } })), owed(41)],
        { id: 8, customer_id: 5 },
        'validation_failed',
        wrong('sale', 'a venda já tem cliente'),
      ],
    ] as const
    for (const [facts, input, code, details] of cases) {
      const decided = await (await given(...shop, ...facts)).when(assignSaleCustomer, input)
      decided.refuses(code, details)
    }
  })
})
