import type { Pool } from 'pg'
import { createPool } from '#postgres/pool.ts'
import type { Core } from '#service/core.ts'
import { useDatabase } from '../support/database.ts'
import { openTestCore } from '../support/test-core.ts'
import type { KeyedCompany } from './keyed-company.ts'

export const LIMITS = { perMinute: 120, perDay: 50_000, bytesPerDay: 1_073_741_824 }

/** Stored quota windows of a company. */
interface Windows {
  minute_count: number
  minute_ends_at: string
  day_count: number
  day_ends_at: string
}

interface Gatekeeping {
  readonly core: Core
  /** Pools of two processes. */
  readonly pools: readonly [Pool, Pool]
  windowsOf(company: KeyedCompany): Promise<Windows>
  /** Current time of Postgres. */
  now(): Promise<string>
  /** Moves the end of a window back by an interval. */
  shift(company: KeyedCompany, column: 'minute_ends_at' | 'day_ends_at', interval: string): Promise<unknown>
}

export function useGatekeeping(): Gatekeeping {
  const database = useDatabase()
  let core: Core
  let pools: [Pool, Pool]

  before(async () => {
    core = await openTestCore(database.url)
    const gatePool = () => createPool(database.url, { max: 1, keyLookupsOnly: true })
    pools = [gatePool(), gatePool()]
  })
  after(() => Promise.all([core.close(), ...pools.map((pool) => pool.end())]))

  return {
    get core() {
      return core
    },
    get pools() {
      return pools
    },
    async windowsOf({ id }) {
      const { rows } = await core.pool.query<Windows>('select * from ops.quotas where company_id = $1', [id])
      return rows[0] as Windows
    },
    now: async () => (await core.pool.query<{ now: string }>('select now()')).rows[0]?.now ?? '',
    shift: ({ id }, column, interval) =>
      core.pool.query(`update ops.quotas set ${column} = ${column} - $2::interval where company_id = $1`, [
        id,
        interval,
      ]),
  }
}
