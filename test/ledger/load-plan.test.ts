import { expect } from 'chai'
import { loadStatement } from '#ledger/table.ts'
import { catalogItems } from '#projections/catalog.ts'
import { OWN_DATABASE, useCompany } from '../support/use-api.ts'

interface PlanNode {
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** As src/postgres/pool.ts sets them for connections that look rows up by their keys. */
const WRITERS_SETTINGS = `set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_hashjoin = off;
  set enable_mergejoin = off; set enable_bitmapscan = off`

const ITEMS = 1_000

/** The most rows that a node of a plan handled. */
const mostRows = (node: PlanNode): number =>
  Math.max(
    node['Actual Loops'] *
      (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0)),
    ...(node.Plans ?? []).map(mostRows),
  )

describe('loading of rows by key', () => {
  const { api, company } = useCompany(OWN_DATABASE)

  it('reads no more than the items of the company for each key, with a plan made for empty tables', async () => {
    const client = await api.core.pool.connect()
    try {
      await client.query(WRITERS_SETTINGS)
      const { text } = loadStatement(catalogItems, 'external')
      await client.query(`prepare load_items (bigint[], text[]) as ${text}`)
      const execute = async (keys: readonly string[]) => {
        const [companies, values] = [keys.map(() => company.id), keys].map((list) => `'{${list.join(',')}}'`)
        const { rows } = await client.query(
          `explain (analyze, format json) execute load_items (${companies}, ${values})`,
        )
        return rows[0]['QUERY PLAN'][0].Plan as PlanNode
      }
      await execute(['x'])
      for (let from = 0; from < ITEMS; from += 500) {
        const items = Array.from({ length: 500 }, (_, n) => ({
          name: `Item ${from + n}`,
          price: '1.00',
          external_id: `x-${from + n}`,
        }))
        expect((await company.post('/catalog/items/batch', { items })).status).to.equal(200)
      }
      const keys = Array.from({ length: 500 }, (_, n) => `x-${n}`)
      const plan = await execute(keys)
      expect(mostRows(plan)).to.be.at.most(keys.length * ITEMS)
    } finally {
      client.release(true)
    }
  })
})
