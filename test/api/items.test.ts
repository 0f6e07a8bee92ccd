import { expect } from 'chai'
import { ITEM_TAX_FIELDS } from '#domain/fiscal-values.ts'
import { expectInvalid, expectProblem, idsIn, LOCAL_TIME, recordText } from '../support/answers.ts'
import type { Json, Reply } from '../support/api.ts'
import { useCompanyPerTest } from '../support/use-api.ts'
import { coffee, useCatalog } from './catalog.ts'

const FIELDS = [
  'metadata',
  'id',
  'external_id',
  'type',
  'name',
  'sku',
  'barcode',
  'category_id',
  'category_name',
  'unit',
  'price',
  'cost',
  'gtin',
  'ncm',
  'cest',
  ...ITEM_TAX_FIELDS,
  'min_stock',
  'picture_url',
  'parent_id',
  'variant',
  'stock',
  'stock_updated_at',
  'created_at',
  'updated_at',
  'deleted_at',
]

describe('catalog items: POST', () => {
  const { company, post, create, category } = useCatalog()

  it('creates an item with all its fields, with equal bytes in POST, GET and list', async () => {
    const body = {
      external_id: 'sku/1',
      type: 'product',
      name: 'Café "Ipê" 500 g',
      sku: 'CAF-500',
      barcode: '7891000100103',
      category_id: await category('Bebidas "quentes"'),
      unit: 'KG',
      price: '18.90',
      cost: '11.00',
      gtin: '17891234567892',
      ncm: '09012100',
      cest: '1709600',
      stock: '20.5',
    }
    const created = await post(body)
    expect(created.status).to.equal(201)
    const item = created.body.data
    expect(Object.keys(item)).to.have.members(FIELDS)
    expect(item).to.include({ ...body, stock: '20.500', category_name: 'Bebidas "quentes"' })
    expect(item.created_at).to.match(LOCAL_TIME)
    expect(item).to.include({ updated_at: item.created_at, stock_updated_at: item.created_at })
    expect((await company.get(`/catalog/items/${item.id}`)).text).to.equal(created.text)
    expect((await company.get('/catalog/items')).text).to.include(`{"data":[${recordText(created)}],`)
  })

  it('stores fiscal codes as digits in POST, PUT, PATCH and batches, and clears them [ITEM-12]', async () => {
    const codes = { gtin: '96385074', ncm: '09012100', cest: '1709600' }
    const typed = { ...codes, ncm: '0901.21.00', cest: '17.096.00' }
    const none = { gtin: null, ncm: null, cest: null }
    const item = await create({ ...coffee, ...typed, external_id: 'codigos' })
    expect(item).to.include(codes)
    const path = `/catalog/items/${item.id}`
    expect((await company.call('PATCH', path, none)).body.data).to.include(none)
    expect((await company.call('PATCH', path, typed)).body.data).to.include(codes)
    const whole = { ...coffee, external_id: 'codigos' }
    expect((await company.call('PUT', '/catalog/items/by-external/codigos', whole)).body.data).to.include(none)
    const batch = await company.post('/catalog/items/batch', { items: [{ ...whole, ...typed }] })
    expect(batch.body.data[0]).to.include(codes)
    expectInvalid(await company.call('PATCH', path, { gtin: '96385075', ncm: '1', cest: 'x' }), ['gtin', 'ncm', 'cest'])
  })

  it('takes SEM GTIN as null in POST, PUT, PATCH and batches [ITEM-12]', async () => {
    const none = { ...coffee, gtin: 'SEM GTIN' }
    const item = await create({ ...none, external_id: 'sem-gtin' })
    expect(item.gtin).to.equal(null)
    const path = `/catalog/items/${item.id}`
    for (const [method, at, body] of [
      ['PATCH', path, { gtin: 'SEM GTIN' }],
      ['PUT', '/catalog/items/by-external/sem-gtin', none],
    ] as const) {
      await company.call('PATCH', path, { gtin: '96385074' })
      expect((await company.call(method, at, body)).body.data.gtin, method).to.equal(null)
    }
    const batch = await company.post('/catalog/items/batch', { items: [{ ...none, external_id: 'sem-gtin' }] })
    expect(batch.body.data[0].gtin).to.equal(null)
    expectInvalid(await company.call('PATCH', path, { gtin: 'sem  gtin' }), ['gtin'])
  })

  it('reports every wrong field at once [HTTP-6]', async () => {
    expectInvalid(
      await post({
        external_id: ' a',
        type: 'x',
        name: '',
        sku: 5,
        barcode: 'x'.repeat(61),
        category_id: '1',
        unit: 'x'.repeat(11),
        price: 1,
        cost: 2,
        gtin: '123',
        ncm: 9012100,
        cest: '17.096',
        stock: 3,
        id: 4,
      }),
      [
        'external_id',
        'type',
        'name',
        'sku',
        'barcode',
        'category_id',
        'unit',
        'price',
        'cost',
        'gtin',
        'ncm',
        'cest',
        'stock',
      ],
      ['id'],
    )
    expectInvalid(await post({ ...coffee, stock_adjustment: '1' }), [], ['stock_adjustment'])
    expectInvalid(await post({ ...coffee, category_name: 'x' }), [], ['category_name'])
  })
})

