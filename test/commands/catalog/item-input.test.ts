import { expect } from 'chai'
import { CreateItemInput, ReplaceItemInput } from '#commands/item-commands.ts'
import { ItemChanges } from '#commands/item-input.ts'
import { describeIssues, type Problems } from '#domain/refusals.ts'

const NONE: Problems = { fields: {}, unknown_fields: [] }

function problemsOf(body: object): Problems {
  const { error } = CreateItemInput.safeParse(body)
  return error ? describeIssues(error) : NONE
}

function patchProblems(changes: object): Problems {
  const { error } = ItemChanges.safeParse(changes)
  return error ? describeIssues(error) : NONE
}

const wrongFields = (body: object) => Object.keys(problemsOf({ name: 'Café', price: '1.00', ...body }).fields)

describe('catalog item input', () => {
  it('requires name and price only, and defaults to a product', () => {
    expect(CreateItemInput.parse({ name: 'Café', price: '1.00' })).to.deep.equal({
      type: 'product',
      name: 'Café',
      price: '1.00',
    })
    expect(problemsOf({}).fields).to.deep.equal({ name: ['preencha este campo'], price: ['preencha este campo'] })
  })

  it('accepts null for optional fields only', () => {
    const empty = {
      external_id: null,
      type: null,
      sku: null,
      barcode: null,
      category_id: null,
      unit: null,
      cost: null,
      gtin: null,
      ncm: null,
      cest: null,
      stock: null,
    }
    expect(wrongFields(empty)).to.deep.equal([])
    expect(wrongFields({ name: null, price: null })).to.have.members(['name', 'price'])
  })

  it('refuses malformed values', () => {
    const malformed = {
      type: 'kit',
      price: '1.5',
      cost: 2,
      stock: '-1',
      category_id: 0,
      sku: 'x'.repeat(61),
      barcode: '',
      unit: 'x'.repeat(11),
      gtin: '7891234567894',
      ncm: '0901210',
      cest: '170960',
    }
    expect(wrongFields(malformed)).to.have.members(Object.keys(malformed))
  })

  it('reports fields of the service as unknown', () => {
    const read = ['id', 'category_name', 'stock_updated_at', 'created_at', 'updated_at']
    const body = Object.fromEntries(read.map((field) => [field, null]))
    expect(problemsOf({ name: 'Café', price: '1.00', ...body }).unknown_fields).to.have.members(read)
    expect(patchProblems(body).unknown_fields).to.have.members(read)
  })

  it('refuses stock for a service, but accepts null', () => {
    expect(wrongFields({ type: 'service', stock: '0' })).to.deep.equal(['stock'])
    expect(wrongFields({ type: 'service', stock: null })).to.deep.equal([])
  })

  it('accepts a stock adjustment in PATCH only, and not together with a count', () => {
    expect(problemsOf({ name: 'Café', price: '1.00', stock_adjustment: '1' }).unknown_fields).to.deep.equal([
      'stock_adjustment',
    ])
    for (const stock_adjustment of ['-1.5', null]) expect(patchProblems({ stock_adjustment })).to.deep.equal(NONE)
    for (const stock of ['1', null]) {
      expect(patchProblems({ stock, stock_adjustment: '1' }).fields).to.have.keys('stock_adjustment')
    }
    for (const stock_adjustment of ['0', 1]) {
      expect(patchProblems({ stock_adjustment }).fields).to.have.keys('stock_adjustment')
    }
  })

  it('requires an external id in inputs that identify the record by it', () => {
    expect(ReplaceItemInput.safeParse({ name: 'Café', price: '1.00' }).success).to.equal(false)
  })
})
