import { expect } from 'chai'
import { v7 as uuidv7 } from 'uuid'
import { createCustomer } from '#commands/person-commands.ts'
import { MAX_WEBHOOKS } from '#commands/webhook-commands.ts'
import { createRoundRobin } from '#lib/background-loops.ts'
import { REPLAY_LIMITS, type ReplayLimits, stepReplay, writeReplays } from '#webhooks/replays.ts'
import { expectInvalid, expectProblem, idsIn } from '../support/answers.ts'
import { type Json, startApi, type TestCompany } from '../support/api.ts'
import { whileBroken } from '../support/broken-company.ts'
import { openedRows } from '../support/master-key.ts'
import { OWN_DATABASE, useApi } from '../support/use-api.ts'
import { until } from '../support/wait.ts'
import { useOutbox } from './outbox.ts'

const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/
const address = { url: 'https://erp.example/eventos', events: ['sale.completed'], description: 'ERP' }

/** Of one endpoint. */
const ROUTES = [
  ['GET', ''],
  ['PATCH', ''],
  ['DELETE', ''],
  ['POST', '/enable'],
  ['POST', '/disable'],
  ['POST', '/rotate-secret'],
  ['POST', '/test'],
  ['POST', '/replay'],
  ['GET', '/deliveries'],
] as const

