import { expect } from 'chai'
import type { Json } from '../support/api.ts'
import { contract, operations } from '../support/contract.ts'
import { useCompanyPerTest } from '../support/use-api.ts'

type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

const resolved = (schema: Schema): Schema => {
  if (!schema.$ref) return schema
  const schemas = contract.components?.schemas as unknown as Readonly<Record<string, Schema>>
  return resolved(schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {})
}

const alternativesOf = (schema: Schema): Schema[] => {
  const found = resolved(schema)
  const choices = found.anyOf ?? found.oneOf
  return choices ? choices.flatMap(alternativesOf) : [found]
}

/** Paths of optional fields, at any depth, that refuse null. */
function refusing(schema: Schema, path = ''): string[] {
  return alternativesOf(schema).flatMap(({ properties = {}, required = [], items }) => [
    ...(items ? refusing(items, `${path}[]`) : []),
    ...Object.entries(properties).flatMap(([name, field]) => {
      const takesNull = alternativesOf(field).some(({ type }) => [type].flat().includes('null'))
      const at = path === '' ? name : `${path}.${name}`
      return [...(required.includes(name) || takesNull ? [] : [at]), ...refusing(field, at)]
    }),
  ])
}

/** Absent in a PATCH they stay unchanged; records require them, so null is refused (REC-5). */
const REQUIRED_OF_RECORDS: Readonly<Record<string, readonly string[]>> = {
  updateCatalogItem: ['name', 'price'],
  updateCategory: ['name'],
  updateCustomer: ['name'],
  updateSupplier: ['name'],
  updateReceivable: ['description', 'amount', 'due_date'],
  updatePayable: ['description', 'amount', 'due_date'],
  // Optional beside installments only.
  createReceivable: ['due_date'],
  createPayable: ['due_date'],
  updateWebhook: ['url', 'events'],
  updatePaymentType: ['name', 'kind'],
}

describe('null in a body', () => {
  const { company } = useCompanyPerTest()

  for (const { id, node } of operations) {
    const body = node.requestBody as { content?: Record<string, { schema?: Schema }> } | undefined
    const schema = body?.content?.['application/json']?.schema
    if (!schema) continue
    it(`is accepted by ${id} for every optional field [VAL-6]`, () => {
      expect(refusing(schema)).to.have.members([...(REQUIRED_OF_RECORDS[id] ?? [])])
    })
  }

  /** Without the fields that every record has. */
  const rest = ({ id: _, name: __, external_id: ___, created_at: ____, updated_at: _____, ...fields }: Json) => fields

  const nullsOf = (operation: string, ...besides: string[]): Record<string, null> => {
    const { node } = operations.find(({ id }) => id === operation) ?? { node: undefined }
    const body = node?.requestBody as { content: Record<string, { schema: Schema }> }
    const { properties = {}, required = [] } = resolved(body.content['application/json']?.schema ?? {})
    const names = Object.keys(properties).filter((name) => ![...required, ...besides].includes(name))
    return Object.fromEntries(names.map((name) => [name, null]))
  }

  const account = { description: 'Aluguel', amount: '10.00', due_date: '2026-12-01' }
  for (const { path, operation, whole, required } of [
    {
      path: '/customers',
      operation: 'Customer',
      required: { name: 'A' },
      whole: { name: 'B', document: '11222333000181', phone: '1133334444', notes: 'x', address: { city: 'Itu' } },
    },
    {
      path: '/suppliers',
      operation: 'Supplier',
      required: { name: 'A' },
      whole: { name: 'B', trade_name: 'b', email: 'a@b.example' },
    },
    {
      path: '/catalog/items',
      operation: 'CatalogItem',
      required: { name: 'A', price: '1.00' },
      whole: { name: 'B', price: '1.00', type: 'service', sku: 's', barcode: '96385074', unit: 'h', cost: '0.50' },
    },
    { path: '/finance/receivables', operation: 'Receivable', required: account, whole: account },
    { path: '/finance/payables', operation: 'Payable', required: account, whole: account },
  ]) {
    it(`means "absent" to POST, PUT and batches of ${path}, and "cleared" to PATCH [VAL-6, REC-5]`, async () => {
      const plain = rest((await company.post(path, required)).body.data)
      const nulls = nullsOf(`create${operation}`, 'installments')
      const named = (name: string) => ('name' in required ? { ...required, name } : required)
      const posted = await company.post(path, { ...nulls, ...named('C') })
      expect(rest(posted.body.data)).to.deep.equal(plain)
      const put = await company.call('PUT', `${path}/by-external/x`, { ...nulls, ...named('D') })
      expect(put.status).to.equal(201)
      expect(rest(put.body.data)).to.deep.equal(plain)
      const batch = await company.post(`${path}/batch`, { items: [{ ...nulls, ...named('E'), external_id: 'y' }] })
      expect(rest(batch.body.data[0])).to.deep.equal(plain)
      const { id } = (await company.post(path, { ...whole, external_id: 'z' })).body.data
      const kept = Object.keys(required)
      const patched = await company.call('PATCH', `${path}/${id}`, nullsOf(`update${operation}`, ...kept))
      expect(patched.status, patched.text).to.equal(200)
      expect(rest(patched.body.data)).to.deep.equal(plain)
      expect(patched.body.data.external_id).to.equal(null)
    })
  }

  it('means "absent" in a sale and in its items [VAL-6]', async () => {
    const cash = await company.paymentType('cash')
    const payments = [{ payment_type_id: cash, amount: '5.00' }]
    const item = { description: 'Bolo', quantity: '1', unit_price: '5.00' }
    const plain = await company.post('/sales', { items: [item], payments })
    const nulls = {
      ...nullsOf('createSale'),
      items: [{ catalog_item_id: null, catalog_item_external_id: null, ...item }],
    }
    const sale = await company.post('/sales', { ...nulls, payments })
    expect(sale.status, sale.text).to.equal(201)
    const { sold_at: _, ...fields } = rest(sale.body.data)
    const { sold_at: __, ...expected } = rest(plain.body.data)
    expect(fields).to.deep.equal(expected)
  })
})
