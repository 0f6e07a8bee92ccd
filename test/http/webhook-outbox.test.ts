import { expect } from 'chai'
import { v7 as uuidv7 } from 'uuid'
import { createCustomer } from '../../commands/customers/create-customer.ts'
import { registerSale } from '../../commands/sales/register-sale.ts'
import { isRefusal } from '../../src/ledger/command.ts'
import { operate } from '../../src/ledger/operation.ts'
import type { Answer } from '../../src/ledger/unit-of-work.ts'
import { type ReplayResult, replayMessages } from '../../src/webhooks/deliveries.ts'
import { expectInvalid, expectProblem } from '../support/answers.ts'
import { type Json, send, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'

interface Queued {
  id: string
  event: string
  revision: number | null
  sequence: number | null
  replay: boolean
  status: string
  body: string
}

describe('webhook outbox', () => {
  const database = useDatabase()
  let api: TestApi
  /** Whose key causes the events, and whose registers the addresses. */
  let company: TestCompany
  let registrar: string

  before(async () => {
    api = await startApi(database.url)
  })
  beforeEach(async () => {
    company = await api.company()
    registrar = (await company.newKey(['webhooks:manage', 'customers:write'])).key
  })
  after(() => api.close())

  const asRegistrar = (method: string, path: string, body?: object, headers = {}) =>
    send(`${api.url}/api/v1${path}`, method, body, { authorization: `Bearer ${registrar}`, ...headers })

  async function register(events: readonly string[] = ['*']): Promise<number> {
    const reply = await asRegistrar('POST', '/webhooks', { url: 'https://erp.example/eventos', events })
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data.id
  }

  /** What waits for an address, in the order of its sequence. */
  async function queued(webhook: number): Promise<Queued[]> {
    const { rows } = await api.core.pool.query<Queued>(
      `select d.id, d.event, d.revision, d.sequence, d.replay, d.status, m.body
       from webhook_deliveries d join webhook_messages m on m.company_id = d.company_id and m.id = d.message_id
       where d.webhook_id = $1 order by d.sequence nulls last, d.id`,
      [webhook],
    )
    return rows
  }

  const customer = async (name: string): Promise<Json> => (await company.post('/customers', { name })).body.data

  it('has what the GET of the record answers, when and whence', async () => {
    const webhook = await register()
    const reply = await company.post('/customers', { name: 'Ana', phone: '11 91234-0001' })
    const [delivery, ...others] = await queued(webhook)
    expect(others).to.deep.equal([])
    const revision = Number(reply.headers.get('x-ledger-revision'))
    expect(delivery).to.include({ event: 'customer.created', revision, sequence: 1, replay: false, status: 'pending' })
    const { id } = reply.body.data
    const { data } = (await company.get(`/customers/${id}`)).body
    const body = JSON.parse(delivery?.body ?? '')
    expect(Object.keys(body)).to.deep.equal(['event', 'occurred_at', 'origin', 'data'])
    expect(body).to.deep.equal({ event: 'customer.created', occurred_at: data.created_at, origin: 'api', data })
  })

  it('tells every outbound event of the contract, once, with the record as it is then', async () => {
    const webhook = await register()
    const cash = await company.paymentType('cash')
    const client = await customer('Ana')
    await company.call('PATCH', `/customers/${client.id}`, { notes: 'cliente antiga' })
    const item = (await company.post('/catalog/items', { name: 'Café', price: '10.00', stock: '5' })).body.data
    await company.call('PATCH', `/catalog/items/${item.id}`, { price: '12.00', stock: '9' })
    const changed = (await company.get(`/catalog/items/${item.id}`)).body.data
    const account = { description: 'Conta', amount: '10.00', due_date: '2020-01-31' }
    const receivable = (await company.post('/finance/receivables', account)).body.data
    const overdue = (await company.get(`/finance/receivables/${receivable.id}`)).body.data
    const payable = (await company.post('/finance/payables', account)).body.data
    const settle = (side: string, id: number) =>
      company.post(`/finance/${side}/${id}/settle`, { payment_method: 'pix' }, { 'idempotency-key': side })
    await settle('receivables', receivable.id)
    await settle('payables', payable.id)
    const sold = await company.post('/sales', {
      items: [{ catalog_item_id: item.id, quantity: '2' }],
      payments: [{ payment_type_id: cash, amount: '24.00' }],
    })
    const sale = (await company.get(`/sales/${sold.body.data.id}`)).body.data
    await company.post(`/sales/${sale.id}/cancel`, { reason: 'engano' })
    const told = await queued(webhook)
    expect(told.map(({ event }) => event)).to.deep.equal([
      'customer.created',
      'customer.updated',
      'catalog_item.created',
      'catalog_item.updated',
      'receivable.created',
      'receivable.settled',
      'payable.settled',
      'sale.completed',
      'sale.cancelled',
    ])
    expect(told.map(({ sequence }) => sequence)).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8, 9])
    const data = told.map(({ body }) => JSON.parse(body).data)
    // Price and stock of the same call, though the ledger holds two events.
    expect(data[3]).to.deep.equal(changed)
    expect(data[4]).to.deep.equal(overdue)
    expect(data[5].status).to.equal('settled')
    expect(data[7]).to.deep.equal(sale)
    expect(data[8]).to.deep.equal((await company.get(`/sales/${sale.id}`)).body.data)
  })

  it('tells of other channels whence they are', async () => {
    const webhook = await register()
    await company.run(createCustomer, { name: 'Bia' } as never, 'system')
    const cash = await company.paymentType('cash')
    const lines = [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }]
    await company.run(registerSale, { items: lines, payments: [{ payment_type_id: cash, amount: '10.00' }] }, 'pdv')
    expect((await queued(webhook)).map(({ body }) => JSON.parse(body).origin)).to.deep.equal(['system', 'pdv'])
  })

  it('asks no address for what it does not want, is off, or did itself', async () => {
    const sales = await register(['sale.completed'])
    const off = await register()
    await asRegistrar('POST', `/webhooks/${off}/disable`)
    const all = await register()
    await customer('Ana')
    const own = await asRegistrar('POST', '/customers', { name: 'Feita por quem registrou' })
    expect(own.status).to.equal(201)
    expect(await queued(sales)).to.deep.equal([])
    expect(await queued(off)).to.deep.equal([])
    expect((await queued(all)).map(({ body }) => JSON.parse(body).data.name)).to.deep.equal(['Ana'])
  })

  it('numbers deliveries of an address without gaps, also when many are made at once', async () => {
    const webhook = await register()
    const names = Array.from({ length: 40 }, (_, index) => `Cliente ${index}`)
    const items = names.map((name, index) => ({ name: `${name} do lote`, external_id: `l-${index}` }))
    await Promise.all([...names.map(customer), company.post('/customers/batch', { items })])
    const told = await queued(webhook)
    expect(told.map(({ sequence }) => sequence)).to.deep.equal(Array.from({ length: 80 }, (_, index) => index + 1))
    const revisions = told.map(({ revision }) => revision ?? 0)
    expect(revisions).to.deep.equal([...revisions].sort((a, b) => a - b))
  })

  it('says nothing of what is refused, changes nothing, or is deleted', async () => {
    const { id } = await customer('Ana')
    const webhook = await register()
    expectProblem(await company.post('/customers', { name: 'ana' }), 409, 'duplicate_resource')
    await company.call('PATCH', `/customers/${id}`, { name: 'Ana' })
    await company.call('DELETE', `/customers/${id}`)
    expect(await queued(webhook)).to.deep.equal([])
  })

  it('is not filled again by a rebuild', async () => {
    const webhook = await register()
    await customer('Ana')
    const before = await queued(webhook)
    await api.core.rebuild()
    expect(await queued(webhook)).to.deep.equal(before)
    await customer('Bia')
    expect((await queued(webhook)).map(({ sequence }) => sequence)).to.deep.equal([1, 2])
  })

  it('keeps no messages for a company without addresses', async () => {
    await customer('Ana')
    const { rows } = await api.core.pool.query('select 1 from webhook_messages where company_id = $1', [company.id])
    expect(rows).to.deep.equal([])
  })

  describe('operations', () => {
    it('test queues one delivery that belongs to no event', async () => {
      const webhook = await register(['sale.completed'])
      const reply = await asRegistrar('POST', `/webhooks/${webhook}/test`)
      expect(reply.status).to.equal(200)
      expect(reply.body.data).to.deep.include({
        webhook_id: webhook,
        event: 'webhook.test',
        revision: null,
        sequence: null,
      })
      const [test] = await queued(webhook)
      expect(test?.id).to.equal(reply.body.data.id)
      expect(JSON.parse(test?.body ?? '')).to.deep.include({ event: 'webhook.test', origin: 'system' })
      const shown = await asRegistrar('GET', `/webhooks/${webhook}/deliveries/${test?.id}`)
      expect(shown.body.data).to.deep.equal(reply.body.data)
    })

    it('test comes before all that waits for the address', async () => {
      const webhook = await register()
      await customer('Ana')
      await api.core.pool.query(
        `update webhook_deliveries set next_attempt_at = now() - interval '1 hour' where webhook_id = $1`,
        [webhook],
      )
      const { data } = (await asRegistrar('POST', `/webhooks/${webhook}/test`)).body
      expect(data.next_attempt_at).to.equal(data.created_at)
      const { rows } = await api.core.pool.query(
        'select id from webhook_deliveries where webhook_id = $1 order by next_attempt_at limit 1',
        [webhook],
      )
      expect(rows).to.deep.equal([{ id: data.id }])
    })

    it('are done once under one key, also at once', async () => {
      const webhook = await register()
      const headers = { 'idempotency-key': 'teste' }
      const replies = await Promise.all(
        Array.from({ length: 10 }, () => asRegistrar('POST', `/webhooks/${webhook}/test`, undefined, headers)),
      )
      expect(new Set(replies.map((reply) => reply.text)).size).to.equal(1)
      expect(replies.filter((reply) => reply.headers.get('idempotent-replayed') === 'true')).to.have.length(9)
      expect(await queued(webhook)).to.have.length(1)
      const other = await asRegistrar('POST', `/webhooks/${webhook}/replay`, {}, headers)
      expectProblem(other, 409, 'idempotency_key_reuse')
    })

    it('redeliver makes a delivery due again, whatever became of it', async () => {
      const webhook = await register()
      await customer('Ana')
      const [first] = await queued(webhook)
      await api.core.pool.query(
        `update webhook_deliveries set status = 'failed', tries = 6, next_attempt_at = null,
                attempts = '[{"at":"2026-11-21T12:00:00Z","status":500,"duration_ms":3,"error":null,"response":"ops"}]'
         where id = $1`,
        [first?.id],
      )
      const reply = await asRegistrar('POST', `/webhooks/${webhook}/deliveries/${first?.id}/redeliver`)
      expect(reply.body.data).to.deep.include({ id: first?.id, sequence: 1, status: 'pending' })
      expect(reply.body.data.attempts).to.deep.equal([
        { at: '2026-11-21T09:00:00.000-03:00', status: 500, duration_ms: 3, error: null, response: 'ops' },
      ])
      expect(reply.body.data.next_attempt_at).to.be.a('string')
      const missing = '00000000-0000-7000-8000-000000000000'
      for (const id of [missing, 'x', '7']) {
        const refused = await asRegistrar('POST', `/webhooks/${webhook}/deliveries/${id}/redeliver`)
        expectProblem(refused, 404, 'not_found')
      }
    })

    it('replay makes new deliveries of all that an address wants, also of what it missed', async () => {
      const webhook = await register(['customer.created'])
      await asRegistrar('POST', `/webhooks/${webhook}/disable`)
      const first = await company.post('/customers', { name: 'Ana' })
      await company.post('/catalog/items', { name: 'Café', price: '1.00' })
      await asRegistrar('POST', '/customers', { name: 'Feita por quem registrou' })
      const last = await company.post('/customers', { name: 'Bia' })
      expect(await queued(webhook)).to.deep.equal([])
      expectProblem(await asRegistrar('POST', `/webhooks/${webhook}/replay`, {}), 409, 'webhook_disabled')
      await asRegistrar('POST', `/webhooks/${webhook}/enable`)
      const all = await asRegistrar('POST', `/webhooks/${webhook}/replay`, {})
      const lastRevision = Number(last.headers.get('x-ledger-revision'))
      expect(all.body.data).to.deep.equal({ deliveries: 2, last_revision: lastRevision, has_more: false })
      const after = Number(first.headers.get('x-ledger-revision'))
      const some = await asRegistrar('POST', `/webhooks/${webhook}/replay`, { after })
      expect(some.body.data.deliveries).to.equal(1)
      const told = await queued(webhook)
      expect(told.map(({ sequence, replay }) => [sequence, replay])).to.deep.equal([
        [1, true],
        [2, true],
        [3, true],
      ])
      expect(told.map(({ body }) => JSON.parse(body).data.name)).to.deep.equal(['Ana', 'Bia', 'Bia'])
      const none = await asRegistrar('POST', `/webhooks/${webhook}/replay`, { after: lastRevision })
      expect(none.body.data).to.deep.equal({ deliveries: 0, last_revision: null, has_more: false })
      for (const wrong of [-2, 1.5, '1', null]) {
        expectInvalid(await asRegistrar('POST', `/webhooks/${webhook}/replay`, { after: wrong }), ['after'])
      }
    })

    it('replay stops where it has made or looked at so many, and says where to go on', async () => {
      const webhook = await register(['customer.created'])
      for (const name of ['Ana', 'Bia', 'Caio']) await customer(name)
      for (const name of ['Café', 'Chá', 'Mate']) await company.post('/catalog/items', { name, price: '1.00' })
      await customer('Davi')
      const replays = async (limits: { maxMessages?: number; maxLooks?: number }) => {
        const results: ReplayResult[] = []
        let after: number | undefined
        do {
          const reply = await operate(api.core.pool, { companyId: company.id, idempotency: undefined }, (operating) =>
            replayMessages(operating, { id: webhook, after }, uuidv7, limits),
          )
          expect(isRefusal(reply)).to.equal(false)
          results.push(JSON.parse((reply as Answer).body))
          after = results.at(-1)!.last_revision ?? undefined
        } while (results.at(-1)!.has_more)
        return results.map(({ deliveries }) => deliveries)
      }
      expect(await replays({})).to.deep.equal([4])
      expect(await replays({ maxMessages: 3 })).to.deep.equal([3, 1])
      expect(await replays({ maxMessages: 4 })).to.deep.equal([4])
      expect(await replays({ maxLooks: 5 })).to.deep.equal([3, 1])
      expect(await replays({ maxLooks: 3 })).to.deep.equal([3, 0, 1])
      expect(await replays({ maxLooks: 7 })).to.deep.equal([4, 0])
      expect((await queued(webhook)).map(({ sequence }) => sequence)).to.deep.equal(
        Array.from({ length: 28 }, (_, index) => index + 1),
      )
    })

    it('list deliveries newest first, page by page, with filters', async () => {
      const webhook = await register()
      for (const name of ['Ana', 'Bia', 'Caio', 'Davi', 'Eva']) await customer(name)
      await api.core.pool.query(
        `update webhook_deliveries set status = 'delivered' where webhook_id = $1 and sequence = 2`,
        [webhook],
      )
      const sequences: number[] = []
      let cursor: string | null = ''
      do {
        const page: Json = await asRegistrar(
          'GET',
          `/webhooks/${webhook}/deliveries?limit=2${cursor && `&cursor=${cursor}`}`,
        )
        sequences.push(...page.body.data.map((delivery: Json) => delivery.sequence))
        cursor = page.body.meta.next_cursor
      } while (cursor)
      expect(sequences).to.deep.equal([5, 4, 3, 2, 1])
      const delivered = await asRegistrar(
        'GET',
        `/webhooks/${webhook}/deliveries?status=delivered&event=customer.created`,
      )
      expect(delivered.body.data.map((delivery: Json) => delivery.sequence)).to.deep.equal([2])
      expectInvalid(await asRegistrar('GET', `/webhooks/${webhook}/deliveries?status=lost`), ['status'])
    })
  })
})
