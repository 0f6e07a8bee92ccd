import { expect } from 'chai'
import { updateCompany } from '#commands/company-commands.ts'
import { MASKED } from '#domain/person-values.ts'
import { expectInvalid, expectProblem, LOCAL_TIME } from '../support/answers.ts'
import { type Json, type Reply, send, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { contract, operations } from '../support/contract.ts'
import { useDatabase } from '../support/database.ts'
import { OWN_DATABASE, useApi, useCompanyPerTest } from '../support/use-api.ts'

const NOBODY = '01a00000-0000-7000-8000-000000000000'

describe('request log', () => {
  const api = useApi(OWN_DATABASE)
  let company: TestCompany

  beforeEach(async () => {
    company = await api.company()
  })

  const logged = async (query = '') => (await company.get(`/requests${query}`)).body.data as Record<string, unknown>[]
  const idOf = ({ headers }: { readonly headers: Headers }) => headers.get('x-request-id') ?? ''
  const whole = async (id: string) => (await company.get(`/requests/${id}`)).body.data

  it('lists requests with key, path, status, code and replay, newest first [KIT-50]', async () => {
    const headers = { 'Idempotency-Key': 'um' }
    const first = await company.call('POST', '/customers', { name: 'Ana Prado' }, headers)
    const again = await company.call('POST', '/customers', { name: 'Ana Prado' }, headers)
    const refused = await company.post('/customers', { nome: 'Ana Prado' })
    const missing = await company.get('/sales/999?x=1')
    const calls = await logged()
    expect(calls.map(({ request_id }) => request_id)).to.deep.equal([missing, refused, again, first].map(idOf))
    const me = (await company.get('/me')).body.data
    const shared = { api_key_id: me.key.id, method: 'POST', path: '/customers', query: null }
    expect(calls[3]).to.deep.include({ ...shared, status: 201, code: null, replayed: false })
    expect(calls[2]).to.deep.include({ ...shared, status: 201, code: null, replayed: true })
    expect(calls[1]).to.deep.include({ ...shared, status: 422, code: 'validation_failed', replayed: false })
    expect(calls[0]).to.deep.include({ method: 'GET', path: '/sales/999', query: `x=${MASKED}`, status: 422 })
    for (const { at, duration_ms } of calls) {
      expect(Date.parse(String(at))).to.be.within(Date.now() - 60_000, Date.now() + 1_000)
      expect(duration_ms).to.be.a('number')
    }
  })

  it('stores body and reason of refused requests without personal data [KIT-51, KIT-54]', async () => {
    const sent = {
      name: 'Bia Souza',
      document: '529.982.247-25',
      email: 'bia@example.com',
      limite: 'Bia',
      person_type: 'XX',
    }
    const refused = await company.post('/customers', sent)
    const { body, details, code } = await whole(idOf(refused))
    expect(body).to.deep.equal({
      name: MASKED,
      document: MASKED,
      email: MASKED,
      limite: MASKED,
      person_type: 'XX',
    })
    expect(code).to.equal('validation_failed')
    expect(details.unknown_fields).to.deep.equal(['limite'])
    expect(Object.keys(details.fields)).to.include('person_type')
    const accepted = await company.post('/customers', { name: 'Bia Souza' })
    expect(await whole(idOf(accepted))).to.deep.include({ body: null, details: null })
    const broken = await fetch(`${api.url}/api/v1/customers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${company.key}`, 'content-type': 'application/json' },
      body: '{"name":',
    })
    expect(await whole(idOf(broken))).to.deep.include({ code: 'malformed_json', body: null })
    const { rows } = await api.core.pool.query<{ text: string }>('select t::text as text from ops.request_log t')
    for (const { text } of rows) expect(text).not.to.match(/\bbia\b|souza|529\.?982\.?247/i)
  })

  it('is filtered by key, method, status, class, code, path and time, in pages [KIT-50]', async () => {
    await company.get('/me')
    await company.get('/sales')
    await company.get('/sales/1')
    await company.get('/salesmen')
    await company.post('/customers', {})
    const paths = async (query: string) => (await logged(query)).map(({ path }) => path)
    expect(await paths('?path=/sales')).to.deep.equal(['/sales/1', '/sales'])
    expect(await paths('?status=4xx&method=GET')).to.deep.equal(['/salesmen', '/sales/1'])
    expect(await paths('?status=422')).to.deep.equal(['/customers'])
    expect(await paths('?code=not_found&path=/sales')).to.deep.equal(['/sales/1'])
    const other = await company.newKey(['sales:read'])
    await fetch(`${api.url}/api/v1/me`, { headers: { authorization: `Bearer ${other.key}` } })
    expect(await paths(`?api_key_id=${other.id}`)).to.deep.equal(['/me'])
    const [newest] = await logged('?path=/customers')
    const at = encodeURIComponent(String(newest!.at))
    expect(await paths(`?path=/customers&since=${at}`)).to.deep.equal(['/customers'])
    expect(await paths(`?path=/customers&until=${at}`)).to.deep.equal([])
    const page = (await company.get('/requests?limit=2&path=/sales&status=4xx')).body
    expect(page.meta).to.include({ has_more: false, next_cursor: null })
    const { next_cursor } = (await company.get('/requests?limit=1&path=/sales')).body.meta
    expect(await paths(`?limit=1&path=/sales&cursor=${next_cursor}`)).to.deep.equal(['/sales'])
    expectInvalid(await company.get('/requests?status=9xx'), ['status'])
    expectInvalid(await company.get('/requests?since=ontem'), ['since'])
    expectInvalid(await company.get('/requests?path=/%00&code=%00'), ['path', 'code'])
  })

  it('requires the scope of the ledger, for the own company only [KIT-51]', async () => {
    const id = idOf(await company.post('/customers', {}))
    const other = await api.company()
    expectProblem(await other.get(`/requests/${id}`), 404, 'not_found')
    const theirs = (await other.get('/requests')).body.data as { path: string }[]
    expect(theirs.map(({ path }) => path)).to.deep.equal([`/requests/${id}`])
    expectProblem(await company.get(`/requests/${NOBODY}`), 404, 'not_found')
    expectProblem(await company.get('/requests/1'), 404, 'not_found')
    const { key } = await company.newKey(['customers:write', 'customers:read'])
    const refused = await fetch(`${api.url}/api/v1/requests`, { headers: { authorization: `Bearer ${key}` } })
    expect(refused.status).to.equal(403)
    const [last] = await logged('?status=403')
    expect(last).to.deep.include({ path: '/requests', code: 'insufficient_scope' })
  })

  it('stores nothing of unauthenticated clients [KIT-50]', async () => {
    const count = async () => (await api.core.pool.query('select 1 from ops.request_log')).rowCount
    await logged()
    const before = await count()
    const wrong = await fetch(`${api.url}/api/v1/sales`, { headers: { authorization: 'Bearer tb_live_x' } })
    expect(wrong.status).to.equal(401)
    await fetch(`${api.url}/api/v1/sales?token=${company.key}`)
    await logged()
    // The reading request has been added since.
    expect(await count()).to.equal((before ?? 0) + 1)
  })
})

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
      const nulls = nullsOf(`create${operation}`, 'installments', 'repeat_until')
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

