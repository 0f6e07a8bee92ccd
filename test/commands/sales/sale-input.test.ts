import { expect } from 'chai'
import { SaleInput } from '#commands/register-sale.ts'
import { describeIssues, type Problems } from '#domain/refusals.ts'

const item = { catalog_item_id: 1, quantity: '1' }
const minimal = { items: [item], payments: [] }

function problemsOf(body: object): Problems {
  const { error } = SaleInput.safeParse({ ...minimal, ...body })
  return error ? describeIssues(error) : { fields: {}, unknown_fields: [] }
}

const wrongFields = (body: object) => Object.keys(problemsOf(body).fields)

describe('sale input', () => {
  it('requires items and payments only', () => {
    expect(SaleInput.parse(minimal)).to.deep.equal(minimal)
    expect(Object.keys(describeIssues(SaleInput.safeParse({}).error!).fields)).to.have.members(['items', 'payments'])
    expect(wrongFields({ items: [] })).to.deep.equal(['items'])
  })

  it('requires exactly one identifier per item', () => {
    const ways = [{}, { catalog_item_id: 1, description: 'x', unit_price: '1.00' }]
    const both = { catalog_item_id: 1, catalog_item_external_id: 'c' }
    const external = { catalog_item_external_id: 'c', description: 'x' }
    for (const identifiers of [...ways, both, external, { ...both, ...external }]) {
      const { fields } = problemsOf({ items: [{ quantity: '1', ...identifiers }] })
      expect(fields).to.deep.equal({
        'items[0]': ['informe exatamente um entre catalog_item_id, catalog_item_external_id e description'],
      })
    }
  })

  it('requires the price of an ad-hoc item', () => {
    const { fields } = problemsOf({ items: [item, { description: 'Bolo', quantity: '1' }] })
    expect(fields).to.deep.equal({ 'items[1].unit_price': ['preencha este campo: é um item avulso'] })
  })

  it('refuses quantities of zero or with more than 3 decimals, and amounts without exactly 2', () => {
    for (const quantity of ['0', '0.000', '-1', '1.0001', 1, null]) {
      expect(wrongFields({ items: [{ ...item, quantity }] }), String(quantity)).to.deep.equal(['items[0].quantity'])
    }
    expect(wrongFields({ items: [{ ...item, unit_price: '1.5' }] })).to.deep.equal(['items[0].unit_price'])
    expect(wrongFields({ payments: [{ payment_type_id: 1, amount: 10 }] })).to.deep.equal(['payments[0].amount'])
    expect(wrongFields({ delivery_fee: '-1.00', sold_at: '2026-03-10T10:00:00' })).to.have.members([
      'delivery_fee',
      'sold_at',
    ])
  })

  it('reports unknown fields at every depth', () => {
    const body = {
      total: '1.00',
      items: [{ ...item, rebate: '1' }],
      payments: [{ payment_type_id: 1, amount: '1.00', status: 'x' }],
    }
    expect(problemsOf(body).unknown_fields).to.have.members(['total', 'items[0].rebate', 'payments[0].status'])
  })
})
