import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { createCustomer } from '#commands/person-commands.ts'
import { createStore } from '#commands/store-commands.ts'
import { negotiateCoding } from '#http/answers.ts'
import { createPageCache } from '#http/traffic.ts'
import { expectInvalid, expectProblem, expectRate } from '../support/answers.ts'
import { type Json, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { plainText } from '../support/import-file.ts'
import { panelUser, usePanelUser } from '../support/panel.ts'
import { rawRequest } from '../support/raw-request.ts'
import { useCompany, useCompanyPerTest } from '../support/use-api.ts'

describe('records that seem to repeat others', () => {
  const { company, user } = usePanelUser('owner')
  const UPC = { name: 'Importado', price: '1.00', barcode: '036000291452' }
  const EAN = { name: 'Café', price: '1.00', barcode: '0036000291452' }

  it('are warned of by POST, PUT, PATCH and batch: a barcode with other zeros [ITEM-12]', async () => {
    const { id } = (await company.post('/catalog/items', UPC)).body.data
    const warned = async (answer: { body: { data: { id: number }; meta: { warnings: object[] } } }) => {
      const { data, meta } = answer.body
      expect(meta.warnings).to.deep.equal([
        {
          code: 'barcode_in_use',
          field: 'barcode',
          message: `o item ${id} (Importado) tem o mesmo código de barras`,
          conflicting_id: id,
        },
      ])
      return data.id
    }
    const other = await warned(await company.post('/catalog/items', EAN))
    await company.call('PATCH', `/catalog/items/${other}`, { barcode: null })
    await warned(await company.call('PATCH', `/catalog/items/${other}`, { barcode: EAN.barcode }))
    await warned(await company.call('PUT', '/catalog/items/by-external/X', { ...EAN, barcode: '00036000291452' }))
    const { meta } = (
      await company.post('/catalog/items/batch', {
        items: [
          { ...EAN, external_id: 'Y', barcode: '789' },
          { ...EAN, external_id: 'Z', barcode: '36000291452' },
        ],
      })
    ).body
    expect(meta.warnings.filter(({ code }: { code: string }) => code === 'barcode_in_use')).to.deep.equal([
      {
        index: 1,
        code: 'barcode_in_use',
        field: 'barcode',
        message: `o item ${id} (Importado) tem o mesmo código de barras`,
        conflicting_id: id,
      },
    ])
    const strict = await company.post('/catalog/items?strict=true', { ...EAN, barcode: '00036000291452' })
    expect(strict.status).to.equal(409)
    expect((await company.call('PATCH', `/catalog/items/${id}`, { name: 'Outro' })).body).not.to.have.property('meta')
  })

  it('are warned of by POST, PUT, PATCH and batch: a name with another apostrophe [PERSON-820]', async () => {
    for (const path of ['/customers', '/suppliers', '/catalog/categories']) {
      const { id } = (await company.post(path, { name: "Ana D'Ávila" })).body.data
      const warning = {
        code: 'name_in_use',
        field: 'name',
        message: `o cadastro ${id} tem o mesmo nome, com outro apóstrofo`,
        conflicting_id: id,
      }
      const made = (await company.post(path, { name: 'ana D’ávila' })).body
      expect(made.meta.warnings).to.deep.equal([warning])
      const put = await company.call('PUT', `${path}/by-external/X`, { name: 'Ana D´Ávila' })
      expect(put.body.meta.warnings[0]).to.deep.equal(warning)
      const batch = await company.post(`${path}/batch`, {
        items: [
          { external_id: 'Y', name: 'Rui' },
          { external_id: 'Z', name: 'Ana D`Ávila' },
        ],
      })
      expect(batch.body.meta.warnings).to.deep.equal([{ index: 1, ...warning }])
      const renamed = await company.call('PATCH', `${path}/${batch.body.data[0].id}`, { name: 'Ana D‘Ávila' })
      expect(renamed.body.meta.warnings).to.deep.equal([warning])
      expect((await company.call('PATCH', `${path}/${made.data.id}`, { notes: 'x' })).body).not.to.have.property('meta')
      expect((await company.post(path, { name: "Joana d'Arc" })).body).not.to.have.property('meta')
    }
  })

  it('are warned of by POST and PATCH: a payment type with another apostrophe [REC-1]', async () => {
    const path = '/sales/payment-types'
    const { id } = (await company.post(path, { name: "Vale d'água", kind: 'other' })).body.data
    const made = (await company.post(path, { name: 'vale d’Água', kind: 'other' })).body
    const message = `o cadastro ${id} tem o mesmo nome, com outro apóstrofo`
    const warning = { code: 'name_in_use', field: 'name', message, conflicting_id: id }
    expect(made.meta.warnings).to.deep.equal([warning])
    const patched = (await company.call('PATCH', `${path}/${made.data.id}`, { name: 'Vale d´água' })).body
    expect(patched.meta.warnings).to.deep.equal([warning])
    expect((await company.call('PATCH', `${path}/${made.data.id}`, { due_days: 3 })).body).not.to.have.property('meta')
    const home = '/painel/configuracoes/formas-de-pagamento'
    const fields = { name: 'Vale d‘água', kind: 'other', fee_percentage: '0,00', due_days: '30' }
    const { to } = await user.submit(`${home}/nova`, fields)
    expect(to).to.match(new RegExp(`^${home}/\\d+\\?.*parecido=${id}`))
    expect((await user.get(to as string)).html).to.include(`Parece repetir o cadastro <a href="${home}/${id}">Vale d`)
    const other = await user.submit(`${home}/nova`, { ...fields, name: 'Vale' })
    expect(other.to)
      .to.match(/^\/painel\/configuracoes/)
      .and.not.to.include('parecido')
  })

  it('are linked from the page of the saved record', async () => {
    const item = (await company.post('/catalog/items', UPC)).body.data
    await user.submit(
      '/painel/catalogo/novo',
      { name: 'Café', type: 'product', price: '1,00', barcode: EAN.barcode },
      '/painel/catalogo',
    )
    const [, saved] = (await company.get('/catalog/items')).body.data
    const page = await user.get(`/painel/catalogo/${saved.id}?parecido=${item.id}`)
    expect(page.html).to.include(`Parece repetir o cadastro <a href="/painel/catalogo/${item.id}">Importado</a>`)
    const customer = (await company.post('/customers', { name: "Ana D'Ávila" })).body.data
    const { headers } = await user.submit('/painel/clientes/novo', { name: 'Ana D’Ávila' }, '/painel/clientes')
    expect(headers.get('location')).to.match(new RegExp(`/painel/clientes/\\d+\\?.*parecido=${customer.id}`))
    expect(plainText((await user.get(`/painel/clientes/${customer.id}?parecido=999999`)).html)).not.to.include(
      'Parece repetir',
    )
  })

  it('are no barcodes where a text stands for none, and have no invisible characters [ITEM-820]', async () => {
    for (const none of ['SEM GTIN', 'sem gtin', 'Sem EAN', '-', '--', 'N/A', 'null', '0', '0000000000000', '\u2014']) {
      const made = await company.post('/catalog/items', { name: 'Café', price: '1.00', barcode: none, gtin: none })
      expect(made.status, none).to.equal(201)
      expect(made.body.data).to.include({ barcode: null, gtin: null })
    }
    const made = await company.post('/catalog/items', {
      ...UPC,
      barcode: '\u202a036000291452\u202c',
      gtin: '\u200b036000291452',
    })
    expect(made.body.data).to.include({ barcode: '036000291452', gtin: '036000291452' })
    for (const same of ['036000291452\u200b', '0 36000 29145 2', '036000\u2011291452'])
      expect((await company.post('/catalog/items', { ...UPC, barcode: same })).status, same).to.equal(409)
    const own = await company.post('/catalog/items', { ...UPC, barcode: 'A-1 2' })
    expect(own.body.data.barcode).to.equal('A-1 2')
    expect((await company.post('/catalog/items', { ...UPC, barcode: 'x'.repeat(61) })).status).to.equal(422)
    expect((await company.post('/catalog/items', { ...UPC, barcode: '\u200b' })).status).to.equal(422)
  })

  it('have no code where a text stands for none [VAL-910]', async () => {
    const codes = { document: null, phone: null, email: null, state_registration: null }
    for (const none of ['-', '--', 'n/a', 'SEM GTIN', 'null', '0', '00', '000.000.000-00', ' ', '\u2014']) {
      const person = { name: `Ana ${none}`, document: none, phone: none, email: none, state_registration: none }
      const made = await company.post('/customers', { ...person, address: { zip: none, city: 'Bauru' } })
      expect(made.status, `${none} ${made.text}`).to.equal(201)
      expect(made.body.data).to.include(codes)
      expect(made.body.data.address).to.include({ zip: null, city: 'Bauru' })
      const item = await company.post('/catalog/items', {
        name: 'Café',
        price: '1.00',
        sku: none,
        ncm: none,
        cest: none,
      })
      expect(item.body.data).to.include({ sku: null, ncm: null, cest: null })
    }
    for (const [field, wrong] of Object.entries({
      document: '-1',
      phone: '0-1',
      email: 'a-',
      state_registration: 'N',
    })) {
      const reply = await company.post('/customers', { name: 'Ana', [field]: wrong })
      expect(reply.status, field).to.equal(422)
      expect(Object.keys(reply.body.error.details.fields)).to.deep.equal([field])
    }
    await company.post('/suppliers/batch', { items: [{ external_id: 'f', name: 'Usina', phone: '-' }] })
    expect((await company.get('/suppliers/by-external/f')).body.data.phone).to.equal(null)
  })

  it('have no invisible characters in other codes [VAL-910]', async () => {
    const zip = '\u202a01310\u2011100\u202c'
    const person = { name: 'Rui', state_registration: '\u202a110042490114', email: '\u202arui@a.com\u202c' }
    const made = (await company.post('/customers', { ...person, address: { zip } })).body.data
    expect(made).to.include({ state_registration: '110042490114', email: 'rui@a.com' })
    expect(made.address.zip).to.equal('01310100')
    const item = { name: 'Chá', price: '1.00', sku: '\u200bA\u20111', ncm: '0901\u200b.21.00', cest: '\u202a1709600' }
    expect((await company.post('/catalog/items', item)).body.data).to.include({
      ...{ sku: 'A-1', ncm: '09012100' },
      cest: '1709600',
    })
  })

  it('have no invisible characters in phones and documents', async () => {
    const person = {
      name: 'Ana',
      phone: '\u202a(11)\u00a098765\u20114321\u202c',
      document: '529.982.247\u201025\u200b',
    }
    expect((await company.post('/customers', person)).body.data).to.include({
      phone: '11987654321',
      document: '52998224725',
    })
  })
})

const MIB = 1_048_576

describe('representations of API v1', () => {
  const database = useDatabase()
  let api: TestApi
  let other: TestApi
  let company: TestCompany
  const pages = createPageCache(16 * MIB)

  before(async () => {
    api = await startApi(database.url, { pages })
    other = await startApi(database.url, { pages: createPageCache(0) })
  })
  beforeEach(async () => {
    company = await api.company()
    const items = Array.from({ length: 20 }, (_, n) => ({ external_id: `c-${n}`, name: `Cliente ${n}` }))
    await company.post('/customers/batch', { items })
  })
  after(() => Promise.all([api.close(), other.close()]))

  const raw = (path: string, headers: Record<string, string> = {}, method = 'GET', url = api.url) =>
    rawRequest(url, { method, path: `/api/v1${path}`, headers: { authorization: `Bearer ${company.key}`, ...headers } })
  const etagOf = async (path: string): Promise<string> => {
    const etag = (await raw(path)).headers.get('etag')
    expect(etag, path).to.match(/^W\/"[\w-]{22}"$/)
    return etag as string
  }

  it('have an ETag: 304 without a body, with the headers of any request, from every process [LIST-9]', async () => {
    const { id } = (await company.get('/customers')).body.data[0]
    for (const path of ['/customers', `/customers/${id}`, '/customers/deleted', '/finance/summary', '/events']) {
      const etag = await etagOf(path)
      for (const given of [etag, etag.slice(2), `"x", ${etag}`, '*']) {
        for (const [url, method] of [
          [api.url, 'GET'],
          [api.url, 'HEAD'],
          [other.url, 'GET'],
        ] as const) {
          const reply = await raw(path, { 'if-none-match': given }, method, url)
          expect([reply.status, reply.text], `${path} ${given}`).to.deep.equal([304, ''])
          expect(reply.headers.get('etag')).to.equal(etag)
          expect(reply.headers.get('cache-control')).to.equal('no-store')
          expect(reply.headers.get('x-ledger-revision')).to.match(/^\d+$/)
          expect(reply.headers.has('content-type')).to.equal(false)
          expectRate(reply)
        }
      }
      expect((await raw(path, { 'if-none-match': 'W/"AAAAAAAAAAAAAAAAAAAAAA"' })).status, path).to.equal(200)
    }
  })

  it('change with every change, and an ETag gives no access without the scope [LIST-9]', async () => {
    const { id } = (await company.get('/customers')).body.data[0]
    const [list, one] = [await etagOf('/customers'), await etagOf(`/customers/${id}`)]
    await company.call('PATCH', `/customers/${id}`, { notes: 'x' })
    for (const [path, etag] of [
      ['/customers', list],
      [`/customers/${id}`, one],
    ] as const)
      expect((await raw(path, { 'if-none-match': etag })).status).to.equal(200)
    const { key } = await company.newKey(['sales:read'])
    const asked = { authorization: `Bearer ${key}`, 'if-none-match': '*' }
    expectProblem(await raw('/customers', asked), 403, 'insufficient_scope')
    expectProblem(await raw('/customers/999999', { 'if-none-match': '*' }), 404, 'not_found')
    expectProblem(await raw('/customers?nada=1', { 'if-none-match': '*' }), 422, 'validation_failed')
  })

  it('are compressed above 1 KB on request, from tables and cache alike [HTTP-18]', async () => {
    for (const url of [api.url, other.url, api.url]) {
      const plain = await raw('/customers', {}, 'GET', url)
      expect(plain.headers.has('content-encoding')).to.equal(false)
      for (const [coding, decode] of [
        ['br', brotliDecompressSync],
        ['gzip', gunzipSync],
      ] as const) {
        const reply = await raw('/customers', { 'accept-encoding': coding }, 'GET', url)
        expect(reply.headers.get('content-encoding')).to.equal(coding)
        expect(reply.headers.get('vary')).to.equal('Accept-Encoding')
        expect(reply.headers.get('etag')).to.equal(plain.headers.get('etag'))
        expect(Number(reply.headers.get('content-length')))
          .to.equal(reply.bytes.length)
          .and.below(plain.text.length / 3)
        expect(decode(reply.bytes).toString()).to.equal(plain.text)
        const head = await raw('/customers', { 'accept-encoding': coding }, 'HEAD', url)
        expect(head.headers.get('content-length')).to.equal(reply.headers.get('content-length'))
      }
    }
    const small = await raw('/customers?limit=1', { 'accept-encoding': 'gzip' })
    expect(small.headers.has('content-encoding')).to.equal(false)
    const contract = await raw('/openapi.json', { 'accept-encoding': 'gzip' })
    expect(JSON.parse(gunzipSync(contract.bytes).toString()).openapi).to.match(/^3/)
  })

  it('in responses to writes are compressed too, except with secrets [HTTP-18]', async () => {
    const post = (path: string, body: object) =>
      rawRequest(api.url, {
        method: 'POST',
        path: `/api/v1${path}`,
        headers: {
          authorization: `Bearer ${company.key}`,
          'content-type': 'application/json',
          'accept-encoding': 'gzip',
        },
        body: JSON.stringify(body),
      })
    const items = Array.from({ length: 20 }, (_, n) => ({ external_id: `c-${n}`, name: `Outro ${n}` }))
    const batch = await post('/customers/batch', { items })
    expect(batch.headers.get('content-encoding')).to.equal('gzip')
    expect(JSON.parse(gunzipSync(batch.bytes).toString()).meta.succeeded).to.equal(20)
    const url = `https://erp.example/${'x'.repeat(1_500)}`
    const webhook = await post('/webhooks', { url, events: ['basic'] })
    expect([webhook.status, webhook.body.data?.secret?.slice(0, 6)], webhook.text).to.deep.equal([201, 'whsec_'])
    expect(webhook.headers.has('content-encoding')).to.equal(false)
  })

  it('must not be stored by intermediaries, for any status [HTTP-18]', async () => {
    for (const [path, headers] of [
      ['/customers', {}],
      ['/me', {}],
      ['/nothing', {}],
      ['/me', { authorization: 'Bearer x' }],
      ['/openapi.json', {}],
    ] as const)
      expect((await raw(path, headers)).headers.get('cache-control'), path).to.equal('no-store')
  })
})

describe('content coding', () => {
  for (const [asked, coding] of [
    [undefined, null],
    ['', null],
    ['identity', null],
    ['deflate, zstd', null],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['br;q=0.5, gzip', 'gzip'],
    ['br;q=0, gzip;q=0', null],
    ['br;q=0, *', 'gzip'],
    ['*', 'br'],
    ['*;q=0', null],
    ['br ; q=0.1', 'br'],
    ['br;q=x', null],
    [';;,,q=', null],
  ] as const) {
    it(`for "${asked}" is ${coding} [HTTP-18]`, () => {
      expect(negotiateCoding(asked)).to.equal(coding)
    })
  }
})

const account = { description: 'Aluguel', amount: '100.00', due_date: '2020-01-31' }
const RESOURCES = [
  ['/customers', { name: 'Ana' }],
  ['/suppliers', { name: 'Moinho' }],
  ['/catalog/items', { name: 'Café', price: '10.00' }],
  ['/catalog/categories', { name: 'Bebidas' }],
  ['/finance/receivables', account],
  ['/finance/payables', account],
] as const

describe('GET …/by-external/{external_id}', () => {
  const { api, company } = useCompany()

  for (const [path, body] of RESOURCES)
    it(`of ${path} equals GET by id, for its company, until the record is deleted`, async () => {
      const external_id = 'código/1 ?'
      const { id } = (await company.post(path, { ...body, external_id })).body.data
      const at = `${path}/by-external/${encodeURIComponent(external_id)}`
      const found = await company.get(at)
      expect(found.status, found.text).to.equal(200)
      expect(found.text).to.equal((await company.get(`${path}/${id}`)).text)
      expectProblem(await (await api.company()).get(at), 404, 'not_found')
      for (const other of ['c%C3%B3digo', '%20', 'x'.repeat(101)])
        expectProblem(await company.get(`${path}/by-external/${other}`), 404, 'not_found')
      await company.call('DELETE', `${path}/${id}`)
      expectProblem(await company.get(at), 404, 'not_found')
    })

  it('would not find "." and "..": a PUT refuses them, "..." is found [REC-7]', async () => {
    for (const id of ['%2E', '%2E%2E']) {
      const replaced = await rawRequest(api.url, {
        method: 'PUT',
        path: `/api/v1/customers/by-external/${id}`,
        headers: { authorization: `Bearer ${company.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'Ponto' }),
      })
      expectInvalid(replaced, ['external_id'])
    }
    const { id } = (await company.post('/customers', { name: 'Três pontos', external_id: '...' })).body.data
    expect((await company.get('/customers/by-external/...')).body.data.id).to.equal(id)
    expect((await company.get('/customers?external_id=..')).body.data).to.deep.equal([])
  })

  it('records that have "." stay readable and changeable by id [REC-7]', async () => {
    const { id } = await company.run(createCustomer, { name: 'Ponto', person_type: 'PF', external_id: '.' }, 'pdv')
    expect((await company.get(`/customers/${id}`)).body.data.external_id).to.equal('.')
    expect((await company.get('/customers?external_id=.')).body.data).to.have.length(1)
    const changed = await company.call('PATCH', `/customers/${id}`, { name: 'Ponto final' })
    expect(changed.body.data).to.include({ external_id: '.', name: 'Ponto final' })
    const account = { ...RESOURCES[4][1], customer_external_id: '.' }
    expect((await company.post('/finance/receivables', account)).body.data.customer_id).to.equal(id)
  })

  it('of /orders equals GET by id', async () => {
    const store_alias = 'loja-externa'
    await company.run(createStore, { alias: store_alias, commission_percentage: '5', sandbox: true })
    const items = [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }]
    const order = { store_alias, external_id: 'a', customer: { name: 'Ana' }, items }
    const placed = await company.post('/orders', order)
    expect((await company.get('/orders/by-external/a')).text).to.equal(placed.text)
    expectProblem(await company.get('/orders/by-external/b'), 404, 'not_found')
  })
})

const KINDS = [
  ['/catalog/items', { name: 'Café', price: '10.00', gtin: '7891234567895' }],
  ['/catalog/categories', { name: 'Bebidas' }],
  ['/customers', { name: 'Ana', email: 'ana@example.com' }],
  ['/suppliers', { name: 'Bom Grão' }],
] as const

describe('deleted records', () => {
  const { company } = useCompanyPerTest()

  for (const [path, body] of KINDS) {
    it(`${path}: are read by id with deleted_at, and found nowhere else [REC-6]`, async () => {
      const fields = { ...body, external_id: 'x-1' }
      const live = (await company.post(path, fields)).body.data
      expect(live.deleted_at).to.equal(null)
      const one = `${path}/${live.id}`
      expect((await company.get(one)).body.data).to.deep.equal(live)
      await company.call('DELETE', one)
      const { status, body: read } = await company.get(one)
      expect(status).to.equal(200)
      const [entry] = (await company.get(`${path}/deleted`)).body.data
      expect(read.data).to.include({ id: live.id, external_id: 'x-1', deleted_at: entry.deleted_at })
      expect(Object.keys(read.data)).to.deep.equal(Object.keys(live))
      expect(read.data.updated_at).to.equal(live.updated_at)
      expect((await company.get(path)).body.data).to.deep.equal([])
      expectProblem(await company.get(`${path}/by-external/x-1`), 404, 'not_found')
      expectProblem(await company.call('PATCH', one, { external_id: null }), 404, 'not_found')
      expectProblem(await company.call('DELETE', one), 404, 'not_found')
      const revived = (await company.call('PUT', `${path}/by-external/x-1`, fields)).body.data
      expect(revived.deleted_at).to.equal(null)
      expect((await company.get(one)).body.data).to.deep.equal(revived)
    })
  }

  it('of the catalog keep their values, those of persons lose them [REC-6, PERSON-10]', async () => {
    const category = (await company.post('/catalog/categories', { name: 'Bebidas' })).body.data
    const fields = { name: 'Café', price: '10.00', category_id: category.id }
    const item = (await company.post('/catalog/items', fields)).body.data
    const customer = (await company.post('/customers', { name: 'Ana', notes: 'x' })).body.data
    for (const path of [`/catalog/items/${item.id}`, `/customers/${customer.id}`]) await company.call('DELETE', path)
    const kept = (await company.get(`/catalog/items/${item.id}`)).body.data
    expect(kept).to.deep.equal({ ...item, deleted_at: kept.deleted_at })
    expect((await company.get(`/customers/${customer.id}`)).body.data).to.include({ name: null, notes: null })
  })

  it('are hidden from other companies, and from keys without the scope [HTTP-9]', async () => {
    const { id } = (await company.post('/customers', { name: 'Ana' })).body.data
    await company.call('DELETE', `/customers/${id}`)
    const { key } = await company.newKey(['sales:read'])
    const reply = await company.call('GET', `/customers/${id}`, undefined, { authorization: `Bearer ${key}` })
    expectProblem(reply, 403, 'insufficient_scope')
  })
})

describe('created records', () => {
  const { company } = useCompanyPerTest()

  it('are answered with their address in Location [REC-1]', async () => {
    const account = { description: 'Conta', amount: '10.00', due_date: '2030-01-31' }
    const payment_type_id = await company.paymentType('cash')
    const sale = {
      items: [{ description: 'Café', quantity: '1', unit_price: '5.00' }],
      payments: [{ payment_type_id, amount: '5.00' }],
    }
    for (const [path, body] of [
      ...KINDS,
      ['/finance/receivables', account],
      ['/finance/payables', account],
      ['/sales', sale],
      ['/webhooks', { url: 'https://erp.example/x', events: ['*'] }],
    ] as const) {
      const created = await company.post(path, body, { 'idempotency-key': path })
      expect(created.headers.get('location')).to.equal(`/api/v1${path}/${created.body.data.id}`)
      expect((await company.get(`${path}/${created.body.data.id}`)).status).to.equal(200)
      const replayed = await company.post(path, body, { 'idempotency-key': path })
      expect(replayed.headers.get('location')).to.equal(created.headers.get('location'))
    }
    const put = await company.call('PUT', '/customers/by-external/a', { name: 'Bia' })
    expect(put.headers.get('location')).to.equal(`/api/v1/customers/${put.body.data.id}`)
    const again = await company.call('PUT', '/customers/by-external/a', { name: 'Bia' })
    expect(again.headers.has('location')).to.equal(false)
  })

  it('with a value of another record are refused with a text that names field and record [REC-1]', async () => {
    const { id } = (await company.post('/customers', { name: 'Ana', external_id: 'a' })).body.data
    const byName = await company.post('/customers', { name: 'ana' })
    expectProblem(byName, 409, 'duplicate_resource')
    expect(byName.body.error.message).to.equal(`O registro ${id} já tem este valor em name.`)
    await company.call('DELETE', `/customers/${id}`)
    const byExternal = await company.post('/customers', { name: 'Bia', external_id: 'a' })
    expect(byExternal.body.error.message).to.equal(
      `O registro ${id}, que foi excluído, já tem este valor em external_id.`,
    )
    await company.post('/catalog/categories', { name: 'Sucos' })
    const batch = await company.post('/catalog/categories/batch', { items: [{ external_id: 's', name: 'Sucos' }] })
    expect(batch.body.meta.errors[0].message).to.match(/já tem este valor em name\.$/)
  })
})

const GIVEN = { 'erp.id': '00471', canal: ' loja ' }
const due = { description: 'Fiado', amount: '10.00', due_date: '2030-01-10' }

describe('metadata of records', () => {
  /** Kinds of records with metadata that can be changed: their path and a body. */
  const KINDS = [
    ['/customers', { name: 'Ana' }],
    ['/suppliers', { name: 'Moinho' }],
    ['/catalog/items', { name: 'Café', price: '1.00' }],
    ['/finance/receivables', due],
    ['/finance/payables', due],
  ] as const

  const { company, api } = useCompany()
  let count = 0
  /** Names of persons are unique. */
  const whole = (body: object) => ('name' in body ? { ...body, name: `${body.name} ${++count}` } : body)

  /** As they are stored. */
  const events = async (): Promise<Json[]> => {
    const stored: Json[] = []
    for await (const event of company.core.store.read(`company-${company.id}`, 0)) stored.push(event)
    return stored
  }

  for (const [path, body] of KINDS)
    describe(`of ${path}`, () => {
      it('are kept, merged by PATCH and listed', async () => {
        const made = await company.post(path, { ...whole(body), metadata: { ...GIVEN, vazio: '', nulo: null } })
        expect(made.status, made.text).to.equal(201)
        expect(made.body.data.metadata).to.deep.equal(GIVEN)
        const at = `${path}/${made.body.data.id}`
        const patch = async (metadata: unknown) => (await company.call('PATCH', at, { metadata })).body.data.metadata
        expect(await patch({ canal: '', novo: 'x' })).to.deep.equal({ 'erp.id': '00471', novo: 'x' })
        expect(await patch({ novo: null })).to.deep.equal({ 'erp.id': '00471' })
        const listed = (await company.get(path)).body.data.find(({ id }: Json) => id === made.body.data.id)
        expect(listed.metadata).to.deep.equal({ 'erp.id': '00471' })
        expect(await patch(null)).to.equal(null)
        expect((await company.get(at)).body.data.metadata).to.equal(null)
      })

      it('stay as they are in a PUT without them, and are replaced by one with them', async () => {
        const named = whole(body)
        const put = async (metadata?: unknown) =>
          (await company.call('PUT', `${path}/by-external/m-1`, { ...named, metadata })).body.data.metadata
        expect(await put(GIVEN)).to.deep.equal(GIVEN)
        expect(await put()).to.deep.equal(GIVEN)
        expect(await put({ b: '2' })).to.deep.equal({ b: '2' })
        expect(await put(null)).to.equal(null)
      })

      it('are refused with wrong keys or values, without changes', async () => {
        for (const metadata of ['x', ['x'], { a: 1 }, { 'a b': 'x' }, { a: 'x'.repeat(501) }])
          expect((await company.post(path, { ...whole(body), metadata })).status).to.equal(422)
        const many = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`k${n}`, 'x']))
        const { id } = (await company.post(path, { ...whole(body), metadata: many })).body.data
        expectInvalid(await company.call('PATCH', `${path}/${id}`, { metadata: { more: 'x' } }), ['metadata'])
        expectProblem(await company.call('PATCH', `${path}/${id}`, { metadata: 'x' }), 422, 'validation_failed')
      })
    })

  it('of sales and orders are kept as they were sent', async () => {
    const cash = await company.paymentType('cash')
    const items = [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }]
    const sale = { items, payments: [{ payment_type_id: cash, amount: '10.00' }], metadata: GIVEN }
    const made = await company.post('/sales', sale)
    expect(made.body.data.metadata, made.text).to.deep.equal(GIVEN)
    expect((await company.post('/sales', { ...sale, metadata: {} })).body.data.metadata).to.equal(null)
    expect((await company.get(`/sales/${made.body.data.id}`)).body.data.metadata).to.deep.equal(GIVEN)
  })

  it('are sealed for the person of the record, and follow an account to another one [REC-863]', async () => {
    const person = async (name: string) =>
      (await company.post('/customers', { ...whole({ name }), metadata: GIVEN })).body.data.id
    const [ana, bia] = [await person('Ana'), await person('Bia')]
    const made = await company.post('/finance/receivables', { ...due, customer_id: ana, metadata: GIVEN })
    const at = `/finance/receivables/${made.body.data.id}`
    const moved = await company.call('PATCH', at, { customer_id: bia })
    expect(moved.body.data.metadata).to.deep.equal(GIVEN)
    await company.call('PATCH', at, { metadata: { canal: 'site' } })
    for (const { type, data } of await events()) {
      if (!/^(Customer|Receivable)/.test(type)) continue
      const metadata = data.metadata ?? data.changes?.metadata
      if (metadata) expect(metadata, type).to.have.all.keys('sealed')
    }
    const forget = (id: number) =>
      company.post(`/customers/${id}/forget`, { ground: 'unlawful', reason: 'x', queue: true })
    await forget(ana)
    expect((await company.get(at)).body.data.metadata).to.deep.equal({ ...GIVEN, canal: 'site' })
    expect((await company.get(`/customers/${ana}`)).body.data.metadata).to.equal(null)
  })

  it('without a person are in clear in the ledger, and stand in files as JSON [REC-863]', async () => {
    await company.post('/catalog/items', { name: 'Café', price: '1.00', metadata: GIVEN })
    expect((await events()).at(-1)?.data.metadata).to.deep.equal(GIVEN)
    const owner = await panelUser(api, company)
    const { html } = await owner.get('/painel/catalogo.csv')
    expect(html).to.include('Metadados').and.to.include('"{""erp.id"":""00471"",""canal"":"" loja ""}"')
  })
})
