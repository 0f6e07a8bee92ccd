import { expect } from 'chai'
import type { Pool, QueryConfig } from 'pg'
import { maskReads } from '#queries/masking.ts'

/** Pool that returns these rows for every statement, and records the statements. */
function answering(rows: object[]) {
  const asked: QueryConfig[] = []
  const pool = { query: async (config: QueryConfig) => ({ rows, asked: asked.push(config) }) } as unknown as Pool
  return { pool, asked }
}

const costs = { persons: false, costs: true, payables: false, sales: null }

describe('masking of query results', () => {
  it('removes costs from records, parsed or still text, and nothing else [PANEL-201]', async () => {
    const at = new Date(0)
    const item = { name: 'x "cost":"1"', cost: '2.50', price: '4.00', lines: [{ cost: '1.00' }], at }
    const { pool } = answering([{ record: JSON.stringify({ ...item, at: null }), item, none: null }])
    const { rows } = await maskReads(pool, costs).query('select 1')
    const shown = { ...item, cost: null, lines: [{ cost: null }] }
    expect(rows).to.deep.equal([{ record: JSON.stringify({ ...shown, at: null }), item: shown, none: null }])
  })

  it('finds no masked accounts, under a different statement name [PANEL-201]', async () => {
    const { pool, asked } = answering([])
    const clerks = maskReads(pool, { ...costs, payables: true })
    await clerks.query({ name: 'one', text: 'select 1 from payables' })
    await clerks.query({ name: 'two', text: 'select 1 from customers' })
    expect(asked[0]?.text).to.match(
      /^with payables as not materialized \(select .* from payables t where false\)\nselect 1/s,
    )
    expect(asked[0]?.name).not.to.equal('one')
    expect(asked[1]?.text).to.equal('select 1 from customers')
  })

  it('is the unchanged pool if nothing is masked [PANEL-201]', () => {
    const { pool } = answering([])
    expect(maskReads(pool, { ...costs, costs: false })).to.equal(pool)
  })
})
