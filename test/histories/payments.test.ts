import { expect } from 'chai'
import fc from 'fast-check'
import { v7 as uuidv7 } from 'uuid'
import { createItem } from '#commands/item-commands.ts'
import { startPayment } from '#commands/order-attempts.ts'
import { placeOrder } from '#commands/order-commands.ts'
import { MOVES, type Move, type SandboxPayment } from '#demo/provider-sandbox/sandbox-book.ts'
import { type Sandbox, startSandbox } from '#demo/provider-sandbox/sandbox-console.tsx'
import { FORGERIES, forgery } from '#demo/provider-sandbox/sandbox-server.ts'
import { type OrderStatus, readStatus } from '#domain/order-states.ts'
import type { DataOf } from '#events/catalogue.ts'
import { type Envelope, streamName } from '#ledger/command.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import { createProviderClient } from '#payments/provider-client.ts'
import { type PaymentProvider, ProviderUnavailable } from '#payments/provider-port.ts'
import { sweepOnce } from '#payments/sweep.ts'
import type { OrderObject } from '#projections/orders.ts'
import type { SaleObject } from '#projections/sales.ts'
import { addressOf, type OnlineStore, openOnlineStore, SECRET } from '../payment-notifications/online-store.ts'
import type { Reply } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { explore } from '../support/random.ts'

/** Stock of the ordered item at first, and ordered quantity. */
const [STOCK, ORDERED] = [100, 2]

/** Crash of a step: not executed, or executed without a response. */
type Crash = 'before' | 'after'

type Action =
  /** Payment attempt; its steps may crash, and its caller may retry. */
  | { do: 'pay'; token?: string; provider?: Crash; writes: (Crash | null)[]; isRepeated: boolean }
  /** Transition of a payment at the provider. */
  | { do: 'move'; payment: number; move: Move }
  /** Concurrent notifications of payments; the writer may crash. */
  | { do: 'tell'; payments: number[]; writes: (Crash | null)[] }
  /** Concurrent: a payment changes during its notifications. */
  | { do: 'race'; payment: number; move: Move; times: number }
  /** Refund through the service; it may crash, be repeated or run concurrently. */
  | { do: 'refund'; cents: number | null; back: number; provider?: Crash; writes: (Crash | null)[]; times: number }
  /** Partial refund on the provider's site. */
  | { do: 'part'; payment: number; cents: number }
  | { do: 'cancel' }
  | { do: 'forge'; payment: number; lies: (typeof FORGERIES)[number][] }

const RANK: Readonly<Record<OrderStatus, number>> = { pending: 0, failed: 1, cancelled: 1, paid: 2, refunded: 3 }

const statusOf = ({ status, status_detail }: SandboxPayment) => readStatus(status, status_detail)?.status

const cents = (amount: number): number => Math.round(amount * 100)

const crash = fc.constantFrom<Crash>('before', 'after')
const payment = fc.nat(5)
const move = fc.constantFrom(...(Object.keys(MOVES) as Move[]))
const writes = fc.array(fc.option(crash), { maxLength: 2 })

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record(
      {
        do: fc.constant('pay' as const),
        token: fc.constantFrom('APRO', 'OTHE', 'CONT'),
        provider: crash,
        writes,
        isRepeated: fc.boolean(),
      },
      { requiredKeys: ['do', 'writes', 'isRepeated'] },
    ),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('move' as const), payment, move }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('tell' as const), payments: fc.array(payment, { maxLength: 4 }), writes }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('race' as const), payment, move, times: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record(
      {
        do: fc.constant('refund' as const),
        cents: fc.option(fc.constantFrom(1, 333, 1000, 4630)),
        back: fc.constantFrom(0, 0, 1, 2),
        provider: crash,
        writes,
        times: fc.constantFrom(1, 2, 12),
      },
      { requiredKeys: ['do', 'cents', 'back', 'writes', 'times'] },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('part' as const), payment, cents: fc.constantFrom(1, 333, 2000) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('forge' as const),
      payment,
      lies: fc.subarray([...FORGERIES], { minLength: 4 }),
    }),
  },
)

