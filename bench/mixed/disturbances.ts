import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { MASTER_KEY } from '../../test/support/master-key.ts'
import { ROOT } from '../child.ts'
import { administer, type BenchDatabase, checkpoint } from '../database.ts'

/** Background work beside the calls. */
export interface Disturbance {
  readonly name: string
  once(database: BenchDatabase): Promise<void>
}

/** Shorter than the interval of any of them in production. */
const PAUSE_MS = 3_000

const HOT = 'ledger.events, ops.ledgers, ops.idempotent_answers, read.sales, read.catalog_items, read.receivables'

export const DISTURBANCES: readonly Disturbance[] = [
  {
    name: 'checkpoint',
    // Immediate; a scheduled checkpoint is spread over minutes.
    once: checkpoint,
  },
  {
    name: 'vacuum',
    // With the cost limits of autovacuum.
    once: ({ ownerUrl }) =>
      administer(ownerUrl, async (client) => {
        await client.query('set vacuum_cost_delay = 2')
        await client.query(`vacuum (analyze) ${HOT}`)
      }),
  },
  {
    name: 'rebuild',
    once: ({ url, ownerUrl }) =>
      done(process.execPath, ['dist/src/cli/main.js', 'projections', 'rebuild'], {
        DATABASE_URL: url,
        DATABASE_OWNER_URL: ownerUrl,
        MASTER_KEY,
      }),
  },
  {
    name: 'dump',
    // Like pg_dump at the lowest priority, as documented for operators; pg_dump itself refuses newer servers, and the
    // embedded
    // server has none.
    async once({ ownerUrl }) {
      const tables = await administer(ownerUrl, async (client) => {
        const { rows } = await client.query<{ name: string }>(
          `select format('%I.%I', schemaname, tablename) as name from pg_tables
           where schemaname not in ('pg_catalog', 'information_schema')`,
        )
        return rows.map(({ name }) => name)
      })
      const copies = tables.map((name) => `copy ${name} to stdout`)
      const script = ['begin isolation level repeatable read, read only', ...copies, 'commit'].join(';\n')
      const dump = 'set -o pipefail; psql "$0" --quiet --set ON_ERROR_STOP=1 --command "$1" | gzip > /dev/null'
      await done('nice', ['-n', '19', 'bash', '-c', dump, ownerUrl, script], {})
    },
  },
]

/** Repeats it beside `work`, some seconds after each end; returns the number of runs. @throws if it fails */
export async function disturb<T>(
  disturbance: Disturbance,
  database: BenchDatabase,
  work: () => Promise<T>,
): Promise<{ readonly value: T; readonly times: number }> {
  let isOver = false
  let times = 0
  const repeated = (async () => {
    while (!isOver) {
      await disturbance.once(database)
      times += 1
      await pause(PAUSE_MS)
    }
  })()
  const [value] = await Promise.all([
    work().finally(() => {
      isOver = true
    }),
    repeated,
  ])
  return { value, times }
}

/** @throws with its output if it fails */
async function done(program: string, args: readonly string[], env: Record<string, string>): Promise<void> {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(program, args, { cwd: ROOT, env: { PATH, HOME, ...env }, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2_000)
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`${program} ${args[0]} ended with ${code}: ${said}`)
}
