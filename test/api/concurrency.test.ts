import { expect } from 'chai'
import { type Json, type Reply, send, type TestCompany } from '../support/api.ts'
import { type Service, startService } from '../support/process.ts'
import { OWN_DATABASE, useApi } from '../support/use-api.ts'

/** Number of responses by status. */
const statuses = (replies: readonly Reply[]) => {
  const counts: Record<number, number> = {}
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

async function itemWithStock(company: TestCompany, stock: string): Promise<number> {
  return (await company.post('/catalog/items', { name: 'Café 500 g', price: '18.90', stock })).body.data.id
}

const oneUnit = (item: number, payment: number) => ({
  items: [{ catalog_item_id: item, quantity: '1' }],
  payments: [{ payment_type_id: payment, amount: '18.90' }],
})

describe('sales under concurrency', () => {
  const api = useApi()
  let company: TestCompany
  let cash: number

  before(async () => {
    company = await api.company()
    cash = await company.paymentType('cash')
  })

  it('sell exactly the stock: of 50 concurrent sales of one unit from a stock of 20, 20 succeed [SALE-11]', async () => {
    const item = await itemWithStock(company, '20')
    const replies = await Promise.all(Array.from({ length: 50 }, () => company.post('/sales', oneUnit(item, cash))))
    expect(statuses(replies)).to.deep.equal({ 201: 20, 422: 30 })
    for (const { status, body } of replies) if (status === 422) expect(body.error.code).to.equal('insufficient_stock')
    expect((await company.get(`/catalog/items/${item}`)).body.data.stock).to.equal('0.000')
  })

  it('number the sales of each company from 1, without gaps for refused ones [LEDGER-9]', async () => {
    const shops = [await api.company(), await api.company()]
    for (const shop of shops) {
      const [item, payment] = [await itemWithStock(shop, '12'), await shop.paymentType('cash')]
      const replies = await Promise.all(Array.from({ length: 20 }, () => shop.post('/sales', oneUnit(item, payment))))
      const numbers = replies.filter(({ status }) => status === 201).map(({ body }) => body.data.id)
      expect(numbers.sort((a, b) => a - b)).to.deep.equal(Array.from({ length: 12 }, (_, n) => n + 1))
      expect([item, payment]).to.deep.equal([1, 1])
    }
  })

  it('make one sale of 20 requests with the same Idempotency-Key, with 20 equal responses [IDEM-6]', async () => {
    const item = await itemWithStock(company, '100')
    const headers = { 'idempotency-key': 'pedido-1' }
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => company.post('/sales', oneUnit(item, cash), headers)),
    )
    expect(statuses(replies)).to.deep.equal({ 201: 20 })
    expect(new Set(replies.map((reply) => reply.text)).size).to.equal(1)
    expect(replies.filter((reply) => reply.headers.get('idempotent-replayed') === 'true')).to.have.length(19)
    expect((await company.get(`/catalog/items/${item}`)).body.data.stock).to.equal('99.000')
  })

  it('accept one of 20 sales with the same external_id [SALE-12]', async () => {
    const item = await itemWithStock(company, '100')
    const sale = { ...oneUnit(item, cash), external_id: 'corrida' }
    const replies = await Promise.all(Array.from({ length: 20 }, () => company.post('/sales', sale)))
    expect(statuses(replies)).to.deep.equal({ 201: 1, 409: 19 })
    const id = replies.find((reply) => reply.status === 201)?.body.data.id
    for (const { status, body } of replies) if (status === 409) expect(body.error.details.conflicting_id).to.equal(id)
  })

  it('return the stock once for 20 concurrent cancellations of a sale [SALE-17]', async () => {
    const item = await itemWithStock(company, '5')
    const sale = (await company.post('/sales', oneUnit(item, cash))).body.data
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => company.post(`/sales/${sale.id}/cancel`, { reason: 'desistiu' })),
    )
    expect(statuses(replies)).to.deep.equal({ 200: 20 })
    expect(new Set(replies.map((reply) => reply.text)).size).to.equal(1)
    expect((await company.get(`/catalog/items/${item}`)).body.data.stock).to.equal('5.000')
  })

  it('never oversell under concurrent adjustments, sales and returns [SALE-11]', async () => {
    const item = await itemWithStock(company, '10')
    const work = Array.from({ length: 60 }, async (_, number) => {
      if (number % 3 === 0) return company.call('PATCH', `/catalog/items/${item}`, { stock_adjustment: '1' })
      const sold = await company.post('/sales', oneUnit(item, cash))
      return number % 3 === 1 && sold.status === 201 ? company.post(`/sales/${sold.body.data.id}/cancel`, {}) : sold
    })
    const replies = await Promise.all(work)
    const sold = replies.filter((reply) => reply.status === 201).length
    const stock = Number((await company.get(`/catalog/items/${item}`)).body.data.stock)
    expect(stock).to.equal(10 + 20 - sold)
    expect(stock).to.be.at.least(0)
  })
})

