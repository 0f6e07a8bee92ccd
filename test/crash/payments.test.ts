import { expect } from 'chai'
import type { SandboxPayment } from '#demo/provider-sandbox/sandbox-book.ts'
import { type Sandbox, startSandbox } from '#demo/provider-sandbox/sandbox-console.tsx'
import { freePort } from '#postgres/embedded.ts'
import { type Json, send } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { type Service, startService } from '../support/process.ts'
import { until } from '../support/wait.ts'
import { openCompanies, type PlayedCompany } from './companies.ts'

const PATIENCE = { timeout_ms: 60_000, interval_ms: 20 }
const payer = { email: 'maria@example.com' }
const CARD = { method: 'card', brand: 'visa', token: 'APRO', payer }

describe('service killed between an operation at the provider and its own record', function () {
  this.timeout(180_000)
  const database = useDatabase()
  let sandbox: Sandbox
  let service: Service
  let shop: PlayedCompany
  let env: Record<string, string>

  before(async () => {
    sandbox = await startSandbox({ port: 0, secret: null })
    sandbox.notifier.delivery = 'lose'
    ;[shop] = (await openCompanies(database.url, 1, 'http://127.0.0.1:9/')) as [PlayedCompany]
    env = {
      DATABASE_URL: database.url,
      PORT: String(await freePort(null)),
      SEED_DEMO: 'false',
      PAYMENT_PROVIDER_URL: sandbox.url,
      LOG_LEVEL: 'error',
    }
    // No sweep runs before the kill.
    service = await startService({ ...env, PAYMENT_SWEEP_SECONDS: '3600' })
  })
  after(async () => {
    await service.kill()
    await sandbox.close()
  })

  const call = (method: string, path: string, body?: object, key?: string) =>
    send(`${service.url}/api/v1/orders${path}`, method, body, {
      authorization: `Bearer ${shop.key}`,
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    })
  const pay = (id: number, body: object, key = `pay-${id}`) => call('POST', `/${id}/payments`, body, key)
  const refund = (id: number) => call('POST', `/${id}/refunds`, { amount: '3.33' }, `refund-${id}`)
  const show = async (id: number): Promise<Json> => (await call('GET', `/${id}`)).body.data
  const paymentsOf = ({ provider_reference }: Json): SandboxPayment[] =>
    sandbox.book.all().filter(({ external_reference }) => external_reference === provider_reference)

  const coffee = () => [...shop.products.keys()][0] as number
  const ask = async (path: string): Promise<Json> =>
    (await send(`${service.url}/api/v1${path}`, 'GET', undefined, { authorization: `Bearer ${shop.key}` })).body.data

  async function placed(): Promise<Json> {
    const items = [{ catalog_item_id: coffee(), quantity: '2', unit_price: '23.15' }]
    return (await call('POST', '', { store_alias: shop.alias, customer: { name: 'Ana' }, items })).body.data
  }
  async function paid(): Promise<Json> {
    const order = await placed()
    expect((await pay(order.id, CARD)).body.data.status).to.equal('paid')
    return order
  }

  it('ends in the provider’s final state, with one sale per paid order [PAY-3, ORDER-8, ORDER-42]', async () => {
    const [asked, left] = [await placed(), await placed()]
    const [refunded, returned] = [await paid(), await paid()]
    const given = await placed()
    expect((await pay(given.id, { method: 'pix', payer })).status).to.equal(201)

    Object.assign(sandbox.faults, { mode: 'late', delay_ms: 60_000 })
    const calls = [
      pay(asked.id, CARD),
      pay(left.id, CARD),
      refund(refunded.id),
      refund(returned.id),
      call('POST', `/${given.id}/cancel`, {}, `cancel-${given.id}`),
    ]
    const lost = Promise.allSettled(calls)
    const isActed = () =>
      [asked, left].every((order) => paymentsOf(order).length === 1) &&
      [refunded, returned].every((order) => paymentsOf(order)[0]?.transaction_amount_refunded === 3.33) &&
      paymentsOf(given)[0]?.status === 'cancelled'
    await until(isActed, { ...PATIENCE, what: 'the deeds of the provider' })
    await service.kill()
    for (const { status } of await lost) expect(status).to.equal('rejected')
    Object.assign(sandbox.faults, { mode: 'none' })

    service = await startService({ ...env, PAYMENT_SWEEP_SECONDS: '1,2,4,8,16,32' })
    expect((await pay(asked.id, CARD)).body.data.status).to.equal('paid')
    expect((await refund(refunded.id)).body.data).to.include({ refunded_total: '3.33' })
    expect((await call('POST', `/${given.id}/cancel`, {}, `cancel-${given.id}`)).body.data.status).to.equal('cancelled')
    const isSwept = async () =>
      (await show(left.id)).status === 'paid' && (await show(returned.id)).refunded_total === '3.33'
    await until(isSwept, { ...PATIENCE, what: 'what nobody asked for again' })

    const ends = await Promise.all([asked, left, refunded, returned, given].map(({ id }) => show(id)))
    for (const order of ends) {
      const [payment, ...others] = paymentsOf(order)
      expect(others).to.deep.equal([])
      expect(order.payment.provider_payment_id).to.equal(String(payment?.id))
      expect(Number(order.refunded_total)).to.equal(payment?.transaction_amount_refunded)
      expect(order.alarms).to.deep.equal([])
      expect(order.refunds.map(({ status }: Json) => status)).to.deep.equal(payment?.refunds.map(() => 'completed'))
    }
    expect(ends.map(({ status, commission }) => [status, commission?.refunded])).to.deep.equal([
      ['paid', '0.00'],
      ['paid', '0.00'],
      // 5 % of 46.30 is 2.32, rounded half up; of the remaining 42.97, 2.15.
      ['paid', '0.17'],
      ['paid', '0.17'],
      ['cancelled', undefined],
    ])

    const sales: Json[] = await ask('/sales?origin=system&limit=100')
    expect(
      sales.map(({ order_id, status, refunded_total }) => [order_id, status, refunded_total]),
    ).to.have.deep.members(ends.slice(0, 4).map(({ id, refunded_total }) => [id, 'completed', refunded_total]))
    expect(ends.slice(0, 4).map(({ sale_id }) => sale_id)).to.have.members(sales.map(({ id }) => id))
    const { stock } = await ask(`/catalog/items/${coffee()}`)
    expect(Number(stock)).to.equal((shop.products.get(coffee()) as number) - 2 * sales.length)
  })
})