/** Access key of a fiscal document. */
const KEY = '35260111222333000181650010000012341000012345'

/** Resources with a body that creates a record, and changes of it. */
const RESOURCES = [
  ['/customers', { name: 'Ana' }, { notes: 'x' }],
  ['/suppliers', { name: 'Bom Grão' }, { notes: 'x' }],
  ['/catalog/items', { name: 'Café', price: '10.00' }, { price: '11.00' }],
  ['/catalog/categories', { name: 'Bebidas' }, { name: 'Sucos' }],
  ['/finance/receivables', { description: 'Conta', amount: '10.00', due_date: '2030-01-31' }, { amount: '11.00' }],
  ['/finance/payables', { description: 'Conta', amount: '10.00', due_date: '2030-01-31' }, { amount: '11.00' }],
  ['/webhooks', { url: 'https://erp.example/x', events: ['basic'] }, { description: 'ERP' }],
] as const

describe('If-None-Match', () => {
  const { company } = useCompanyPerTest()

  for (const [path, body, changes] of RESOURCES.filter(([each]) => each !== '/webhooks')) {
    it(`${path}: with * lets PUT by external id create only, and answers 412 otherwise [HTTP-843]`, async () => {
      const byExternal = `${path}/by-external/x`
      const put = (sent: object, none: string, headers = {}) =>
        company.call('PUT', byExternal, sent, { 'if-none-match': none, ...headers })
      const created = await put(body, '*')
      expect(created.status, created.text).to.equal(201)
      const etag = created.headers.get('etag') ?? ''
      const revision = async () => (await company.get('/me')).headers.get('x-ledger-revision')
      const before = await revision()
      for (const none of ['*', etag, `"y", ${etag}`])
        expectProblem(await put({ ...body, ...changes }, none), 412, 'precondition_failed')
      expectProblem(await put(body, '"y"', { 'if-match': '"z"' }), 412, 'precondition_failed')
      expect(await revision()).to.equal(before)
      expect((await put({ ...body, ...changes }, '"y"')).status).to.equal(200)
      await company.call('DELETE', `${path}/${created.body.data.id}`)
      expect((await put(body, '*')).status).to.equal(200)
    })
  }
})

