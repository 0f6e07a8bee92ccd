import { costOf, perOperation } from './cost.ts'
import { withOwnDatabase } from './database.ts'
import { isSelected, type Options } from './options.ts'
import type { RoundFigures, RoundOrder } from './rebuild-round.ts'
import { compare, type Line } from './report.ts'
import { type Environment, execute, ROOT } from './servers.ts'
import { createShops, fillLedger, type Shop, withCore } from './shop.ts'

const COMPANIES = 4
const EVENTS = 200_000
/** Rates of applying and of comparing events, relative to reading them. */
const TARGETS = { rebuild: 0.35, comparison: null, 'comparison-of-changes': null } as const
export const REBUILD_BENCHMARKS: readonly string[] = Object.keys(TARGETS).map((work) => `${work}-${EVENTS}`)

/**
 * Rebuild of all tables from 200,000 events of four companies, and comparison of the companies' tables with a replay of
 * their ledgers, one after the other: both compared with reading the same events without applying them.
 */
export async function benchRebuild(environment: Environment, options: Options): Promise<Line[]> {
  const { database, eventStoreUrl, shops } = environment
  if (!REBUILD_BENCHMARKS.some((name) => isSelected(options, name))) return []
  const measure = async (databaseUrl: string, filled: readonly Shop[]) => {
    const ends = await fillLedgers({ databaseUrl, eventStoreUrl }, filled)
    const lines: Line[] = []
    for (const work of Object.keys(TARGETS) as RoundOrder['work'][]) {
      const name = `${work}-${EVENTS}`
      const order = { databaseUrl, eventStoreUrl, ends, work }
      if (isSelected(options, name)) lines.push(await measureRounds(name, order, options))
    }
    return lines
  }
  // A rebuild covers all ledgers of a database, and an EventStoreDB belongs to one.
  if (eventStoreUrl) return measure(database.url, shops.slice(0, COMPANIES))
  return withOwnDatabase(database, async ({ url }) => measure(url, await createShops(url, COMPANIES)))
}

/** Fills the ledgers of some companies, and returns the ends of all. */
const fillLedgers = (
  { databaseUrl, eventStoreUrl }: Pick<RoundOrder, 'databaseUrl' | 'eventStoreUrl'>,
  shops: readonly Shop[],
): Promise<RoundOrder['ends']> =>
  withCore(
    databaseUrl,
    async (core) => {
      for (const { companyId } of shops) await fillLedger(core, companyId, EVENTS / COMPANIES)
      const { rows } = await core.pool.query<RoundOrder['ends'][number]>(
        'select company_id as "companyId", revision from ops.ledgers where revision >= 0',
      )
      return rows
    },
    eventStoreUrl,
  )

/** In rounds, each in a separate process: the one that wrote the events has the code and the garbage of a writer. */
async function measureRounds(name: string, order: Omit<RoundOrder, 'first'>, options: Options): Promise<Line> {
  const rounds: RoundFigures[] = []
  for (let round = 0; round < options.rounds; round++) {
    rounds.push(await runRound({ ...order, first: round % 2 === 0 ? 'work' : 'reading' }, options.node))
  }
  const { work } = order
  const figures = new Map([
    [work, rounds.map(({ rate }) => rate)],
    ['reading', rounds.map(({ reading }) => reading)],
  ])
  const costs = rounds.flatMap(({ spent, events }) => (spent ? [perOperation(events, spent)] : []))
  const compared = { name, unit: 'events/s', target: TARGETS[work], value: work, floor: 'reading' }
  return { ...compare(figures, compared), cost: costOf('event', costs) }
}

async function runRound(order: RoundOrder, nodeOptions: readonly string[]): Promise<RoundFigures> {
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, NODE_ENV: 'production', ROUND: JSON.stringify(order) }
  const { stdout } = await execute(process.execPath, [...nodeOptions, 'dist/bench/rebuild-round.js'], {
    cwd: ROOT,
    env,
  })
  return JSON.parse(stdout) as RoundFigures
}
