import { expect } from 'chai'
import { CancelSaleInput, cancelSale } from '#commands/cancel-sale.ts'
import { registerSale, SaleInput } from '#commands/register-sale.ts'
import { event } from '#events/catalogue.ts'
import {
  companyRegistered,
  fiscalDocument,
  itemCreated,
  paymentTypeCreated,
  saleCompleted,
  stockCounted,
} from '../../support/facts.ts'
import { from, given } from '../../support/given.ts'

const cancel = CancelSaleInput.parse({ id: 8 })
const cancelled = (fields: object = {}) => event('SaleCancelled', { id: 8, reason: null, restock: [], ...fields })
const shop = [
  companyRegistered(),
  paymentTypeCreated({ id: 1 }),
  itemCreated({ id: 10, stock: '5.000' }),
  itemCreated({ id: 11, name: 'Chá', stock: '5.000' }),
]
const line = {
  catalog_item_id: 10,
  external_id: null,
  description: 'Café',
  quantity: '2.000',
  unit_price: '5.00',
  total: '10.00',
  moves_stock: true,
}
const teaLine = { ...line, catalog_item_id: 11, description: 'Chá', quantity: '0.500' }
const sold = saleCompleted({ id: 8, items: [line, teaLine] })
const coffeeMove = { catalog_item_id: 10, quantity: '2.000' }
const teaMove = { catalog_item_id: 11, quantity: '0.500' }

describe('cancel sale', () => {
  it('cancels the sale and returns its stock [SALE-16]', async () => {
    const scenario = await given(...shop, sold)
    const decided = await scenario.when(cancelSale, CancelSaleInput.parse({ id: 8, reason: ' desistência ' }))
    decided.accepts('updated', cancelled({ reason: 'desistência', restock: [coffeeMove, teaMove] }))
    const shown = await scenario.show('sale/8')
    expect(shown).to.include({ status: 'cancelled', cancel_reason: 'desistência' })
    expect(shown).to.include({ cancelled_at: '2026-03-10T12:05:00.000-03:00' })
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '5.000' })
  })

  it('returns the unchanged state for a second cancellation [SALE-17]', async () => {
    const scenario = await given(...shop, sold)
    await scenario.when(cancelSale, cancel)
    const before = await scenario.show('sale/8')
    const again = await scenario.when(cancelSale, CancelSaleInput.parse({ id: 8, reason: 'outra' }))
    again.accepts('unchanged')
    expect(again.decision).to.include({ subject: 'sale/8' })
    expect(await scenario.show('sale/8')).to.deep.equal(before)
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '5.000' })
  })

  it('returns stock to an item deactivated meanwhile [SALE-16]', async () => {
    const scenario = await given(...shop, sold, event('CatalogItemDeactivated', { id: 10 }))
    const decided = await scenario.when(cancelSale, cancel)
    decided.accepts('updated', cancelled({ restock: [coffeeMove, teaMove] }))
  })

  it('returns no stock to an untracked item', async () => {
    const scenario = await given(...shop, sold, stockCounted(10, '3.000', null))
    const decided = await scenario.when(cancelSale, cancel)
    decided.accepts('updated', cancelled({ restock: [teaMove] }))
  })

  it('returns nothing for a line that debited nothing, even if the item is tracked now [SALE-16]', async () => {
    const untracked = saleCompleted({ id: 8, items: [{ ...line, moves_stock: false }] })
    const scenario = await given(...shop, untracked)
    const decided = await scenario.when(cancelSale, cancel)
    decided.accepts('updated', cancelled())
  })

  it('adds to the current stock', async () => {
    const scenario = await given(...shop, sold, stockCounted(10, '3.000', '100.000'))
    await scenario.when(cancelSale, cancel)
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '102.000' })
  })

  it('restores the state before the sale', async () => {
    const scenario = await given(...shop)
    const before = (await scenario.show('catalog_item/10')) as { stock: string }
    const items = [
      { catalog_item_id: 10, quantity: '1' },
      { catalog_item_id: 10, quantity: '2.5' },
    ]
    const input = SaleInput.parse({ items, payments: [{ payment_type_id: 1, amount: '35.00' }] })
    const { decision } = await scenario.when(registerSale, input)
    const { subject } = decision as { subject: string }
    await scenario.when(cancelSale, CancelSaleInput.parse({ id: Number(subject.slice('sale/'.length)) }))
    expect(await scenario.show('catalog_item/10')).to.include({ stock: before.stock })
  })
})

