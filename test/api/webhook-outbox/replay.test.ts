import { expect } from 'chai'
import { v7 as uuidv7 } from 'uuid'
import { createCustomer } from '#commands/person-commands.ts'
import { createRoundRobin } from '#lib/background-loops.ts'
import { REPLAY_LIMITS, type ReplayLimits, stepReplay, writeReplays } from '#webhooks/replays.ts'
import { expectInvalid, expectProblem } from '../../support/answers.ts'
import { whileBroken } from '../../support/broken-company.ts'
import { OWN_DATABASE } from '../../support/use-api.ts'
import { until } from '../../support/wait.ts'
import { useOutbox } from './outbox.ts'

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

  it('runs once per endpoint, for concurrent requests too; others continue [HOOK-40]', async () => {
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
