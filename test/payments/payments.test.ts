import { expect } from 'chai'
import { v7 as uuidv7 } from 'uuid'
import { startPayment } from '#commands/order-attempts.ts'
import { cancelOrder } from '#commands/order-commands.ts'
import { createStore } from '#commands/store-commands.ts'
import { SWEEP_SECONDS } from '#config/config.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Answer } from '#ledger/write/idempotency.ts'
import { asApiKey } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { payOrder } from '#payments/pay-order.ts'
import { type PaymentProvider, ProviderMisconfigured, ProviderUnavailable } from '#payments/provider-port.ts'
import { createSweep, type SweepOptions, startSweep, sweepIntervalMs, sweepOnce } from '#payments/sweep.ts'
import type { OrderObject } from '#projections/orders.ts'
import { type OnlineStore, openOnlineStore, paymentOf } from '../payment-notifications/online-store.ts'
import { type Json, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { createMemoryProvider, type MemoryProvider } from '../support/memory-provider.ts'
import { purgeTables } from '../support/purge.ts'
import { until } from '../support/wait.ts'

const card = { method: 'card', brand: 'visa', token: 'card-token', payer: { email: 'ana@example.com' } } as const

/** Simulated crashes: before and after each step. */
type CrashPoint = 'before start' | 'after start' | 'before charge' | 'after charge' | 'before record' | 'after record'

const crash = (): never => {
  throw new Error('crash')
}

describe('interrupted payment', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let provider: MemoryProvider
  let orders = 0

  before(async () => {
    provider = createMemoryProvider()
    // One connection for all reads: holding it during a provider call would block all others.
    api = await startApi(database.url, { provider, queryConnections: 1 })
    company = await api.company()
    await company.run(createStore, {
      alias: 'loja',
      commission_percentage: '5',
      sandbox: true,
      access_token: 'TEST-token',
    })
  })
  beforeEach(() => {
    provider.payments.length = 0
    provider.calls.length = 0
    provider.status = 'approved'
  })
  after(() => api.close())

  const place = async (): Promise<number> => {
    const items = [{ description: 'Cesta', quantity: '1', unit_price: '100.00' }]
    const order = { store_alias: 'loja', external_id: `pedido-${++orders}`, customer: { name: 'Ana' }, items }
    const reply = await company.post('/orders', order)
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data.id
  }

  /** Writer that crashes before or after its n-th unit of work. */
  function dyingWriter(unit: number, when: 'before' | 'after'): Writer {
    let units = 0
    return {
      ...api.core.writer,
      async around(_request, write) {
        units += 1
        if (units === unit && when === 'before') crash()
        const answer = await write()
        return units === unit ? crash() : answer
      },
    }
  }

  function writerUntil(point: CrashPoint): Writer {
    if (point === 'before start') return dyingWriter(1, 'before')
    if (point === 'after start') return dyingWriter(1, 'after')
    if (point === 'before record') return dyingWriter(2, 'before')
    if (point === 'after record') return dyingWriter(2, 'after')
    return api.core.writer
  }

  const pay = (orderId: number, key: string, writer: Writer = api.core.writer) =>
    payOrder(
      { pool: api.core.pool, vault: api.core.vault, writer, provider, publicUrl: 'https://tillbook.example' },
      {
        acting: asApiKey({ companyId: company.id, keyId: 1 }, uuidv7()),
        idempotency: { key, requestHash: 'a'.repeat(64) },
        orderId,
        payment: card,
      },
    )

  for (const point of [
    'before start',
    'after start',
    'before charge',
    'after charge',
    'before record',
    'after record',
  ] as const) {
    it(`${point}: is completed by a repeated request, and charges once [PAY-3]`, async () => {
      const id = await place()
      if (point === 'before charge') provider.twist(crash)
      if (point === 'after charge') {
        provider.twist((charge) => {
          charge()
          return crash()
        })
      }
      const ended = await pay(id, point, writerUntil(point)).catch((error: Error) => error.message)
      expect(ended).to.equal('crash')
      const answer = (await pay(id, point)) as Answer
      expect(isRefusal(answer)).to.equal(false)
      expect(answer).to.include({ outcome: 'created', replayed: point === 'after record' })
      expect(provider.payments).to.have.length(1)
      const order = answer.record as OrderObject
      expect(order).to.include({ status: 'paid' })
      expect(order.payments).to.have.length(1)
      expect((await company.get(`/orders/${id}`)).body.data).to.deep.equal(order)
    })
  }

  it('provider calls hold no connection: other requests continue beside 20 of them [PAY-7]', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, place))
    let open: () => void = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    for (const _ of ids) provider.twist(async (charge) => gate.then(charge))
    const paying = ids.map((id) => company.post(`/orders/${id}/payments`, card, { 'idempotency-key': `k-${id}` }))
    await until(() => provider.calls.length === ids.length)
    const listed = await company.get(`/orders?status=pending&limit=200`)
    expect(listed.body.data.map((order: Json) => order.id)).to.include.members(ids)
    expect(await place()).to.be.a('number')
    open()
    const replies = await Promise.all(paying)
    expect(replies.map(({ status, body }) => [status, body.data.status])).to.deep.equal(ids.map(() => [201, 'paid']))
  })
})