describe('webhook endpoints', () => {
  const api = useApi()
  let company: TestCompany

  beforeEach(async () => {
    company = await api.company()
  })

  async function register(fields: object = {}): Promise<Json> {
    const reply = await company.post('/webhooks', { ...address, ...fields })
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data
  }

  it('are registered with a secret that is shown once [HTTP-15]', async () => {
    const { secret, ...record } = await register()
    expect(secret).to.match(SECRET)
    expect(record).to.include({ ...address, events: record.events, status: 'active', last_success_at: null })
    expect(record.events).to.deep.equal(['sale.completed'])
    const read = await company.get(`/webhooks/${record.id}`)
    expect(read.body.data).to.deep.equal(record)
    const listed = await company.get('/webhooks')
    expect(listed.body.data).to.deep.equal([record])
  })

  it('keep the secret out of stored responses and out of the ledger [HTTP-15]', async () => {
    const headers = { 'idempotency-key': 'um' }
    const first = await company.post('/webhooks', address, headers)
    const second = await company.post('/webhooks', address, headers)
    expect(second.headers.get('idempotent-replayed')).to.equal('true')
    expect(second.body.data).to.not.have.property('secret')
    expect(second.body.data.id).to.equal(first.body.data.id)
    const rotated = await company.post(
      `/webhooks/${first.body.data.id}/rotate-secret`,
      {},
      { 'idempotency-key': 'dois' },
    )
    expect(rotated.body.data.secret).to.match(SECRET)
    const { rows } = await api.core.pool.query(
      `select 1 from ledger.events where stream = $1 and envelope::text like '%whsec_%'
       union all select 1 from idempotent_answers where company_id = $2 and body like '%whsec_%'`,
      [`company-${company.id}`, company.id],
    )
    expect(rows).to.have.length(0)
  })

  it('must be public unless the operator allows more, also when they are changed [HOOK-3]', async () => {
    const strict = await startApi(api.databaseUrl, { allowPrivateTargets: false })
    try {
      company = await strict.company()
      const { id } = await register()
      const url = 'https://127.0.0.1/x'
      expectInvalid(await company.post('/webhooks', { ...address, url }), ['url'])
      expectInvalid(await company.call('PATCH', `/webhooks/${id}`, { url }), ['url'])
      expect((await company.get('/webhooks')).body.data.map((each: Json) => each.url)).to.deep.equal([address.url])
    } finally {
      await strict.close()
    }
  })

  it('are changed, and missing once they are deleted [HTTP-15]', async () => {
    const { id } = await register()
    const changed = await company.call('PATCH', `/webhooks/${id}`, { events: ['basic'], description: null })
    expect(changed.body.data).to.deep.include({ events: ['basic'], description: null, url: address.url })
    expect((await company.call('DELETE', `/webhooks/${id}`)).status).to.equal(204)
    for (const [method, path] of ROUTES) {
      expectProblem(await company.call(method, `/webhooks/${id}${path}`), 404, 'not_found')
    }
    expect(idsIn(await company.get('/webhooks'))).to.deep.equal([])
  })

  it('show their current health', async () => {
    const { id } = await register()
    const show = async () => (await company.get(`/webhooks/${id}`)).body.data
    await api.core.pool.query(
      `insert into webhook_health (company_id, webhook_id, last_success_at, failing_since, no_response_since)
       values ($1, $2, now() - interval '2 days', now() + interval '1 second', now() + interval '2 seconds')`,
      [company.id, id],
    )
    const silent = await show()
    expect(silent.status).to.equal('no_response')
    expect(silent.failing_since).to.match(/-03:00$/)
    expect((await company.get('/webhooks')).body.data).to.deep.equal([silent])
    await api.core.pool.query(
      `update webhook_health set failing_since = now() - interval '2 days', no_response_since = now() - interval '1 day'
       where company_id = $1 and webhook_id = $2`,
      [company.id, id],
    )
    // From before the endpoint was registered, as after enabling it again.
    expect(await show()).to.include({ status: 'active', failing_since: null })
  })

  it('are active again once enabled, also from no_response [HTTP-15]', async () => {
    const { id } = await register()
    await api.core.pool.query(
      `insert into webhook_health (company_id, webhook_id, failing_since, no_response_since)
       select $1, $2, watched_since, watched_since from webhooks where company_id = $1 and id = $2`,
      [company.id, id],
    )
    expect((await company.get(`/webhooks/${id}`)).body.data.status).to.equal('no_response')
    const enabled = (await company.post(`/webhooks/${id}/enable`)).body.data
    expect(enabled).to.include({ status: 'active', failing_since: null })
    expect((await company.get(`/webhooks/${id}`)).body.data).to.deep.equal(enabled)
    const again = (await company.post(`/webhooks/${id}/enable`)).body.data
    expect(again.updated_at).to.equal(enabled.updated_at)
  })

  it('show until when the old secret is valid, and may be rotated at once meanwhile [HOOK-84]', async () => {
    const { id } = await register()
    const show = async () => (await company.get(`/webhooks/${id}`)).body.data
    const rotate = (overlap_hours: number) => company.post(`/webhooks/${id}/rotate-secret`, { overlap_hours })
    expect((await show()).overlap_ends_at).to.equal(null)
    const until = (await rotate(168)).body.data.overlap_ends_at
    expect(until).to.match(/-03:00$/)
    expect((await show()).overlap_ends_at).to.equal(until)
    expect((await company.get('/webhooks')).body.data[0].overlap_ends_at).to.equal(until)
    expect(expectProblem(await rotate(1), 409, 'rotation_running')).to.deep.equal({ until })
    expect((await rotate(0)).body.data.overlap_ends_at).to.equal(null)
    expect((await show()).overlap_ends_at).to.equal(null)
  })

  it('rotate their secret once under five concurrent requests [HOOK-84]', async () => {
    const { id, secret } = await register()
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => company.post(`/webhooks/${id}/rotate-secret`, { overlap_hours: 24 })),
    )
    const [rotated, ...others] = [...replies].sort((one, other) => one.status - other.status)
    expect(rotated?.status).to.equal(200)
    for (const reply of others) expectProblem(reply, 409, 'rotation_running')
    const rows = await openedRows(api.core.pool, 'webhook_secrets')
    const stored = rows.find(({ company_id, webhook_id }) => company_id === company.id && webhook_id === id)
    expect(stored?.secrets).to.deep.equal({ secret, next_secret: rotated?.body.data.secret })
  })

  it('get the largest sale within the documented bound of a body [HOOK-85]', async () => {
    const cash = await company.paymentType('cash')
    const items = Array.from({ length: 500 }, () => ({
      description: '😀'.repeat(200),
      quantity: '1',
      unit_price: '1.00',
    }))
    const sale = { external_id: '"'.repeat(100), items }
    const sold = await company.post('/sales', { ...sale, payments: [{ payment_type_id: cash, amount: '500.00' }] })
    expect(sold.status, sold.text.slice(0, 500)).to.equal(201)
    expect(Buffer.byteLength(sold.text)).to.be.within(400_000, 5_000_000)
  })

  it('of another company look like missing ones [HTTP-15]', async () => {
    const { id } = await register()
    const other = await api.company()
    expect(idsIn(await other.get('/webhooks'))).to.deep.equal([])
    for (const [method, path] of ROUTES) {
      expectProblem(await other.call(method, `/webhooks/${id}${path}`), 404, 'not_found')
    }
    expect((await company.get(`/webhooks/${id}`)).status).to.equal(200)
  })

  it('are limited exactly under concurrent registrations [HTTP-15]', async () => {
    const replies = await Promise.all(
      Array.from({ length: MAX_WEBHOOKS + 10 }, () => company.post('/webhooks', address)),
    )
    const statuses = replies.map((reply) => reply.status)
    expect(statuses.filter((status) => status === 201)).to.have.length(MAX_WEBHOOKS)
    expect(statuses.filter((status) => status === 409)).to.have.length(10)
  })
})