describe('catalog items: PATCH', () => {
  const { company, post, create, patch, revision } = useCatalog()

  it('changes the given fields, clears with null, and refuses null for required ones [REC-5]', async () => {
    const before = await create({
      ...coffee,
      sku: 'a',
      barcode: '1',
      unit: 'UN',
      cost: '2.00',
      external_id: 'e',
      stock: '4',
    })
    const reply = await patch(before.id, {
      price: '19.90',
      sku: null,
      barcode: null,
      unit: null,
      cost: null,
      external_id: null,
    })
    expect(reply.status).to.equal(200)
    const { updated_at, ...after } = reply.body.data
    const { updated_at: _, ...kept } = before
    expect(after).to.deep.equal({
      ...kept,
      price: '19.90',
      sku: null,
      barcode: null,
      unit: null,
      cost: null,
      external_id: null,
    })
    expect(updated_at > before.updated_at).to.equal(true)
    expect((await company.get(`/catalog/items/${before.id}`)).text).to.equal(reply.text)
    expectInvalid(await patch(before.id, { name: null, price: null }), ['name', 'price'])
  })

  it('responds 200 to {} or equal values, and records nothing [REC-3]', async () => {
    const body = { ...coffee, stock: '4', barcode: '96385074' }
    const created = await post(body)
    const before = await revision()
    for (const same of [{}, body, { stock: '4.000' }]) {
      expect((await patch(created.body.data.id, same)).text).to.equal(created.text)
    }
    expect(await revision()).to.equal(before)
  })
})

describe('catalog items', () => {
  const { company, post, create, put, patch, remove, category, sell } = useCatalog()

  describe('DELETE', () => {
    it('responds 204; then the item is not in lists, cannot be sold, and its barcode is available [REC-6]', async () => {
      const { id } = await create({ ...coffee, barcode: '1', stock: '5', external_id: 'a' })
      expect((await remove(id)).status).to.equal(204)
      expect((await company.get(`/catalog/items/${id}`)).body.data.deleted_at).to.be.a('string')
      expectProblem(await patch(id, { price: '1.00' }), 404, 'not_found')
      expectProblem(await remove(id), 404, 'not_found')
      expect(idsIn(await company.get('/catalog/items'))).to.deep.equal([])
      expect(idsIn(await company.get('/catalog/items?barcode=1'))).to.deep.equal([])
      expectInvalid(await sell(id, '1'), ['items[0].catalog_item_id'])
      await create({ ...coffee, barcode: '1' })
      const details = expectProblem(await post({ ...coffee, external_id: 'a' }), 409, 'duplicate_resource')
      expect(details).to.deep.equal({ field: 'external_id', conflicting_id: id, deleted: true })
      const { data } = (await company.get('/catalog/items/deleted')).body
      expect(data).to.have.length(1)
      expect(data[0]).to.include({ id, external_id: 'a' })
      expect(Object.keys(data[0])).to.have.members(['id', 'external_id', 'deleted_at'])
      expect(data[0].deleted_at).to.match(LOCAL_TIME)
    })

    it('keeps the sales of the item readable [REC-6]', async () => {
      const { id } = await create({ ...coffee, stock: '5' })
      const sale = (await sell(id, '1')).text
      await remove(id)
      const { data } = JSON.parse(sale)
      expect((await company.get(`/sales/${data.id}`)).text).to.equal(sale)
    })
  })

  describe('PUT by-external', () => {
    it('creates with 201, replaces with 200, clears absent fields, and keeps the stock [REC-2]', async () => {
      const body = {
        ...coffee,
        sku: 'a',
        barcode: '1',
        unit: 'UN',
        cost: '2.00',
        category_id: await category('A'),
        stock: '4',
      }
      const created = await put('e', body)
      expect(created.status).to.equal(201)
      const replaced = await put('e', { name: 'Café', price: '20.00' })
      expect(replaced.status).to.equal(200)
      expect(replaced.body.data).to.include({
        id: created.body.data.id,
        external_id: 'e',
        name: 'Café',
        price: '20.00',
        sku: null,
        barcode: null,
        unit: null,
        cost: null,
        category_id: null,
        category_name: null,
        stock: '4.000',
      })
      expect((await put('e', { name: 'Café', price: '20.00', stock: '9' })).body.data.stock).to.equal('9.000')
      expect((await put('e', { name: 'Café', price: '20.00', stock: null })).body.data.stock).to.equal(null)
    })

    it('revives a deactivated item with 200 and its previous stock [REC-4]', async () => {
      const created = await put('e', { ...coffee, barcode: '96385074', stock: '4' })
      const { id } = created.body.data
      await remove(id)
      const reply = await put('e', { ...coffee, barcode: '96385074' })
      expect(reply.status).to.equal(200)
      expect(reply.body.data).to.include({ id, barcode: '96385074', stock: '4.000' })
      expect((await company.get(`/catalog/items/${id}`)).text).to.equal(reply.text)
      expect(idsIn(await company.get('/catalog/items/deleted'))).to.deep.equal([])
      expect((await sell(id, '4')).status).to.equal(201)
    })
  })
})

