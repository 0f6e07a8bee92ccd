import { expect } from 'chai'
import { MAX_CHECKED } from '#till-sync/till-answers.ts'
import type { Json, Reply, TestCompany } from '../support/api.ts'
import { openTill, type TestTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

const OLD = '2000-01-01T00:00:00.000Z'

describe('POST /api/sync/check-conflicts', () => {
  const api = useApi()
  let company: TestCompany
  let till: TestTill

  beforeEach(async () => {
    company = await api.company()
    till = await openTill(api.url, company)
  })

  const create = async (item: object = {}, of = company): Promise<number> =>
    (await of.post('/catalog/items', { name: 'Produto', price: '1.00', ...item })).body.data.id
  const downloaded = async (): Promise<Json[]> => (await till.get('/sync/products')).body.data
  const check = async (products: unknown): Promise<Json> => {
    const reply: Reply = await till.post('/sync/check-conflicts', { products })
    expect(reply.status, reply.text).to.equal(200)
    const { success, checked_at, ...rest } = reply.body
    expect(success).to.equal(true)
    expect(checked_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(rest.has_conflicts).to.equal(rest.conflicts.length > 0)
    return rest.conflicts
  }

  it('finds no conflict if the till has the current version', async () => {
    await create()
    await create({ name: 'Outro' })
    expect(await check(await downloaded())).to.deep.equal([])
    expect(await check([])).to.deep.equal([])
  })

  it('reports an update, with the current product [SYNC-40]', async () => {
    const id = await create({ stock: '5' })
    const [before] = await downloaded()
    await company.call('PATCH', `/catalog/items/${id}`, { price: '2.50' })
    const [now] = await downloaded()
    expect(await check([before])).to.deep.equal([
      {
        id,
        reason: 'updated',
        client_updated_at: before.updated_at,
        server_updated_at: now.updated_at,
        product: { ...before, price: 2.5, updated_at: now.updated_at },
      },
    ])
  })

  it('adds few listeners to the answer of a large request, of which Node would warn', async () => {
    const warnings: string[] = []
    const note = (warning: Error) => void warnings.push(String(warning))
    process.on('warning', note)
    try {
      await check(Array.from({ length: 500 }, (_, n) => ({ id: n + 1, updated_at: OLD })))
    } finally {
      process.off('warning', note)
    }
    expect(warnings).to.deep.equal([])
  })

  it('does not report stock movements [SYNC-40]', async () => {
    const id = await create({ stock: '5' })
    const known = await downloaded()
    await company.call('PATCH', `/catalog/items/${id}`, { stock_adjustment: '-2' })
    expect((await downloaded())[0].stock).to.equal(3)
    expect(await check(known)).to.deep.equal([])
  })

  it('reports a deletion with its time [SYNC-40]', async () => {
    const id = await create()
    const [known] = await downloaded()
    await company.call('DELETE', `/catalog/items/${id}`)
    const { deleted_at } = (await company.get('/catalog/items/deleted')).body.data[0]
    expect(await check([known])).to.deep.equal([
      {
        id,
        reason: 'deleted',
        client_updated_at: known.updated_at,
        server_updated_at: new Date(deleted_at).toISOString(),
        product: null,
      },
    ])
  })

  it('reports a product that became a service as deleted [SYNC-40]', async () => {
    const id = await create()
    const known = await downloaded()
    await company.call('PATCH', `/catalog/items/${id}`, { type: 'service' })
    expect((await check(known)).map(({ id, reason }: Json) => [id, reason])).to.deep.equal([[id, 'deleted']])
  })

  it("reports another company's product like a missing one [SYNC-40]", async () => {
    const foreign = await create({}, await api.company())
    const missing = 900_000_001
    const unknown = (id: number) => ({
      id,
      reason: 'unknown',
      client_updated_at: OLD,
      server_updated_at: null,
      product: null,
    })
    expect(
      await check([
        { id: foreign, updated_at: OLD },
        { id: missing, updated_at: OLD },
      ]),
    ).to.deep.equal([unknown(foreign), unknown(missing)])
  })

  it('compares times to the millisecond, in any offset; a later time of the till is no conflict', async () => {
    const id = await create()
    const { updated_at } = (await downloaded())[0]
    const shifted = (ms: number) => new Date(Date.parse(updated_at) + ms).toISOString()
    const atOffset = (await company.get(`/catalog/items/${id}`)).body.data.updated_at
    for (const same of [updated_at, atOffset, shifted(1), '2099-01-01T00:00:00+14:00']) {
      expect(await check([{ id, updated_at: same }]), same).to.deep.equal([])
    }
    expect(await check([{ id, updated_at: shifted(-1) }])).to.have.length(1)
  })

  it('checks 50,000 products in their order, a repeated one each time', async () => {
    await create()
    await create({ name: 'Outro' })
    const known = await downloaded()
    const products = Array.from({ length: MAX_CHECKED }, (_, n) => {
      const { id, updated_at } = known[n % 2] as Json
      return { id, updated_at: [7, 8, MAX_CHECKED - 1].includes(n) ? OLD : updated_at }
    })
    const [even, odd] = known.map(({ id }) => id)
    expect((await check(products)).map(({ id }: Json) => id)).to.deep.equal([odd, even, odd])
  })
})
