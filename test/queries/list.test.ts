import { expect } from 'chai'
import { updateCustomer } from '#commands/person-commands.ts'
import { type Refusal, refuse } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import { listCategories } from '#queries/item-queries.ts'
import { listCustomers, listDeletedCustomers } from '#queries/person-queries.ts'
import { fullReader } from '#queries/reader.ts'
import type { Page } from '#queries/record-queries.ts'
import { useDatabase } from '../support/database.ts'
import { customerCreated } from '../support/facts.ts'
import { COMPANY_ID } from '../support/given.ts'
import { dataOf, idsOf, OTHER_COMPANY_ID, openShop, recordsOf, type Shop } from '../support/shop.ts'

const COUNT = 25
const all = Array.from({ length: COUNT }, (_, index) => index + 1)
const WRONG_CURSOR = refuse('validation_failed', {
  fields: { cursor: ['não é um cursor desta lista com estes filtros'] },
  unknown_fields: [],
})
/** A time in the API's format, in UTC. */
const utc = (local: string) => new Date(local).toISOString()

type Query = Parameters<typeof listCustomers>[1]
type DeletedQuery = Parameters<typeof listDeletedCustomers>[1]

function accepted(page: Page | Refusal): Page {
  if (isRefusal(page)) throw new Error(`refused: ${JSON.stringify(page)}`)
  return page
}

/** All records of a list, page by page. */
async function walk(next: (cursor: string | undefined) => Promise<Page>): Promise<Record<string, unknown>[]> {
  const records: Record<string, unknown>[] = []
  let cursor: string | undefined
  do {
    const page = await next(cursor)
    expect(page.has_more).to.equal(page.next !== null)
    records.push(...recordsOf(page))
    cursor = page.next ?? undefined
  } while (cursor !== undefined)
  return records
}

describe('lists', () => {
  const database = useDatabase()
  let shop: Shop
  before(async () => {
    shop = await openShop(database.url)
    // All at the same instant, so that times of change and deletion are equal.
    await shop.record(all.map((id) => customerCreated({ id, name: `Cliente ${id}`, external_id: `e${id}` })))
    await shop.record([customerCreated({ id: 1000, name: 'Alheio' })], OTHER_COMPANY_ID)
  })
  after(() => shop.core.close())

  const page = async (query: Query): Promise<Page> =>
    accepted(await listCustomers(fullReader(shop.core.pool, COMPANY_ID), query))
  const patch = (id: number, notes: string) => shop.run(updateCustomer, { id, changes: { notes } })

  it('returns every record once in order of id, for any page size', async () => {
    for (const limit of [1, 7, COUNT - 1, COUNT, COUNT + 1, 200]) {
      const records = await walk((cursor) => page({ limit, cursor }))
      expect(
        records.map((record) => record.id),
        `pages of ${limit}`,
      ).to.deep.equal(all)
    }
  })

  it('returns at most the limit, and no next page at the end', async () => {
    expect(await page({ limit: COUNT })).to.include({ has_more: false, next: null })
    const short = await page({ limit: COUNT - 1 })
    expect(short.has_more).to.equal(true)
    expect(idsOf(short)).to.have.length(COUNT - 1)
  })

  it('states its time and revision, also on an empty page', async () => {
    const [last] = recordsOf(await page({ limit: 1 }))
    for (const query of [{ limit: 5 }, { limit: 5, name: 'ninguém' }]) {
      const { synced_at, revision } = await page(query)
      expect({ synced_at, revision }).to.deep.equal({ synced_at: last?.updated_at, revision: COUNT })
    }
    const empty = accepted(
      await listCategories(fullReader(shop.core.pool, COMPANY_ID), { limit: 50, updated_since: utc('2026-01-01') }),
    )
    expect(dataOf(empty)).to.equal('')
    expect(empty).to.include({ has_more: false, next: null, synced_at: last?.updated_at, revision: COUNT })
  })

  it('keeps a cursor valid while records change [LIST-3]', async () => {
    const first = await page({ limit: 10 })
    await patch(3, 'mudou')
    await patch(20, 'mudou')
    const records = await walk((cursor) => page({ limit: 10, cursor: cursor ?? first.next ?? undefined }))
    expect(records.map((record) => record.id)).to.deep.equal(all.slice(10))
  })

  it('refuses a cursor of another list or of other filters', async () => {
    const next = (await page({ limit: 1, name: 'cliente' })).next ?? ''
    const { pool } = shop.core
    const queries: Query[] = [
      { limit: 1 },
      { limit: 1, name: 'client' },
      { limit: 1, updated_since: utc('2020-01-01') },
    ]
    for (const query of queries) {
      expect(await listCustomers(fullReader(pool, COMPANY_ID), { ...query, cursor: next })).to.deep.equal(WRONG_CURSOR)
    }
    expect(await listCategories(fullReader(pool, COMPANY_ID), { limit: 1, cursor: next })).to.deep.equal(WRONG_CURSOR)
    expect(await listDeletedCustomers(fullReader(pool, COMPANY_ID), { limit: 1, cursor: 'x' })).to.deep.equal(
      WRONG_CURSOR,
    )
    expect(isRefusal(await page({ limit: 2, name: 'cliente', cursor: next }))).to.equal(false)
  })
})

