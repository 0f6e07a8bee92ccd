import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { MAX_BODY_BYTES } from '#api/api-route.ts'
import { expectInvalid, expectProblem } from '../support/answers.ts'
import { rawRequest } from '../support/raw-request.ts'
import { JSON_TYPE, useCaller, WRITES } from './caller.ts'

describe('errors of API v1: body', () => {
  const { company, raw } = useCaller()

  const customers = async () => (await company.get('/customers?limit=200')).body.data

  it('of invalid JSON is 400 malformed_json on every route with a body [HTTP-15]', async () => {
    for (const [method, path] of WRITES) {
      expect(expectProblem(await company.call(method, path, '{'), 400, 'malformed_json')).to.equal(undefined)
    }
  })

  it('is parsed strictly as JSON [HTTP-15]', async () => {
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

  it('with a member twice is 400 malformed_json, at every depth [HTTP-44]', async () => {
    const before = await customers()
    for (const body of [
      '{"name":"Ana","name":"Bia"}',
      '{"name":"Ana","n\\u0061me":"Bia"}',
      '{"name":"Ana","address":{"city":"Santos","city":"Santos"}}',
    ]) {
      expect(expectProblem(await company.post('/customers', body), 400, 'malformed_json')).to.deep.equal({
        reason: 'repeated_member',
      })
    }
    expectProblem(await company.post('/sales', '{"items":[{"quantity":"1","quantity":"2"}]}'), 400, 'malformed_json')
    expect(await customers()).to.deep.equal(before)
  })

  it('of invalid UTF-8 is 400, instead of recording other characters [HTTP-15]', async () => {
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

  it('other than an object is 422', async () => {
    for (const [method, path] of WRITES) {
      for (const body of ['[]', '"x"', '1', 'null', 'true', '[{"name": "Ana"}]']) {
        expectInvalid(await company.call(method, path, body), ['body'])
      }
    }
  })

  it('may be absent if nothing is required, else is 422 naming the missing fields', async () => {
    const { id } = (await company.post('/customers', { name: 'Sem corpo' })).body.data
    expect((await company.call('PATCH', `/customers/${id}`)).status).to.equal(200)
    expectInvalid(await company.call('POST', '/customers'), ['name'])
    expectInvalid(await company.call('POST', '/sales'), ['items', 'payments'])
    expectInvalid(await company.call('POST', '/customers/batch'), ['items'])
    expect((await raw('DELETE', `/customers/${id}`, JSON_TYPE)).status).to.equal(204)
  })

  it('of exactly 1 MB is accepted, and of one more byte is 413 [HTTP-15]', async () => {
    const padded = (size: number, name: string) => JSON.stringify({ name }).padEnd(size, ' ')
    expect((await company.post('/customers', padded(MAX_BODY_BYTES, 'Um mega'))).status).to.equal(201)
    expect(MAX_BODY_BYTES).to.equal(1_048_576)
    expectProblem(await company.post('/customers', padded(MAX_BODY_BYTES + 1, 'Grande')), 413, 'payload_too_large')
    const bytes = Buffer.alloc(MAX_BODY_BYTES + 1, ' ')
    expectProblem(await raw('POST', '/customers', JSON_TYPE, bytes, true), 413, 'payload_too_large')
    const exact = padded(MAX_BODY_BYTES, 'Aos poucos')
    expect((await raw('POST', '/customers', JSON_TYPE, exact, true)).status).to.equal(201)
  })

  it('is measured in bytes, not in characters [HTTP-15]', async () => {
    const wide = JSON.stringify({ name: 'x', notes: 'é'.repeat(MAX_BODY_BYTES / 2) })
    expect(wide.length).to.be.below(MAX_BODY_BYTES)
    expectProblem(await company.post('/customers', wide), 413, 'payload_too_large')
  })

  it('requires the content type application/json in UTF-8 [HTTP-15]', async () => {
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
      'application/json; charset=',
      'application/json; charset=utf-7; charset=utf-8',
      'application/json, application/json',
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
      'application/json; charset=utf8',
      'application/json;charset=UTF8',
      'application/json; charset="Utf8"',
      "application/json; charset='utf-8'",
      'application/json; charset=utf_8',
      'application/json ; charset = utf8 ;',
      'application/json;',
      'application/json; odata.metadata=minimal; charset=utf8',
    ]) {
      expectInvalid(await ask(type), ['name'])
    }
  })

  it('may be compressed, and is measured decompressed [HTTP-15]', async () => {
    const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' }
    const small = await raw('POST', '/customers', headers, gzipSync('{"name": "Comprimida"}'))
    expect(small.status).to.equal(201)
    const bomb = gzipSync(Buffer.alloc(20 * MAX_BODY_BYTES, ' '))
    expect(bomb.length).to.be.below(50_000)
    expectProblem(await raw('POST', '/customers', headers, bomb), 413, 'payload_too_large')
    expectProblem(await raw('POST', '/customers', headers, '{"name": "x"}'), 400, 'malformed_json')
  })

  it('in an unknown encoding is 415 [HTTP-15]', async () => {
    const headers = { ...JSON_TYPE, 'content-encoding': 'rot13' }
    expectProblem(await raw('POST', '/customers', headers, '{}'), 415, 'unsupported_media_type')
  })

  it('changes nothing when refused [HTTP-11]', async () => {
    const before = await customers()
    for (const body of ['{', '{"name": 1}', '{"name": "Ana", "x": 1}']) await company.post('/customers', body)
    expect(await customers()).to.deep.equal(before)
  })
})

describe('errors of API v1: headers', () => {
  const { api, company } = useCaller()

  it('every response has an id, which callers cannot choose [HTTP-1]', async () => {
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

  it("an event carries the id of its request, and the response the event's revision [HTTP-3, LEDGER-3]", async () => {
    const reply = await company.post('/customers', { name: 'Rastreada' })
    const revision = Number(reply.headers.get('x-ledger-revision'))
    const events = []
    for await (const event of api.core.store.read(`company-${company.id}`, revision)) events.push(event)
    expect(events).to.have.length(1)
    expect(events[0]).to.include({ request_id: reply.headers.get('x-request-id'), origin: 'api' })
    expect((await company.get('/customers')).headers.get('x-ledger-revision')).to.equal(String(revision))
  })

  it('X-Ledger-Revision changes with recorded events only [HTTP-3]', async () => {
    const revision = async (method: string, path: string, body?: unknown) =>
      Number((await company.call(method, path, body)).headers.get('x-ledger-revision'))
    const before = await revision('GET', '/me')
    expect(await revision('POST', '/customers', {})).to.equal(before)
    expect(await revision('GET', '/nothing')).to.equal(before)
    expect(await revision('PUT', '/customers/by-external/rev', { name: 'Revisão' })).to.equal(before + 1)
    expect(await revision('PUT', '/customers/by-external/rev', { name: 'Revisão' })).to.equal(before + 1)
    expect(await revision('GET', '/sales')).to.equal(before + 1)
  })

  it('X-Min-Ledger-Revision accepts revisions only; without a replica it changes nothing [READ-921]', async () => {
    const least = (value: string, path = '/customers?limit=1') =>
      company.call('GET', path, undefined, { 'x-min-ledger-revision': value })
    for (const value of ['', '-1', '1.5', '07', 'abc', '1, 2', '1'.repeat(16)]) {
      const { status, body } = await least(value)
      expect([status, body.error.code], value).to.deep.equal([422, 'validation_failed'])
      expect(body.error.details.fields).to.have.all.keys('X-Min-Ledger-Revision')
    }
    expect((await least('x', '/me')).status, 'also where nothing is read from a standby').to.equal(422)
    const reply = await company.post('/customers', { name: 'Nova' })
    const { id } = reply.body.data
    for (const value of ['0', reply.headers.get('x-ledger-revision') ?? '', '999999999999999']) {
      const { status, headers } = await least(value, `/customers/${id}`)
      expect([status, headers.get('x-ledger-revision')]).to.deep.equal([200, reply.headers.get('x-ledger-revision')])
    }
  })

  it('HEAD responds like GET, without the body [HTTP-15]', async () => {
    const get = await company.get('/customers?limit=1')
    const head = await company.call('HEAD', '/customers?limit=1')
    expect(head.status).to.equal(200)
    expect(head.text).to.equal('')
    expect(head.headers.get('content-length')).to.equal(get.headers.get('content-length'))
  })
})

const PATHS: readonly (readonly [path: string, allow: string])[] = [
  ['/me', 'GET, HEAD'],
  ['/customers', 'GET, HEAD, POST'],
  ['/customers/1', 'GET, HEAD, PATCH, DELETE'],
  ['/customers/deleted', 'GET, HEAD'],
  ['/customers/batch', 'POST'],
  ['/customers/by-external/x', 'GET, HEAD, PUT'],
  ['/catalog/items', 'GET, HEAD, POST'],
  ['/catalog/items/1', 'GET, HEAD, PATCH, DELETE'],
  ['/catalog/items/deleted', 'GET, HEAD'],
  ['/catalog/items/batch', 'POST'],
  ['/catalog/items/by-external/x', 'GET, HEAD, PUT'],
  ['/catalog/categories', 'GET, HEAD, POST'],
  ['/catalog/categories/1', 'GET, HEAD, PATCH, DELETE'],
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
  ['/sales/1/fiscal-document', 'PUT'],
  ['/sales/by-external/x', 'GET, HEAD'],
  ['/sales/payment-types', 'GET, HEAD, POST'],
  ['/sales/payment-types/1', 'GET, HEAD, PATCH'],
]

describe('errors of API v1: routes', () => {
  const { api, company, raw } = useCaller()

  for (const [path, allow] of PATHS) {
    it(`${path} responds 405 to methods other than ${allow} [HTTP-15]`, async () => {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        if (allow.split(', ').includes(method)) continue
        const reply = await company.call(method, path, method === 'GET' ? undefined : {})
        expect(expectProblem(reply, 405, 'method_not_allowed')).to.equal(undefined)
        expect(reply.headers.get('allow')).to.equal(allow)
      }
    })
  }

  it('that do not exist are 404 not_found, distinguished from missing records [HTTP-8]', async () => {
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
        const reply = await raw(method, path)
        expect(expectProblem(reply, 404, 'not_found'), path).to.deep.equal({ reason: 'route_not_found' })
        expect(reply.body.error.message).to.include('route_not_found')
      }
    }
  })

  it('outside of /api are 404 in the same format [HTTP-15]', async () => {
    for (const path of ['/customers', '/%', '/painelx']) {
      const reply = await rawRequest(api.url, { path })
      expect(reply.status, path).to.equal(404)
      expect(reply.body.error.code).to.equal('not_found')
      expect(reply.body.error.request_id).to.equal(reply.headers.get('x-request-id'))
    }
  })

  it('below /api, but outside of the version, are 404 in the format of the till sync', async () => {
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

  it('with an id other than a positive integer are 404, like a missing record [HTTP-8]', async () => {
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

  it('with an unused id are 404, up to the largest [HTTP-8]', async () => {
    for (const path of IDS) {
      for (const id of ['999999', '9007199254740991']) {
        expectProblem(await company.get(path.replace('ID', id)), 404, 'not_found')
      }
    }
  })

  it('with a broken escape, or one for U+0000, are 404, never 500', async () => {
    for (const broken of ['%', '%4', '%zz', '%00', '%ff', '%c3%28', '%ed%a0%80', '%u0041']) {
      for (const path of [...IDS, '/sales/by-external/ID']) {
        expectProblem(await raw('GET', path.replace('ID', broken)), 404, 'not_found')
      }
      expectProblem(await raw('POST', `/sales/${broken}/cancel`, JSON_TYPE, '{}'), 404, 'not_found')
      expectProblem(await raw('DELETE', `/customers/${broken}`), 404, 'not_found')
      expectProblem(await raw('GET', `/${broken}`), 404, 'not_found')
    }
  })

  it('by-external refuse an invalid external id, and never fail', async () => {
    const paths = ['/customers/by-external/', '/catalog/items/by-external/']
    for (const path of paths) {
      for (const id of ['%00', '%01', '%20x', 'x%20', '%20', 'x'.repeat(101)]) {
        expectInvalid(
          await raw(
            'PUT',
            path + id,
            JSON_TYPE,
            '{"name": "x", "price": "1.00"}'.replace(/, "price.*/, path.includes('items') ? ', "price": "1.00"}' : '}'),
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

describe('errors of API v1', () => {
  const { company, raw } = useCaller()

  describe('unknown fields', () => {
    it('are reported on every route with a body [HTTP-5]', async () => {
      for (const [method, path] of WRITES) {
        const details = expectProblem(await company.call(method, path, { nada: 1 }), 422, 'validation_failed')
        expect(details.unknown_fields).to.deep.equal(['nada'])
      }
    })

    it('are reported at any depth, in lists, all at once, together with wrong fields [HTTP-5]', async () => {
      expectInvalid(
        await company.post('/customers', { name: 'Ana', a: 1, b: null, address: { rua: 'x', street: 'y', zip: 1 } }),
        ['address.zip'],
        ['a', 'b', 'address.rua'],
      )
      expectInvalid(
        await company.post('/sales', {
          items: [
            { description: 'x', quantity: '1', unit_price: '1.00' },
            { description: 'y', quantity: '1', unit_price: '1.00', rebate: '0.10' },
          ],
          payments: [{ payment_type_id: 1, amount: '2.00', installments: 2 }],
          rebate: '0.10',
        }),
        [],
        ['rebate', 'items[1].rebate', 'payments[0].installments'],
      )
    })

    it('are reported even if JavaScript objects have members of these names', async () => {
      for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype', '']) {
        const body = `{"name": "Ana", ${JSON.stringify(name)}: {"x": 1}}`
        const details = expectProblem(await company.post('/customers', body), 422, 'validation_failed')
        expect(details.unknown_fields).to.have.length(1)
        if (name !== '') expect(details.unknown_fields).to.deep.equal([name])
      }
      const nested = '{"name": "Ana", "address": {"__proto__": {"city": "x"}}}'
      expectInvalid(await company.post('/customers', nested), [], ['address.__proto__'])
    })

    it('are refused on routes without a body [HTTP-5]', async () => {
      const { id } = (await company.post('/customers', { name: 'Fica' })).body.data
      expectInvalid(await company.call('DELETE', `/customers/${id}`, { reason: 'x' }), [], ['reason'])
      expect((await company.get(`/customers/${id}`)).status).to.equal(200)
    })

    it('are listed up to a limit', async () => {
      const body = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`f${n}`, 1]))
      const reply = await company.post('/customers', body)
      expectProblem(reply, 422, 'validation_failed')
      expect(reply.text.length).to.be.below(50_000)
    })
  })

  describe('unknown query parameters', () => {
    it('are reported on every route [HTTP-5]', async () => {
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

    it('include parameters of other lists', async () => {
      expectInvalid(await company.get('/customers?status=completed'), [], ['status'])
      expectInvalid(await company.get('/customers/deleted?updated_since=2026-01-01T00:00:00Z'), [], ['updated_since'])
      expectInvalid(await company.get('/customers?since=2026-01-01T00:00:00Z'), [], ['since'])
      expectInvalid(
        await company.get('/catalog/categories?__proto__=1&constructor=2'),
        [],
        ['__proto__', 'constructor'],
      )
    })

    it('a repeated parameter is 422 naming it and the fault', async () => {
      const { fields } = expectProblem(await company.get('/customers?limit=1&limit=2'), 422, 'validation_failed')
      expect(fields).to.deep.equal({ limit: ['foi informado mais de uma vez'] })
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
        // A broken value is a filter that finds nothing, a broken name an unknown parameter.
        expect(status, query).to.be.oneOf([200, 422])
      }
    })
  })
})

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