describe('money of a cancelled sale', () => {
  const paid = (payment_type_id: number, net: string, surcharge = '0.00') => ({
    payment_type_id,
    name: `tipo ${payment_type_id}`,
    amount: net,
    surcharge,
    net,
  })
  const types = [
    paymentTypeCreated({ id: 2, name: 'Cartão', kind: 'card' }),
    paymentTypeCreated({ id: 3, name: 'Crediário', kind: 'credit_account' }),
  ]
  const mixed = saleCompleted({ id: 8, payments: [paid(1, '12.00'), paid(2, '4.75', '0.25'), paid(3, '3.00')] })
  const back = (...refunds: [number, string][]) =>
    CancelSaleInput.parse({ id: 8, refunds: refunds.map(([payment_type_id, amount]) => ({ payment_type_id, amount })) })

  it('is noted with the names of the ways by which it went back', async () => {
    const scenario = await given(...shop, ...types, mixed)
    const refunds = [
      { payment_type_id: 1, name: 'Dinheiro', amount: '14.00' },
      { payment_type_id: 2, name: 'Cartão', amount: '3.00' },
    ]
    const decided = await scenario.when(cancelSale, back([1, '14.00'], [2, '3.00']))
    decided.accepts('updated', cancelled({ restock: [], refunds }))
    expect(await scenario.show('sale/8')).to.deep.include({ cancel_refunds: refunds })
  })

  it('is null unless it is stated, and nothing for a sale on credit', async () => {
    const untold = await given(...shop, ...types, mixed)
    await untold.when(cancelSale, cancel)
    expect(await untold.show('sale/8')).to.deep.include({ cancel_refunds: null })
    const onCredit = await given(...shop, ...types, saleCompleted({ id: 8, payments: [paid(3, '20.00')] }))
    await onCredit.when(cancelSale, back())
    expect(await onCredit.show('sale/8')).to.deep.include({ cancel_refunds: [] })
  })

  it('must be what the sale took, to the cent, by ways that give money back [SALE-101]', async () => {
    const scenario = await given(...shop, ...types, mixed)
    for (const [input, paidBack] of [
      [back([1, '16.99']), '16.99'],
      [back([1, '17.01']), '17.01'],
      [back(), '0.00'],
    ] as const) {
      const decided = await scenario.when(cancelSale, input)
      decided.refuses('payment_mismatch', { total: '17.00', paid: paidBack })
    }
    for (const [input, message] of [
      [back([99, '17.00']), 'forma de pagamento não encontrada'],
      [back([3, '17.00']), 'não devolve dinheiro: fiado e crédito de troca são desfeitos pelo cancelamento'],
    ] as const) {
      const decided = await scenario.when(cancelSale, input)
      decided.refuses('validation_failed', {
        fields: { 'refunds[0].payment_type_id': [message] },
        unknown_fields: [],
      })
    }
    expect(CancelSaleInput.safeParse({ id: 8, refunds: [{ payment_type_id: 1, amount: '0.00' }] }).success).to.equal(
      false,
    )
  })
})

describe('refused cancellations', () => {
  it('refuses counter sales to the integration API only [SALE-18]', async () => {
    const scenario = await given(...shop, from('pdv', sold))
    const api = await scenario.when(cancelSale, cancel, 'api')
    api.refuses('managed_by_pdv')
    const counter = await scenario.when(cancelSale, cancel, 'pdv')
    counter.accepts('updated', cancelled({ restock: [coffeeMove, teaMove] }))
  })

  it('refuses a cancelled counter sale to the API too [SALE-18]', async () => {
    const scenario = await given(...shop, from('pdv', sold), from('pdv', cancelled({ restock: [coffeeMove, teaMove] })))
    const decided = await scenario.when(cancelSale, cancel, 'api')
    decided.refuses('managed_by_pdv')
  })

  it('refuses a sale with an authorized fiscal document [SALE-19]', async () => {
    const issued = event('FiscalDocumentRecorded', { id: 8, ...fiscalDocument })
    const scenario = await given(...shop, sold, issued)
    const decided = await scenario.when(cancelSale, cancel)
    decided.refuses('fiscal_document_issued')
  })

  it('does not find a missing sale', async () => {
    const scenario = await given(...shop)
    const decided = await scenario.when(cancelSale, cancel)
    decided.refuses('not_found')
  })
})