describe('If-Match', () => {
  const { company } = useCompanyPerTest()

  const etagOf = async (path: string): Promise<string> => (await company.get(path)).headers.get('etag') as string
  const call = (method: string, path: string, body: object | undefined, etag: string): Promise<Reply> =>
    company.call(method, path, body, { 'if-match': etag })
  const revision = async () => (await company.get('/me')).headers.get('x-ledger-revision')

  for (const [path, body, changes] of RESOURCES) {
    it(`${path}: admits a change with the present ETag, and answers 412 with an older one [HTTP-45]`, async () => {
      const { id } = (await company.post(path, body)).body.data
      const one = `${path}/${id}`
      const first = await etagOf(one)
      const changed = await call('PATCH', one, changes, first)
      expect(changed.status, changed.text).to.equal(200)
      const second = await etagOf(one)
      expect(second).not.to.equal(first)
      expect(changed.headers.get('etag'), 'ETag of the answer').to.equal(second)
      const before = await revision()
      for (const method of ['PATCH', 'DELETE'])
        expectProblem(
          await call(method, one, method === 'PATCH' ? changes : undefined, first),
          412,
          'precondition_failed',
        )
      expect(await revision()).to.equal(before)
      expect((await call('DELETE', one, undefined, second)).status).to.equal(204)
      expectProblem(await call('PATCH', one, changes, second), 404, 'not_found')
    })
  }

  for (const [path, body, changes] of RESOURCES.filter(([each]) => each !== '/webhooks')) {
    it(`${path}: holds for PUT by external id, and forbids to create [HTTP-45]`, async () => {
      const byExternal = `${path}/by-external/x`
      for (const etag of ['*', '"x"'])
        expectProblem(await call('PUT', byExternal, body, etag), 412, 'precondition_failed')
      const { data } = (await company.call('PUT', byExternal, body)).body
      const etag = await etagOf(byExternal)
      expect(etag).to.equal(await etagOf(`${path}/${data.id}`))
      expect((await call('PUT', byExternal, { ...body, ...changes }, etag)).status).to.equal(200)
      expectProblem(await call('PUT', byExternal, body, etag), 412, 'precondition_failed')
    })
  }

  it('accepts lists, strong forms and `*`, and never matches what is no ETag [HTTP-45]', async () => {
    const { id } = (await company.post('/customers', { name: 'Ana' })).body.data
    const path = `/customers/${id}`
    let notes = 0
    for (const write of [
      (tag: string) => tag,
      (tag: string) => tag.slice(2),
      (tag: string) => `"a", ${tag}`,
      () => '*',
    ])
      expect((await call('PATCH', path, { notes: `${++notes}` }, write(await etagOf(path)))).status).to.equal(200)
    for (const etag of ['', '""', 'x', 'W/""', await etagOf('/customers')])
      expectProblem(await call('PATCH', path, { notes: 'y' }, etag), 412, 'precondition_failed')
  })

  it('guards the fiscal document of a sale by the ETag of the sale [HTTP-45]', async () => {
    const payment_type_id = await company.paymentType('cash')
    const sale = {
      items: [{ description: 'Café', quantity: '1', unit_price: '5.00' }],
      payments: [{ payment_type_id, amount: '5.00' }],
    }
    const { id } = (await company.post('/sales', sale)).body.data
    const etag = await etagOf(`/sales/${id}`)
    const document = { model: '65', series: '1', number: '1234', access_key: KEY, status: 'contingency' }
    expect((await call('PUT', `/sales/${id}/fiscal-document`, document, etag)).status).to.equal(200)
    const at = '2026-11-21T08:17:20-03:00'
    const authorized = { ...document, status: 'authorized', protocol: '135260000012345', authorized_at: at }
    expectProblem(await call('PUT', `/sales/${id}/fiscal-document`, authorized, etag), 412, 'precondition_failed')
  })

  it('admits one of many writers that have read the same state [HTTP-45]', async () => {
    const { id } = (await company.post('/customers', { name: 'Ana' })).body.data
    const path = `/customers/${id}`
    const etag = await etagOf(path)
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, n) => call('PATCH', path, { notes: `escrita ${n}` }, etag)),
    )
    const won = replies.filter(({ status }) => status === 200)
    expect(won).to.have.length(1)
    for (const reply of replies) if (reply !== won[0]) expectProblem(reply, 412, 'precondition_failed')
    expect((await company.get(path)).body.data).to.deep.equal((won[0] as { body: Json }).body.data)
  })

  it('does not hold for the repetition of a request under its Idempotency-Key [IDEM-2]', async () => {
    const { id } = (await company.post('/customers', { name: 'Ana' })).body.data
    const headers = { 'if-match': await etagOf(`/customers/${id}`), 'idempotency-key': 'k' }
    const change = () => company.call('PATCH', `/customers/${id}`, { notes: 'x' }, headers)
    const [first, again] = [await change(), await change()]
    expect([first.status, again.status, again.text]).to.deep.equal([200, 200, first.text])
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
  })
})

