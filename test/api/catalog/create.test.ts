import { expect } from 'chai'
import { ITEM_TAX_FIELDS } from '#domain/fiscal-values.ts'
import { expectInvalid, expectProblem, LOCAL_TIME, recordText } from '../../support/answers.ts'
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
  const { api, company, post, create, category } = useCatalog()

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

  it('stores fiscal codes as digits in POST, PUT, PATCH and batches, and clears them [ITEM-10]', async () => {
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

  it('takes SEM GTIN as null in POST, PUT, PATCH and batches [ITEM-10]', async () => {
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

  it('accepts duplicate names, and unique external_id and barcode [ITEM-2]', async () => {
    const first = await create({ ...coffee, external_id: 'a', barcode: '789' })
    await create(coffee)
    const conflict = (field: string) => ({ field, conflicting_id: first.id })
    expect(expectProblem(await post({ ...coffee, external_id: 'a' }), 409, 'duplicate_resource')).to.deep.equal(
      conflict('external_id'),
    )
    expect(expectProblem(await post({ ...coffee, barcode: '789' }), 409, 'duplicate_resource')).to.deep.equal(
      conflict('barcode'),
    )
    const other = await api.company()
    expect((await other.post('/catalog/items', { ...coffee, external_id: 'a', barcode: '789' })).status).to.equal(201)
  })

  it('refuses an unknown category, naming the field [ITEM-6]', async () => {
    expectInvalid(await post({ ...coffee, category_id: 999_999 }), ['category_id'])
  })
})
