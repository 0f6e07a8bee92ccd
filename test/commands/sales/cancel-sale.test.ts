import { expect } from 'chai'
import { CancelSaleInput, cancelSale } from '#commands/sales/cancel-sale.ts'
import { registerSale, SaleInput } from '#commands/sales/register-sale.ts'
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