describe('/me', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany

  before(async () => {
    api = await startApi(database.url, { perMinute: 77, perDay: 777 })
    company = await api.company()
  })
  after(() => api.close())

  const me = (key: string) => send(`${api.url}/api/v1/me`, 'GET', undefined, { authorization: `Bearer ${key}` })

  it('shows company, scopes and quotas of the key, and never the key itself', async () => {
    const { id, key } = await company.newKey(['sales:write', 'catalog:read'], '2099-12-31T23:59:59.000Z')
    const reply = await me(key)
    expect(reply.status).to.equal(200)
    const { server_time, limits, key: shown, ...rest } = reply.body.data
    expect(rest).to.deep.equal({
      company: {
        id: company.id,
        name: `Loja ${company.id}`,
        cnpj: '11.222.333/0001-81',
        state_registration: null,
        tax_regime: null,
        logo_url: null,
        brand_color: null,
        test: false,
      },
      plan: 'api',
    })
    const { created_at, ...about } = shown
    expect(about).to.deep.equal({
      id,
      name: 'chave',
      prefix: key.slice(0, 12),
      scopes: ['catalog:read', 'sales:write'],
      expires_at: '2099-12-31T20:59:59.000-03:00',
      max_amount_per_call: null,
      max_amount_per_day: null,
    })
    expect(created_at).to.match(LOCAL_TIME)
    expect(server_time).to.match(LOCAL_TIME)
    expect(Math.abs(Date.parse(server_time) - Date.now())).to.be.below(5_000)
    expect(limits).to.deep.include({ requests_per_minute: 77, requests_per_day: 777, bytes_per_day: 1_000_000_000_000 })
    expect(reply.text).to.not.include(key)
  })

  it('shows tax data of the company', async () => {
    const taxes = { state_registration: 'ISENTO', tax_regime: 'normal' } as const
    await company.run(updateCompany, taxes)
    expect((await me(company.key)).body.data.company).to.include(taxes)
  })

  it('shows null for a key without expiry', async () => {
    expect((await me(company.key)).body.data.key.expires_at).to.equal(null)
  })

  it('agrees with the quota headers', async () => {
    const reply = await me(company.key)
    expect(reply.headers.get('x-ratelimit-limit')).to.equal(String(reply.body.data.limits.requests_per_minute))
  })
})
