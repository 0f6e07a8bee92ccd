import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { priceSale, SaleBody, saleObject } from '../../bench/floor-sale.ts'

describe('floor of a sale', () => {
  const { schemas } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')).components
  const fieldsOf = (name: string): string[] => Object.keys(schemas[name].properties)
  const body = SaleBody.parse({
    items: [{ catalog_item_id: 7, quantity: '1' }],
    payments: [{ payment_type_id: 3, amount: '10.00' }],
  })
  const item = { id: 7, external_id: null, name: 'Produto', price: '10.00', stock: null }
  const type = { id: 3, name: 'Cartão', kind: 'card', fee_percentage: '2.50', accepts_api: true }
  const sale = saleObject(body, priceSale(body, [item], [type]), {
    id: 1,
    customer: null,
    now: new Date('2026-03-10T14:30:00Z'),
    timezone: 'America/Sao_Paulo',
  })

  it('has the fields of the contract, so that the comparison is fair', () => {
    expect(Object.keys(sale)).to.have.members(fieldsOf('Sale'))
  })

  it('has the fields of its lines', () => {
    const required = new Set(schemas.SaleItem.required as string[])
    expect(Object.keys(sale.items[0] ?? {})).to.include.members(
      fieldsOf('SaleItem').filter((name) => required.has(name)),
    )
  })
})
