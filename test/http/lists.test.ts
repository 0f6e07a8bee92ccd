import { expect } from 'chai'
import fc from 'fast-check'
import { inZone } from '../../src/domain/instant.ts'
import { expectInvalid, idsIn, LOCAL_TIME } from '../support/answers.ts'
import { type Json, type Reply, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'

const ZONE = 'America/Sao_Paulo'

describe('lists', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany

  before(async () => {
    api = await startApi(database.url)
  })
  beforeEach(async () => {
    company = await api.company()
  })
  after(() => api.close())

  const put = async (externalId: string, body: object): Promise<Json> => {
    const reply = await company.call('PUT', `/customers/by-external/${externalId}`, body)
    expect(reply.status, reply.text).to.be.oneOf([200, 201])
    return reply.body.data
  }
  /** Customers `c0`, `c1` …, created in one batch, in the order of their ids. */
  const customers = async (count: number, from = 0): Promise<number[]> => {
    const ids: number[] = []
    for (let start = 0; start < count; start += 500) {
      const size = Math.min(500, count - start)
      const items = Array.from({ length: size }, (_, n) => ({
        external_id: `c${from + start + n}`,
        name: `Cliente ${from + start + n}`,
      }))
      const reply = await company.post('/customers/batch', { items })
      expect(reply.status).to.equal(200)
      ids.push(...reply.body.data.map((record: Json) => record.id))
    }
    return ids
  }
  const list = (query: Record<string, string | number> = {}, path = '/customers'): Promise<Reply> =>
    company.get(
      `${path}?${new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]))}`,
    )
  /** All pages, one after the other; `between` is run after each. */
  const walk = async (
    query: Record<string, string | number>,
    path = '/customers',
    between: (page: number) => Promise<unknown> = async () => {},
  ): Promise<number[]> => {
    const ids: number[] = []
    let cursor: string | null = null
    let page = 0
    do {
      const reply: Reply = await list({ ...query, ...(cursor === null ? {} : { cursor }) }, path)
      ids.push(...idsIn(reply))
      cursor = reply.body.meta.next_cursor
      expect(reply.body.meta.has_more).to.equal(cursor !== null)
      await between(page++)
    } while (cursor !== null)
    return ids
  }
  const syncedAt = async (path = '/customers'): Promise<string> => (await list({}, path)).body.meta.synced_at

  describe('pages', () => {
    it('have 50 records unless told otherwise, and up to 200, in the order of ids', async () => {
      const ids = await customers(205)
      const first = await list()
      expect(idsIn(first)).to.deep.equal(ids.slice(0, 50))
      const { next_cursor, synced_at, ...meta } = first.body.meta
      expect(meta).to.deep.equal({ has_more: true, limit: 50 })
      expect(next_cursor).to.be.a('string').that.is.not.empty
      expect(synced_at).to.match(LOCAL_TIME)
      const largest = await list({ limit: 200 })
      expect(idsIn(largest)).to.deep.equal(ids.slice(0, 200))
      const rest = await list({ limit: 200, cursor: largest.body.meta.next_cursor })
      expect(idsIn(rest)).to.deep.equal(ids.slice(200))
      expect(rest.body.meta).to.include({ has_more: false, next_cursor: null, limit: 200 })
    })

    it('end with next_cursor null, also where the last one is full or the list is empty', async () => {
      expect((await list()).body.meta).to.include({ has_more: false, next_cursor: null })
      expect((await list()).body.data).to.deep.equal([])
      const ids = await customers(6)
      expect((await list({ limit: 6 })).body.meta).to.include({ has_more: false, next_cursor: null })
      const first = await list({ limit: 3 })
      const second = await list({ limit: 3, cursor: first.body.meta.next_cursor })
      expect(idsIn(second)).to.deep.equal(ids.slice(3))
      expect(second.body.meta).to.include({ has_more: false, next_cursor: null })
    })

    it('show each record in the bytes of its GET', async () => {
      const ids = await customers(3)
      const texts = await Promise.all(
        ids.map(async (id) => (await company.get(`/customers/${id}`)).text.slice('{"data":'.length, -1)),
      )
      expect((await list()).text.startsWith(`{"data":[${texts.join(',')}],"meta":{`)).to.equal(true)
    })

    it('may change their size on the way', async () => {
      const ids = await customers(10)
      const first = await list({ limit: 2 })
      expect(idsIn(await list({ limit: 5, cursor: first.body.meta.next_cursor }))).to.deep.equal(ids.slice(2, 7))
    })

    it('of any size make up the whole list, each record once', async () => {
      const ids = await customers(23)
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: 30 }), async (limit) => {
          expect(await walk({ limit })).to.deep.equal(ids)
        }),
        { numRuns: 8 },
      )
    })

    it('stay right while records change, come and go: what was there all the time is seen just once', async () => {
      const ids = await customers(20)
      const removed = [ids[1], ids[9], ids[18]] as number[]
      const seen = await walk({ limit: 4 }, '/customers', async (page) => {
        const id = removed[page]
        if (id !== undefined) await company.call('DELETE', `/customers/${id}`)
        // Read or not yet read: a change moves no record within the list.
        await company.call('PATCH', `/customers/${ids[0]}`, { notes: `página ${page}` })
        await company.call('PATCH', `/customers/${ids[19]}`, { notes: `página ${page}` })
        await put(`novo-${page}`, { name: `Novo ${page}` })
      })
      const stayed = ids.filter((id) => !removed.includes(id))
      expect(seen.filter((id) => stayed.includes(id))).to.deep.equal(stayed)
      expect(new Set(seen).size).to.equal(seen.length)
    })

    it('go on after their last record even when just that is deleted', async () => {
      const ids = await customers(4)
      const { next_cursor } = (await list({ limit: 2 })).body.meta
      await company.call('DELETE', `/customers/${ids[1]}`)
      expect(idsIn(await list({ limit: 2, cursor: next_cursor }))).to.deep.equal(ids.slice(2))
    })

    it('a cursor may be used again and again', async () => {
      await customers(4)
      const { next_cursor } = (await list({ limit: 2 })).body.meta
      const [a, b] = [await list({ limit: 2, cursor: next_cursor }), await list({ limit: 2, cursor: next_cursor })]
      expect(a.text).to.equal(b.text)
    })
  })

  describe('parameters', () => {
    const paths = [
      '/customers',
      '/customers/deleted',
      '/catalog/items',
      '/catalog/items/deleted',
      '/catalog/categories',
      '/sales',
    ]

    it('a limit that is no number from 1 to 200 is 422, on every list', async () => {
      for (const path of paths) {
        for (const limit of ['0', '201', 'abc', '', '-1', '1.5', '1e2', '99999999999999999999', 'null']) {
          expectInvalid(await company.get(`${path}?limit=${limit}`), ['limit'])
        }
        for (const limit of ['1', '200']) {
          expect((await company.get(`${path}?limit=${limit}`)).body.meta.limit).to.equal(Number(limit))
        }
      }
    })

    it('a broken cursor is 422, on every list', async () => {
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

    it('a cursor of another list, of the deleted ones, or of other filters is 422', async () => {
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

    it('the same instant or filter in another writing goes on with the same cursor', async () => {
      await customers(3)
      const first = await list({ limit: 1, updated_since: '2020-01-01T00:00:00Z' })
      const query = { limit: 1, cursor: first.body.meta.next_cursor, updated_since: '2019-12-31T21:00:00.000-03:00' }
      expect((await list(query)).status).to.equal(200)
    })

    it('an instant needs an offset and a real date', async () => {
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

    it('the + of an offset may stand unencoded in the query', async () => {
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

  describe('updated_since', () => {
    it('is inclusive to the millisecond, in any offset', async () => {
      const { id, updated_at } = await put('a', { name: 'Ana' })
      const at = Date.parse(updated_at)
      const since = async (ms: number, zone = ZONE) =>
        idsIn(await list({ updated_since: inZone(new Date(ms).toISOString(), zone) }))
      expect(await since(at)).to.deep.equal([id])
      expect(await since(at, 'Asia/Tokyo')).to.deep.equal([id])
      expect(await since(at - 1)).to.deep.equal([id])
      expect(await since(at + 1)).to.deep.equal([])
    })

    it('lists in the order of the last change, each record once, with its newest state', async () => {
      const ids = await customers(5)
      const since = await syncedAt()
      for (const position of [3, 0, 3, 1, 0]) {
        await company.call('PATCH', `/customers/${ids[position]}`, { notes: `${Math.random()}` })
      }
      const changed = [ids[3], ids[1], ids[0]]
      // Those created at the very moment may be repeated before them; nothing changed may be missing.
      expect(idsIn(await list({ updated_since: since })).slice(-3)).to.deep.equal(changed)
      const epoch = '1970-01-01T00:00:00Z'
      expect(idsIn(await list({ updated_since: epoch }))).to.deep.equal([ids[2], ids[4], ...changed])
      expect(await walk({ updated_since: epoch, limit: 1 })).to.deep.equal([ids[2], ids[4], ...changed])
    })

    it('walks through records of one and the same moment without losing any', async () => {
      const ids = await customers(30)
      const [{ updated_at }] = (await list({ limit: 1 })).body.data
      expect(await walk({ updated_since: updated_at, limit: 7 })).to.deep.equal(ids)
    })

    it('finds a record again that changes while the pages are read, further on', async () => {
      const ids = await customers(6)
      const seen = await walk({ updated_since: '1970-01-01T00:00:00Z', limit: 2 }, '/customers', async (page) => {
        if (page === 0) await company.call('PATCH', `/customers/${ids[0]}`, { notes: 'de novo' })
      })
      expect(seen).to.deep.equal([...ids, ids[0]])
    })

    it('combines with filters', async () => {
      await customers(3)
      const { synced_at } = (await list()).body.meta
      const { id } = await put('x', { name: 'Cliente novo' })
      await put('y', { name: 'Outro' })
      expect(idsIn(await list({ updated_since: synced_at, name: 'cliente novo' }))).to.deep.equal([id])
    })

    it('lists no deleted record, but a revived one', async () => {
      const { id } = await put('a', { name: 'Ana' })
      const since = await syncedAt()
      await company.call('DELETE', `/customers/${id}`)
      expect(idsIn(await list({ updated_since: since }))).to.deep.equal([])
      await put('a', { name: 'Ana' })
      expect(idsIn(await list({ updated_since: since }))).to.deep.equal([id])
    })
  })

  describe('synced_at', () => {
    it("is the time of the ledger's last event, with the company's offset, on every list", async () => {
      const { updated_at } = await put('a', { name: 'Ana' })
      for (const path of ['/customers', '/customers/deleted', '/catalog/items', '/catalog/categories', '/sales']) {
        const { meta } = (await list({}, path)).body
        expect(meta.synced_at, path).to.equal(updated_at)
      }
      const tokyo = await api.company({ timezone: 'Asia/Tokyo' })
      expect((await tokyo.get('/customers')).body.meta.synced_at).to.match(/\+09:00$/)
    })

    it('as the next updated_since misses nothing, and does not repeat everything', async () => {
      await customers(20)
      const known = new Set<number>()
      let since = await syncedAt()
      for (let round = 0; round < 5; round++) {
        const { id } = await put(`novo-${round}`, { name: `Novo ${round}` })
        const reply = await list({ updated_since: since })
        for (const found of idsIn(reply)) known.add(found)
        expect(known.has(id)).to.equal(true)
        expect(reply.body.data.length).to.be.below(20 + 2)
        since = reply.body.meta.synced_at
      }
      expect((await list({ updated_since: since })).body.data).to.have.length(1)
    })
  })

  describe('of the deleted', () => {
    it('go by the time of deletion, page by page, from `since` on, inclusive', async () => {
      const ids = await customers(5)
      const order = [ids[4], ids[0], ids[2]] as number[]
      for (const id of order) await company.call('DELETE', `/customers/${id}`)
      const path = '/customers/deleted'
      const all = await list({}, path)
      expect(idsIn(all)).to.deep.equal(order)
      expect(await walk({ limit: 1 }, path)).to.deep.equal(order)
      const { deleted_at } = all.body.data[1]
      expect(idsIn(await list({ since: deleted_at }, path))).to.deep.equal(order.slice(1))
      expect(await walk({ since: deleted_at, limit: 1 }, path)).to.deep.equal(order.slice(1))
      const after = inZone(new Date(Date.parse(deleted_at) + 1).toISOString(), ZONE)
      expect(idsIn(await list({ since: after }, path))).to.deep.equal(order.slice(2))
    })

    it('know the revived no more, and a second deletion at its own time', async () => {
      const { id } = await put('a', { name: 'Ana' })
      await company.call('DELETE', `/customers/${id}`)
      const [first] = (await company.get('/customers/deleted')).body.data
      await put('a', { name: 'Ana' })
      expect((await company.get('/customers/deleted')).body.data).to.deep.equal([])
      await company.call('DELETE', `/customers/${id}`)
      const [second] = (await company.get('/customers/deleted')).body.data
      expect(second).to.include({ id, external_id: 'a' })
      expect(second.deleted_at > first.deleted_at).to.equal(true)
    })
  })
})
