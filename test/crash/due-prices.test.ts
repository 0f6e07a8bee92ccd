import { expect } from 'chai'
import { moveTestClock } from '#commands/company-commands.ts'
import { changePrices } from '#commands/price-commands.ts'
import { streamName } from '#ledger/command.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { untilBlocked } from '../support/lock-waits.ts'
import { type Service, startService } from '../support/process.ts'
import { until } from '../support/wait.ts'

const DAY_MS = 86_400_000
const ACTS = 6

describe('scheduled prices and a killed service', function () {
  this.timeout(180_000)
  const database = useDatabase()
  /** Another process on the same database, for the checks. */
  let api: TestApi
  let company: TestCompany
  let service: Service | undefined

  before(async () => {
    api = await startApi(database.url)
    company = await api.company({ test: true })
  })
  after(async () => {
    await service?.kill()
    await api?.close()
  })

  const addItem = async (n: number): Promise<number> =>
    (await company.post('/catalog/items', { name: `Item ${n}`, price: '10.00' })).body.data.id
  /** Items of acts that are due once the clock has moved, in the order of the acts. */
  async function schedule(): Promise<number[][]> {
    const starts_at = new Date(Date.now() + DAY_MS).toISOString()
    const acts: number[][] = []
    for (let n = 0; n < ACTS; n++) {
      const ids = [await addItem(n), await addItem(n)]
      const items = ids.map((catalog_item_id) => ({ catalog_item_id }))
      await company.run(changePrices, { rule: { kind: 'percent', amount: 1000, ending: null }, starts_at, items })
      acts.push(ids)
    }
    await company.run(moveTestClock, { advance_days: 2 })
    return acts
  }
  const pricesOf = (ids: readonly number[]) =>
    Promise.all(ids.map(async (id) => (await company.get(`/catalog/items/${id}`)).body.data.price))
  const waiting = async (): Promise<number> => {
    const { rows } = await api.core.pool.query<{ n: number }>(
      `select count(*)::integer as n from read.price_changes where company_id = $1 and status = 'scheduled'`,
      [company.id],
    )
    return rows[0]?.n ?? 0
  }
  /** Times that an event was recorded, by its record. */
  async function recorded(type: string): Promise<number[]> {
    const counts = new Map<string, number>()
    for await (const event of api.core.store.read(streamName(company.id), 0))
      if (event.type === type) counts.set(event.subject, (counts.get(event.subject) ?? 0) + 1)
    return [...counts.values()]
  }

  it('are applied once each, also the act during which the service was killed [ITEM-1265]', async () => {
    const acts = await schedule()
    const env = { DATABASE_URL: database.url, LOG_LEVEL: 'error' }
    const holder = await api.core.pool.connect()
    try {
      // The third act stops at an item, in the middle of its transaction.
      await holder.query('begin')
      const { rowCount } = await holder.query(
        'select from read.catalog_items where company_id = $1 and id = $2 for update',
        [company.id, acts[2]?.[1]],
      )
      expect(rowCount).to.equal(1)
      service = await startService(env)
      await untilBlocked(api.core.pool)
      await service.kill()
      expect(await waiting()).to.equal(ACTS - 2)
      expect(await pricesOf(acts.flat().slice(0, 6))).to.deep.equal([
        '11.00',
        '11.00',
        '11.00',
        '11.00',
        '10.00',
        '10.00',
      ])
    } finally {
      await holder.query('rollback')
      holder.release()
    }
    service = await startService(env)
    await until(async () => (await waiting()) === 0, { timeout_ms: 60_000, what: 'the other acts' })
    expect(await pricesOf(acts.flat())).to.deep.equal(Array(2 * ACTS).fill('11.00'))
    expect(await recorded('PriceChangeApplied')).to.deep.equal(Array(ACTS).fill(1))
    expect(await recorded('CatalogItemUpdated')).to.deep.equal(Array(2 * ACTS).fill(1))
  })
})
