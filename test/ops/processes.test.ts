import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { createCustomer } from '#commands/person-commands.ts'
import { createFleet, type Fleet, times } from '../service/fleet.ts'
import { type Json, type Reply, send, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import type { Service } from '../support/process.ts'
import { until } from '../support/wait.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'

describe('two processes of each role on one database', function () {
  this.timeout(180_000)
  const database = useDatabase()
  /** Creates companies and reads the database; the fleet does the work. */
  let office: TestApi
  let fleet: Fleet
  let receiver: Receiver
  let company: TestCompany
  let cash: number
  /** Key for sales: an endpoint receives no events of its own key. */
  let seller: string

  before(async () => {
    office = await startApi(database.url)
    fleet = createFleet(database.url)
  })
  beforeEach(async () => {
    receiver = await startReceiver()
    company = await office.company()
    cash = await company.paymentType('cash')
    seller = (await company.newKey(['sales:write'])).key
  })
  afterEach(async () => {
    await fleet.close()
    await receiver.close()
  })
  after(() => office.close())

  const itemWithStock = async (stock: string): Promise<number> =>
    (await company.post('/catalog/items', { name: 'Café', price: '18.90', stock })).body.data.id
  const sell = (service: Service, item: number, key: string): Promise<Reply> =>
    send(
      `${service.url}/api/v1/sales`,
      'POST',
      {
        items: [{ catalog_item_id: item, quantity: '1' }],
        payments: [{ payment_type_id: cash, amount: '18.90' }],
      },
      { authorization: `Bearer ${seller}`, 'idempotency-key': key },
    )
  const stockOf = async (item: number): Promise<string> => (await company.get(`/catalog/items/${item}`)).body.data.stock
  const register = async (): Promise<string> => {
    const { id } = (await company.post('/webhooks', { url: receiver.url, events: ['basic'] })).body.data
    return `/webhooks/${id}/deliveries`
  }
  const addCustomers = (from: number, to: number) =>
    Promise.all(
      times(to - from, (n) =>
        company.run(createCustomer, { name: `Cliente ${from + n}`, person_type: 'PF' as const }, 'pdv'),
      ),
    )
  const allDelivered = (deliveries: string, count: number) =>
    until(
      async () => {
        const { data } = (await company.get(`${deliveries}?limit=200`)).body
        return data.length === count && data.every((delivery: Json) => delivery.status === 'delivered')
      },
      { timeout_ms: 60_000, what: `${count} deliveries` },
    )
  const sequences = () =>
    receiver.received.map(({ headers }) => Number(headers['x-service-sequence'])).sort((a, b) => a - b)
  /** Holds back responses until they are released; returns the number of held ones. */
  const holdAnswers = () => {
    const held: ServerResponse[] = []
    receiver.answer = (_received, response) => held.push(response)
    return {
      count: () => held.length,
      release() {
        receiver.answer = (_received, response) => response.writeHead(204).end()
        for (const response of held) response.writeHead(204).end()
      },
    }
  }

  it('sell exactly the stock, deliver each event once, and shut down cleanly [SALE-11, HOOK-11, OPS-4]', async () => {
    const services = await fleet.startAll('api', 'api', 'projector', 'projector', 'dispatcher', 'dispatcher')
    const [first, second, projector] = services as [Service, Service, Service]
    const deliveries = await register()
    const item = await itemWithStock('60')
    const replies = await Promise.all(times(80, (n) => sell(n % 2 === 0 ? first : second, item, `venda-${n}`)))
    expect(replies.filter(({ status }) => status === 201)).to.have.length(60)
    expect(replies.filter(({ body }) => body.error?.code === 'insufficient_stock')).to.have.length(20)
    expect(await stockOf(item)).to.equal('0.000')
    await allDelivered(deliveries, 60)
    expect(sequences()).to.deep.equal(times(60, (n) => n + 1))

    expect((await send(`${projector.url}/api/v1/me`, 'GET')).status).to.equal(404)
    const live = await Promise.all(services.map(({ url }) => send(`${url}/health/live`, 'GET')))
    expect(live.map(({ status }) => status)).to.deep.equal(times(6, () => 200))
    expect(await Promise.all(services.map((service) => service.stop()))).to.deep.equal(times(6, () => 0))
  })

  it('lose and duplicate no sale if an api process is killed [OPS-5]', async () => {
    const [doomed, other] = (await fleet.startAll('api', 'api')) as [Service, Service]
    const item = await itemWithStock('500')
    let answered = 0
    const selling = times(200, async (n) => {
      const reply = await sell(doomed, item, `venda-${n}`).catch(() => null)
      answered += 1
      return reply
    })
    await until(() => answered > 0, { interval_ms: 1 })
    await doomed.kill()
    const replies = await Promise.all(selling)
    const lost = replies.flatMap((reply, n) => (reply?.status === 201 ? [] : [n]))
    expect(lost).not.to.have.length(0)
    const repeated = await Promise.all(lost.map((n) => sell(other, item, `venda-${n}`)))
    expect(new Set(repeated.map(({ status }) => status))).to.deep.equal(new Set([201]))
    const ids = [...replies, ...repeated].flatMap((reply) => (reply?.status === 201 ? [reply.body.data.id] : []))
    expect(new Set(ids).size).to.equal(200)
    expect(await stockOf(item)).to.equal('300.000')
  })

  it('answer every request while one api process is stopped under load [OPS-6]', async () => {
    const [leaving, staying] = (await Promise.all([
      fleet.start('api', { STOP_DELAY_SECONDS: '5' }),
      fleet.start('api'),
    ])) as [Service, Service]
    const item = await itemWithStock('1000000')
    let target = leaving
    let sold = 0
    let isEnough = false
    const clients = times(8, async (client) => {
      for (let n = 0; !isEnough; n++) {
        const reply = await sell(target, item, `${client}-${n}`)
        expect(reply.status).to.equal(201)
        sold += 1
      }
    })
    const ending = (async () => {
      await until(() => sold > 40)
      const code = leaving.stop()
      // Like a load balancer: checks readiness, and sends no requests to a process that is not ready.
      const ready = await until(async () => {
        const reply = await send(`${leaving.url}/health/ready`, 'GET')
        return reply.status === 503 && reply
      })
      expect(ready.body).to.deep.equal({ status: 'not_ready', parts: { postgres: 'up', service: 'stopping' } })
      target = staying
      expect(await code).to.equal(0)
      isEnough = true
    })()
    await Promise.all([ending, ...clients]).finally(() => {
      isEnough = true
    })
    expect(await stockOf(item)).to.equal(`${1_000_000 - sold}.000`)
  })

  it('deliveries of a killed dispatcher are taken over when its lease ends [HOOK-23]', async () => {
    const [doomed] = (await fleet.startAll('dispatcher', 'dispatcher')) as [Service]
    const deliveries = await register()
    await addCustomers(0, 1)
    await allDelivered(deliveries, 1)
    const held = holdAnswers()
    await addCustomers(1, 20)
    await until(() => held.count() >= 4)
    await doomed.kill()
    // Expires the leases to shorten the test. Leases of the survivor may expire too, which repeats a delivery.
    await office.core.pool.query(
      `update ops.webhook_deliveries set next_attempt_at = now(), leased_until = null where status = 'pending' and company_id = $1`,
      [company.id],
    )
    held.release()
    await allDelivered(deliveries, 20)
    expect(new Set(sequences()).size).to.equal(20)
  })

  it('complete deliveries under way if a dispatcher is stopped, and send nothing twice [OPS-6]', async () => {
    const [leaving] = (await fleet.startAll('dispatcher', 'dispatcher')) as [Service]
    const deliveries = await register()
    await addCustomers(0, 1)
    await allDelivered(deliveries, 1)
    const held = holdAnswers()
    await addCustomers(1, 20)
    await until(() => held.count() >= 4)
    const code = leaving.stop()
    await until(async () => (await send(`${leaving.url}/health/ready`, 'GET').catch(() => null))?.status !== 200)
    held.release()
    expect(await code).to.equal(0)
    await allDelivered(deliveries, 20)
    expect(sequences()).to.deep.equal(times(20, (n) => n + 1))
  })
})
