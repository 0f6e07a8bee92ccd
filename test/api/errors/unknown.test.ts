import { expect } from 'chai'
import { expectInvalid, expectProblem } from '../../support/answers.ts'
import { useCaller, WRITES } from './caller.ts'

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
        expect(status, query).to.be.oneOf([200, 422])
      }
    })
  })
})
