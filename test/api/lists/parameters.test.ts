import { expect } from 'chai'
import { inZone } from '#domain/instant.ts'
import { expectInvalid, idsIn } from '../../support/answers.ts'
import { useReader } from './reader.ts'

describe('lists: parameters', () => {
  const { company, put, customers, list } = useReader()

  const paths = [
    '/customers',
    '/customers/deleted',
    '/catalog/items',
    '/catalog/items/deleted',
    '/catalog/categories',
    '/sales',
  ]

  it('a limit other than a number from 1 to 200 is 422, on every list [LIST-2]', async () => {
    for (const path of paths) {
      for (const limit of ['0', '201', 'abc', '', '-1', '1.5', '1e2', '99999999999999999999', 'null']) {
        expectInvalid(await company.get(`${path}?limit=${limit}`), ['limit'])
      }
      for (const limit of ['1', '200']) {
        expect((await company.get(`${path}?limit=${limit}`)).body.meta.limit).to.equal(Number(limit))
      }
    }
  })

  it('a broken cursor is 422, on every list [LIST-3]', async () => {
    await customers(3)
    const good = (await list({ limit: 1 })).body.meta.next_cursor as string
    const json = (text: string) => Buffer.from(text).toString('base64url')
    const broken = [
      '',
      'x',
      '!!!',
      '%00',
      '🥖',
      good.slice(0, -1),
      `${good}A`,
      `${good}=`,
      good.toUpperCase(),
      good.replace(/./, 'A'),
      json('null'),
      json('{}'),
      json('[1]'),
      json('{"v":1,"r":"customers","f":"","k":[1]}'),
      json(
        Buffer.from(good, 'base64url')
          .toString()
          .replace(/"k":\[\d+\]/, '"k":["1; drop table customers"]'),
      ),
      json(
        Buffer.from(good, 'base64url')
          .toString()
          .replace(/"k":\[\d+\]/, '"k":[1e400]'),
      ),
      json(
        Buffer.from(good, 'base64url')
          .toString()
          .replace(/"k":\[\d+\]/, '"k":[-1]'),
      ),
      json(Buffer.from(good, 'base64url').toString().replace('}', ',"__proto__":{}}')),
      'A'.repeat(3000),
      json(`{"v":${'['.repeat(700)}`),
    ]
    for (const path of paths) {
      for (const cursor of broken) expectInvalid(await list({ cursor }, path), ['cursor'])
    }
  })

  it('a cursor of another list, of the deleted ones, or of other filters is 422 [LIST-3]', async () => {
    const ids = await customers(6)
    for (const id of ids.slice(3)) await company.call('DELETE', `/customers/${id}`)
    for (const name of ['A', 'B', 'C']) {
      await company.post('/catalog/categories', { name })
      await company.post('/catalog/items', { name, price: '1.00' })
    }
    const cursorOf = async (path: string, query: Record<string, string>): Promise<string> => {
      const { next_cursor } = (await list({ limit: 1, ...query }, path)).body.meta
      expect(next_cursor, path).to.be.a('string')
      return next_cursor
    }
    const epoch = '1970-01-01T00:00:00Z'
    const sources: [path: string, query: Record<string, string>][] = [
      ['/customers', {}],
      ['/customers', { name: 'cliente' }],
      ['/customers', { updated_since: epoch }],
      ['/customers/deleted', {}],
      ['/customers/deleted', { since: epoch }],
      ['/catalog/items', {}],
      ['/catalog/items', { type: 'product' }],
      ['/catalog/categories', {}],
    ]
    const cursors = await Promise.all(sources.map(([path, query]) => cursorOf(path, query)))
    for (const [from, cursor] of cursors.entries()) {
      for (const [to, [path, query]] of sources.entries()) {
        const reply = await list({ limit: 1, cursor, ...query }, path)
        if (from === to) expect(reply.status).to.equal(200)
        else expectInvalid(reply, ['cursor'])
      }
    }
    const later = await cursorOf('/customers', { updated_since: epoch })
    expectInvalid(await list({ cursor: later, updated_since: '1970-01-01T00:00:00.001Z' }), ['cursor'])
  })

  it('the same instant or filter in another notation accepts the same cursor', async () => {
    await customers(3)
    const first = await list({ limit: 1, updated_since: '2020-01-01T00:00:00Z' })
    const query = { limit: 1, cursor: first.body.meta.next_cursor, updated_since: '2019-12-31T21:00:00.000-03:00' }
    expect((await list(query)).status).to.equal(200)
  })

  it('an instant requires an offset and a valid date', async () => {
    for (const at of [
      '2026-01-01',
      '2026-01-01T00:00:00',
      '2026-02-30T00:00:00Z',
      'yesterday',
      '',
      '0',
      '1768478400',
      '2026-01-01T00:00:00+3',
      '2026-01-01T00:00:00%2b25:00',
      "2026-01-01T00:00:00Z'",
    ]) {
      expectInvalid(await company.get(`/customers?updated_since=${at}`), ['updated_since'])
      expectInvalid(await company.get(`/customers/deleted?since=${at}`), ['since'])
    }
  })

  it('the + of an offset may be unencoded in the query', async () => {
    const { updated_at } = await put('a', { name: 'Ana' })
    const local = inZone(new Date(updated_at).toISOString(), 'Asia/Tokyo')
    expect(local).to.include('+09:00')
    for (const at of [local, encodeURIComponent(local)]) {
      expect(idsIn(await company.get(`/customers?updated_since=${at}`))).to.have.length(1)
      const past = at.replace(/\d{4}/, '2999')
      expect(idsIn(await company.get(`/customers?updated_since=${past}`))).to.have.length(0)
      expect((await company.get(`/customers/deleted?since=${at}`)).status).to.equal(200)
    }
  })
})