const GTIN = '7891234567895'

describe('GTIN of another item', () => {
  const { company, create, get, patch, put, remove, revision } = useCatalog()

  const coffee = (more: object = {}) => ({ name: 'Café', price: '10.00', gtin: GTIN, ...more })
  const warned = ({ id, name }: Json) => ({
    code: 'gtin_in_use',
    field: 'gtin',
    message: `o item ${id} (${name}) tem o mesmo GTIN`,
    conflicting_id: id,
  })
  const warnings = ({ body }: Reply) => body.meta?.warnings
  const post = (body: object, query = '') => company.post(`/catalog/items${query}`, body)

  it('is taken with a warning that names the item, by every way of writing [ITEM-12]', async () => {
    const first = await create(coffee({ name: 'Café 500 g' }))
    const second = await post(coffee({ external_id: 'b' }))
    expect([second.status, warnings(second)]).to.deep.equal([201, [warned(first)]])
    expect(warnings(await put('b', coffee()))).to.deep.equal([warned(first)])
    const third = await create({ name: 'Chá', price: '1.00' })
    expect(warnings(await patch(third.id, { gtin: GTIN }))).to.deep.equal([warned(first)])
    expect((await get(third.id)).gtin).to.equal(GTIN)
    expect((await patch(third.id, { price: '2.00' })).body, 'without gtin').to.have.all.keys('data')
    const items = [coffee({ external_id: 'c' }), { external_id: 'd', name: 'Mate', price: '1.00' }]
    const batch = await company.post('/catalog/items/batch', { items })
    expect([batch.status, batch.body.meta.warnings]).to.deep.equal([200, [{ index: 0, ...warned(first) }]])
  })

  it('is told within a batch too, and in another spelling of the same code [ITEM-12]', async () => {
    const items = [coffee({ external_id: 'a', gtin: `0${GTIN}` }), coffee({ external_id: 'b' })]
    const { body } = await company.post('/catalog/items/batch', { items })
    expect(body.meta.warnings).to.deep.equal([{ index: 1, ...warned(body.data[0]) }])
  })

  it('is no longer told once the other item is deactivated or has another GTIN [ITEM-12]', async () => {
    const [first, second] = [await create(coffee()), await create(coffee({ name: 'Outro' }))]
    await remove(first.id)
    expect(warnings(await post(coffee({ name: 'Terceiro' })))).to.deep.equal([warned(second)])
    await patch(second.id, { gtin: null })
    const [third] = (await company.get('/catalog/items?name=Terceiro')).body.data
    await patch(third.id, { gtin: '96385074' })
    expect(warnings(await post(coffee()))).to.equal(undefined)
    await company.post(`/catalog/items/${first.id}/reactivate`)
    expect(warnings(await patch(second.id, { gtin: GTIN }))?.[0].code).to.equal('gtin_in_use')
  })

  it('is the own one of an item that is written again [ITEM-12]', async () => {
    const { id } = await create(coffee({ external_id: 'a' }))
    expect(warnings(await put('a', coffee()))).to.equal(undefined)
    expect(warnings(await patch(id, { gtin: GTIN }))).to.equal(undefined)
  })

  it('is 409 with strict=true, without effect [ITEM-12]', async () => {
    const { id } = await create(coffee())
    const other = await create({ name: 'Chá', price: '1.00' })
    const before = await revision()
    for (const reply of [
      await post(coffee(), '?strict=true'),
      await company.call('PUT', '/catalog/items/by-external/b?strict=true', coffee()),
      await company.call('PATCH', `/catalog/items/${other.id}?strict=true`, { gtin: GTIN }),
    ])
      expect(expectProblem(reply, 409, 'duplicate_resource')).to.deep.equal({ field: 'gtin', conflicting_id: id })
    const items = [coffee({ external_id: 'c' })]
    const batch = await company.post('/catalog/items/batch?strict=true', { items })
    expect(batch.status).to.equal(207)
    expect(batch.body.meta.errors[0]).to.deep.include({
      code: 'duplicate_resource',
      details: { field: 'gtin', conflicting_id: id },
    })
    expect(await revision()).to.equal(before)
    expect((await post(coffee({ gtin: '96385074' }), '?strict=true')).status).to.equal(201)
    expect((await post(coffee(), '?strict=false')).status).to.equal(201)
    expectInvalid(await post(coffee(), '?strict=yes'), ['strict'])
    expectInvalid(await company.post('/customers?strict=true', { name: 'Ana' }), [], ['strict'])
  })

  it('is told in a repeated answer too, with the same bytes, and strict is another request [IDEM-2]', async () => {
    await create(coffee())
    const send = (query = '') => company.post(`/catalog/items${query}`, coffee(), { 'idempotency-key': 'k' })
    const first = await send()
    expect(warnings(first)).to.have.length(1)
    expect((await send()).text).to.equal(first.text)
    expectProblem(await send('?strict=true'), 409, 'idempotency_key_reuse')
  })
})

