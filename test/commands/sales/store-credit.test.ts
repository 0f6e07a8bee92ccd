import { expect } from 'chai'
import { cancelSale } from '#commands/cancel-sale.ts'
import { recordFiscalDocument, recordReturnDocument } from '#commands/fiscal-document-commands.ts'
import { OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import { event } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import { creditBalanceOf, creditOf } from '#projections/store-credit.ts'
import {
  companyRegistered,
  customerCreated,
  fiscalDocument,
  itemCreated,
  paymentTypeCreated,
  saleCompleted,
  saleReturned,
} from '../../support/facts.ts'
import { type Decided, FIRST_NEW_ID, given, type Scenario } from '../../support/given.ts'

const shop = [
  companyRegistered({ cnpj: '11.222.333/0001-65' }),
  paymentTypeCreated({ id: 1 }),
  paymentTypeCreated({ id: 4, name: 'Troca', kind: 'exchange_credit' }),
  customerCreated({ id: 9, name: 'Eva' }),
  itemCreated({ id: 10 }),
  saleCompleted({ id: 8 }),
  saleReturned({ sale_id: 8, credit: { customer_id: 9, amount: '10.00' } }),
]

const sell = (scenario: Scenario, offline_id: string, fields: object = {}) =>
  scenario.when(
    recordOfflineSale,
    OfflineSaleInput.parse({
      offline_id,
      status: 'completed',
      created_at: '2026-03-10T14:00:00.000Z',
      items: [{ product_id: 10, quantity: 1, price: 10, total: 8 }],
      payments: [{ payment_type_id: 4, amount: 8, status: 'completed' }],
      customer_id: 9,
      total: 8,
      ...fields,
    }),
    'pdv',
    'user/3',
  )

const codesOf = ({ decision }: Decided): unknown[] => {
  if (isRefusal(decision)) throw new Error(decision.refused)
  return (decision.remarks as { warnings: { code: string; found: string; expected: string }[] }).warnings
    .filter(({ code }) => code === 'credit_exceeded')
    .map(({ found, expected }) => [found, expected])
}

const balanceIn = async (scenario: Scenario) => creditBalanceOf(await scenario.rows(creditOf(9)), 9)

describe('store credit', () => {
  it('is taken by sales of tills; more than the balance is a warning [CREDIT-2]', async () => {
    const scenario = await given(...shop)
    expect(await balanceIn(scenario)).to.equal('10.00')
    expect(codesOf(await sell(scenario, 'v1'))).to.deep.equal([])
    expect(await balanceIn(scenario)).to.equal('2.00')
    expect(codesOf(await sell(scenario, 'v2'))).to.deep.equal([['8.00', '2.00']])
    expect(await balanceIn(scenario)).to.equal('-6.00')
  })

  it('is left alone by sales without a customer, which are warned of, and by cancelled ones [CREDIT-2]', async () => {
    const scenario = await given(...shop)
    expect(codesOf(await sell(scenario, 'v1', { customer_id: null }))).to.deep.equal([['8.00', '0.00']])
    expect(codesOf(await sell(scenario, 'v3', { customer_id: 987_654 }))).to.deep.equal([['8.00', '0.00']])
    expect(codesOf(await sell(scenario, 'v2', { status: 'cancelled' }))).to.deep.equal([])
    expect(await balanceIn(scenario)).to.equal('10.00')
  })

  it('comes back when its sale is cancelled [CREDIT-3]', async () => {
    const scenario = await given(...shop)
    await sell(scenario, 'v1')
    const cancelled = await scenario.when(cancelSale, { id: FIRST_NEW_ID }, 'panel')
    expect(cancelled.decision).to.have.deep.nested.property('events[0].data.credit', { customer_id: 9, amount: '8.00' })
    expect(await balanceIn(scenario)).to.equal('10.00')
  })
})

describe('fiscal document of a return', () => {
  const authorized = { id: 1, ...fiscalDocument }

  it('is recorded once, and gives way to another only when cancelled', async () => {
    const scenario = await given(...shop)
    const recorded = await scenario.when(recordReturnDocument, authorized)
    recorded.accepts('updated', event('ReturnDocumentRecorded', authorized))
    expect(await scenario.show('return/1')).to.have.nested.property('fiscal_document.number', '1234')
    ;(await scenario.when(recordReturnDocument, authorized)).accepts('unchanged')
    const other = { ...authorized, number: '1235', access_key: null }
    ;(await scenario.when(recordReturnDocument, other)).refuses('fiscal_document_issued')
    await scenario.when(recordReturnDocument, { ...authorized, status: 'cancelled' })
    const again = await scenario.when(recordReturnDocument, authorized)
    expect(again.decision).to.include({ refused: 'validation_failed' })
    ;(await scenario.when(recordReturnDocument, { ...authorized, id: 99 })).refuses('not_found')
  })

  it('is of one return or sale only [FISCAL-6]', async () => {
    const scenario = await given(...shop, saleCompleted({ id: 7 }), saleReturned({ id: 2, sale_id: 7 }))
    const taken = { field: 'access_key', conflicting_id: 8, return_id: 1 }
    const contingency = { ...authorized, status: 'contingency', protocol: null, authorized_at: null } as const
    await scenario.when(recordReturnDocument, contingency)
    ;(await scenario.when(recordReturnDocument, { ...authorized, id: 2 })).refuses('duplicate_resource', taken)
    ;(await scenario.when(recordFiscalDocument, { ...authorized, id: 7 })).refuses('duplicate_resource', taken)
    const next = { ...authorized, number: '1235', access_key: null, protocol: '9' }
    ;(await scenario.when(recordReturnDocument, next)).accepts('updated', event('ReturnDocumentRecorded', next))
    await scenario.when(recordFiscalDocument, { ...authorized, id: 7 })
    const ofSale = { field: 'access_key', conflicting_id: 7 }
    ;(await scenario.when(recordReturnDocument, { ...authorized, id: 2 })).refuses('duplicate_resource', ofSale)
  })

  it('of another company is refused', async () => {
    const scenario = await given(companyRegistered({ cnpj: '99.222.333/0001-65' }), ...shop.slice(1))
    expect((await scenario.when(recordReturnDocument, authorized)).decision).to.include({
      refused: 'validation_failed',
    })
  })
})
