import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { inZone } from '#domain/instant.ts'
import { createPageCache } from '#http/traffic.ts'
import { expectInvalid, idsIn } from '../support/answers.ts'
import type { TestCompany } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'
import { useReader, ZONE } from './reader.ts'

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

  it('a limit other than a number from 1 to 200 is 422, on every list [LIST-3]', async () => {
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

describe('lists', () => {
  const { api, company, put, customers, list, walk, syncedAt } = useReader()

  describe('updated_since', () => {
    it('is inclusive to the millisecond, in any offset [LIST-4]', async () => {
      const { id, updated_at } = await put('a', { name: 'Ana' })
      const at = Date.parse(updated_at)
      const since = async (ms: number, zone = ZONE) =>
        idsIn(await list({ updated_since: inZone(new Date(ms).toISOString(), zone) }))
      expect(await since(at)).to.deep.equal([id])
      expect(await since(at, 'Asia/Tokyo')).to.deep.equal([id])
      expect(await since(at - 1)).to.deep.equal([id])
      expect(await since(at + 1)).to.deep.equal([])
    })

    it('combines with filters', async () => {
      await customers(3)
      const { synced_at } = (await list()).body.meta
      const { id } = await put('x', { name: 'Cliente novo' })
      await put('y', { name: 'Outro' })
      expect(idsIn(await list({ updated_since: synced_at, name: 'cliente novo' }))).to.deep.equal([id])
    })

    it('excludes deleted records, and includes revived ones [LIST-6]', async () => {
      const { id } = await put('a', { name: 'Ana' })
      const since = await syncedAt()
      await company.call('DELETE', `/customers/${id}`)
      expect(idsIn(await list({ updated_since: since }))).to.deep.equal([])
      await put('a', { name: 'Ana' })
      expect(idsIn(await list({ updated_since: since }))).to.deep.equal([id])
    })
  })

  describe('synced_at', () => {
    it("is the time of the ledger's last event, with the company's offset, on every list [LIST-5]", async () => {
      const { updated_at } = await put('a', { name: 'Ana' })
      for (const path of ['/customers', '/customers/deleted', '/catalog/items', '/catalog/categories', '/sales']) {
        const { meta } = (await list({}, path)).body
        expect(meta.synced_at, path).to.equal(updated_at)
      }
      const tokyo = await api.company({ timezone: 'Asia/Tokyo' })
      expect((await tokyo.get('/customers')).body.meta.synced_at).to.match(/\+09:00$/)
    })

    it('as the next updated_since misses nothing, without repeating everything [LIST-5]', async () => {
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

  describe('deleted records', () => {
    it('are ordered by time of deletion, in pages, from `since` on, inclusive [LIST-6]', async () => {
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

    it('exclude revived ones, and show a second deletion at its own time [REC-4]', async () => {
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

const CUSTOMERS = 200
/** Position of a customer in the list, after many copies of its company's letter. */
const nameOf = (letter: string, place: number): string => `${letter.repeat(100)} ${place}`

/** Pages for a client that does not read: more than the socket buffers. */
const UNREAD = 100
const ROUNDS = 40

describe('reused page buffers', () => {
  const api = useApi({ pages: createPageCache(2 ** 24) })
  const companies: [letter: string, company: TestCompany][] = []

  before(async () => {
    for (const letter of ['a', 'b', 'c']) {
      const company = await api.company()
      const items = Array.from({ length: CUSTOMERS }, (_, n) => ({
        external_id: `${letter}-${n}`,
        name: nameOf(letter, n),
      }))
      expect(await company.post('/customers/batch', { items })).to.have.property('status', 200)
      companies.push([letter, company])
    }
  })

  const path = (limit: number) => `/api/v1/customers?limit=${limit}`

  function check(text: string, letter: string, limit: number): void {
    const { data } = JSON.parse(text) as { data: { name: string }[] }
    expect(data.map(({ name }) => name)).to.deep.equal(Array.from({ length: limit }, (_, n) => nameOf(letter, n)))
  }

  async function readAll(): Promise<void> {
    const reads = companies.flatMap(([letter, { key }], place) =>
      ['identity', 'gzip', 'br'].map(async (coding, other) => {
        const limit = CUSTOMERS - place - 3 * other
        const headers = { Authorization: `Bearer ${key}`, 'Accept-Encoding': coding }
        const response = await fetch(`${api.url}${path(limit)}`, { headers })
        check(await response.text(), letter, limit)
      }),
    )
    await Promise.all(reads)
  }

  function ask({ key }: TestCompany, limits: readonly number[]): Socket {
    const { hostname, port } = new URL(api.url)
    const socket = connect(Number(port), hostname).pause()
    socket.on('error', () => {})
    for (const limit of limits)
      socket.write(`GET ${path(limit)} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\n\r\n`)
    return socket
  }

  it('are reused only after the client received all bytes, however late it reads', async () => {
    const limits = Array.from({ length: UNREAD }, (_, n) => CUSTOMERS - n)
    const [letter, company] = companies[0] as [string, TestCompany]
    const slow = ask(company, limits)
    for (let round = 0; round < 10; round++) await readAll()
    let received = ''
    let answered = 0
    slow.setEncoding('latin1').on('data', (text: string) => {
      received += text
      for (let head = received.indexOf('\r\n\r\n'); head >= 0; head = received.indexOf('\r\n\r\n')) {
        const length = Number(/content-length: (\d+)/i.exec(received.slice(0, head))?.[1])
        const end = head + 4 + length
        if (received.length < end) return
        check(received.slice(head + 4, end), letter, limits[answered] as number)
        received = received.slice(end)
        answered += 1
        if (answered === UNREAD) slow.end()
      }
    })
    slow.resume()
    await once(slow, 'close')
    expect(answered).to.equal(UNREAD)
  })

  it('stay intact if clients disconnect during reading, compression or sending', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const gone = companies.map(([, company]) => ask(company, [200, 150, 100]))
      const reading = readAll()
      for (const [place, socket] of gone.entries()) setTimeout(() => socket.destroy(), (round + 3 * place) % 12)
      await reading
      for (const socket of gone) socket.destroy()
    }
  })
})
