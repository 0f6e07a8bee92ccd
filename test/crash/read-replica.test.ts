import { expect } from 'chai'
import fc from 'fast-check'
import { createReplica, monitorReplicas, type ReadFrom } from '#ledger/replicas/replicas.ts'
import { createKeyedSemaphore } from '#lib/fair-sharing.ts'
import { createPool } from '#postgres/pool.ts'
import { type Json, type Reply, send, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { panelUser } from '../support/panel.ts'
import { DEPTH, SEED, TITLE } from '../support/random.ts'
import { type FollowedPostgres, startFollowed } from '../support/read-replica.ts'
import { administer } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** Large, because only one test is about a replica that is excluded because of its lag. */
const MAX_LAG_MS = 60_000
/** Replay delay of the replica while it is polled, in ms. */
const DELAY_MS = 120
/** Number of polled writes. */
const WRITES = 90 * DEPTH
const WRITERS = 3

describe(`reads from a read replica (${TITLE})`, function () {
  this.timeout(120_000 * DEPTH)
  let postgres: FollowedPostgres
  let api: TestApi
  let company: TestCompany
  const read: Record<ReadFrom, number> = { replica: 0, primary: 0, again: 0 }
  const state = () => api.core.replicas[0]?.state

  before(async function () {
    const started = await startFollowed()
    if (typeof started === 'string') {
      console.log(`      skipped: ${started}`)
      return this.skip()
    }
    postgres = started
    api = await startApi(postgres.primary, {
      readUrls: [postgres.standby],
      readMaxLagMs: MAX_LAG_MS,
      onRead: (from) => {
        read[from] += 1
      },
      log: () => {},
    })
    company = await api.company()
    await until(() => state() === 'up')
  })
  after(async () => {
    await api?.close()
    await postgres?.stop()
  })

  const customer = (id: number, least?: number) => get(company, `/customers/${id}`, least)
  /** Waits until the replica has this revision. */
  const level = (revision: number) =>
    until(async () => {
      const before = read.replica
      await customer(1, revision)
      return read.replica > before
    })
  const create = async (name: string): Promise<Reply> => company.post('/customers', { name, person_type: 'PF' })

  it('miss nothing for a poller during creations, changes and deletions, on any server [READ-922, LIST-5]', async () => {
    await postgres.delay(DELAY_MS)
    const choices = fc.sample(fc.boolean(), { numRuns: 20_000, seed: SEED })
    const poller = pollerOf(company, () => choices.pop() ?? false)
    const feed = feedOf(company)
    let written = 0
    const write = async (writer: number) => {
      const ids: number[] = []
      for (let n = 0; written < WRITES; n++, written++) {
        const id = ids[n % (ids.length || 1)]
        if (id === undefined || n % 3 === 0) ids.push((await create(`Cliente ${writer} ${n}`)).body.data.id)
        else if (n % 3 === 1) await company.call('PATCH', `/customers/${id}`, { name: `Outro ${writer} ${n}` })
        else await company.call('DELETE', `/customers/${ids.splice(n % ids.length, 1)[0]}`)
      }
    }
    let isWriting = true
    const polling = async (poll: () => Promise<void>) => {
      while (isWriting) await poll()
    }
    const polls = [polling(() => poller.round()), polling(() => feed.round())]
    await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)))
    isWriting = false
    await Promise.all(polls)
    // Guaranteed case: one round on the primary, the next on a replica that lags.
    const { id } = (await create('Ida')).body.data
    await poller.round('now')
    await level(poller.newest())
    await postgres.pause()
    await company.call('PATCH', `/customers/${id}`, { name: 'Ina' })
    await company.call('DELETE', `/customers/${(await create('Uma')).body.data.id}`)
    await poller.round('now')
    await poller.round('old')
    await postgres.resume()
    await poller.round('now')
    await feed.round(true)
    const records: Json[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { data, meta }: Json = (await company.get(`/customers?limit=200${cursor && `&cursor=${cursor}`}`)).body
      records.push(...data)
      cursor = meta.next_cursor
    }
    expect([...poller.copy.values()].sort((a, b) => a.id - b.id)).to.deep.equal(records)
    expect(feed.revisions).to.deep.equal(feed.revisions.map((_, revision) => revision))
    console.log(`      ${JSON.stringify(read)}, ${poller.wentBack()} times back in time`)
    expect(poller.wentBack()).to.be.above(0)
    await postgres.delay(0)
  })

  it('include everything written before the request, and less only if the client accepts less [READ-921]', async () => {
    await create('Aba')
    const made = await create('Ana')
    const { id } = made.body.data
    const old = revisionOf(made)
    await level(old)
    await postgres.pause()
    const now = revisionOf(await company.call('PATCH', `/customers/${id}`, { name: 'Bia' }))
    expect(shown(await customer(id))).to.deep.equal(['Bia', now])
    expect(shown(await customer(id, old))).to.deep.equal(['Ana', old])
    expect(shown(await customer(id, now))).to.deep.equal(['Bia', now])
    expect(shown(await customer(id, now + 1_000)), 'beyond the ledger').to.deep.equal(['Bia', now])
    const since = `/customers?limit=1&updated_since=${encodeURIComponent(made.body.data.updated_at)}`
    const older = await get(company, since, old)
    expect([older.body.data[0].name, revisionOf(older)]).to.deep.equal(['Ana', old])
    expect(older.body.meta.synced_at, 'of the same snapshot').to.equal(made.body.data.updated_at)
    const newer = await company.get(since)
    expect([newer.body.data[0].name, revisionOf(newer)], 'no page of then is kept as one of now').to.deep.equal([
      'Bia',
      now,
    ])
    const { next_cursor } = (await get(company, '/customers?limit=1', old)).body.meta
    await create('Clara')
    const page = await get(company, `/customers?limit=1&cursor=${next_cursor}`, old)
    expect(revisionOf(page), 'a page after a cursor is no older than its call').to.equal(now + 1)
    const second = await create('Cora')
    expect((await customer(second.body.data.id, old)).status, 'that there is none is never told by a standby').to.equal(
      200,
    )
  })

  it('in the panel include everything written before the page request, and show the past [READ-923]', async () => {
    const user = await panelUser(api, company)
    const made = await create('Dora de Agora')
    expect((await user.get('/painel/clientes')).html).to.include('Dora de Agora')
    expect((await user.get(`/painel/clientes?em=${revisionOf(made) - 1}`)).html).not.to.include('Dora de Agora')
    await postgres.resume()
    await level(revisionOf(made))
    const before = { ...read }
    expect((await user.get('/painel/clientes')).html).to.include('Dora de Agora')
    expect((await user.get('/painel')).status).to.equal(200)
    expect((await user.get('/painel/auditoria')).status).to.equal(200)
    expect(read.replica - before.replica).to.equal(3)
  })

  it('move to the primary, once and transparently, if the replica cancels them [READ-925]', async () => {
    const before = { ...read }
    const { pool } = api.core.readsOf(company.id, { revision: 0, wait_budget_ms: 1_000 })
    const slow = pool.query({
      text: `select pg_is_in_recovery() as "isStandby", pg_sleep(case when pg_is_in_recovery() then 20 else 0 end),
               (select count(*) from customers) as count`,
    })
    await until(async () => {
      const running = `select from pg_stat_activity where query like '%pg_sleep(case%' and state = 'active' and pid <> pg_backend_pid()`
      return administer(postgres.standby, async (client) => (await client.query(running)).rowCount === 1)
    })
    await administer(postgres.primary, (client) =>
      client.query('begin; lock table read.customers in access exclusive mode; commit'),
    )
    expect((await slow).rows[0]?.isStandby).to.equal(false)
    expect([read.replica - before.replica, read.again - before.again]).to.deep.equal([1, 1])
  })

  it('continue during a rebuild, from the old or the new tables [READ-925]', async () => {
    let isRebuilding = true
    const polling = (async () => {
      const seen = []
      while (isRebuilding)
        seen.push(...(await Promise.all([get(company, '/customers?limit=3', 0), company.get('/customers?limit=3')])))
      return seen
    })()
    await api.core.rebuild()
    isRebuilding = false
    const seen = await polling
    expect(new Set(seen.map(({ status, text }) => `${status} ${text}`)).size).to.equal(1)
    expect(seen[0]?.body.data).to.have.length(3)
  })

  it('leaves out a replica that lags or is down, and takes it back [READ-924]', async () => {
    const { id } = (await create('Eva')).body.data
    const turns = createKeyedSemaphore({ running: 1, waiting: 1 })
    const [watch, queries] = [createPool(postgres.standby, { max: 1 }), createPool(postgres.standby, { max: 1 })]
    const replica = createReplica({ name: 'watched', openPool: () => queries, watch, turns })
    const bound = { pool: api.core.pool, replicas: [replica], model: api.core.model, maxLagMs: 300, log: () => {} }
    const watching = monitorReplicas(bound)
    await until(() => replica.state === 'up' && replica.lag_ms === 0)
    await postgres.pause()
    await create('Fabia')
    await until(() => replica.state === 'lagging')
    await postgres.resume()
    await until(() => replica.state === 'up')
    await watching.stop()
    await replica.close()
    await postgres.stopStandby()
    const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await customer(id, 0)).status))
    expect(statuses).to.deep.equal(Array(8).fill(200))
    await until(() => state() === 'down')
    await postgres.startStandby()
    await until(() => state() === 'up')
    await postgres.promote()
    await until(() => state() === 'no_standby')
    expect((await customer(id)).status).to.equal(200)
    const ready = await send(`${api.url}/health/ready`, 'GET')
    expect([ready.status, ready.body.replicas]).to.deep.equal([200, { 1: 'no_standby' }])
  })
})

