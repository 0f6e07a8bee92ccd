import { expect } from 'chai'
import type { Json, TestCompany } from '../support/api.ts'
import { type Counter, openCounter, upload } from '../support/offline-sales.ts'
import { expectFailure, openTill, type TestTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

describe('GET /api/sync/customers', () => {
  const api = useApi()
  let company: TestCompany
  let till: TestTill
  let counter: Counter

  beforeEach(async () => {
    company = await api.company()
    till = await openTill(api.url, company)
    counter = await openCounter(company)
  })

  const create = async (fields: object): Promise<number> => (await company.post('/customers', fields)).body.data.id
  const download = async (query = ''): Promise<Json> => {
    const reply = await till.get(`/sync/customers${query}`)
    expect(reply.status, reply.text).to.equal(200)
    return reply.body
  }
  const since = (time: string, parameter = 'last_sync') => download(`?${parameter}=${encodeURIComponent(time)}`)
  const ids = ({ data }: Json): number[] => data.map(({ id }: Json) => id)

  it('lists customers by id with their credit [SYNC-1164]', async () => {
    const ana = await create({ name: 'Ana "A" Souza', document: '529.982.247-25' })
    const bia = await create({ name: 'Bia' })
    await company.call('DELETE', `/customers/${await create({ name: 'Eva' })}`)
    const { data, ...rest } = await download()
    expect(rest).to.deep.equal({ success: true, sync_timestamp: rest.sync_timestamp, total: 2, deleted: [] })
    expect(data).to.deep.equal([
      { id: ana, name: 'Ana "A" Souza', document: '52998224725', credit: 0, updated_at: data[0].updated_at },
      { id: bia, name: 'Bia', document: '', credit: 0, updated_at: data[1].updated_at },
    ])
    expect(
      ids(await (await openTill(api.url, await api.company())).get('/sync/customers').then(({ body }) => body)),
    ).to.deep.equal([])
  })

  it('answers what changed: fields, a moved credit, deleted and forgotten ones [SYNC-1164]', async () => {
    const [ana, bia, eva, ida] = [
      await create({ name: 'Ana' }),
      await create({ name: 'Bia' }),
      await create({ name: 'Eva' }),
      await create({ name: 'Ida' }),
    ]
    const credit = await company.paymentType('exchange_credit')
    await upload(till, [counter.sale('a')])
    const { sync_timestamp: time } = await download()
    expect(ids(await since(time))).to.deep.equal([])
    const goods = { offline_id: 'r1', sale_offline_id: 'a', reason: 'Troca', returned_at: new Date().toISOString() }
    const returned = { ...goods, items: [{ line: 0, quantity: 1 }], refunds: [{ payment_type_id: credit, amount: 10 }] }
    const reply = await till.post('/sync/returns', { returns: [{ ...returned, customer_id: ana }] })
    expect(reply.body.results[0].status, reply.text).to.equal('created')
    await company.call('PATCH', `/customers/${bia}`, { name: 'Beatriz' })
    await company.call('DELETE', `/customers/${eva}`)
    const forgotten = await company.post(`/customers/${ida}/forget`, { ground: 'holder_request' })
    expect(forgotten.status, forgotten.text).to.be.below(300)
    const changed = await since(time)
    expect(changed).to.deep.include({ total: 2, deleted: [eva, ida] })
    expect(changed.data.map(({ id, name, credit }: Json) => [id, name, credit])).to.deep.equal([
      [bia, 'Beatriz', 0],
      [ana, 'Ana', 10],
    ])
    expect(await since(time, 'updated_since')).to.deep.equal(changed)
    expect(changed.data[1].updated_at > time).to.equal(true)
    expect(ids(await since(changed.sync_timestamp))).to.be.an('array')
    expectFailure(await till.get('/sync/customers?last_sync=ontem'), 422)
  })

  it('tells the ids of a test company that was emptied [SYNC-1164]', async () => {
    company = await api.company({ test: true })
    till = await openTill(api.url, company)
    const ana = await create({ name: 'Ana' })
    const { sync_timestamp: time } = await download()
    await company.post('/test/reset', undefined, { 'idempotency-key': 'r' })
    expect(await since(time)).to.deep.include({ total: 0, deleted: [ana] })
  })
})
