import { expect } from 'chai'
import fc from 'fast-check'
import { V1_ROUTES } from '#api/api-v1.ts'
import { createPageCache, type PageCache } from '#http/traffic.ts'
import { isRefusal } from '#ledger/command.ts'
import { writeRequest } from '#ledger/write/writer.ts'
import { idsIn, LOCAL_TIME } from '../support/answers.ts'
import { type Reply, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { explore } from '../support/random.ts'
import { invocationOf, type Known, kindOf, type Step, step } from '../support/random-history.ts'
import { useReader } from './reader.ts'

describe('lists: pages', () => {
  const { company, put, customers, list, walk } = useReader()

  it('have 50 records by default, and up to 200, in the order of ids [LIST-3]', async () => {
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

  it('show each record in the bytes of its GET [VAL-5]', async () => {
    const ids = await customers(3)
    const texts = await Promise.all(
      ids.map(async (id) => (await company.get(`/customers/${id}`)).text.slice('{"data":'.length, -1)),
    )
    expect((await list()).text.startsWith(`{"data":[${texts.join(',')}],"meta":{`)).to.equal(true)
  })

  it('stay correct during changes: records present all the time are returned once [LIST-3]', async () => {
    const ids = await customers(20)
    const removed = [ids[1], ids[9], ids[18]] as number[]
    const seen = await walk({ limit: 4 }, '/customers', async (page) => {
      const id = removed[page]
      if (id !== undefined) await company.call('DELETE', `/customers/${id}`)
      // Already returned or not: a change does not move a record in the list.
      await company.call('PATCH', `/customers/${ids[0]}`, { notes: `página ${page}` })
      await company.call('PATCH', `/customers/${ids[19]}`, { notes: `página ${page}` })
      await put(`novo-${page}`, { name: `Novo ${page}` })
    })
    const stayed = ids.filter((id) => !removed.includes(id))
    expect(seen.filter((id) => stayed.includes(id))).to.deep.equal(stayed)
    expect(new Set(seen).size).to.equal(seen.length)
  })

  it('continue after their last record even if it is deleted [LIST-3]', async () => {
    const ids = await customers(4)
    const { next_cursor } = (await list({ limit: 2 })).body.meta
    await company.call('DELETE', `/customers/${ids[1]}`)
    expect(idsIn(await list({ limit: 2, cursor: next_cursor }))).to.deep.equal(ids.slice(2))
  })

  it('accept a cursor any number of times [LIST-3]', async () => {
    await customers(4)
    const { next_cursor } = (await list({ limit: 2 })).body.meta
    const [a, b] = [await list({ limit: 2, cursor: next_cursor }), await list({ limit: 2, cursor: next_cursor })]
    expect(a.text).to.equal(b.text)
  })
})

const RUNS = 2
const DAY_MS = 86_400_000
const LISTS = [
  '/customers?limit=200',
  '/customers?limit=1',
  '/customers/deleted',
  '/suppliers?updated_since=2020-01-01T00:00:00Z',
  '/catalog/items?limit=200',
  '/catalog/items/deleted',
  '/catalog/categories',
  '/catalog/categories/deleted',
  '/finance/receivables?limit=200',
  '/finance/receivables?status=overdue',
  '/finance/payables/deleted',
  '/sales?limit=200',
  '/sales?status=cancelled',
  '/orders',
  '/webhooks',
]

/** Counts cache hits, to prove that the test used the cache. */
function counted(): PageCache & { found: number } {
  const pages = createPageCache(2 ** 24)
  return {
    ...pages,
    found: 0,
    find(key, moment) {
      const page = pages.find(key, moment)
      if (page) this.found += 1
      return page
    },
  }
}

describe('cached pages', () => {
  const database = useDatabase()
  const pages = counted()
  /** Both serve the same companies; only one caches pages. */
  let keeping: TestApi
  let reading: TestApi
  let days = 0
  const now = () => new Date(Date.now() + days * DAY_MS).toISOString()

  before(async () => {
    keeping = await startApi(database.url, { pages, now })
    reading = await startApi(database.url, { pages: createPageCache(0), now })
  })
  after(() => Promise.all([keeping.close(), reading.close()]))

  async function read(api: TestApi, { key }: TestCompany, path: string): Promise<Pick<Reply, 'status' | 'text'>> {
    const response = await fetch(`${api.url}/api/v1${path}`, { headers: { Authorization: `Bearer ${key}` } })
    const text = await response.text()
    return { status: response.status, text: `${response.headers.get('x-ledger-revision')} ${text}` }
  }

  /** Reads a list and its next page on both. */
  async function compare(company: TestCompany, path: string): Promise<void> {
    const [kept, fresh] = await Promise.all([read(keeping, company, path), read(reading, company, path)])
    expect(kept, path).to.deep.equal(fresh)
    const next = /"next_cursor":"([^"]+)"/.exec(fresh.text)?.[1]
    if (!next) return
    const further = `${path}${path.includes('?') ? '&' : '?'}cursor=${next}`
    expect(await read(keeping, company, further), further).to.deep.equal(await read(reading, company, further))
  }

  async function play(api: TestApi, companyId: number, each: Step, known: Known): Promise<void> {
    const invocation = invocationOf(each, known)
    if (!invocation) return
    const invocations = [invocation]
    const request = { companyId, invocations, origin: 'api' as const, actor: null, requestId: null }
    const answer = await writeRequest(api.core.writer, request)
    if (isRefusal(answer) || answer.json === '') return
    known.set(kindOf(each), [...(known.get(kindOf(each)) ?? []), (answer.record as { id: number }).id])
  }

  /** Keeps the API plan: without it no request would be answered. */
  const write = step
    .filter(({ act }) => act !== 'updateCompany')
    .chain((each) => fc.boolean().map((here) => ({ kind: 'write' as const, each, here })))
  const action = fc.oneof(
    { weight: 10, arbitrary: write },
    { weight: 14, arbitrary: fc.constantFrom(...LISTS).map((path) => ({ kind: 'read' as const, path })) },
    { weight: 1, arbitrary: fc.constant({ kind: 'midnight' as const }) },
  )

  it('equal uncached reads to the last byte, for any sequence of writes and reads [LIST-8]', async () => {
    await explore(
      fc.asyncProperty(fc.array(action, { minLength: 30, maxLength: 60 }), async (actions) => {
        days = 0
        const company = await keeping.company()
        const known: Known = new Map([['payment_type', [await company.paymentType('cash')]]])
        for (const each of actions) {
          if (each.kind === 'midnight') days += 1
          else if (each.kind === 'read') await compare(company, each.path)
          else await play(each.here ? keeping : reading, company.id, each.each, known)
        }
        for (const path of [...LISTS, ...LISTS, ...LISTS]) await compare(company, path)
      }),
      RUNS,
    )
    expect(pages.found).to.be.greaterThan(RUNS * (LISTS.length - 1))
  }).timeout(180_000)

  it('never hide changes acknowledged by another process, whatever is read meanwhile [LIST-8]', async () => {
    const company = await keeping.company()
    const path = '/customers?limit=200'
    let writing = true
    const poll = async () => {
      while (writing) await read(keeping, company, path)
    }
    const create = async (worker: number) => {
      for (let n = 0; n < 10; n++) {
        const id = await createCustomer(reading, company, `Cliente ${worker}-${n}`)
        const { text } = await read(keeping, company, path)
        expect(text).to.include(`{"id":${id},`)
      }
    }
    const pollers = [poll(), poll()]
    await Promise.all(Array.from({ length: 4 }, (_, worker) => create(worker)))
    writing = false
    await Promise.all(pollers)
    expect(idsIn(await company.get(path))).to.have.length(40)
  })

  async function createCustomer(api: TestApi, { key }: TestCompany, name: string): Promise<number> {
    const response = await fetch(`${api.url}/api/v1/customers`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ name }),
    })
    expect(response.status).to.equal(201)
    return ((await response.json()) as { data: { id: number } }).data.id
  }

  it('are invalidated with their tables: a rebuild corrects cached pages too', async () => {
    const company = await keeping.company()
    await createCustomer(keeping, company, 'Ana')
    const path = '/customers'
    const right = await read(keeping, company, path)
    await keeping.core.pool.query(
      `update customers set doc = replace(doc::text, 'Ana', 'Eva')::json where company_id = $1`,
      [company.id],
    )
    const { text: wrong } = await read(keeping, company, `${path}?limit=7`)
    expect(wrong).to.include('Eva')
    await keeping.core.rebuild()
    expect((await read(keeping, company, `${path}?limit=7`)).text)
      .to.include('Ana')
      .and.not.include('Eva')
    expect(await read(keeping, company, path)).to.deep.equal(right)
  })

  it('belong to one company, for keys that may read them [LIST-8]', async () => {
    const [company, other] = [await keeping.company(), await keeping.company()]
    await createCustomer(keeping, company, 'Ana')
    expect((await company.get('/customers')).body.data).to.have.length(1)
    expect((await other.get('/customers')).body.data).to.have.length(0)
    const { key } = await company.newKey(['sales:read'])
    expect((await read(keeping, { ...company, key }, '/customers')).status).to.equal(403)
  })

  it('count as requests, support HEAD, and have their own request id', async () => {
    const company = await keeping.company()
    const [first, second] = [await company.get('/customers'), await company.get('/customers')]
    const remaining = ({ headers }: Reply) => Number(headers.get('x-ratelimit-remaining'))
    expect(remaining(second)).to.equal(remaining(first) - 1)
    expect(second.headers.get('x-request-id')).not.to.equal(first.headers.get('x-request-id'))
    const head = await company.call('HEAD', '/customers')
    expect(head.headers.get('content-length')).to.equal(String(Buffer.byteLength(second.text)))
    expect(head.text).to.equal('')
  })

  it('exist only for lists that depend on the ledger alone', () => {
    const kept = V1_ROUTES.filter((route) => 'ofLedger' in route && route.ofLedger).map(({ path }) => path)
    expect(kept.sort()).to.deep.equal([
      '/cash-sessions',
      '/catalog/categories',
      '/catalog/categories/deleted',
      '/catalog/items',
      '/catalog/items/:id/movements',
      '/catalog/items/:id/variants',
      '/catalog/items/deleted',
      '/catalog/price-changes',
      '/customers',
      '/customers/:id/credit',
      '/customers/deleted',
      '/finance/payables',
      '/finance/payables/deleted',
      '/finance/receivables',
      '/finance/receivables/deleted',
      '/orders',
      '/returns',
      '/sales',
      '/sales/:id/returns',
      '/stock/inventories',
      '/stock/inventories/:id/counts',
      '/stock/movements',
      '/stock/receipts',
      '/suppliers',
      '/suppliers/deleted',
    ])
  })
})
