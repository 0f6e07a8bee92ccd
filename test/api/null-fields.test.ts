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
  readonly pattern?: string
  readonly minLength?: number
  readonly format?: string
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

/** Paths of texts that take null, and by the contract no empty text. Dates keep a format that generators make types of. */
function narrowTexts(schema: Schema, path = ''): string[] {
  return alternativesOf(schema).flatMap(({ properties = {}, items }) => [
    ...(items ? narrowTexts(items, `${path}[]`) : []),
    ...Object.entries(properties).flatMap(([name, field]) => [
      ...(isClearable(field) && !takesEmptyText(field) ? [`${path}.${name}`] : []),
      ...narrowTexts(field, `${path}.${name}`),
    ]),
  ])
}

const typesOf = (field: Schema) => alternativesOf(field).flatMap(({ type }) => [type].flat())
const isClearable = (field: Schema) => typesOf(field).includes('null') && typesOf(field).includes('string')
const takesEmptyText = (field: Schema) =>
  alternativesOf(field).some(
    ({ type, pattern, minLength = 0, enum: values, format }) =>
      [type].flat().includes('string') &&
      new RegExp(pattern ?? '').test('') &&
      minLength === 0 &&
      (values?.includes('') ?? true) &&
      (format === undefined || format.startsWith('date')),
  )

/** Fields of a body that are texts and may be null. */
function textsOf(operation: string): string[] {
  const { node } = operations.find(({ id }) => id === `create${operation}`) ?? { node: undefined }
  const body = node?.requestBody as { content: Record<string, { schema: Schema }> }
  const { properties = {} } = resolved(body.content['application/json']?.schema ?? {})
  return Object.keys(properties).filter((name) => isClearable(properties[name] as Schema))
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

  it('is also the meaning of an empty text in each optional text, at any depth [VAL-840]', () => {
    for (const { id, node } of operations) {
      const body = node.requestBody as { content?: Record<string, { schema?: Schema }> } | undefined
      const schema = body?.content?.['application/json']?.schema
      if (schema) expect(narrowTexts(schema), id).to.deep.equal([])
    }
  })

  const empty = (nulls: Readonly<Record<string, null>>, texts: readonly string[]) =>
    Object.fromEntries(Object.keys(nulls).map((name) => [name, texts.includes(name) ? '' : null]))

  for (const [path, operation, whole] of [
    ['/customers', 'Customer', { document: '11222333000181', phone: '1133334444', notes: 'x', email: 'a@b.example' }],
    ['/suppliers', 'Supplier', { trade_name: 'b', email: 'a@b.example', phone: '1133334444' }],
    [
      '/catalog/items',
      'CatalogItem',
      { price: '1.00', sku: 's', barcode: '96385074', unit: 'h', cost: '0.50', ncm: '09012100' },
    ],
  ] as const) {
    it(`as an empty text clears the texts of ${path} in PATCH, PUT, POST and batches [VAL-840]`, async () => {
      const texts = textsOf(operation)
      const required = { name: 'A', ...('price' in whole && { price: whole.price }) }
      const plain = rest((await company.post(path, required)).body.data)
      const nulls = nullsOf(`create${operation}`)
      const patch = empty(nullsOf(`update${operation}`, 'name', 'price'), texts)
      const { id } = (await company.post(path, { ...whole, name: 'B', external_id: 'z' })).body.data
      const patched = await company.call('PATCH', `${path}/${id}`, { ...patch, external_id: '' })
      expect(patched.status, patched.text).to.equal(200)
      expect(rest(patched.body.data)).to.deep.equal(plain)
      expect(patched.body.data.external_id).to.equal(null)
      const posted = await company.post(path, { ...empty(nulls, texts), ...required, name: 'C' })
      expect(rest(posted.body.data)).to.deep.equal(plain)
      const put = await company.call('PUT', `${path}/by-external/x`, { ...empty(nulls, texts), ...required, name: 'D' })
      expect(rest(put.body.data)).to.deep.equal(plain)
      const items = [
        { ...empty(nulls, texts), ...required, name: 'E', external_id: 'y' },
        { ...required, external_id: '' },
      ]
      const batch = await company.post(`${path}/batch`, { items })
      expect(rest(batch.body.data[0])).to.deep.equal(plain)
      expect(batch.body.meta.errors[0]).to.include({ index: 1, code: 'validation_failed' })
      const refused = await company.post(path, { ...required, name: '' })
      expect(refused.body.error.details.fields).to.have.all.keys('name')
    })
  }

  it('as an empty text clears texts within objects and lists [VAL-840]', async () => {
    const address = { street: 'Rua A', number: '1', complement: '', zip: '', state: '' }
    const { body } = await company.post('/customers', { name: 'A', address, external_id: '' })
    expect(body.data.address).to.include({ street: 'Rua A', complement: null, zip: null, state: null })
    const cash = await company.paymentType('cash')
    const item = { catalog_item_external_id: '', description: 'Bolo', quantity: '1', unit_price: '5.00', discount: '' }
    const payments = [{ payment_type_id: cash, amount: '5.00', end_to_end_id: '' }]
    const sale = await company.post('/sales', { items: [item], payments, external_id: '', sold_at: '', discount: '' })
    expect(sale.status, sale.text).to.equal(201)
    expect(sale.body.data).to.include({ external_id: null, total: '5.00' })
  })

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
