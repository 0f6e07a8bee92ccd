import { expect } from 'chai'
import { expectInvalid, expectProblem } from '../../support/answers.ts'
import { rawRequest } from '../../support/raw-request.ts'
import { JSON_TYPE, useCaller } from './caller.ts'

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
    it(`${path} responds 405 to methods other than ${allow} [HTTP-10]`, async () => {
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

  it('outside of /api are 404 in the same format [HTTP-2]', async () => {
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