const revisionOf = ({ headers }: Reply): number => Number(headers.get('x-ledger-revision'))
const shown = (reply: Reply) => [reply.body.data?.name, revisionOf(reply)]
const get = (company: TestCompany, path: string, least?: number): Promise<Reply> =>
  company.call('GET', path, undefined, least === undefined ? {} : { 'x-min-ledger-revision': String(least) })

/**
 * Copy of the customers, maintained as in docs/integrators.md. `isOld` says for each round whether any replica may
 * answer.
 */
function pollerOf(company: TestCompany, isOld: () => boolean) {
  const copy = new Map<number, Json>()
  let since: string | null = null
  let newest = 0
  let back = 0

  /** All pages, at least as new as `least`. */
  async function* pages(path: string, parameters: Record<string, string>, least: number | undefined) {
    for (let cursor: string | null = null; ; ) {
      const query = new URLSearchParams({ ...parameters, limit: '5', ...(cursor && { cursor }) })
      const reply: Reply = await get(company, `${path}?${query}`, least)
      yield reply
      cursor = reply.body.meta.next_cursor
      if (cursor === null) return
    }
  }

  return {
    copy,
    wentBack: () => back,
    newest: () => newest,
    async round(wanted: 'now' | 'old' | 'any' = 'any') {
      const old = wanted === 'any' ? isOld() : wanted === 'old'
      let first: Reply | null = null
      for await (const reply of pages(
        '/customers',
        since === null ? {} : { updated_since: since },
        old ? 0 : undefined,
      )) {
        first ??= reply
        for (const record of reply.body.data) copy.set(record.id, record)
      }
      if (!first) throw new Error('there is a first page')
      const least = old ? revisionOf(first) : undefined
      for await (const reply of pages('/customers/deleted', since === null ? {} : { since }, least))
        for (const { id } of reply.body.data) copy.delete(id)
      if (revisionOf(first) < newest) back += 1
      newest = Math.max(newest, revisionOf(first))
      since = first.body.meta.synced_at as string
    },
  }
}

/** Revisions of the events read, page by page. */
function feedOf(company: TestCompany) {
  const revisions: number[] = []
  return {
    revisions,
    async round(isLast = false) {
      const reply = await get(company, `/events?limit=200&after=${revisions.length - 1}`, isLast ? undefined : 0)
      for (const event of reply.body.data) revisions.push(event.revision)
      if (isLast && reply.body.meta.has_more) await this.round(true)
    },
  }
}