const HOUR = 3600

describe('payment sweep', () => {
  const database = useDatabase()
  const provider = createMemoryProvider()
  const never = new AbortController().signal
  let shop: OnlineStore
  let order: OrderObject
  let logged: unknown[]
  let options: SweepOptions

  before(async () => {
    shop = await openOnlineStore(database.url, { provider, log: () => {} })
  })
  beforeEach(async () => {
    logged = []
    const { pool, vault, writer } = shop.api.core
    options = { pool, vault, writer, provider, schedule: [0, HOUR, 24 * HOUR], log: (...line) => logged.push(line) }
    // Orders of earlier tests are not due.
    await pool.query('update read.orders set attempted_at = null, expires_at = null')
    provider.before = () => {}
    provider.payments.length = 0
    provider.asked.length = 0
    order = await shop.order()
  })
  after(() => shop.close())

  const placeOrders = (count: number, alias?: string, of?: TestCompany): Promise<OrderObject[]> =>
    Promise.all(Array.from({ length: count }, () => shop.order(alias, of)))
  const sweep = (changes: Partial<SweepOptions> = {}) => sweepOnce({ ...options, ...changes }, never)
  /** Provider calls of the sweep: by reference, and by known payment ids. */
  const asked = (...ids: string[]) =>
    provider.asked.filter((what) => [order.provider_reference, ...ids].includes(what)).length

  /** Shifts all times back by an interval, in one transaction, since a sweep in between would see a new attempt. */
  const pass = (seconds: number) =>
    shop.api.core.pool.query(
      `with earlier as (update read.orders set attempted_at = attempted_at - make_interval(secs => $1))
       update ops.payment_sweeps set attempted_at = attempted_at - make_interval(secs => $1)`,
      [seconds],
    )
  const endLeases = () =>
    shop.api.core.pool.query(`update ops.payment_sweeps set next_poll_at = now() - interval '1 s'`)

  it('polls at growing intervals for 7 days [PAY-9]', () => {
    const steps = SWEEP_SECONDS.map((at, position) => at - (SWEEP_SECONDS[position - 1] ?? 0))
    expect(SWEEP_SECONDS.at(-1)).to.equal(7 * 24 * HOUR)
    for (const [position, step] of steps.entries()) expect(step).to.be.at.least(steps[position - 1] ?? 1)
  })

  it('finds a payment without a response and without a notification [PAY-9]', async () => {
    provider.put(paymentOf(order, { id: '1' }))
    expect(await sweep()).to.equal(1)
    const now = await shop.orderNow(order.id)
    expect(now).to.include({ status: 'paid' })
    expect(now.payments).to.have.length(1)
    expect(now.payment).to.include({ attempt_id: order.payments[0]?.attempt_id, provider_payment_id: '1' })
  })

  it('fetches known payments by id: the search may lag behind, or be down', async () => {
    provider.put(paymentOf(order, { id: '2', status: 'pending' }))
    await sweep()
    provider.put(paymentOf(order, { id: '2', status: 'approved' }))
    await pass(HOUR)
    const late = async () => [paymentOf(order, { id: '2', status: 'pending' })]
    expect(await sweep({ provider: { ...provider, findPayments: late } })).to.equal(1)
    expect(await shop.orderNow(order.id)).to.include({ status: 'paid' })
  })

  it('records known payments of an order even if the search for its other attempt fails', async () => {
    provider.put(paymentOf(order, { id: '9', status: 'pending' }))
    await sweep()
    const attempt = { attempt_id: uuidv7(), idempotency_key: null, payment_method_id: 'pix' }
    await shop.company.run(startPayment, { ...attempt, id: order.id })
    provider.put(paymentOf(order, { id: '9', status: 'rejected' }))
    const findPayments = () => Promise.reject(new ProviderUnavailable('down'))
    await sweep({ provider: { ...provider, findPayments } })
    expect(await shop.orderNow(order.id)).to.include({ status: 'failed' })
    expect(logged).to.have.length(1)
  })

  it('records only payments that match order, amount and mode', async () => {
    for (const [id, changes] of [
      ['3', { amountCents: 1 }],
      ['4', { liveMode: true }],
    ] as const)
      provider.put(paymentOf(order, { id, ...changes }))
    const foreign = {
      ...provider,
      findPayments: async () => [paymentOf(order, { id: '5', externalReference: `order-${order.id}` })],
    }
    expect(await sweep()).to.equal(0)
    await pass(HOUR)
    expect(await sweep({ provider: foreign })).to.equal(0)
    expect(await shop.orderNow(order.id)).to.include({ status: 'pending' })
  })

  it('ends pending payments at their deadline, whatever the schedule [PAY-24]', async () => {
    const { id } = order
    provider.put(paymentOf(order, { id: '20', status: 'pending' }))
    const slow = { schedule: [24 * HOUR, 25 * HOUR] }
    const later = { id, idempotency_key: null, payment_method_id: 'pix', expires_in_minutes: 30 }
    for (const attempt_id of [uuidv7(), uuidv7()]) await shop.company.run(startPayment, { ...later, attempt_id })
    const [, known, unheard] = (await shop.orderNow(id)).payments
    provider.put(paymentOf(order, { id: '21', status: 'pending', attemptId: known?.attempt_id ?? null }))
    expect(await sweep(slow)).to.equal(0)
    const over = `update read.orders set expires_at = now() - interval '1 s',
      doc = replace(doc::text, '"expires_at":"', '"expires_at":"2020-01-01T00:00:00.000-03:00","was":"')::json where id = $1`
    await shop.api.core.pool.query(over, [id])
    await sweep(slow)
    const { payments } = await shop.orderNow(id)
    expect(payments.map(({ status, refusal }) => [status, refusal])).to.deep.equal([
      ['pending', null],
      ['cancelled', null],
      ['failed', 'o prazo de pagamento terminou'],
    ])
    expect(payments[2]?.attempt_id).to.equal(unheard?.attempt_id)
    expect([
      provider.payments.find(({ id }) => id === '20')?.status,
      provider.payments.find(({ id }) => id === '21')?.status,
    ]).to.deep.equal(['pending', 'cancelled'])
  })

  it('ends them by company time, if its clock was moved', async () => {
    const { id } = order
    const attempt_id = uuidv7()
    const slow = { schedule: [24 * HOUR, 25 * HOUR] }
    const pay = { id, attempt_id, idempotency_key: null, payment_method_id: 'pix', expires_in_minutes: 30 }
    await shop.company.run(startPayment, pay)
    provider.put(paymentOf(order, { id: '23', status: 'pending', attemptId: attempt_id }))
    expect(await sweep(slow)).to.equal(0)
    const ahead = 'update read.companies set clock_ahead_ms = $2 where company_id = $1'
    await shop.api.core.pool.query(ahead, [shop.company.id, HOUR * 1000])
    await sweep(slow)
    expect(provider.payments.find(({ id }) => id === '23')?.status).to.equal('cancelled')
    await shop.api.core.pool.query(ahead, [shop.company.id, 0])
  })

  it('cancels pending payments of a cancelled order at the provider [ORDER-9]', async () => {
    await shop.company.run(cancelOrder, { id: order.id })
    provider.put(paymentOf(order, { id: '22', status: 'pending' }))
    expect(await sweep()).to.equal(1)
    expect(provider.payments.find(({ id }) => id === '22')?.status).to.equal('cancelled')
    expect(await shop.orderNow(order.id)).to.include({ status: 'cancelled' })
  })

  it('polls once per scheduled time, and merges missed ones [PAY-9]', async () => {
    await sweep()
    await sweep()
    expect(asked()).to.equal(1)
    await pass(HOUR)
    await sweep()
    await sweep()
    expect(asked()).to.equal(2)
    await pass(24 * HOUR)
    await sweep()
    await pass(24 * HOUR)
    await sweep()
    expect(asked()).to.equal(3)
  })

  it('does not poll old orders, or orders without an attempt', async () => {
    await shop.api.core.pool.query('update read.orders set attempted_at = null where id <> $1', [order.id])
    await pass(3 * 24 * HOUR)
    await sweep()
    expect(provider.asked).to.deep.equal([])
  })

  it('restarts the schedule with a new attempt [PAY-9]', async () => {
    await pass(25 * HOUR)
    await sweep()
    await shop.api.core.pool.query('update read.orders set attempted_at = now() where id = $1', [order.id])
    await sweep()
    await pass(HOUR)
    await sweep()
    expect(asked()).to.equal(3)
  })

  it('is shared by processes: an order is polled once [PAY-9]', async () => {
    await placeOrders(29)
    await Promise.all([sweep(), sweep(), sweep(), sweep()])
    expect(provider.asked).to.have.length(30)
    expect(new Set(provider.asked).size).to.equal(30)
  })

  it('takes over from a process that died during a poll [PAY-9]', async () => {
    provider.before = () => new Promise(() => {})
    void sweep()
    await until(() => asked() === 1)
    provider.before = () => {}
    await sweep()
    expect(asked()).to.equal(1)
    await endLeases()
    await sweep()
    expect(asked()).to.equal(2)
  })

  it('stops when the provider is down, and retries the poll', async () => {
    await placeOrders(20)
    provider.before = () => Promise.reject(new ProviderUnavailable('down'))
    expect(await sweep()).to.equal(0)
    expect(provider.asked.length).to.be.below(21)
    expect(logged.length).to.equal(provider.asked.length)
    provider.before = () => {}
    provider.put(paymentOf(order, { id: '6' }))
    await endLeases()
    expect(await sweep()).to.equal(1)
    expect(await shop.orderNow(order.id)).to.include({ status: 'paid' })
  })

  it('continues with other orders if one store has wrong credentials, or one order fails [PAY-9]', async () => {
    const others = await placeOrders(12)
    const errors = [new ProviderMisconfigured('401'), new Error('a bug')]
    provider.before = () => {
      const error = errors.shift()
      if (error) throw error
    }
    for (const each of others) provider.put(paymentOf(each, { id: `7${each.id}` }))
    // Two of 13 orders failed, and one of them may be the one without a payment.
    expect(await sweep()).to.be.within(10, 11)
    expect(new Set(provider.asked).size).to.equal(13)
    expect(logged).to.have.length(2)
    await endLeases()
    expect(await sweep()).to.equal(0)
  })

  describe('of several companies', () => {
    /** Company with a store and this many orders. */
    async function shopWith(count: number, of: TestCompany): Promise<OrderObject[]> {
      return placeOrders(count, await shop.store({ token: `TEST-${of.id}` }, of), of)
    }
    const orderOf = async (of: TestCompany, id: number) => {
      const { rows } = await shop.api.core.pool.query<{ doc: OrderObject }>(
        'select doc from read.orders where company_id = $1 and id = $2',
        [of.id, id],
      )
      return rows[0]?.doc
    }
    /** Calls `answer` for every request of the stores of these companies. */
    const withAnswersFor = (ids: readonly number[], answer: () => Promise<never>): PaymentProvider => ({
      ...provider,
      findPayments: (account, reference) =>
        ids.some((id) => account.accessToken.endsWith(`-${id}`)) ? answer() : provider.findPayments(account, reference),
    })
    const down = () => Promise.reject(new ProviderUnavailable('down'))

    beforeEach(() => shop.api.core.pool.query('update read.orders set attempted_at = null, expires_at = null'))

    it('recovers a lost notification while another store’s account fails [PAY-71]', async () => {
      const [failing, other] = [await shop.api.company(), await shop.api.company()]
      await shopWith(40, failing)
      const [lost] = (await shopWith(1, other)) as [OrderObject]
      provider.put(paymentOf(lost, { id: '30' }))
      expect(await sweep({ provider: withAnswersFor([failing.id], down) })).to.equal(1)
      expect(await orderOf(other, lost.id)).to.include({ status: 'paid' })
    })

    it('skips the rest of an account in the run in which it fails [PAY-71]', async () => {
      await shopWith(20, await shop.api.company())
      provider.before = () => Promise.reject(new ProviderUnavailable('down'))
      expect(await sweep()).to.equal(0)
      expect(provider.asked.length).to.be.within(1, 8)
    })

    it('does not wait for the sandbox of test companies, which may hang [PAY-72]', async () => {
      const [test, live] = [await shop.api.company({ test: true }), await shop.api.company()]
      await shopWith(10, test)
      const [lost] = (await shopWith(1, live)) as [OrderObject]
      provider.put(paymentOf(lost, { id: '31' }))
      let answer = () => {}
      const hanging = new Promise<never>((_, reject) => {
        answer = () => reject(new ProviderUnavailable('down'))
      })
      const sweeping = sweep({ provider: withAnswersFor([test.id], () => hanging) })
      await until(async () => (await orderOf(live, lost.id))?.status === 'paid', { what: 'the live order' })
      answer()
      expect(await sweeping).to.equal(1)
    })

    it('logs nothing of a sandbox that is away, and polls it again [PAY-72]', async () => {
      const test = await shop.api.company({ test: true })
      const [lost] = (await shopWith(1, test)) as [OrderObject]
      const away = withAnswersFor([test.id], () => Promise.reject(new ProviderUnavailable('down')))
      expect(await sweep({ provider: away })).to.equal(0)
      expect(logged).to.deep.equal([])
      provider.put(paymentOf(lost, { id: '33' }))
      await endLeases()
      expect(await sweep()).to.equal(1)
    })

    it('polls one order of each before a second one of any [PAY-73]', async () => {
      const companies = await Promise.all(Array.from({ length: 10 }, () => shop.api.company()))
      const byReference = new Map<string, number>()
      for (const of of companies)
        for (const { provider_reference } of await shopWith(3, of)) byReference.set(provider_reference, of.id)
      await sweep()
      const asked = provider.asked.map((reference) => byReference.get(reference))
      expect(asked).to.have.length(30)
      // Two batches: all ten, and the next two.
      expect(new Set(asked.slice(0, 12)).size).to.equal(10)
    })

    it('ends expired payments alongside a backlog of polls, not after it [PAY-73]', async () => {
      const of = await shop.api.company()
      await shopWith(30, of)
      const [late] = (await shopWith(1, of)) as [OrderObject]
      await shop.api.core.pool.query(
        `update read.orders set attempted_at = now() - interval '60 days', expires_at = now() - interval '1 s' where company_id = $1 and id = $2`,
        [of.id, late.id],
      )
      await sweep()
      expect(provider.asked.indexOf(late.provider_reference)).to.be.within(0, 7)
    })

    it('continues after the failed accounts if a run ends because too many fail [PAY-73]', async () => {
      const of = await shop.api.company()
      await Promise.all(Array.from({ length: 70 }, async () => shop.order(await shop.store({}, of), of)))
      const last = await shop.api.company()
      const [lost] = (await shopWith(1, last)) as [OrderObject]
      provider.put(paymentOf(lost, { id: '32' }))
      const failingOf = (id: number): PaymentProvider => ({
        ...provider,
        findPayments: (account, reference) =>
          account.accessToken.endsWith(`-${id}`) ? provider.findPayments(account, reference) : down(),
      })
      const run = createSweep({ ...options, provider: failingOf(last.id) })
      expect(await run(never)).to.equal(1)
      expect(await orderOf(last, lost.id)).to.include({ status: 'paid' })
      expect(logged.length).to.be.within(64, 72)
    })
  })

  it('runs periodically until it is stopped', async () => {
    const sweeping = startSweep(options, 5)
    await until(() => asked() === 1)
    provider.put(paymentOf(order, { id: '8' }))
    await pass(HOUR)
    await until(async () => (await shop.orderNow(order.id)).status === 'paid')
    let go = () => {}
    provider.before = () => new Promise((resolve) => (go = resolve))
    await pass(24 * HOUR)
    await until(() => asked('8') === 3)
    let hasStopped = false
    const stopped = sweeping.stop().then(() => (hasStopped = true))
    expect((await shop.orderNow(order.id)).status).to.equal('paid')
    expect(hasStopped).to.equal(false)
    go()
    await stopped
    expect(asked('8')).to.equal(3)
  })

  it('logs an outage once, and other failures each time, with company and order', async () => {
    provider.before = () => Promise.reject(new ProviderUnavailable('down'))
    const sweeping = startSweep(options, 5)
    await until(async () => (await endLeases()) && asked() > 3)
    expect(logged).to.have.length(1)
    const fields = { company_id: shop.company.id, order_id: order.id }
    expect((logged[0] as unknown[])[2]).to.deep.equal(fields)
    provider.before = () => Promise.reject(new Error('a bug'))
    await until(async () => (await endLeases()) && logged.length > 1)
    await sweeping.stop()
  })

  for (const [schedule, ms] of [
    [[1, 2], 1000],
    [[10, 14, 60], 2000],
    [SWEEP_SECONDS, 30_000],
  ] as const)
    it(`runs every ${ms} ms for a schedule of ${schedule.slice(0, 3).join(', ')} s [PAY-9]`, () => {
      expect(sweepIntervalMs(schedule)).to.equal(ms)
    })

  it('does nothing after it is stopped', async () => {
    const sweeping = startSweep(options)
    await sweeping.stop()
    const stopping = new AbortController()
    stopping.abort()
    expect(await sweepOnce(options, stopping.signal)).to.equal(0)
    expect(provider.asked).to.deep.equal([])
  })

  it('deletes rows of orders without an attempt for a month', async () => {
    await sweep()
    await pass(29 * 24 * HOUR)
    expect(await purgeTables(shop.api.core.pool, 'payment_sweeps')).to.be.at.least(0)
    const { pool } = shop.api.core
    const mine = `select from ops.payment_sweeps where order_id = ${order.id}`
    expect((await pool.query(mine)).rowCount).to.equal(1)
    await pass(2 * 24 * HOUR)
    await purgeTables(pool, 'payment_sweeps')
    expect((await pool.query(mine)).rowCount).to.equal(0)
  })
})