const NOT_GTIN = { code: 'barcode_not_gtin', field: 'barcode' }
const CHECK_DIGIT = { code: 'barcode_check_digit', field: 'barcode' }

describe('barcodes of catalog items', () => {
  const { company } = useCompanyPerTest()

  const warningsOf = (body: Json) =>
    body.meta?.warnings?.map(({ message, ...warning }: Json) => {
      expect(message).to.be.a('string').that.is.not.empty
      return warning
    })

  it('are accepted unchanged, with a warning if they are not GTINs or have a wrong check digit [ITEM-7]', async () => {
    for (const [barcode, warnings] of [
      ['7891234567895', undefined],
      ['7891234567890', [CHECK_DIGIT]],
      ['LOJA-1', [NOT_GTIN]],
      [null, undefined],
    ] as const) {
      const body = { name: 'Café', price: '1.00', barcode }
      const created = await company.post('/catalog/items', body)
      expect(created.status).to.equal(201)
      expect(created.body.data.barcode).to.equal(barcode)
      expect(warningsOf(created.body), String(barcode)).to.deep.equal(warnings)
      const path = `/catalog/items/${created.body.data.id}`
      expect((await company.get(path)).body).to.have.all.keys('data')
      expect(warningsOf((await company.call('PATCH', path, { barcode })).body)).to.deep.equal(warnings)
      expect((await company.call('PATCH', path, { price: '2.00' })).body).to.have.all.keys('data')
      expect((await company.call('DELETE', path)).status).to.equal(204)
      const put = await company.call('PUT', '/catalog/items/by-external/x', body)
      expect(warningsOf(put.body)).to.deep.equal(warnings)
      await company.call('DELETE', `/catalog/items/${put.body.data.id}`)
    }
  })

  it('have warnings in a batch under the index of their item, except for failed items [ITEM-7]', async () => {
    const item = (external_id: string, barcode: string, price: string) => ({
      external_id,
      name: 'Café',
      price,
      barcode,
    })
    const items = [
      item('a', '789', '1'),
      item('b', '1', '1.00'),
      item('c', '96385074', '1.00'),
      item('d', '1', '1.00'),
      item('e', '96385075', '1.00'),
    ]
    const { status, body } = await company.post('/catalog/items/batch', { items })
    expect(status).to.equal(207)
    expect(body.meta).to.include({ succeeded: 3, failed: 2 })
    expect(warningsOf(body)).to.deep.equal([
      { index: 1, ...NOT_GTIN },
      { index: 4, ...CHECK_DIGIT },
    ])
    const fine = await company.post('/catalog/items/batch', { items: [item('c', '96385074', '1.00')] })
    expect(fine.body.meta).to.have.all.keys('succeeded', 'failed', 'errors')
  })

  it('have warnings in a replayed response too, with the same bytes [IDEM-2]', async () => {
    const call = () =>
      company.post('/catalog/items', { name: 'Café', price: '1.00', barcode: '1' }, { 'idempotency-key': 'k' })
    expect((await call()).text).to.equal((await call()).text)
  })
})

