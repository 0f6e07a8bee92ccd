import { expect } from 'chai'
import { v7 as uuidv7 } from 'uuid'
import { createRoundRobin } from '#background/round-robin.ts'
import { createCustomer } from '#commands/people/customers.ts'
import { REPLAY_LIMITS, type ReplayLimits, stepReplay, writeReplays } from '#webhooks/replays.ts'
import { expectInvalid, expectProblem } from '../../support/answers.ts'
import { whileBroken } from '../../support/broken-company.ts'
import { until } from '../../support/wait.ts'
import { useOutbox } from './outbox.ts'

describe('webhook outbox: replay', () => {
  const { api, company, asRegistrar, register, queued, replayed, customer } = useOutbox()

  afterEach(() => api.core.pool.query('delete from webhook_replays'))

  const start = (webhook: number, body: object = {}) => asRegistrar('POST', `/webhooks/${webhook}/replay`, body)
  const state = async (webhook: number) => (await asRegistrar('GET', `/webhooks/${webhook}/replay`)).body.data
  const step = (limits: Partial<ReplayLimits> = {}) =>
    stepReplay(api.core.pool, uuidv7, { limits: { ...REPLAY_LIMITS, ...limits } })
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

  it('starts at a date or after a revision, but not both [HOOK-26, HOOK-76]', async () => {
    const webhook = await register(['customer.created'])
    const revisions: number[] = []
    for (const name of ['Ana', 'Bia', 'Caio', 'Davi']) {
      await customer(name)
      revisions.push(await revision())
    }
    const told = (ago: string, at: number) =>
      api.core.pool.query('update webhook_messages set created_at = $1 where company_id = $2 and revision = $3', [
        ago,
        company.id,
        revisions[at],
      ])
    await told('2026-01-01T10:00:00Z', 0)
    await told('2026-01-02T10:00:00Z', 1)
    await told('2026-01-03T10:00:00Z', 2)
    const startedAt = async (since: string) => {
      await api.core.pool.query('delete from webhook_replays')
      return (await start(webhook, { since })).body.data.after as number
    }
    expect(await startedAt('2026-01-02T07:00:00-03:00'), 'inclusive').to.equal(revisions[1]! - 1)
    expect(await startedAt('2026-01-02T10:00:00.001Z')).to.equal(revisions[1])
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

  it('runs once per endpoint, for concurrent requests too; others continue [HOOK-40]', async () => {
    const [webhook, other] = [await register(), await register()]
    await customer('Ana')
    const replies = await Promise.all(Array.from({ length: 32 }, () => start(webhook)))
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
    expect(await stepsOf({ stepDeliveries: 3 })).to.deep.equal([3, 1])
    expect(await stepsOf({ stepDeliveries: 4 })).to.deep.equal([4])
    expect(await stepsOf({ stepLooks: 5 })).to.deep.equal([3, 1])
    expect(await stepsOf({ stepLooks: 3 })).to.deep.equal([3, 0, 1])
    await start(webhook)
    await step({ stepDeliveries: 1 })
    await Promise.all(Array.from({ length: 6 }, () => step({ stepDeliveries: 1 })))
    expect(await state(webhook)).to.deep.include({ status: 'finished', deliveries: 4 })
    expect((await queued(webhook)).map(({ sequence }) => sequence)).to.deep.equal(
      Array.from({ length: 28 }, (_, index) => index + 1),
    )
  })

  it('never ends a step between two messages of one event [HOOK-26]', async () => {
    const webhook = await register(['basic', 'catalog_item.deleted'])
    const { id } = (await company.post('/catalog/items', { name: 'Café', price: '1.00' })).body.data
    await company.call('DELETE', `/catalog/items/${id}`)
    await customer('Ana')
    for (const limits of [{ stepDeliveries: 2 }, { stepLooks: 2 }]) {
      await start(webhook)
      await step(limits)
      expect(await state(webhook), JSON.stringify(limits)).to.include({ deliveries: 3 })
      await step(limits)
      expect(await state(webhook)).to.include({ deliveries: 4 })
      while ((await step()) !== null);
    }
  })

  it('waits while the endpoint or the company has too many pending deliveries, and for the next day [HOOK-42]', async () => {
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

    it('takes a step of each company in turn, however many replays one of them runs [OPS-142]', async () => {
      const [many, one] = [await replaying(5), await replaying(1)]
      const companies = createRoundRobin()
      for (let n = 0; n < 2; n++) await stepReplay(pool(), uuidv7, { companies })
      expect([await finished(many), await finished(one)]).to.deep.equal([1, 1])
    })

    it('puts off a step that fails, and continues with other companies [OPS-143]', async () => {
      const [broken, sound] = [await replaying(1), await replaying(1)]
      const errors: unknown[] = []
      const log = (_message: string, error: unknown) => errors.push(error)
      await whileBroken(api.databaseUrl, { table: 'ops.webhook_deliveries', companyId: broken }, async () => {
        const replays = writeReplays({ pool: pool(), newId: uuidv7, onQueued: () => {}, poll_ms: 60_000, log })
        await until(async () => (await finished(sound)) === 1)
        await replays.stop()
      })
      expect(errors).to.have.length(1)
      const { rows } = await pool().query(
        'select next_step_at > now() as is_put_off from webhook_replays where company_id = $1',
        [broken],
      )
      expect(rows).to.deep.equal([{ is_put_off: true }])
    })
  })

  it('is written by dispatchers, notifies them of new deliveries, and holds no query connection [HOOK-41]', async () => {
    const webhook = await register()
    await customer('Ana')
    let heard = 0
    const errors: unknown[] = []
    const replays = writeReplays({
      pool: api.core.pool,
      newId: uuidv7,
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
