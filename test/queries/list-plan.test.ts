import { expect } from 'chai'
import { isRefusal } from '#ledger/command.ts'
import { plainSql } from '#postgres/table-marks.ts'
import { type ListOrder, listStatement, type PageStart, reversed, sumStatement } from '#queries/list-statement.ts'
import { customerListing, listPersonsByName } from '#queries/person-queries.ts'
import { Reader, type ReadSource, WHOLE } from '#queries/reader.ts'
import { NEWEST_FIRST, ORDER_BY_CHANGE, ORDER_BY_ID, ORDER_BY_NAME } from '#queries/record-queries.ts'
import { useDatabase } from '../support/database.ts'
import { customerCreated } from '../support/facts.ts'
import { COMPANY_ID } from '../support/given.ts'
import { openShop, type Shop } from '../support/shop.ts'

/**
 * Large enough that the planner, which estimates the company's share at half a percent, would sort instead of walking
 * the index.
 */
const COUNT = 20_000

describe('query plan of a page', () => {
  const database = useDatabase()
  let shop: Shop
  before(async () => {
    shop = await openShop(database.url)
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
    for (const order of [ORDER_BY_NAME, reversed(ORDER_BY_NAME)]) {
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