describe('an order, for any transitions and notifications of its payments,', function () {
  this.timeout(120_000)
  const database = useDatabase()
  let sandbox: Sandbox
  let client: ReturnType<typeof createProviderClient>
  let shop: OnlineStore
  let alias: string
  let keys = 0

  /** Faults of the next steps, in order. */
  const writerFaults: (Crash | null)[] = []
  const providerFaults: Crash[] = []

  const crashing = (writer: Writer): Writer => ({
    ...writer,
    async around(_request, write) {
      const fault = writerFaults.shift() ?? null
      if (fault === 'before') throw new Unavailable('crashed before the commit')
      const answer = await write()
      if (fault === 'after') throw new Unavailable('crashed after the commit')
      return answer
    },
  })

  before(async () => {
    sandbox = await startSandbox({ port: 0, secret: SECRET })
    sandbox.notifier.delivery = 'lose'
    client = createProviderClient({ baseUrl: sandbox.url })
    const provider: PaymentProvider = {
      ...client,
      async createPayment(...args) {
        const fault = providerFaults.shift()
        if (fault === 'before') throw new ProviderUnavailable('crashed before the payment')
        const made = await client.createPayment(...args)
        if (fault === 'after') throw new ProviderUnavailable('crashed after the payment')
        return made
      },
      async createRefund(...args) {
        const fault = providerFaults.shift()
        if (fault === 'before') throw new ProviderUnavailable('crashed before the refund')
        const made = await client.createRefund(...args)
        if (fault === 'after') throw new ProviderUnavailable('crashed after the refund')
        return made
      },
    }
    shop = await openOnlineStore(database.url, { provider, wrapWriter: crashing, log: () => {} })
    alias = await shop.store({ secret: SECRET })
  })
  after(async () => {
    await shop.close()
    await client.close()
    await sandbox.close()
  })

  const account = 'TEST-token'
  /** Payments of an order with its amount, oldest first; forgeries create others. */
  const ofOrder = ({ provider_reference }: OrderObject): SandboxPayment[] =>
    sandbox.book
      .find(account, provider_reference)
      .filter(({ transaction_amount }) => transaction_amount === 46.3)
      .reverse()

  /** An order over 46.30 for two of a new item, with an attempt to pay it. */
  async function orderGoods(): Promise<OrderObject> {
    const item = { type: 'product', name: 'Cesta', price: '23.15', stock: String(STOCK) } as const
    const { id: catalog_item_id } = await shop.company.run(createItem, item)
    const items = [{ catalog_item_id, quantity: String(ORDERED) }]
    const { id } = await shop.company.run(placeOrder, { store_alias: alias, customer: { name: 'Maria' }, items })
    const attempt = { id, attempt_id: uuidv7(), idempotency_key: null, payment_method_id: 'pix' }
    return shop.company.run(startPayment, attempt)
  }

  async function tell(order: OrderObject, payment: SandboxPayment): Promise<void> {
    await sandbox.notifier.send(sandbox.notifier.make(payment, { url: addressOf(shop.api.url, alias, order.id) }))
  }

  async function pay(order: OrderObject, { token, provider, writes, isRepeated }: Action & { do: 'pay' }) {
    const before = ofOrder(order).length
    const headers = { 'idempotency-key': `key-${++keys}` }
    const payer = { email: 'maria@example.com' }
    const body = token ? { method: 'card', brand: 'visa', token, payer } : { method: 'pix', payer }
    const post = (): Promise<Reply> => shop.company.post(`/orders/${order.id}/payments`, body, headers)
    writerFaults.push(...writes)
    if (provider) providerFaults.push(provider)
    let { status } = await post()
    writerFaults.length = 0
    providerFaults.length = 0
    if (isRepeated && status === 503) status = (await post()).status
    // By the random fault: done, refused by the order or the provider, or to be repeated.
    expect(status).to.be.oneOf([201, 409, 422, 503])
    // One charge at most, for any retries and crashes.
    expect(ofOrder(order).length - before).to.be.at.most(1)
  }

  const refundedOf = (order: OrderObject): number =>
    ofOrder(order).reduce((sum, { transaction_amount_refunded }) => sum + cents(transaction_amount_refunded), 0)

  async function refund(order: OrderObject, action: Action & { do: 'refund' }) {
    const before = refundedOf(order)
    const headers = { 'idempotency-key': `refund-${++keys}` }
    const [{ catalog_item_id } = { catalog_item_id: null }] = order.items
    const body = {
      ...(action.cents !== null && { amount: (action.cents / 100).toFixed(2) }),
      ...(action.back > 0 && { restock: [{ catalog_item_id, quantity: String(action.back) }] }),
    }
    const post = () => shop.company.post(`/orders/${order.id}/refunds`, body, headers)
    writerFaults.push(...action.writes)
    if (action.provider) providerFaults.push(action.provider)
    const replies = await Promise.all(Array.from({ length: action.times }, post))
    writerFaults.length = 0
    providerFaults.length = 0
    // By the random fault: done, refused by the order or the provider, or to be repeated.
    for (const { status, text } of replies) expect(status, text).to.be.oneOf([201, 409, 422, 503])
    // Once, for any number of requests.
    // Refused, or refunded once.
    if (action.cents !== null) expect(refundedOf(order) - before).to.be.oneOf([0, action.cents])
  }

  async function forge(order: OrderObject, subject: SandboxPayment, as: (typeof FORGERIES)[number]) {
    const other = await shop.order(alias)
    // The payment of this order, sent to the URL of the other one; other forgeries to their own.
    const url = addressOf(shop.api.url, alias, as === 'other_order' ? other.id : order.id)
    const [forged, claims] = forgery(sandbox, subject, as, url)
    const revision = await shop.revision()
    const { sent } = await sandbox.notifier.send(sandbox.notifier.make(forged, { ...claims, url }))
    expect(sent.at(-1)?.answer, as).not.to.include('"processed":true')
    expect(await shop.revision(), as).to.equal(revision)
  }

  async function perform(order: OrderObject, action: Action): Promise<void> {
    if (action.do === 'pay') return pay(order, action)
    if (action.do === 'refund') return refund(order, action)
    if (action.do === 'cancel') {
      const { status } = await shop.company.post(`/orders/${order.id}/cancel`, {})
      // 409 if money was received before.
      expect(status).to.be.oneOf([200, 409])
      return
    }
    const payments = ofOrder(order)
    const pick = (n: number) => payments[n % payments.length] as SandboxPayment
    if (payments.length === 0) return
    if (action.do === 'move') void sandbox.book.move(String(pick(action.payment).id), action.move)
    if (action.do === 'part') void sandbox.book.refund(String(pick(action.payment).id), action.cents / 100)
    if (action.do === 'forge') for (const as of action.lies) await forge(order, pick(action.payment), as)
    if (action.do === 'tell') {
      writerFaults.push(...action.writes)
      await Promise.all(action.payments.map((n) => tell(order, pick(n))))
      writerFaults.length = 0
    }
    if (action.do === 'race') {
      const { id } = pick(action.payment)
      const told = Array.from({ length: action.times }, () => tell(order, pick(action.payment)))
      sandbox.book.move(String(id), action.move)
      await Promise.all([...told, tell(order, pick(action.payment))])
    }
  }

  /** Status of the order by the provider's records. */
  function expectedStatus(order: OrderObject): string {
    const statuses = ofOrder(order).map(statusOf)
    const last = order.payments.findLast((each) => each.provider_payment_id !== null)
    return (
      ['paid', 'pending', 'refunded'].find((status) => statuses.some((each) => each === status)) ??
      (order.cancelled_at === null ? (last?.status ?? 'pending') : 'cancelled')
    )
  }

  /** Refunded or charged-back amount of a payment by the provider's records. */
  const gone = (payment: SandboxPayment): number =>
    statusOf(payment) === 'refunded' ? 4630 : cents(payment.transaction_amount_refunded)

  async function assertEnd(id: number, events: readonly Envelope[]): Promise<void> {
    const order = await shop.orderNow(id)
    const known = Object.fromEntries(
      order.payments.filter((each) => each.provider_payment_id).map((each) => [each.provider_payment_id, each.status]),
    )
    const truth = Object.fromEntries(ofOrder(order).map((each) => [String(each.id), statusOf(each)]))
    expect(known).to.deep.equal(truth)
    expect(order.status).to.equal(expectedStatus(order))
    expect(cents(Number(order.refunded_total))).to.equal(ofOrder(order).reduce((sum, each) => sum + gone(each), 0))
    expect(order.refunds.filter(({ status }) => status === 'pending')).to.deep.equal([])
    expect(order.released_at !== null).to.equal(events.some(({ type }) => type === 'OrderPaid'))
    if (order.status === 'paid') {
      expect(order.payment).to.include({ status: 'paid' })
      const carrier = cents(Number(order.payment?.refunded))
      const kept = Math.round(((4630 - carrier) * 5) / 100 + 1e-9)
      expect(order.commission).to.include({
        amount: '2.32',
        store_amount: '43.98',
        reversed_at: null,
        refunded: ((232 - kept) / 100).toFixed(2),
      })
    } else if (order.commission) expect(order.commission.reversed_at).to.be.a('string')
  }

  /**
   * The sale follows the money: one completed sale of a paid order, with what was given back of it, and none of another
   * one. Goods are out as often as sales and refunds say, and never more than were ordered.
   */
  async function assertSale(id: number): Promise<void> {
    const order = await shop.orderNow(id)
    const { pool } = shop.api.core
    const sales = await pool.query<{ id: number; doc: SaleObject; returned: number }>(
      `select s.id, s.doc, coalesce((select sum(r.cents) from read.sale_returns r
         where r.company_id = s.company_id and r.sale_id = s.id), 0)::bigint as returned
       from read.sales s where s.company_id = $1 and (s.doc ->> 'order_id')::bigint = $2 order by s.id`,
      [shop.company.id, id],
    )
    const completed = sales.rows.filter(({ doc }) => doc.status === 'completed')
    expect(completed.map((sale) => sale.id)).to.deep.equal(order.status === 'paid' ? [order.sale_id] : [])
    expect(order.sale_id).to.equal(sales.rows.at(-1)?.id ?? null)
    for (const { doc, returned } of completed) {
      expect(doc).to.include({ total: '46.30', origin: 'system', refunded_total: order.payment?.refunded })
      expect(Number(returned)).to.equal(cents(Number(doc.refunded_total)))
    }
    const [line] = order.items
    const { rows } = await pool.query('select stock from read.item_stocks where company_id = $1 and id = $2', [
      shop.company.id,
      line?.catalog_item_id,
    ])
    const out = Number(order.goods_out?.[0]?.quantity ?? 0)
    expect(Number(rows[0].stock)).to.equal(STOCK - out)
    expect(out).to.be.within(0, ORDERED)
    const back = order.refunds
      .filter(({ status }) => status === 'completed')
      .reduce((sum, { restock }) => sum + Number(restock[0]?.quantity ?? 0), 0)
    if (sales.rows.length === 0) expect(order.goods_out).to.equal(null)
    else if (sales.rows.length === 1) expect(out).to.equal(ORDERED - back)
    else expect(out).to.be.at.least(ORDERED - back)
  }

  async function eventsOf(id: number, from: number): Promise<Envelope[]> {
    const events: Envelope[] = []
    for await (const event of shop.api.core.store.read(streamName(shop.company.id), from))
      if (event.subject === `order/${id}`) events.push(event)
    return events
  }

  /** Each payment only moved forward, and its commission was split once each time it carried the order. */
  function assertHistory(events: readonly Envelope[]): void {
    const states = new Map<string, DataOf<'PaymentRecorded'>['status']>()
    let carriers = 0
    for (const { type, data } of events) {
      if (type === 'CommissionSplit') carriers += 1
      if (type === 'CommissionReversed') carriers -= 1
      expect(carriers).to.be.within(0, 1)
      if (type !== 'PaymentRecorded') continue
      const { provider_payment_id, status, dispute } = data as DataOf<'PaymentRecorded'>
      const before = states.get(provider_payment_id)
      const isBack = before === 'refunded' && status === 'paid'
      if (isBack) expect(dispute).to.equal('won')
      else if (before) expect(RANK[status]).to.be.at.least(RANK[before])
      states.set(provider_payment_id, status)
    }
  }

  it('ends in the provider’s final state, and its sale and goods with it [ORDER-8, ORDER-42, ORDER-46]', async () => {
    await explore(
      fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 14 }), async (actions) => {
        const from = await shop.revision()
        const order = await orderGoods()
        for (const each of actions) await perform(order, each)
        const { pool, vault, writer } = shop.api.core
        const log = (message: string, error: unknown) => expect.fail(`${message}: ${error}`)
        await sweepOnce({ pool, vault, writer, provider: client, schedule: [0], log }, new AbortController().signal)
        const events = await eventsOf(order.id, from)
        await assertEnd(order.id, events)
        await assertSale(order.id)
        assertHistory(events)
      }),
      40,
    )
  })
})
