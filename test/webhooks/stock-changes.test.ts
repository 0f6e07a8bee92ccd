import { expect } from 'chai'
import { v7 as uuidv7 } from 'uuid'
import { updateItem } from '#commands/item-commands.ts'
import { createRoundRobin } from '#lib/background-loops.ts'
import { queueStockChanges } from '#webhooks/stock-changes.ts'
import { useDatabase } from '../support/database.ts'
import { openCounter } from '../support/offline-sales.ts'
import { OWN_DATABASE, useCompanyPerTest } from '../support/use-api.ts'
import { until } from '../support/wait.ts'
import { type DeliveringService, startDelivering } from './delivering-service.ts'

const STOCK_CHANGED = 'catalog_item.stock_changed'

describe('stock changes of the webhook outbox', () => {
  const { api, company } = useCompanyPerTest(OWN_DATABASE)

  const pending = async () =>
    (
      await api.core.pool.query<{ catalog_item_id: number; due_at: string; actor: string | null }>(
        'select * from webhook_stock_changes where company_id = $1',
        [company.id],
      )
    ).rows
  /** Makes what waits due, and queues it. */
  async function queue(): Promise<{ event: string; body: { origin: string; data: { stock: string } } }[]> {
    await api.core.pool.query(`update webhook_stock_changes set due_at = clock_timestamp() where company_id = $1`, [
      company.id,
    ])
    await queueStockChanges(api.core.pool, uuidv7, createRoundRobin())
    const { rows } = await api.core.pool.query<{ event: string; body: string }>(
      `select d.event, m.body from webhook_deliveries d join webhook_messages m on m.company_id = d.company_id and m.id = d.message_id
       where d.company_id = $1 order by d.sequence`,
      [company.id],
    )
    return rows.map(({ event, body }) => ({ event, body: JSON.parse(body) }))
  }
  const register = (events: readonly string[]) =>
    company.post('/webhooks', { url: 'https://erp.example/eventos', events })
  const setStock = (id: number, stock: string) => company.run(updateItem, { id, changes: { stock } }, 'pdv')

  it('are one message for all movements of an item, with the stock that it ended at [HOOK-90]', async () => {
    const counter = await openCounter(company)
    await register([STOCK_CHANGED])
    const [first] = await until(async () => {
      await counter.record(counter.sale('pdv-1'))
      const rows = await pending()
      return rows.length > 0 && rows
    })
    await counter.record(counter.sale('pdv-2'))
    await setStock(counter.product, '40')
    await counter.record(counter.sale('pdv-3'))
    const [change, ...others] = await pending()
    expect(others).to.deep.equal([])
    expect(change?.due_at).to.deep.equal(first?.due_at)
    const [message, ...more] = await queue()
    expect(more).to.deep.equal([])
    expect(message?.event).to.equal(STOCK_CHANGED)
    expect(message?.body.origin).to.equal('pdv')
    expect(message?.body.data).to.deep.equal((await company.get(`/catalog/items/${counter.product}`)).body.data)
    expect(message?.body.data.stock).to.equal('39.000')
    expect(await pending()).to.deep.equal([])
  })

  it('are noted only for endpoints that name them or want all events; basic does not [HOOK-90]', async () => {
    await register(['basic'])
    const counter = await openCounter(company)
    await counter.record(counter.sale('pdv-1'))
    expect(await pending()).to.deep.equal([])
  })

  it('are not sent to the key that caused them all [HOOK-90, HOOK-10]', async () => {
    await register([STOCK_CHANGED])
    const { id } = (await company.post('/catalog/items', { name: 'Café', price: '1.00', stock: '5' })).body.data
    await company.call('PATCH', `/catalog/items/${id}`, { stock: '6' })
    expect(await queue()).to.deep.equal([])
    await company.call('PATCH', `/catalog/items/${id}`, { stock: '7' })
    await setStock(id, '8')
    expect((await queue()).map(({ body }) => body.data.stock)).to.deep.equal(['8.000'])
  })

  it('survive a failed transaction, and are queued by the next one [HOOK-90]', async () => {
    const counter = await openCounter(company)
    await register([STOCK_CHANGED])
    await setStock(counter.product, '9')
    await api.core.pool.query(`update webhook_stock_changes set due_at = clock_timestamp() where company_id = $1`, [
      company.id,
    ])
    const failing = () => {
      throw new Error('killed')
    }
    const error = await queueStockChanges(api.core.pool, failing, createRoundRobin()).catch((problem) => problem)
    expect(String(error)).to.include('killed')
    expect(await pending()).to.have.length(1)
    expect((await queue()).map(({ body }) => body.data.stock)).to.deep.equal(['9.000'])
  })

  it('of a recorded movement are told as catalog_item.updated too, with the item [HOOK-29]', async () => {
    const { id } = (await company.post('/catalog/items', { name: 'Café', price: '1.00', stock: '5' })).body.data
    const other = await company.newKey(['catalog:write', 'catalog:read'])
    await register(['basic'])
    const body = { catalog_item_id: id, kind: 'purchase', quantity: '1', unit_cost: '2.00' }
    const headers = { authorization: `Bearer ${other.key}` }
    await company.call('POST', '/stock/movements', body, headers)
    await company.call('POST', '/stock/movements', { ...body, kind: 'loss', unit_cost: null }, headers)
    const told = (await queue()).map(({ event, body: { data } }) => [event, data.stock])
    expect(told).to.deep.equal([
      ['catalog_item.updated', '6.000'],
      ['catalog_item.updated', '5.000'],
    ])
  })
})

describe('stock changes of the delivering service', () => {
  const database = useDatabase()
  let service: DeliveringService

  beforeEach(async () => {
    service = await startDelivering(database.url)
  })
  afterEach(() => service.close())

  it('are delivered a second after the first movement, without a revision [HOOK-90]', async () => {
    const { company, receiver } = service
    const { id } = (await company.post('/catalog/items', { name: 'Café', price: '1.00', stock: '5' })).body.data
    await service.register([STOCK_CHANGED])
    const begun = Date.now()
    for (const stock of ['6', '7', '8']) await company.run(updateItem, { id, changes: { stock } }, 'pdv')
    const [received] = await until(() => receiver.received.length > 0 && receiver.received)
    expect(Date.now() - begun).to.be.at.least(950)
    expect(JSON.parse(String(received?.body)).data).to.include({ stock: '8.000' })
    expect(received?.headers).to.include({ 'x-service-sequence': '1' }).and.not.to.have.any.keys('x-service-revision')
    expect(service.errors).to.deep.equal([])
  })
})
