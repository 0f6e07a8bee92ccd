import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { updateCustomer } from '#commands/person-commands.ts'
import { type Refusal, refuse } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import { plainSql } from '#ledger/table.ts'
import { readModel } from '#projections/index.ts'
import { getRequest } from '#queries/api-key-queries.ts'
import { listCategories } from '#queries/item-queries.ts'
import {
  type ListOrder,
  listStatement,
  type PageStart,
  reverseListOrder,
  sumStatement,
} from '#queries/list-statement.ts'
import { customerListing, listCustomers, listDeletedCustomers, listPersonsByName } from '#queries/person-queries.ts'
import { fullReader, presentSource, Reader, type ReadSource, type Sight, WHOLE } from '#queries/reader.ts'
import { NEWEST_FIRST, ORDER_BY_CHANGE, ORDER_BY_ID, ORDER_BY_NAME, type Page } from '#queries/record-queries.ts'
import { getTableRule, OWN_ROLLUPS, OWN_ROWS, RULES, type Rule } from '#queries/tables.ts'
import { figuresIn } from '../figures/parse.ts'
import { ownerUrlOf, useDatabase } from '../support/database.ts'
import { type DatabaseClock, openDatabaseClock } from '../support/database-clock.ts'
import { customerCreated } from '../support/facts.ts'
import { COMPANY_ID } from '../support/given.ts'
import { panelUser } from '../support/panel.ts'
import {
  dataOf,
  idsOf,
  OTHER_COMPANY_ID,
  openTwoCompanies,
  recordsOf,
  type TwoCompanies,
} from '../support/two-companies.ts'
import { OWN_DATABASE, useApi, useCompany } from '../support/use-api.ts'

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
  let shop: TwoCompanies
  before(async () => {
    shop = await openTwoCompanies(database.url)
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
  let shop: TwoCompanies
  before(async () => {
    shop = await openTwoCompanies(database.url)
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
  let shop: TwoCompanies
  before(async () => {
    shop = await openTwoCompanies(database.url)
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

describe('query plan of a page', () => {
  /**
   * Large enough that the planner, which estimates the company's share at half a percent, would sort instead of walking
   * the index.
   */
  const COUNT = 20_000

  const database = useDatabase()
  let shop: TwoCompanies
  before(async () => {
    shop = await openTwoCompanies(database.url)
    await shop.record([customerCreated({ id: 1, name: 'Cliente' })])
    // No statistics meanwhile: this tests the minute before the first autovacuum.
    await shop.core.pool.query('alter table customers set (autovacuum_enabled = false)')
    await shop.core.pool.query(
      `insert into customers select (jsonb_populate_record(c, jsonb_build_object('id', n, 'name_key', 'cliente ' || n, 'sort_key', 'cliente ' || n))).*
       from customers c, generate_series(2, $1::int) as n`,
      [COUNT],
    )
  })
  after(() => shop.core.close())

  async function planOf(order: ListOrder, start: PageStart, bounds: unknown[]): Promise<string> {
    const { text } = listStatement(customerListing, order, {}, [], start)
    const { rows } = await shop.core.pool.query<Record<'QUERY PLAN', string>>({
      text: `explain (costs off) ${plainSql(text)}`,
      values: [COMPANY_ID, 200, ...bounds],
    })
    return rows.map((row) => row['QUERY PLAN']).join('\n')
  }

  it('of persons whose names are hidden walks the key and masks each record once [ROLE-1060]', async () => {
    const plans: string[] = []
    const explaining: ReadSource = {
      isPast: false,
      async send(statement) {
        const { rows } = await shop.core.pool.query<Record<'QUERY PLAN', string>>({
          text: `explain (verbose, costs off) ${statement.text}`,
          values: statement.values ?? [],
        })
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
        return shop.core.pool.query(statement)
      },
    }
    const masked = new Reader(COMPANY_ID, explaining, { ...WHOLE, hidesPersons: true })
    for (const order of [ORDER_BY_NAME, reverseListOrder(ORDER_BY_NAME)]) {
      const page = await listPersonsByName(masked, customerListing, { limit: 50, order })
      expect(isRefusal(page) || page.has_more).to.equal(true)
      const next = isRefusal(page) ? null : page.next
      expect(
        await listPersonsByName(masked, customerListing, { limit: 50, order, cursor: next ?? '' }),
      ).to.have.property('next')
    }
    for (const plan of plans) {
      expect(plan).to.match(/Index Scan (Backward )?using customers_pkey on/)
      expect(plan.match(/doc\)::jsonb/g), plan).to.have.length(1)
    }
    expect(plans).to.have.length(4)
  })

  const pages: [string, ListOrder, PageStart, unknown[], index: string][] = [
    ['the first', ORDER_BY_ID, 'first', [], 'customers_pkey'],
    ['a later one', ORDER_BY_ID, 'after', [10_000], 'customers_pkey'],
    [
      'changed records',
      ORDER_BY_CHANGE,
      'since',
      ['2020-01-01T00:00:00Z'],
      'customers_company_id_changed_at_revision_id_idx',
    ],
    [
      'more of it',
      ORDER_BY_CHANGE,
      'after',
      ['2020-01-01T00:00:00Z', 1, 1],
      'customers_company_id_changed_at_revision_id_idx',
    ],
  ]
  for (const [name, order, start, bounds, index] of pages) {
    it(`walks an index in the order of the list: ${name}, without statistics of the table`, async () => {
      const [, page = ''] = (await planOf(order, start, bounds)).split('->  Limit')
      expect(page).to.include(`Index Scan using ${index}`).and.not.include('Sort')
    })
  }

  for (const order of [ORDER_BY_ID, NEWEST_FIRST, ORDER_BY_CHANGE]) {
    it(`merges the ledger’s row with the records without sorting them again: in the order ${order.name}`, async () => {
      expect(await planOf(order, 'first', [])).to.match(/^Merge Append/)
    })
  }
})

describe('statement of a list', () => {
  const ofFilters = (...present: string[]) =>
    listStatement(customerListing, ORDER_BY_ID, customerListing.filters, present, 'first').name
  const summed = (filters: number) => sumStatement('count_customers', 'select 1', filters).name

  it('is prepared with up to two filters, so that all combinations do not fill the memory of connections', () => {
    expect(ofFilters('name', 'phone')).to.match(/^list_customers_id_first_\d+$/)
    expect(ofFilters('name', 'phone', 'document')).to.equal(undefined)
  })

  it('of its sums is prepared alike, under a name for each text', () => {
    expect(summed(2)).to.match(/^count_customers_[0-9a-f]{16}$/)
    expect(summed(2)).not.to.equal(sumStatement('count_customers', 'select 2', 2).name)
    expect(summed(3)).to.equal(undefined)
  })
})

describe('overdue accounts', () => {
  const api = useApi(OWN_DATABASE)
  let clock: DatabaseClock

  before(async () => {
    clock = await openDatabaseClock(ownerUrlOf(api.databaseUrl))
  })
  after(() => clock.close())

  it("are those before the company's day, by the clock of its events, in API and panel [FIG-800]", async () => {
    await clock.moveTo('2026-03-10T15:00:00Z')
    const company = await api.company()
    await company.post('/finance/receivables', { description: 'Fiado', amount: '10.00', due_date: '2026-03-11' })
    const overdue = async () => {
      const list = (await company.get('/finance/receivables?status=overdue')).body.data
      const { receivables } = (await company.get('/finance/summary?from=2026-03-01&to=2026-03-31')).body.data
      const user = await panelUser(api, company)
      const page = figuresIn((await user.get('/painel/contas-a-receber?view=overdue')).html)
      return [list.length, receivables.overdue.count, page['lista.em-aberto'] ?? 0]
    }
    // In São Paulo it is still the 11th.
    await clock.moveTo('2026-03-12T02:30:00Z')
    expect(await overdue()).to.deep.equal([0, 0, 0])
    await clock.moveTo('2026-03-12T03:30:00Z')
    expect(await overdue()).to.deep.equal([1, 1, 10])
  })
})

const SIGHTS: readonly Partial<Sight>[] = [
  { hidesPersons: true },
  { hidesCosts: true },
  { hidesPayables: true },
  { ownSales: { userId: 1, from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' } },
]

describe('rules of tables', () => {
  const { api, company } = useCompany()

  it('are there for all tables of the read model, with their conditions on own sales [ROLE-950] [ROLE-105]', () => {
    const tables = readModel.projections.flatMap((projection) => projection.tables.map(({ name }) => name))
    expect(Object.keys(RULES)).to.include.members(tables)
    for (const [name, condition] of Object.entries(OWN_ROWS)) expect(getTableRule(name).own, name).to.equal(condition)
    for (const [name, rows] of Object.entries(OWN_ROLLUPS)) expect(getTableRule(name).ownRollup, name).to.equal(rows)
  })

  it('know all columns of the tables of which they mask some [ROLE-950]', async () => {
    const masked = Object.entries<Rule>(RULES).flatMap(([name, { persons, contents }]) => {
      const { table } = persons ?? contents ?? {}
      return table ? [{ name, columns: Object.keys(table.columns) }] : []
    })
    expect(masked.length).to.be.above(10)
    for (const { name, columns } of masked) {
      const { rows } = await api.core.pool.query<{ column_name: string }>(
        'select column_name from information_schema.columns where table_name = $1 and table_schema in ($2, $3)',
        [name, 'read', 'ops'],
      )
      expect(columns, name).to.have.members(rows.map(({ column_name }) => column_name))
    }
  })

  it('hide what a refused request sent from every role that does not see all [ROLE-951]', async () => {
    const { headers } = await company.post('/customers', { name: 'Eva', plano: '5.00' })
    const id = headers.get('x-request-id') ?? ''
    // The API flushes the log before it reads it.
    expect((await company.get(`/requests/${id}`)).status).to.equal(200)
    const sent = async (sight: Partial<Sight>) => {
      const reader = new Reader(company.id, presentSource(api.core.pool), { ...WHOLE, ...sight })
      return JSON.parse((await getRequest(reader, id)).record ?? '{}')
    }
    expect((await sent({})).body).to.be.an('object')
    for (const sight of SIGHTS) expect((await sent(sight)).body, JSON.stringify(sight)).to.equal(null)
    expect((await sent({ hidesPersons: true })).status).to.equal(422)
    expect(
      JSON.parse((await getRequest(fullReader(api.core.pool, (await api.company()).id), id)).record ?? 'null'),
    ).to.equal(null)
  })
})

/** What answers statements. An object that is said to be one could send any other SQL. */
const PRETENDED =
  /\bas\s+(?:unknown\s+as\s+|any\s+as\s+)?(?:Pool|PoolClient|Client|Database|Queryable|Reader|ReadSource|Writer)\b/
const FILES = ['*.ts', '*.tsx'].flatMap((name) =>
  ['src', 'queries', 'commands', 'projections'].map((in_) => `${in_}/**/${name}`),
)

const withoutImports = (text: string): string => text.replace(/^(?:import|export) [\s\S]*? from '.*'$/gm, '')

describe('a pretended pool', () => {
  for (const planted of [
    'const pool = { query } as unknown as Pool',
    'return new Proxy(pool, masks) as Pool',
    'createStore({ query: rewritten } as unknown as\n  Database)',
    'listSales({ query } as unknown as Reader, {})',
  ])
    it(`is refused: ${planted.replace(/\s+/g, ' ')} [ROLE-1061]`, () => {
      expect(planted).to.match(PRETENDED)
    })

  const files = execFileSync('git', ['ls-files', ...FILES.map((glob) => `:(glob)${glob}`)], { encoding: 'utf8' })
  const names = files.split('\n').filter((name) => name !== '')
  const matching = (pattern: RegExp) => names.filter((name) => pattern.test(withoutImports(readFileSync(name, 'utf8'))))

  it('is nowhere in the product [ROLE-1061]', () => {
    expect(names.length).to.be.above(200)
    expect(matching(PRETENDED)).to.deep.equal([])
  })

  it('is needed by no interface: none sends a statement of its own [ROLE-1061]', () => {
    const sending = matching(/\.query(?:<[^(]*>)?\(/)
    expect(sending).to.include('src/privacy/erase-person.ts')
    const interfaces = /^src\/(?:api|till-sync|panel|public|mcp)\//
    expect(sending.filter((name) => interfaces.test(name))).to.deep.equal([])
  })
})
