import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { TestCompany } from '../../../test/support/api.ts'
import { useApi } from '../../../test/support/use-api.ts'
import { positionFile } from '../src/file.ts'
import { type Changes, type Client, type ClientOptions, createClient, ok, TillbookError } from '../src/index.ts'

/** Handles a call that reaches the service; by default it is passed on. */
type Network = (request: Request, pass: () => Promise<Response>) => Promise<Response>

describe('the client', () => {
  const api = useApi()
  let company: TestCompany
  let sent: Request[]

  beforeEach(async () => {
    company = await api.company()
    sent = []
  })

  const clientOf = (network: Network = (_, pass) => pass(), options: Partial<ClientOptions> = {}): Client =>
    createClient({
      baseUrl: api.url,
      key: company.key,
      retries: { firstPauseMs: 1, longestPauseMs: 2_000 },
      fetch: (request) => {
        sent.push(request.clone())
        return network(request, () => fetch(request))
      },
      ...options,
    })

  const categories = (count: number, from = 0) =>
    Promise.all(
      Array.from({ length: count }, (_, n) => company.post('/catalog/categories', { name: `Categoria ${from + n}` })),
    )

  describe('retries', () => {
    it('a request with a lost response under the same Idempotency-Key: it is executed once [KIT-1]', async () => {
      let lost = 0
      const client = clientOf(async (_, pass) => {
        const answer = await pass()
        if (lost++ < 2) throw new TypeError('fetch failed')
        return answer
      })
      const { data, response } = await client.POST('/catalog/categories', { body: { name: 'Bebidas' } })
      expect(data?.data.name).to.equal('Bebidas')
      expect(response.headers.get('Idempotent-Replayed')).to.equal('true')
      expect(new Set(sent.map((request) => request.headers.get('Idempotency-Key'))).size).to.equal(1)
      const { body } = await company.get('/catalog/categories')
      expect(body.data).to.have.length(1)
    })

    it('each kind of write under one key for all attempts: stock is adjusted once', async () => {
      let calls = 0
      const client = clientOf(async (_, pass) => {
        const answer = await pass()
        if (calls++ % 2 === 0) throw new TypeError('fetch failed')
        return answer
      })
      const item = { name: 'Café', price: '10.00', stock: '10' }
      const put = await ok(
        client.PUT('/catalog/items/by-external/{external_id}', { params: { path: { external_id: 'a' } }, body: item }),
      )
      const params = { path: { id: put.data.id } }
      const adjusted = await ok(client.PATCH('/catalog/items/{id}', { params, body: { stock_adjustment: '-3' } }))
      expect(adjusted.data.stock).to.equal('7.000')
      expect((await client.DELETE('/catalog/items/{id}', { params })).response.status).to.equal(204)
      const keys = sent.map(({ method, headers }) => `${method} ${headers.get('Idempotency-Key')}`)
      expect(keys.filter((_, n) => n % 2 === 0)).to.deep.equal(keys.filter((_, n) => n % 2 === 1))
      expect(new Set(keys).size).to.equal(3)
      for (const key of keys) expect(key).to.match(/^(PUT|PATCH|DELETE) [0-9a-f-]{36}$/)
    })

    it('reads without a key, which the service would refuse', async () => {
      expect((await clientOf().GET('/me')).response.status).to.equal(200)
      expect(sent[0]?.headers.has('Idempotency-Key')).to.equal(false)
    })

    it('temporary refusals after their Retry-After', async () => {
      const times: number[] = []
      const client = clientOf((_, pass) => {
        times.push(performance.now())
        if (times.length > 1) return pass()
        return Promise.resolve(new Response('{}', { status: 429, headers: { 'Retry-After': '1' } }))
      })
      expect((await client.GET('/me')).response.status).to.equal(200)
      expect(times[1]! - times[0]!).to.be.at.least(990)
    })

    it('no permanent refusals, and none with an excessive Retry-After', async () => {
      const refused = await clientOf().POST('/catalog/categories', { body: { name: '' } })
      expect(refused.error?.error.code).to.equal('validation_failed')
      const away = clientOf(async () => new Response('{}', { status: 503, headers: { 'Retry-After': '3600' } }))
      expect((await away.GET('/me')).response.status).to.equal(503)
      expect(sent).to.have.length(2)
    })

    it('a limited number of times', async () => {
      const client = clientOf(() => Promise.reject(new TypeError('fetch failed')))
      const error = await client.GET('/me').catch((thrown: unknown) => thrown)
      expect(error).to.be.instanceOf(TypeError)
      expect(sent).to.have.length(5)
    })
  })

  it('returns the data of a call, or throws its refusal', async () => {
    const client = clientOf()
    const made = await ok(client.POST('/catalog/categories', { body: { name: 'Bebidas' } }))
    expect(made.data.name).to.equal('Bebidas')
    expect(await ok(client.DELETE('/catalog/categories/{id}', { params: { path: { id: made.data.id } } }))).to.equal(
      undefined,
    )
    await client.POST('/catalog/categories', { body: { name: 'Doces' } })
    const refused = ok(client.POST('/catalog/categories', { body: { name: 'doces' } }))
    const error = (await refused.catch((thrown: unknown) => thrown)) as TillbookError
    expect(error).to.include({ status: 409, code: 'duplicate_resource' })
    expect(error.details).to.deep.include({ field: 'name', conflicting_id: made.data.id + 1 })
    expect(error.requestId).to.match(/^[0-9a-f-]{36}$/)
  })

  it('follows the pages of a list to the end, with its parameters', async () => {
    await categories(7)
    const pages = []
    for await (const { data } of clientOf().pages('/catalog/categories', { params: { query: { limit: 3 } } }))
      pages.push(data.map(({ name }) => name))
    expect(pages.map(({ length }) => length)).to.deep.equal([3, 3, 1])
    expect(new Set(pages.flat()).size).to.equal(7)
  })

  it('throws the refusal of a page', async () => {
    const { key } = await company.newKey(['sales:read'])
    const refused = clientOf(undefined, { key }).pages('/customers').next()
    const error = (await refused.catch((thrown: unknown) => thrown)) as TillbookError
    expect(error).to.be.instanceOf(TillbookError)
    expect(error).to.include({ status: 403, code: 'insufficient_scope' })
  })

  describe('changes', () => {
    /** Processes changes like a mirror, and fails on repetitions. */
    function mirror() {
      const records = new Map<string, object>()
      const seen = new Set<string>()
      let position: string | undefined
      return {
        records,
        position: () => position,
        take({ resource, records: changed, deleted, position: reached }: Changes) {
          for (const record of changed) {
            const text = `${resource} ${JSON.stringify(record)}`
            expect(seen.has(text), text).to.equal(false)
            seen.add(text)
            records.set(`${resource}/${record.id}`, record)
          }
          for (const { id } of deleted) records.delete(`${resource}/${id}`)
          position = reached
        },
      }
    }

    async function present(): Promise<Map<string, object>> {
      const found = new Map<string, object>()
      for (const resource of ['/catalog/categories', '/customers'] as const)
        for await (const { data } of clientOf().pages(resource))
          for (const record of data) found.set(`${resource}/${record.id}`, record)
      return found
    }

    it('are returned once each, during concurrent writes and restarts at any point [KIT-1]', async () => {
      const { records, take, position } = mirror()
      let isOver = false
      const writing = (async () => {
        for (let n = 0; n < 40; n++) {
          const { body } = await company.post('/catalog/categories', { name: `C${n}` })
          await company.post('/customers', { name: `Cliente ${n}`, person_type: 'PF' })
          if (n % 3 === 0) await company.call('PATCH', `/catalog/categories/${body.data.id}`, { name: `D${n}` })
          if (n % 5 === 0) await company.call('DELETE', `/catalog/categories/${body.data.id}`)
        }
        isOver = true
      })()
      const resources = ['/catalog/categories', '/customers'] as const
      while (!isOver) {
        for await (const changes of clientOf().changes({ since: position(), resources })) {
          take(changes)
          // A restart continues from the stored position.
          if (Math.random() < 0.3) break
        }
      }
      await writing
      for await (const changes of clientOf().changes({ since: position(), resources })) take(changes)
      expect(records).to.deep.equal(await present())
    })

    it('report once per resource that a test company was erased, and later records [HTTP-15]', async () => {
      company = await api.company({ test: true })
      await categories(2)
      const resources = ['/catalog/categories', '/customers', '/webhooks'] as const
      let position: string | undefined
      const round = async () => {
        const told: unknown[] = []
        for await (const changes of clientOf().changes({ since: position, resources })) {
          const { resource, records, erased } = changes
          told.push([resource, erased ?? records.map(({ id }) => id)])
          position = changes.position
        }
        return told
      }
      expect(await round()).to.deep.equal([['/catalog/categories', [1, 2]]])
      await company.post('/test/reset')
      await categories(1, 5)
      expect(await round()).to.deep.equal([
        ['/catalog/categories', true],
        ['/catalog/categories', [3]],
        ['/customers', true],
      ])
      expect(await round()).to.deep.equal([])
    })

    it('start at the position in a file, and cover all that the key may read', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'tillbook-client-'))
      const store = positionFile(join(folder, 'position.json'))
      const { key } = await company.newKey(['catalog:read', 'customers:read'])
      const round = async () => {
        const names: string[] = []
        for await (const { resource, records } of clientOf(undefined, { key }).changes({ store }))
          names.push(...records.map(({ id }) => `${resource}/${id}`))
        return names
      }
      try {
        await categories(2)
        expect(await round()).to.deep.equal(['/catalog/categories/1', '/catalog/categories/2'])
        expect(await round()).to.deep.equal([])
        await company.post('/customers', { name: 'Ana', person_type: 'PF' })
        expect(await round()).to.deep.equal(['/customers/1'])
        expect(await readFile(join(folder, 'position.json'), 'utf8')).to.match(/^\{/)
      } finally {
        await rm(folder, { recursive: true })
      }
    })

    it('continue while they are consumed, also during outages, and end with the signal [KIT-1]', async () => {
      const end = new AbortController()
      const heard: string[] = []
      let lost = 0
      const client = clientOf(
        (_, pass) => {
          lost += 1
          if (lost % 5 === 2) return pass()
          return lost % 2
            ? Promise.reject(new TypeError('fetch failed'))
            : Promise.resolve(new Response('', { status: 503 }))
        },
        { retries: { times: 0 } },
      )
      const following = (async () => {
        for await (const { records } of client.changes({ follow: true, everyMs: 5, signal: end.signal }))
          heard.push(...records.map((record) => ('name' in record ? record.name : '')))
      })()
      for (const name of ['Um', 'Dois']) {
        await company.post('/catalog/categories', { name })
        while (!heard.includes(name)) await new Promise(setImmediate)
      }
      end.abort()
      const error = (await following.catch((thrown: unknown) => thrown)) as Error
      expect(error.name).to.equal('AbortError')
      expect(heard).to.deep.equal(['Um', 'Dois'])
    })
  })
})