describe('webhook outbox: replay', () => {
  const { api, company, asRegistrar, register, queued, replayed, customer } = useOutbox(OWN_DATABASE)

  afterEach(() => api.core.pool.query('delete from webhook_replays'))

  const start = (webhook: number, body: object = {}) => asRegistrar('POST', `/webhooks/${webhook}/replay`, body)
  const state = async (webhook: number) => (await asRegistrar('GET', `/webhooks/${webhook}/replay`)).body.data
  const writing = () => ({ pool: api.core.pool, core: api.core, newId: uuidv7 })
  const step = (limits: Partial<ReplayLimits> = {}) =>
    stepReplay(writing(), { limits: { ...REPLAY_LIMITS, ...limits } })
  const revision = async () => Number((await company.get('/me')).headers.get('x-ledger-revision'))
  /** Marks the pending deliveries of an endpoint as delivered. */
  const delivered = (webhook: number) =>
    api.core.pool.query(
      `update webhook_deliveries set status = 'delivered', next_attempt_at = null where webhook_id = $1`,
      [webhook],
    )
  /** Makes waiting replays due at once. */
  const passTime = () =>
    api.core.pool.query('update webhook_replays set next_step_at = now() where next_step_at is not null')

  it('starts at a date or after a revision, but not both [HOOK-26]', async () => {
    const webhook = await register(['customer.created'])
    const revisions: number[] = []
    for (const name of ['Ana', 'Bia', 'Caio', 'Davi']) {
      await customer(name)
      revisions.push(await revision())
    }
    const { rows } = await api.core.pool.query<{ revision: number; at: string }>(
      `select revision, envelope->>'recorded_at' as at from ledger.events where stream = $1 order by revision`,
      [`company-${company.id}`],
    )
    const at = rows[revisions[1]!]!.at
    const firstOf = (time: string) => rows.find((event) => event.at >= time)!.revision
    const later = new Date(Date.parse(at) + 1).toISOString()
    const startedAt = async (since: string) => {
      await api.core.pool.query('delete from webhook_replays')
      return (await start(webhook, { since })).body.data.after as number
    }
    expect(await startedAt(at), 'inclusive').to.equal(firstOf(at) - 1)
    expect(await startedAt(at.replace('Z', '+00:00'))).to.equal(firstOf(at) - 1)
    expect(await startedAt(later)).to.equal(firstOf(later) - 1)
    expect(await startedAt('2000-01-01T00:00:00Z'), 'before the ledger').to.equal(-1)
    expect(await startedAt('2999-01-01T00:00:00Z'), 'nothing yet').to.equal(await revision())
    await step()
    expect(await state(webhook)).to.include({ status: 'finished', deliveries: 0 })
    expectInvalid(await start(webhook, { since: '2026-01-02T10:00:00Z', after: 1 }), ['since'])
    expectInvalid(await start(webhook, { since: '2026-01-02' }), ['since'])
  })

  it('creates deliveries of all subscribed events, missed ones included, but of no later ones [HOOK-26]', async () => {
    const webhook = await register(['customer.created'])
    await asRegistrar('POST', `/webhooks/${webhook}/disable`)
    const first = await company.post('/customers', { name: 'Ana' })
    await company.post('/catalog/items', { name: 'Café', price: '1.00' })
    await asRegistrar('POST', '/customers', { name: 'Feita por quem registrou' })
    await company.post('/customers', { name: 'Bia' })
    expect(await queued(webhook)).to.deep.equal([])
    expectProblem(await start(webhook), 409, 'webhook_disabled')
    expectProblem(await asRegistrar('GET', `/webhooks/${webhook}/replay`), 404, 'not_found')
    await asRegistrar('POST', `/webhooks/${webhook}/enable`)
    const until_revision = await revision()
    const asked = (await start(webhook)).body.data
    expect(asked).to.deep.include({ status: 'running', after: -1, last_revision: -1, until_revision, deliveries: 0 })
    expect(asked).to.deep.equal(await state(webhook))
    await customer('Caio')
    expect(await step()).to.equal(true)
    expect(await step()).to.equal(null)
    const done = await state(webhook)
    expect(done).to.deep.include({ status: 'finished', last_revision: until_revision, deliveries: 2 })
    expect(done.finished_at).to.be.a('string')
    expect(await replayed(webhook, Number(first.headers.get('x-ledger-revision')))).to.equal(2)
    const told = await queued(webhook)
    expect(told.map(({ sequence, replay }) => [sequence, replay])).to.deep.equal([
      [1, false],
      [2, true],
      [3, true],
      [4, true],
      [5, true],
    ])
    expect(told.map(({ body }) => JSON.parse(body).data.name)).to.deep.equal(['Caio', 'Ana', 'Bia', 'Bia', 'Caio'])
    expect(await replayed(webhook, await revision())).to.equal(0)
    for (const wrong of [-2, 1.5, '1']) expectInvalid(await start(webhook, { after: wrong }), ['after'])
  })

  describe('of events without a stored message', () => {
    /** Forgets what the outbox has stored, as if there had been no endpoint, or 30 days had passed. */
    const forgetMessages = async () => {
      const { rows: stored } = await api.core.pool.query<{ revision: number; event: string; body: string }>(
        'select revision, event, body from webhook_messages where company_id = $1 order by revision, event',
        [company.id],
      )
      for (const table of ['webhook_deliveries', 'webhook_messages'])
        await api.core.pool.query(`delete from ${table} where company_id = $1`, [company.id])
      return stored
    }

    it('delivers those from before the company had any endpoint, as the event stream shows them [HOOK-26]', async () => {
      const ana = await customer('Ana')
      await company.call('PATCH', `/customers/${ana.id}`, { name: 'Ana Souza' })
      const item = (await company.post('/catalog/items', { name: 'Café', price: '1.00' })).body.data
      await company.call('PATCH', `/catalog/items/${item.id}`, { price: '2.00', stock: '5' })
      await company.call('DELETE', `/catalog/items/${item.id}`)
      await company.call('DELETE', `/customers/${ana.id}`)
      const webhook = await register(['*', 'catalog_item.deleted', 'customer.deleted'])
      expect(await replayed(webhook)).to.equal(7)
      const told = (await queued(webhook)).map(({ event, body, sequence, replay }) => [
        sequence,
        replay,
        event,
        JSON.parse(body).data.price ?? JSON.parse(body).data.name ?? null,
      ])
      expect(told).to.deep.equal([
        [1, true, 'customer.created', 'Ana'],
        [2, true, 'customer.updated', 'Ana Souza'],
        [3, true, 'catalog_item.created', '1.00'],
        [4, true, 'catalog_item.updated', '2.00'],
        [5, true, 'catalog_item.updated', '2.00'],
        [6, true, 'catalog_item.deleted', null],
        [7, true, 'customer.deleted', null],
      ])
    })

    it('stores the bytes that the outbox has made [HOOK-26]', async () => {
      const webhook = await register(['*', 'catalog_item.deleted', 'category.created'])
      const { id } = await customer('Ana')
      await company.call('PATCH', `/customers/${id}`, { name: 'Bia' })
      await company.post('/catalog/categories', { name: 'Bebidas' })
      const item = (await company.post('/catalog/items', { name: 'Café', price: '1.00' })).body.data
      await company.call('DELETE', `/catalog/items/${item.id}`)
      const before = await forgetMessages()
      await replayed(webhook)
      expect(await forgetMessages()).to.deep.equal(before)
    })

    it('skips those that the key of the endpoint caused, or may not read [HOOK-10, HOOK-50]', async () => {
      await asRegistrar('POST', '/customers', { name: 'Da própria chave' })
      await customer('Ana')
      const webhook = await register(['*'])
      expect(await replayed(webhook)).to.equal(1)
      const { key } = await company.newKey(['webhooks:manage', 'catalog:read'])
      const own = { authorization: `Bearer ${key}` }
      const url = 'https://erp.example/eventos'
      const narrow = (await company.call('POST', '/webhooks', { url, events: ['*'] }, own)).body.data.id
      await company.post('/catalog/items', { name: 'Café', price: '1.00' })
      await forgetMessages()
      expect(await replayed(narrow)).to.equal(1)
      expect((await queued(narrow)).map(({ event }) => event)).to.deep.equal(['catalog_item.created'])
    })

    it('stores one message for concurrent replays of several endpoints [HOOK-41]', async () => {
      for (const name of ['Ana', 'Bia', 'Caio', 'Davi']) await customer(name)
      const webhooks = [await register(), await register(), await register()]
      for (const webhook of webhooks) await start(webhook)
      const writers = Array.from({ length: 4 }, async () => {
        for (let n = 0; n < 60 && (await step({ stepEvents: 2 })) !== null; n++);
      })
      await Promise.all(writers)
      for (const webhook of webhooks) {
        expect(await state(webhook)).to.include({ status: 'finished', deliveries: 4 })
        expect((await queued(webhook)).map(({ sequence }) => sequence)).to.deep.equal([1, 2, 3, 4])
      }
      expect(await forgetMessages()).to.have.length(4)
    })

    it('reads again what a person was erased from meanwhile [HOOK-26]', async () => {
      const { id } = await customer('Ana Souza')
      const webhook = await register(['customer.created'])
      await start(webhook)
      let isErased = false
      /** Erases the person when the step has read its messages. */
      const newId = () => uuidv7()
      const pool = new Proxy(api.core.pool, {
        get(target, name) {
          if (name !== 'connect') return Reflect.get(target, name).bind?.(target) ?? Reflect.get(target, name)
          return async () => {
            if (!isErased) {
              isErased = true
              const erased = await company.post(`/customers/${id}/forget`, { ground: 'holder_request' })
              expect(erased.status, erased.text).to.equal(200)
            }
            return target.connect()
          }
        },
      })
      expect(await stepReplay({ pool, core: api.core, newId })).to.equal(false)
      expect(isErased).to.equal(true)
      expect(await queued(webhook)).to.deep.equal([])
      while ((await step()) !== null);
      const [told] = await queued(webhook)
      expect(JSON.parse(told!.body).data).to.include({ id, name: null })
    })
  })

  it('is no part of a rebuild, which queues nothing again [HOOK-11]', async () => {
    const webhook = await register()
    await customer('Ana')
    const before = await queued(webhook)
    await api.core.rebuild()
    expect(await queued(webhook)).to.deep.equal(before)
    await customer('Bia')
    expect((await queued(webhook)).map(({ sequence }) => sequence)).to.deep.equal([1, 2])
  })

  it('runs once per endpoint, for concurrent requests too; others continue [HOOK-41]', async () => {
    const [webhook, other] = [await register(), await register()]
    await customer('Ana')
    const replies = await Promise.all(Array.from({ length: 8 }, () => start(webhook)))
    expect(replies.filter(({ status }) => status === 200)).to.have.length(1)
    for (const reply of replies) if (reply.status !== 200) expectProblem(reply, 409, 'replay_running')
    expect((await start(other)).status).to.equal(200)
    while ((await step()) !== null);
    expect((await queued(webhook)).filter(({ replay }) => replay)).to.have.length(1)
    expect((await start(webhook)).status).to.equal(200)
    const headers = { 'idempotency-key': 'r' }
    while ((await step()) !== null);
    const [once, again] = [1, 2].map(() => asRegistrar('POST', `/webhooks/${webhook}/replay`, {}, headers))
    expect((await once)?.text).to.equal((await again)?.text)
  })

  it('continues in bounded steps where another process stopped, without duplicates [HOOK-41]', async () => {
    const webhook = await register(['customer.created'])
    for (const name of ['Ana', 'Bia', 'Caio']) await customer(name)
    for (const name of ['Café', 'Chá', 'Mate']) await company.post('/catalog/items', { name, price: '1.00' })
    await customer('Davi')
    const stepsOf = async (limits: Partial<ReplayLimits>) => {
      await start(webhook)
      const made: number[] = []
      for (let before = 0; (await step(limits)) !== null; before += made.at(-1) ?? 0)
        made.push((await state(webhook)).deliveries - before)
      return made
    }
    expect(await stepsOf({})).to.deep.equal([4])
    expect(await stepsOf({ stepEvents: 3 })).to.deep.equal([3, 1])
    expect(await stepsOf({ stepEvents: 4 })).to.deep.equal([4])
    await api.core.pool.query('delete from webhook_deliveries where company_id = $1', [company.id])
    await api.core.pool.query('delete from webhook_messages where company_id = $1', [company.id])
    expect(await stepsOf({ stepRenders: 1 }), 'rendered').to.deep.equal([1, 1, 1, 1])
    expect(await stepsOf({ stepRenders: 1 }), 'stored by then').to.deep.equal([4])
    await start(webhook)
    await step({ stepEvents: 1 })
    await Promise.all(Array.from({ length: 6 }, () => step({ stepEvents: 1 })))
    while ((await step()) !== null);
    expect(await state(webhook)).to.deep.include({ status: 'finished', deliveries: 4 })
    expect((await queued(webhook)).map(({ sequence }) => sequence)).to.deep.equal(
      Array.from({ length: 12 }, (_, index) => index + 17),
    )
  })

  it('never ends a step between two messages of one event [HOOK-26]', async () => {
    const webhook = await register(['basic', 'catalog_item.deleted'])
    const room = { pendingOfEndpoint: 2 }
    const { id } = (await company.post('/catalog/items', { name: 'Café', price: '1.00' })).body.data
    await company.call('DELETE', `/catalog/items/${id}`)
    await customer('Ana')
    await delivered(webhook)
    await start(webhook)
    await step(room)
    expect(await state(webhook)).to.include({ deliveries: 3 })
    await delivered(webhook)
    await step(room)
    expect(await state(webhook)).to.include({ deliveries: 4 })
  })

  it('a replay waits while too many deliveries are pending, and for the next day [HOOK-42]', async () => {
    const [webhook, other] = [await register(['customer.created']), await register(['customer.created'])]
    for (const name of ['Ana', 'Bia', 'Caio']) await customer(name)
    await delivered(webhook)
    await delivered(other)
    const limits = { pendingOfEndpoint: 2, pendingOfCompany: 3, perDay: 5 }
    await start(webhook)
    await start(other)
    // Each gets the remaining capacity in turn.
    expect([await step(limits), await step(limits)]).to.deep.equal([true, true])
    expect([(await state(webhook)).deliveries, (await state(other)).deliveries]).to.deep.equal([2, 1])
    expect([await step(limits), await step(limits), await step(limits)]).to.deep.equal([false, false, null])
    await delivered(webhook)
    await passTime()
    await step(limits)
    await step(limits)
    const made = (await state(webhook)).deliveries + (await state(other)).deliveries
    expect(made).to.equal(5)
    // The daily limit is used up: finished deliveries do not help.
    await delivered(webhook)
    await delivered(other)
    await passTime()
    expect([await step(limits), await step(limits), await step(limits)]).to.include(null)
    const running =
      "select next_step_at > now() + interval '2 seconds' as waits from webhook_replays where status = 'running'"
    expect((await api.core.pool.query(running)).rows).to.deep.equal([{ waits: true }])
    await api.core.pool.query(`update webhook_replay_days set day_ends_at = day_ends_at - interval '2 days'`)
    await passTime()
    while ((await step(limits)) !== null);
    expect((await state(webhook)).deliveries + (await state(other)).deliveries).to.equal(6)
  })

  it('ends when its endpoint is disabled or deleted [HOOK-43]', async () => {
    await customer('Ana')
    const off = await register()
    await start(off)
    await asRegistrar('POST', `/webhooks/${off}/disable`)
    await step()
    expect(await state(off)).to.include({ status: 'cancelled', deliveries: 0 })
    const gone = await register()
    await start(gone)
    await asRegistrar('DELETE', `/webhooks/${gone}`)
    expect(await step()).to.equal(false)
    expect(await step()).to.equal(null)
  })

  it('waits while its endpoint is paused, and continues afterwards [HOOK-43]', async () => {
    const webhook = await register()
    await customer('Ana')
    await start(webhook)
    const plan = (name: string) =>
      api.core.pool.query('update read.companies set plan = $2 where company_id = $1', [company.id, name])
    await plan('basic')
    expect(await step()).to.equal(false)
    await plan('api')
    expect(await state(webhook)).to.include({ status: 'running', deliveries: 0 })
    await passTime()
    expect(await step()).to.equal(true)
    expect(await state(webhook)).to.include({ status: 'finished', deliveries: 1 })
  })

  describe('of several companies', () => {
    const pool = () => api.core.pool
    /** A company with some endpoints, each with a replay that is due, the oldest first. */
    async function replaying(endpoints: number): Promise<number> {
      const { id, post, run } = await api.company()
      for (let n = 0; n < endpoints; n++) {
        const webhook = (await post('/webhooks', { url: 'http://127.0.0.1:9/', events: ['basic'] })).body.data.id
        await run(createCustomer, { name: `Ana ${n}` })
        await pool().query(
          `insert into webhook_replays (company_id, webhook_id, after_revision, until_revision, last_revision, status, requested_at, next_step_at)
           select $1, $2, -1, revision, -1, 'running', now(), now() from ops.ledgers where company_id = $1`,
          [id, webhook],
        )
      }
      return id
    }
    const finished = async (id: number): Promise<number> =>
      (await pool().query(`select from webhook_replays where company_id = $1 and status = 'finished'`, [id]))
        .rowCount as number

    it('takes a step of each company in turn, however many replays one of them runs', async () => {
      const [many, one] = [await replaying(5), await replaying(1)]
      const companies = createRoundRobin()
      for (let n = 0; n < 2; n++) await stepReplay(writing(), { companies })
      expect([await finished(many), await finished(one)]).to.deep.equal([1, 1])
    })

    it('puts off a step that fails, and continues with other companies [OPS-143]', async () => {
      const [broken, sound] = [await replaying(1), await replaying(1)]
      const errors: unknown[] = []
      const log = (_message: string, error: unknown) => errors.push(error)
      await whileBroken(api.databaseUrl, { table: 'ops.webhook_deliveries', companyId: broken }, async () => {
        const replays = writeReplays({ ...writing(), onQueued: () => {}, poll_ms: 60_000, log })
        await until(async () => (await finished(sound)) === 1)
        await replays.stop()
      })
      expect(errors).to.have.length(1)
      const { rows } = await pool().query(
        'select next_step_at > now() as is_put_off from webhook_replays where company_id = $1',
        [broken],
      )
      expect(rows).to.deep.equal([{ is_put_off: true }])
      // The failed step has stored and queued nothing: the next one begins where it began.
      await passTime()
      while ((await step()) !== null);
      const queuedOf = 'select sequence, replay from webhook_deliveries where company_id = $1 order by sequence'
      expect((await pool().query(queuedOf, [broken])).rows).to.deep.equal([
        { sequence: 1, replay: false },
        { sequence: 2, replay: true },
      ])
      expect(await finished(broken)).to.equal(1)
    })
  })

  it('is written by dispatchers, notifies them of new deliveries, and holds no query connection [HOOK-41]', async () => {
    const webhook = await register()
    await customer('Ana')
    let heard = 0
    const errors: unknown[] = []
    const replays = writeReplays({
      ...writing(),
      onQueued: () => heard++,
      poll_ms: 60_000,
      log: (_message, error) => errors.push(error),
    })
    await start(webhook)
    replays.now()
    await until(async () => (await state(webhook)).status === 'finished')
    await replays.stop()
    expect(heard).to.equal(1)
    expect(errors).to.deep.equal([])
  })
})
