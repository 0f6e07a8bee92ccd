import { expect } from 'chai'
import type { Pool, QueryConfig } from 'pg'
import { createRoundRobin, purge } from '#lib/background-loops.ts'
import { claimSweeps } from '#payments/sweep.ts'
import { createPool } from '#postgres/pool.ts'
import { RETENTION } from '#service/process-roles.ts'
import { startApi } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'

const share = { limit: 8, companies: createRoundRobin(), isTest: false, failing: [] }

/** Recurring jobs over whole tables, with the column that finds their rows. */
const RECURRING: Record<string, readonly [column: string, run: (pool: Pool) => Promise<unknown>]> = {
  ...Object.fromEntries(
    RETENTION.map((rule) => [
      `purge of ${rule.table} after ${rule.keep}`,
      [
        rule.olderThan.replace(/^(least|greatest)\(.*/, (_, name: string) => name.toUpperCase()),
        (pool: Pool) => purge(pool, [rule], { onError: (error) => expect.fail(String(error)) }),
      ],
    ]),
  ),
  'claim of sweeps': ['attempted_at', (pool) => claimSweeps(pool, [60, 300], share)],
}

describe('recurring queries', () => {
  const database = useDatabase()
  let pool: Pool

  before(async () => {
    // Creates the tables of the read model.
    await (await startApi(database.url)).close()
    pool = createPool(database.url, { max: 1 })
    // Empty tables would be scanned sequentially.
    await pool.query('set enable_seqscan = off')
  })
  after(() => pool.end())

  /** Plans of all executed statements. */
  async function plansOf(run: (pool: Pool) => Promise<unknown>): Promise<string[]> {
    const plans: string[] = []
    const explaining = {
      async query(query: string | QueryConfig, given?: unknown[]) {
        const { text, values = given } = typeof query === 'string' ? { text: query } : query
        const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values)
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
        return { rows: [], rowCount: 0 }
      },
    }
    await run(explaining as unknown as Pool)
    return plans
  }

  it('delete rows by their place only in tables whose places are unique, which those of partitions are not', async () => {
    const tables = RETENTION.map(({ table }) => table)
    const { rows } = await pool.query(
      `select oid::regclass::text from pg_class where relkind = 'p' and oid = any($1::regclass[])`,
      [tables],
    )
    expect(rows).to.deep.equal([])
  })

  for (const [name, [column, run]] of Object.entries(RECURRING)) {
    it(`do not scan whole tables: ${name}`, async () => {
      const plans = await plansOf(run)
      expect(plans).not.to.deep.equal([])
      for (const plan of plans) expect(plan).to.match(new RegExp(`Index Cond: \\(.*${column}.* [<>] .*now\\(\\)`))
    })
  }
})
