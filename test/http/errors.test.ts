import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import fc from 'fast-check'
import { MAX_BODY_BYTES } from '../../src/http/middleware/json-body.ts'
import { expectInvalid, expectProblem } from '../support/answers.ts'
import { type Reply, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { rawRequest } from '../support/raw-request.ts'

/** Every route that takes a body; ids and external ids are free. */
const WRITES = [
  ['POST', '/customers'],
  ['POST', '/customers/batch'],
  ['PUT', '/customers/by-external/x'],
  ['PATCH', '/customers/1'],
  ['POST', '/catalog/items'],
  ['POST', '/catalog/items/batch'],
  ['PUT', '/catalog/items/by-external/x'],
  ['PATCH', '/catalog/items/1'],
  ['POST', '/catalog/categories'],
  ['POST', '/suppliers'],
  ['POST', '/suppliers/batch'],
  ['PUT', '/suppliers/by-external/x'],
  ['PATCH', '/suppliers/1'],
  ['POST', '/finance/receivables'],
  ['POST', '/finance/receivables/batch'],
  ['PUT', '/finance/receivables/by-external/x'],
  ['PATCH', '/finance/receivables/1'],
  ['POST', '/finance/payables'],
  ['POST', '/finance/payables/batch'],
  ['PUT', '/finance/payables/by-external/x'],
  ['PATCH', '/finance/payables/1'],
  ['POST', '/sales'],
  ['POST', '/sales/1/cancel'],
] as const

const PATHS: readonly (readonly [path: string, allow: string])[] = [
  ['/me', 'GET, HEAD'],
  ['/customers', 'GET, HEAD, POST'],
  ['/customers/1', 'GET, HEAD, PATCH, DELETE'],
  ['/customers/deleted', 'GET, HEAD'],
  ['/customers/batch', 'POST'],
  ['/customers/by-external/x', 'PUT'],
  ['/catalog/items', 'GET, HEAD, POST'],
  ['/catalog/items/1', 'GET, HEAD, PATCH, DELETE'],
  ['/catalog/items/deleted', 'GET, HEAD'],
  ['/catalog/items/batch', 'POST'],
  ['/catalog/items/by-external/x', 'PUT'],
  ['/catalog/categories', 'GET, HEAD, POST'],
  ['/catalog/categories/1', 'GET, HEAD'],
  ['/suppliers', 'GET, HEAD, POST'],
  ['/suppliers/1', 'GET, HEAD, PATCH, DELETE'],
  ['/suppliers/deleted', 'GET, HEAD'],
  ['/suppliers/batch', 'POST'],
  ['/finance/receivables', 'GET, HEAD, POST'],
  ['/finance/receivables/1', 'GET, HEAD, PATCH, DELETE'],
  ['/finance/receivables/batch', 'POST'],
  ['/finance/receivables/1/settle', 'POST'],
  ['/finance/payables/1', 'GET, HEAD, PATCH, DELETE'],
  ['/finance/payables/1/settle', 'POST'],
  ['/finance/summary', 'GET, HEAD'],
  ['/finance/payment-methods', 'GET, HEAD'],
  ['/sales', 'GET, HEAD, POST'],
  ['/sales/1', 'GET, HEAD'],
  ['/sales/1/cancel', 'POST'],
  ['/sales/by-external/x', 'GET, HEAD'],
  ['/sales/payment-types', 'GET, HEAD'],
]

describe('errors of API v1', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany

  before(async () => {
    api = await startApi(database.url)
    company = await api.company()
  })
  after(() => api.close())

  /** A call whose path and headers are sent as they are. */
  const raw = (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: string | Buffer,
    chunked = false,
  ) =>
    rawRequest(api.url, {
      method,
      path: `/api/v1${path}`,
      headers: { authorization: `Bearer ${company.key}`, ...headers },
      body,
      chunked,
    })
  const JSON_TYPE = { 'content-type': 'application/json' }
  const customers = async () => (await company.get('/customers?limit=200')).body.data

  describe('headers', () => {
    it('every answer has an id of its own, which no caller chooses', async () => {
      const headers = { 'x-request-id': 'mine' }
      const replies = [
        await company.call('GET', '/me', undefined, headers),
        await company.call('GET', '/nothing', undefined, headers),
        await company.call('POST', '/customers', { name: 'Com id' }, headers),
        await company.call('POST', '/customers', '{', headers),
      ]
      const ids = replies.map((reply) => reply.headers.get('x-request-id'))
      for (const id of ids) expect(id).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(new Set(ids).size).to.equal(4)
    })

    it("an event carries the id of the request that caused it, and the answer that event's revision", async () => {
      const reply = await company.post('/customers', { name: 'Rastreada' })
      const revision = Number(reply.headers.get('x-ledger-revision'))
      const events = []
      for await (const event of api.core.store.read(`company-${company.id}`, revision)) events.push(event)
      expect(events).to.have.length(1)
      expect(events[0]).to.include({ request_id: reply.headers.get('x-request-id'), origin: 'api' })
      expect((await company.get('/customers')).headers.get('x-ledger-revision')).to.equal(String(revision))
    })

    it('X-Ledger-Revision moves with what is recorded and with nothing else', async () => {
      const revision = async (method: string, path: string, body?: unknown) =>
        Number((await company.call(method, path, body)).headers.get('x-ledger-revision'))
      const before = await revision('GET', '/me')
      expect(await revision('POST', '/customers', {})).to.equal(before)
      expect(await revision('GET', '/nothing')).to.equal(before)
      expect(await revision('PUT', '/customers/by-external/rev', { name: 'Revisão' })).to.equal(before + 1)
      expect(await revision('PUT', '/customers/by-external/rev', { name: 'Revisão' })).to.equal(before + 1)
      expect(await revision('GET', '/sales')).to.equal(before + 1)
    })

    it('HEAD answers as GET does, without the body', async () => {
      const get = await company.get('/customers?limit=1')
      const head = await company.call('HEAD', '/customers?limit=1')
      expect(head.status).to.equal(200)
      expect(head.text).to.equal('')
      expect(head.headers.get('content-length')).to.equal(get.headers.get('content-length'))
    })
  })

  describe('the body', () => {
    it('that is no JSON is 400 malformed_json on every route that takes one', async () => {
      for (const [method, path] of WRITES) {
        expect(expectProblem(await company.call(method, path, '{'), 400, 'malformed_json')).to.equal(undefined)
      }
    })

    it('is read strictly as JSON', async () => {
      for (const body of [
        '{"name": "Ana",}',
        "{'name': 'Ana'}",
        '{name: "Ana"}',
        '{"name": "Ana"} x',
        '{"name": NaN}',
        '{"name": undefined}',
        '{"name": "A\nna"}',
        '{"name": "\\x41"}',
        '// Ana\n{"name": "Ana"}',
        'name=Ana',
        ' ',
        '\u0000',
      ]) {
        expectProblem(await company.post('/customers', body), 400, 'malformed_json')
      }
    })

    it('that is not UTF-8 is 400, rather than recorded with other letters', async () => {
      const latin1 = Buffer.from('{"name": "João"}', 'latin1')
      expectProblem(await raw('POST', '/customers', JSON_TYPE, latin1), 400, 'malformed_json')
      const utf16 = Buffer.from('{"name": "João"}', 'utf16le')
      expectProblem(await raw('POST', '/customers', JSON_TYPE, utf16), 400, 'malformed_json')
      const cut = Buffer.from('{"name": "João"}').subarray(0, 13)
      expectProblem(
        await raw('POST', '/customers', JSON_TYPE, Buffer.concat([cut, Buffer.from('"}')])),
        400,
        'malformed_json',
      )
    })

    it('that is no object is 422', async () => {
      for (const [method, path] of WRITES) {
        for (const body of ['[]', '"x"', '1', 'null', 'true', '[{"name": "Ana"}]']) {
          expectInvalid(await company.call(method, path, body), ['body'])
        }
      }
    })

    it('may be absent where nothing is required, and is 422 naming what is missing elsewhere', async () => {
      const { id } = (await company.post('/customers', { name: 'Sem corpo' })).body.data
      expect((await company.call('PATCH', `/customers/${id}`)).status).to.equal(200)
      expectInvalid(await company.call('POST', '/customers'), ['name'])
      expectInvalid(await company.call('POST', '/sales'), ['items', 'payments'])
      expectInvalid(await company.call('POST', '/customers/batch'), ['items'])
      expect((await raw('DELETE', `/customers/${id}`, JSON_TYPE)).status).to.equal(204)
    })

    it('of exactly 1 MB is read, and one of a byte more is 413', async () => {
      const padded = (size: number, name: string) => JSON.stringify({ name }).padEnd(size, ' ')
      expect((await company.post('/customers', padded(MAX_BODY_BYTES, 'Um mega'))).status).to.equal(201)
      expect(MAX_BODY_BYTES).to.equal(1_048_576)
      expectProblem(await company.post('/customers', padded(MAX_BODY_BYTES + 1, 'Grande')), 413, 'payload_too_large')
      const bytes = Buffer.alloc(MAX_BODY_BYTES + 1, ' ')
      expectProblem(await raw('POST', '/customers', JSON_TYPE, bytes, true), 413, 'payload_too_large')
      const exact = padded(MAX_BODY_BYTES, 'Aos poucos')
      expect((await raw('POST', '/customers', JSON_TYPE, exact, true)).status).to.equal(201)
    })

    it('is counted in bytes, not in characters', async () => {
      const wide = JSON.stringify({ name: 'x', notes: 'é'.repeat(MAX_BODY_BYTES / 2) })
      expect(wide.length).to.be.below(MAX_BODY_BYTES)
      expectProblem(await company.post('/customers', wide), 413, 'payload_too_large')
    })

    it('needs the content type application/json in UTF-8', async () => {
      const ask = (type?: string) => raw('POST', '/customers', type === undefined ? {} : { 'content-type': type }, '{}')
      for (const type of [
        undefined,
        '',
        'text/plain',
        'text/json',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'application/jsonp',
        'application/json; charset=iso-8859-1',
        'application/json; charset=utf-16',
        'xapplication/json',
      ]) {
        expectProblem(await ask(type), 415, 'unsupported_media_type')
      }
      for (const type of [
        'application/json',
        'APPLICATION/JSON',
        'application/json;charset=utf-8',
        'application/json; charset=UTF-8',
        'application/json; charset="utf-8"',
      ]) {
        expectInvalid(await ask(type), ['name'])
      }
    })

    it('may be compressed, and is measured as it is when it is not', async () => {
      const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' }
      const small = await raw('POST', '/customers', headers, gzipSync('{"name": "Comprimida"}'))
      expect(small.status).to.equal(201)
      const bomb = gzipSync(Buffer.alloc(20 * MAX_BODY_BYTES, ' '))
      expect(bomb.length).to.be.below(50_000)
      expectProblem(await raw('POST', '/customers', headers, bomb), 413, 'payload_too_large')
      expectProblem(await raw('POST', '/customers', headers, '{"name": "x"}'), 400, 'malformed_json')
    })

    it('in an encoding that nobody knows is 415', async () => {
      const headers = { ...JSON_TYPE, 'content-encoding': 'rot13' }
      expectProblem(await raw('POST', '/customers', headers, '{}'), 415, 'unsupported_media_type')
    })

    it('leaves nothing behind when it is refused', async () => {
      const before = await customers()
      for (const body of ['{', '{"name": 1}', '{"name": "Ana", "x": 1}']) await company.post('/customers', body)
      expect(await customers()).to.deep.equal(before)
    })
  })

  describe('routes', () => {
    for (const [path, allow] of PATHS) {
      it(`${path} answers 405 to other methods than ${allow}`, async () => {
        for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
          if (allow.split(', ').includes(method)) continue
          const reply = await company.call(method, path, method === 'GET' ? undefined : {})
          expect(expectProblem(reply, 405, 'method_not_allowed')).to.equal(undefined)
          expect(reply.headers.get('allow')).to.equal(allow)
        }
      })
    }

    it('that do not exist are 404 not_found', async () => {
      for (const path of [
        '/',
        '/nothing',
        '/customer',
        '/Customers',
        '/customers/',
        '/customers/1/',
        '/customers/1/sales',
        '//customers',
        '/customers//1',
        '/customers/by-external/',
        '/customers/by-external/a/b',
        '/sales/1/Cancel',
        '/../customers',
      ]) {
        for (const method of ['GET', 'POST', 'DELETE']) {
          expect(expectProblem(await raw(method, path), 404, 'not_found'), path).to.equal(undefined)
        }
      }
    })

    it('outside of /api are 404 in the same shape', async () => {
      for (const path of ['/customers', '/%', '/painelx']) {
        const reply = await rawRequest(api.url, { path })
        expect(reply.status, path).to.equal(404)
        expect(reply.body.error.code).to.equal('not_found')
        expect(reply.body.error.request_id).to.equal(reply.headers.get('x-request-id'))
      }
    })

    it('below /api, but outside of the version, are 404 in the shape of the sync interface', async () => {
      for (const path of ['/api', '/api/v2/customers', '/api/v1customers']) {
        const reply = await rawRequest(api.url, { path })
        expect(reply.status, path).to.equal(404)
        expect(reply.body, path).to.include({ success: false }).and.to.have.property('message')
      }
    })

    const IDS = [
      '/customers/ID',
      '/suppliers/ID',
      '/catalog/items/ID',
      '/catalog/categories/ID',
      '/finance/receivables/ID',
      '/finance/payables/ID',
      '/sales/ID',
    ]

    it('with an id that is no positive integer are 404, as a missing record', async () => {
      const odd =
        '0 -1 +1 01 1.0 1.5 1e3 0x1 abc null NaN 1%20 %201 1,2 ١ １ 1; $1 * 9007199254740992 99999999999999999999'
      for (const path of IDS) {
        for (const id of odd.split(' ')) {
          const asked = path.replace('ID', id.startsWith('%') || id.includes('%') ? id : encodeURIComponent(id))
          expect(expectProblem(await raw('GET', asked), 404, 'not_found'), asked).to.equal(undefined)
        }
      }
      for (const id of ['0', '-1', 'abc', '9007199254740992']) {
        expectProblem(await company.call('PATCH', `/customers/${id}`, { name: 'x' }), 404, 'not_found')
        expectProblem(await company.call('DELETE', `/customers/${id}`), 404, 'not_found')
        expectProblem(await company.call('PATCH', `/catalog/items/${id}`, { name: 'x' }), 404, 'not_found')
        expectProblem(await company.call('DELETE', `/catalog/items/${id}`), 404, 'not_found')
        expectProblem(await company.post(`/sales/${id}/cancel`, {}), 404, 'not_found')
      }
    })

    it('with an id that nobody has are 404, up to the largest', async () => {
      for (const path of IDS) {
        for (const id of ['999999', '9007199254740991']) {
          expectProblem(await company.get(path.replace('ID', id)), 404, 'not_found')
        }
      }
    })

    it('with a broken escape, or one for U+0000, name no record: 404, never 500', async () => {
      for (const broken of ['%', '%4', '%zz', '%00', '%ff', '%c3%28', '%ed%a0%80', '%u0041']) {
        for (const path of [...IDS, '/sales/by-external/ID']) {
          expectProblem(await raw('GET', path.replace('ID', broken)), 404, 'not_found')
        }
        expectProblem(await raw('POST', `/sales/${broken}/cancel`, JSON_TYPE, '{}'), 404, 'not_found')
        expectProblem(await raw('DELETE', `/customers/${broken}`), 404, 'not_found')
        expectProblem(await raw('GET', `/${broken}`), 404, 'not_found')
      }
    })

    it('by-external refuse an external id that cannot be one, and never fail', async () => {
      const paths = ['/customers/by-external/', '/catalog/items/by-external/']
      for (const path of paths) {
        for (const id of ['%00', '%01', '%20x', 'x%20', '%20', 'x'.repeat(101)]) {
          expectInvalid(
            await raw(
              'PUT',
              path + id,
              JSON_TYPE,
              '{"name": "x", "price": "1.00"}'.replace(
                /, "price.*/,
                path.includes('items') ? ', "price": "1.00"}' : '}',
              ),
            ),
            ['external_id'],
          )
        }
        for (const id of ['%', '%zz', '%ff', '%ed%a0%80']) {
          expectProblem(await raw('PUT', path + id, JSON_TYPE, '{}'), 404, 'not_found')
        }
      }
    })
  })

  describe('unknown fields', () => {
    it('are named on every route that takes a body', async () => {
      for (const [method, path] of WRITES) {
        const details = expectProblem(await company.call(method, path, { nada: 1 }), 422, 'validation_failed')
        expect(details.unknown_fields).to.deep.equal(['nada'])
      }
    })

    it('are named wherever they are: nested, in lists, all at once, beside wrong fields', async () => {
      expectInvalid(
        await company.post('/customers', { name: 'Ana', a: 1, b: null, address: { rua: 'x', street: 'y', zip: 1 } }),
        ['address.zip'],
        ['a', 'b', 'address.rua'],
      )
      expectInvalid(
        await company.post('/sales', {
          items: [
            { description: 'x', quantity: '1', unit_price: '1.00' },
            { description: 'y', quantity: '1', unit_price: '1.00', discount: '0.10' },
          ],
          payments: [{ payment_type_id: 1, amount: '2.00', installments: 2 }],
          discount: '0.10',
        }),
        [],
        ['discount', 'items[1].discount', 'payments[0].installments'],
      )
    })

    it('are named even when they are what JavaScript objects have anyway', async () => {
      for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype', '']) {
        const body = `{"name": "Ana", ${JSON.stringify(name)}: {"x": 1}}`
        const details = expectProblem(await company.post('/customers', body), 422, 'validation_failed')
        expect(details.unknown_fields).to.have.length(1)
        if (name !== '') expect(details.unknown_fields).to.deep.equal([name])
      }
      const nested = '{"name": "Ana", "address": {"__proto__": {"city": "x"}}}'
      expectInvalid(await company.post('/customers', nested), [], ['address.__proto__'])
    })

    it('are refused where a route takes no body at all', async () => {
      const { id } = (await company.post('/customers', { name: 'Fica' })).body.data
      expectInvalid(await company.call('DELETE', `/customers/${id}`, { reason: 'x' }), [], ['reason'])
      expect((await company.get(`/customers/${id}`)).status).to.equal(200)
    })

    it('are listed up to a bound, however many there are', async () => {
      const body = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`f${n}`, 1]))
      const reply = await company.post('/customers', body)
      expectProblem(reply, 422, 'validation_failed')
      expect(reply.text.length).to.be.below(50_000)
    })
  })

  describe('unknown query parameters', () => {
    it('are named on every route', async () => {
      for (const path of [
        '/me',
        '/customers',
        '/customers/1',
        '/customers/deleted',
        '/catalog/categories',
        '/sales',
        '/sales/1',
        '/sales/payment-types',
        '/sales/by-external/x',
      ]) {
        expectInvalid(await company.get(`${path}?nada=1`), [], ['nada'])
      }
      for (const [method, path] of [...WRITES, ['DELETE', '/customers/1'], ['DELETE', '/catalog/items/1']] as const) {
        expectInvalid(await company.call(method, `${path}?nada=1`, {}), [], ['nada'])
      }
    })

    it('of other lists are unknown too', async () => {
      expectInvalid(await company.get('/customers?status=completed'), [], ['status'])
      expectInvalid(await company.get('/customers/deleted?updated_since=2026-01-01T00:00:00Z'), [], ['updated_since'])
      expectInvalid(await company.get('/customers?since=2026-01-01T00:00:00Z'), [], ['since'])
      expectInvalid(
        await company.get('/catalog/categories?__proto__=1&constructor=2'),
        [],
        ['__proto__', 'constructor'],
      )
    })

    it('twice the same parameter is 422 naming it, rather than a guess', async () => {
      expectInvalid(await company.get('/customers?limit=1&limit=2'), ['limit'])
      expectInvalid(await company.get('/customers?name=a&name=a'), ['name'])
      expectInvalid(await company.get('/customers?cursor=a&cursor=b'), ['cursor'])
      expectInvalid(await company.get('/sales?status=completed&status=cancelled'), ['status'])
      const since = 'updated_since=2026-01-01T00:00:00Z'
      expectInvalid(await company.get(`/customers?${since}&${since}`), ['updated_since'])
    })

    it('broken escapes in a query never fail', async () => {
      for (const query of ['name=%', 'name=%zz', 'name=%00', 'name=%ff', '%=1', '=', '&', 'limit[]=1', 'limit[a]=1']) {
        const { status } = await raw('GET', `/customers?${query}`)
        expect(status, query).to.be.oneOf([200, 422])
      }
    })
  })

  describe('odd values', () => {
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

    it('U+0000, control characters and lone surrogates are 422 naming the field', async () => {
      for (const [method, path, body, field] of textFields) {
        for (const value of ['a\u0000b', '\u0000', 'a\u0001b', '\u001f.', '\ud800', 'a\udc00b', '\udc00\ud800']) {
          expectInvalid(await company.call(method, path, body(value)), [field])
        }
      }
      // As escapes in the text itself, since a client may write them so.
      expectInvalid(await company.post('/customers', '{"name": "\\ud800"}'), ['name'])
      expectInvalid(await company.post('/customers', '{"name": "a\\u0000"}'), ['name'])
    })

    it('odd names of unknown fields and odd parameters are answered', async () => {
      for (const body of ['{"\\u0000": 1}', '{"\\ud800": 1}', `{"${'x'.repeat(100_000)}": 1}`]) {
        const reply = await company.post('/customers', body)
        expectProblem(reply, 422, 'validation_failed')
        expect(reply.text).to.not.match(/\p{Surrogate}/u)
        expect(reply.text).to.not.match(/\\ud[89a-f]/i)
      }
    })

    it('emoji and letters of all scripts come back as they were sent', async () => {
      for (const name of [
        'Padaria 🥖👩🏽‍🍳',
        'São João & Cia. <b>"\'\\',
        '北京 مرحبا Ωмега',
        'a\u200db\u00a0c',
        '𝒳'.repeat(120),
        'a\u2028b',
      ]) {
        const reply = await company.post('/customers', { name })
        expect(reply.status, reply.text).to.equal(201)
        expect(reply.body.data.name).to.equal(name)
        expect((await company.get(`/customers/${reply.body.data.id}`)).text).to.equal(reply.text)
        const found = await company.get(`/customers?name=${encodeURIComponent(name)}`)
        expect(found.body.data.map((record: { id: number }) => record.id)).to.deep.equal([reply.body.data.id])
      }
    })

    it('texts are refused beyond their length, in characters, naming the field', async () => {
      expectInvalid(await company.post('/customers', { name: 'x'.repeat(121) }), ['name'])
      expectInvalid(await company.post('/customers', { name: '𝒳'.repeat(121) }), ['name'])
      expectInvalid(await company.post('/customers', { name: 'x'.repeat(900_000) }), ['name'])
      expectInvalid(await company.post('/customers', { name: '   ' }), ['name'])
    })

    it('numbers beyond all measure are 422, never 500', async () => {
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
        expectInvalid(
          await company.post('/catalog/items', `{"name": "x", "price": "1.00", "category_id": ${number}}`),
          ['category_id'],
        )
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

    it('nesting of 100,000 levels is 422, never 500', async () => {
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
        expect(reply.status).to.equal(207)
        expect(reply.body.meta).to.include({ succeeded: 0, failed: 2 })
      }
    })

    describe('of any kind', () => {
      const { value } = fc.letrec((tie) => ({
        value: fc.oneof(
          { maxDepth: 4 },
          fc.string({ unit: 'binary' }),
          fc.constantFrom('', '1', '1.00', '0', '-1', '1e9', 'PF', 'product', '2026-01-01T00:00:00Z', '\ud800'),
          fc.double(),
          fc.maxSafeInteger(),
          fc.constantFrom(null, true, false),
          fc.array(tie('value'), { maxLength: 4 }),
          fc.dictionary(
            fc.oneof(fc.constantFrom('name', 'external_id', 'items', '__proto__'), fc.string({ unit: 'binary' })),
            tie('value'),
            { maxKeys: 5 },
          ),
        ),
      }))
      const answersAll = async (calls: readonly Promise<Reply>[]) => {
        for (const reply of await Promise.all(calls)) expect(reply.status, reply.text).to.be.within(200, 422)
      }

      it('are answered by every route, never with 500', async function () {
        this.timeout(30_000)
        await fc.assert(
          fc.asyncProperty(fc.array(value, { minLength: WRITES.length, maxLength: WRITES.length }), (values) =>
            answersAll(WRITES.map(([method, path], n) => company.call(method, path, JSON.stringify(values[n])))),
          ),
          { numRuns: 15 },
        )
      })

      it('are answered in any one place of a body that is right but for it, never with 500', async function () {
        this.timeout(30_000)
        const person = {
          name: 'Alvo',
          person_type: 'PF',
          document: '52998224725',
          address: { zip: '01310100', city: 'São Paulo' },
        }
        const item = { name: 'Alvo', price: '1.00', stock: '5', barcode: '1', category_id: 1 }
        const account = { description: 'Alvo', amount: '1.00', due_date: '2026-12-01', external_id: 'alvo' }
        const sale = {
          external_id: 'alvo',
          sold_at: '2026-01-01T00:00:00Z',
          items: [{ description: 'Alvo', quantity: '1', unit_price: '1.00' }],
          payments: [{ payment_type_id: 1, amount: '1.00' }],
        }
        const customer = (await company.post('/customers', { name: 'Alvo de PATCH' })).body.data.id
        const product = (await company.post('/catalog/items', { name: 'Alvo', price: '1.00' })).body.data.id
        const bodies: readonly (readonly [string, string, object])[] = [
          ['POST', '/customers', person],
          ['PUT', '/customers/by-external/alvo', person],
          ['PATCH', `/customers/${customer}`, person],
          [
            'POST',
            '/customers/batch',
            {
              items: [
                { external_id: 'alvo', ...person },
                { external_id: 'b', name: 'B' },
              ],
            },
          ],
          ['PUT', '/suppliers/by-external/alvo', { ...person, trade_name: 'Alvo' }],
          ['POST', '/catalog/items', item],
          ['PUT', '/catalog/items/by-external/alvo', item],
          ['PATCH', `/catalog/items/${product}`, item],
          ['PATCH', `/catalog/items/${product}`, { stock_adjustment: '1' }],
          ['POST', '/catalog/categories', { name: 'Alvo', external_id: 'alvo' }],
          ['POST', '/finance/receivables', { ...account, customer_id: customer }],
          ['POST', '/finance/payables/batch', { items: [account] }],
          ['POST', '/sales', sale],
          ['POST', '/sales', { ...sale, customer_external_id: 'alvo', delivery_fee: '1.00' }],
        ]
        await fc.assert(
          fc.asyncProperty(fc.array(fc.tuple(fc.nat(), value), { minLength: 14, maxLength: 14 }), (spoilers) =>
            answersAll(
              bodies.map(([method, path, body], n) => {
                const [place, spoiler] = spoilers[n] as [number, unknown]
                return company.call(method, path, JSON.stringify(spoiled(body, place, spoiler)))
              }),
            ),
          ),
          { numRuns: 25 },
        )
      })
    })
  })
})

/** A copy with another value in one of its places, however deep; which of them is counted round and round. */
function spoiled(body: object, place: number, value: unknown): unknown {
  const places: ((copy: unknown) => void)[] = []
  const visit = (node: unknown, path: readonly string[]): void => {
    if (path.length > 0) places.push((copy) => put(copy, path, value))
    if (node !== null && typeof node === 'object') {
      for (const [name, inner] of Object.entries(node)) visit(inner, [...path, name])
    }
  }
  visit(body, [])
  const copy = structuredClone(body)
  places[place % places.length]?.(copy)
  return copy
}

function put(root: unknown, path: readonly string[], value: unknown): void {
  const [name = '', ...rest] = path
  const node = root as Record<string, unknown>
  if (rest.length === 0) node[name] = value
  else put(node[name], rest, value)
}