describe('lists of what changed', () => {
  const database = useDatabase()
  let shop: Shop
  before(async () => {
    shop = await openShop(database.url)
    await shop.record(all.map((id) => customerCreated({ id, name: `Cliente ${id}`, external_id: `e${id}` })))
  })
  after(() => shop.core.close())

  const page = async (query: Query): Promise<Page> =>
    accepted(await listCustomers(fullReader(shop.core.pool, COMPANY_ID), query))
  const patch = (id: number, notes: string) => shop.run(updateCustomer, { id, changes: { notes } })

  it('is ordered by change, every record once, even if all changed at the same instant [LIST-4]', async () => {
    const since = utc(String(recordsOf(await page({ limit: 1 }))[0]?.updated_at))
    for (const limit of [1, 7, COUNT]) {
      const records = await walk((cursor) => page({ limit, cursor, updated_since: since }))
      expect(
        records.map((record) => record.id),
        `pages of ${limit}`,
      ).to.deep.equal(all)
    }
  })

  it('moves changed records to the end, and includes the given instant [LIST-4]', async () => {
    await patch(5, 'a')
    await patch(2, 'b')
    const changed = recordsOf(await page({ limit: 200, name: 'cliente 5' }))[0]
    const moment = utc(String(changed?.updated_at))
    expect(idsOf(await page({ limit: 200, updated_since: moment }))).to.deep.equal([5, 2])
    const after = new Date(Date.parse(moment) + 1).toISOString()
    expect(idsOf(await page({ limit: 200, updated_since: after }))).not.to.include(5)
  })

  it('returns every change to a poller that continues from synced_at [LIST-5]', async () => {
    const known = new Map<unknown, unknown>()
    let since = utc('2020-01-01T00:00:00Z')
    const poll = async () => {
      let synced: string | undefined
      const records = await walk(async (cursor) => {
        const found = await page({ limit: 4, cursor, updated_since: since })
        // Time of the first page: the next poll finds changes made during paging.
        synced ??= found.synced_at
        return found
      })
      for (const { id, notes } of records) known.set(id, notes)
      since = utc(String(synced))
    }
    await poll()
    for (const [round, id] of [3, 3, 9, 14].entries()) {
      await patch(id, `r${round}`)
      await poll()
    }
    const current = recordsOf(await page({ limit: 200 }))
    expect([...known].sort(([a], [b]) => Number(a) - Number(b))).to.deep.equal(
      current.map(({ id, notes }) => [id, notes]),
    )
  })

  it('pages without loss or repetition while other records change', async () => {
    const since = utc('2020-01-01T00:00:00Z')
    const first = await page({ limit: 10, updated_since: since })
    const seen = idsOf(first)
    const waiting = all.filter((id) => !seen.includes(id))
    await patch(waiting[0] as number, 'agora no fim')
    const rest = await walk((cursor) =>
      page({ limit: 10, updated_since: since, cursor: cursor ?? first.next ?? undefined }),
    )
    const ids = rest.map((record) => record.id)
    expect(ids.slice().sort()).to.deep.equal(waiting.slice().sort())
    expect(ids.at(-1)).to.equal(waiting[0])
  })
})

describe('lists of deleted records', () => {
  const database = useDatabase()
  let shop: Shop
  before(async () => {
    shop = await openShop(database.url)
    await shop.record(
      all.map((id) => customerCreated({ id, name: `Cliente ${id}`, external_id: id === 3 ? null : `e${id}` })),
    )
    await shop.record([6, 3, 4].map((id) => event('CustomerDeleted', { id })))
    await shop.record([event('CustomerDeleted', { id: 1 })])
  })
  after(() => shop.core.close())

  const page = async (query: DeletedQuery): Promise<Page> =>
    accepted(await listDeletedCustomers(fullReader(shop.core.pool, COMPANY_ID), query))

  it('is ordered by time of deletion and id [LIST-6]', async () => {
    for (const limit of [1, 2, 4]) {
      const records = await walk((cursor) => page({ limit, cursor }))
      expect(records.map((record) => record.id)).to.deep.equal([3, 4, 6, 1])
    }
  })

  it('contains the fields that a client needs to delete its copy', async () => {
    const [first, second] = recordsOf(await page({ limit: 2 }))
    expect(first).to.have.all.keys('id', 'external_id', 'deleted_at')
    expect(first).to.include({ id: 3, external_id: null })
    expect(second).to.include({ id: 4, external_id: 'e4' })
    expect(first?.deleted_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}-03:00$/)
  })

  it('includes the given instant [LIST-6]', async () => {
    const records = recordsOf(await page({ limit: 50 }))
    const moment = utc(String(records[3]?.deleted_at))
    expect(idsOf(await page({ limit: 50, since: moment }))).to.deep.equal([1])
    const first = utc(String(records[0]?.deleted_at))
    const walked = await walk((cursor) => page({ limit: 3, since: first, cursor }))
    expect(walked).to.deep.equal(records)
  })

  it('excludes deleted records from other lists', async () => {
    const live = await listCustomers(fullReader(shop.core.pool, COMPANY_ID), { limit: 200 })
    expect(idsOf(live)).to.deep.equal(all.filter((id) => ![6, 3, 4, 1].includes(id)))
    const changed = await listCustomers(fullReader(shop.core.pool, COMPANY_ID), {
      limit: 200,
      updated_since: utc('2020-01-01'),
    })
    expect(idsOf(changed)).not.to.include(6)
  })
})