/** The smallest lossless WebP. */
const WEBP = Buffer.from('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==', 'base64')

describe('picture of a catalog item', () => {
  const { api, company, create } = useCatalog()

  const put = (id: number, content: Buffer | string) =>
    company.call('PUT', `/catalog/items/${id}/picture`, {
      content: typeof content === 'string' ? content : content.toString('base64'),
    })
  const fetchPicture = (url: string, headers: Record<string, string> = {}) => fetch(`${api.url}${url}`, { headers })

  it('is served under its digest, immutable, until it is replaced or deleted', async () => {
    const { id, picture_url } = await create({ name: 'Café', price: '1.00' })
    expect(picture_url).to.equal(null)
    const set = await put(id, WEBP)
    expect(set.status, set.text).to.equal(200)
    const url = set.body.data.picture_url
    expect(url).to.match(/^\/pictures\/\d+\/\d+\/[0-9a-f]{64}\.webp$/)
    expect((await company.get(`/catalog/items/${id}`)).body.data.picture_url).to.equal(url)
    const answer = await fetchPicture(url)
    expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([200, 'image/webp'])
    expect(answer.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable')
    expect(Buffer.from(await answer.arrayBuffer()).equals(WEBP)).to.equal(true)
    expect((await fetchPicture(url, { 'If-None-Match': answer.headers.get('etag') ?? '' })).status).to.equal(304)
    const { body } = await company.get(`/catalog/items/${id}/picture`)
    expect(body.data).to.deep.include({ url, size: WEBP.length, content: WEBP.toString('base64') })
    expect((await put(id, WEBP)).body.data.picture_url).to.equal(url)
    const other = Buffer.concat([WEBP, Buffer.from('EXIF')])
    const replaced = (await put(id, other)).body.data.picture_url
    expect(replaced).not.to.equal(url)
    expect((await fetchPicture(url)).status).to.equal(404)
    expect((await company.call('DELETE', `/catalog/items/${id}/picture`)).status).to.equal(204)
    expect((await fetchPicture(replaced)).status).to.equal(404)
    expect((await company.get(`/catalog/items/${id}/picture`)).status).to.equal(404)
    expect((await company.get(`/catalog/items/${id}`)).body.data.picture_url).to.equal(null)
  })

  it('may be sent itself, as image/webp [HTTP-15]', async () => {
    const { id } = await create({ name: 'Café', price: '1.00' })
    const send = (path: string, type: string, body: Buffer) =>
      fetch(`${api.url}/api/v1${path}`, {
        method: 'PUT',
        headers: { Authorization: `Bearer ${company.key}`, 'Content-Type': type },
        body: new Uint8Array(body),
      })
    const sent = await send(`/catalog/items/${id}/picture`, 'image/webp', WEBP)
    expect(sent.status).to.equal(200)
    expect((await sent.json()).data.picture_url).to.match(/\.webp$/)
    expect((await send(`/catalog/items/${id}/picture`, 'image/png', WEBP)).status).to.equal(415)
    expect((await send('/catalog/items/by-external/x', 'image/webp', WEBP)).status).to.equal(415)
  })

  it('must be a WebP of at most 200 KB, by its bytes [HTTP-15]', async () => {
    const { id } = await create({ name: 'Café', price: '1.00' })
    const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk', 'base64')
    const large = Buffer.concat([WEBP, Buffer.alloc(204_800 - WEBP.length + 1)])
    for (const content of [png, WEBP.subarray(0, 30), '', 'não', large])
      expectInvalid(await put(id, content), ['content'])
    expect((await put(id, large.subarray(0, 204_800))).status).to.equal(200)
    expect((await put(99_999, WEBP)).status).to.equal(404)
    expect((await fetchPicture('/pictures/1/1/x.webp')).status).to.equal(404)
  })
})