describe('a poller of updated_since', () => {
  const api = useApi()

  it("ends with exactly the writers' records, for any order of commits [LIST-5]", async () => {
    const company = await api.company()
    const copy = new Map<number, Json>()
    let since: string | null = null
    const poll = async () => {
      let cursor: string | null = null
      let synced: string | null = since
      do {
        const query = new URLSearchParams({
          limit: '7',
          ...(since ? { updated_since: since } : {}),
          ...(cursor ? { cursor } : {}),
        })
        const { status, body } = await company.get(`/customers?${query}`)
        expect(status).to.equal(200)
        for (const record of body.data) copy.set(record.id, record)
        // Position of the first page: the next poll finds changes made during paging.
        if (cursor === null) synced = body.meta.synced_at
        cursor = body.meta.next_cursor
      } while (cursor)
      since = synced
    }
    let writing = true
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let round = 0; round < 12; round++) {
        const external = `cliente-${writer}-${round % 5}`
        const reply = await company.call('PUT', `/customers/by-external/${external}`, {
          name: external,
          notes: `versão ${round}`,
        })
        // The first round creates the customer, later ones replace it.
        expect(reply.status).to.be.oneOf([200, 201])
      }
    })
    const polling = (async () => {
      while (writing) await poll()
    })()
    await Promise.all(writers)
    writing = false
    await polling
    await poll()
    const all = (await company.get('/customers?limit=200')).body.data as Json[]
    expect(all).to.have.length(40)
    expect([...copy.values()].sort((a, b) => a.id - b.id)).to.deep.equal(all)
  })
})

describe('two processes on one database', () => {
  const api = useApi(OWN_DATABASE)
  let services: Service[]

  before(async () => {
    const env = { DATABASE_URL: api.databaseUrl, QUOTA_PER_MINUTE: '100000', LOG_LEVEL: 'error' }
    services = await Promise.all([startService(env), startService(env)])
  })
  after(async () => {
    await Promise.all(services.map((service) => service.stop()))
  })

  it('sell exactly the stock together, and replay each other’s responses [SALE-11]', async () => {
    const company = await api.company()
    const cash = await company.paymentType('cash')
    const item = await itemWithStock(company, '20')
    const at = (number: number) => (services[number % 2] as Service).url
    const headers = { authorization: `Bearer ${company.key}` }
    const sell = (number: number, extra: Record<string, string> = {}) =>
      send(`${at(number)}/api/v1/sales`, 'POST', oneUnit(item, cash), { ...headers, ...extra })
    const replies = await Promise.all(Array.from({ length: 50 }, (_, number) => sell(number)))
    expect(statuses(replies)).to.deep.equal({ 201: 20, 422: 30 })
    expect((await company.get(`/catalog/items/${item}`)).body.data.stock).to.equal('0.000')
    await company.call('PATCH', `/catalog/items/${item}`, { stock: '10' })
    const same = await Promise.all(
      Array.from({ length: 20 }, (_, number) => sell(number, { 'idempotency-key': 'entre-dois' })),
    )
    expect(statuses(same)).to.deep.equal({ 201: 20 })
    expect(new Set(same.map((reply) => reply.text)).size).to.equal(1)
    expect((await company.get(`/catalog/items/${item}`)).body.data.stock).to.equal('9.000')
  })

  it('refuse a revoked key at once on both [KEY-5]', async () => {
    const company = await api.company()
    const { id, key } = await company.newKey(['catalog:read'])
    const ask = () =>
      Promise.all(
        services.map(({ url }) => send(`${url}/api/v1/me`, 'GET', undefined, { authorization: `Bearer ${key}` })),
      )
    expect(statuses(await ask())).to.deep.equal({ 200: 2 })
    const { revokeApiKey } = await import('#commands/webhook-commands.ts')
    await company.run(revokeApiKey, { id })
    expect(statuses(await ask())).to.deep.equal({ 401: 2 })
  })
})
