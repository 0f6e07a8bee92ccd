import { expect } from 'chai'
import { expectInvalid, expectProblem } from '../../support/answers.ts'
import { useCaller, WRITES } from './caller.ts'

describe('errors of API v1: odd values', () => {
  const { company } = useCaller()

  const textFields: readonly (readonly [string, string, (value: unknown) => object, string])[] = [
    ['POST', '/customers', (name) => ({ name }), 'name'],
    ['POST', '/customers', (notes) => ({ name: 'x', notes }), 'notes'],
    ['POST', '/customers', (external_id) => ({ name: 'x', external_id }), 'external_id'],
    ['POST', '/customers', (city) => ({ name: 'x', address: { city } }), 'address.city'],
    ['PUT', '/customers/by-external/odd', (name) => ({ name }), 'name'],
    ['POST', '/catalog/items', (name) => ({ name, price: '1.00' }), 'name'],
    ['POST', '/catalog/items', (barcode) => ({ name: 'x', price: '1.00', barcode }), 'barcode'],
    ['POST', '/catalog/categories', (name) => ({ name }), 'name'],
    ['POST', '/sales/1/cancel', (reason) => ({ reason }), 'reason'],
    [
      'POST',
      '/sales',
      (external_id) => ({
        external_id,
        items: [{ description: 'x', quantity: '1', unit_price: '1.00' }],
        payments: [],
      }),
      'external_id',
    ],
    [
      'POST',
      '/sales',
      (description) => ({ items: [{ description, quantity: '1', unit_price: '1.00' }], payments: [] }),
      'items[0].description',
    ],
  ]

  it('U+0000, control characters and lone surrogates are 422 naming the field [HTTP-12, VAL-4]', async () => {
    for (const [method, path, body, field] of textFields) {
      for (const value of ['a\u0000b', '\u0000', 'a\u0001b', '\u001f.', '\ud800', 'a\udc00b', '\udc00\ud800']) {
        expectInvalid(await company.call(method, path, body(value)), [field])
      }
    }
    // Escaped in the text, as a client may send them.
    expectInvalid(await company.post('/customers', '{"name": "\\ud800"}'), ['name'])
    expectInvalid(await company.post('/customers', '{"name": "a\\u0000"}'), ['name'])
  })

  it('odd names of unknown fields and parameters get a response', async () => {
    for (const body of ['{"\\u0000": 1}', '{"\\ud800": 1}', `{"${'x'.repeat(100_000)}": 1}`]) {
      const reply = await company.post('/customers', body)
      expectProblem(reply, 422, 'validation_failed')
      expect(reply.text).to.not.match(/\p{Surrogate}/u)
      expect(reply.text).to.not.match(/\\ud[89a-f]/i)
    }
  })

  it('emoji and letters of all scripts are returned unchanged [VAL-4]', async () => {
    for (const name of [
      'Padaria 🥖👩🏽‍🍳',
      'São João & Cia. <b>"\'\\',
      '北京 مرحبا Ωмега',
      'a\u00a0c',
      '𝒳'.repeat(120),
    ]) {
      const reply = await company.post('/customers', { name })
      expect(reply.status, reply.text).to.equal(201)
      expect(reply.body.data.name).to.equal(name)
      expect((await company.get(`/customers/${reply.body.data.id}`)).text).to.equal(reply.text)
      const found = await company.get(`/customers?name=${encodeURIComponent(name)}`)
      expect(found.body.data.map((record: { id: number }) => record.id)).to.deep.equal([reply.body.data.id])
    }
  })

  it('texts above their length, in characters, are refused naming the field [VAL-4]', async () => {
    expectInvalid(await company.post('/customers', { name: 'x'.repeat(121) }), ['name'])
    expectInvalid(await company.post('/customers', { name: '𝒳'.repeat(121) }), ['name'])
    expectInvalid(await company.post('/customers', { name: 'x'.repeat(900_000) }), ['name'])
    expectInvalid(await company.post('/customers', { name: '   ' }), ['name'])
  })

  it('extreme numbers are 422, never 500 [HTTP-12]', async () => {
    for (const number of [
      '1e400',
      '-1e400',
      '1e308',
      '9007199254740993',
      '-1',
      '0',
      '1.5',
      '1e-400',
      '123456789012345678901234567890',
    ]) {
      expectInvalid(await company.post('/catalog/items', `{"name": "x", "price": "1.00", "category_id": ${number}}`), [
        'category_id',
      ])
      expectInvalid(await company.post('/catalog/items', `{"name": "x", "price": ${number}}`), ['price'])
      expectInvalid(
        await company.post(
          '/sales',
          `{"items": [{"catalog_item_id": ${number}, "quantity": "1"}], "payments": [{"payment_type_id": ${number}, "amount": "1.00"}]}`,
        ),
        ['items[0].catalog_item_id', 'payments[0].payment_type_id'],
      )
    }
  })

  it('nesting of 100,000 levels is 422, never 500 [HTTP-12]', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const objects = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
    for (const [position, [method, path]] of WRITES.entries()) {
      const body = position % 2 ? deep : `{"name": ${deep}, "x": ${objects}}`
      expectProblem(await company.call(method, path, body), 422, 'validation_failed')
    }
    for (const value of [deep, objects]) {
      const reply = await company.post(
        '/customers/batch',
        `{"items": [${value}, {"external_id": ${deep}, "name": "x"}]}`,
      )
      expectProblem(reply, 422, 'validation_failed')
    }
  })
})
