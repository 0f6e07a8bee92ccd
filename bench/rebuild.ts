import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Books } from './books.ts'
import { ROOT } from './child.ts'
import { costOf, middleOf } from './cost.ts'
import { withOwnDatabase } from './database.ts'
import type { Environment } from './environment.ts'
import { fill } from './history.ts'
import { isSelected, type Options } from './options.ts'
import type { RoundFigures, RoundOrder } from './rebuild-round.ts'
import { compare, type Line } from './report.ts'
import { createShops, withCore } from './shop.ts'

const execute = promisify(execFile)

const COMPANIES = 4
const EVENTS = 200_000
export const REBUILD_BENCHMARK = `rebuild-${EVENTS}`
/** Rate of applying events, relative to reading them. */
const TARGET = 0.35

/**
 * Rebuild of all tables from 200,000 events of four companies, compared with reading the same events without applying
 * them.
 */
export async function benchRebuild({ database }: Environment, options: Options, _books: Books): Promise<Line[]> {
  if (!isSelected(options, REBUILD_BENCHMARK)) return []
  // A database of its own, because a rebuild covers all ledgers of a database.
  return withOwnDatabase(database, async (databaseUrl) => [
    await measureRebuilds(REBUILD_BENCHMARK, { databaseUrl, ends: await fillLedgers(databaseUrl) }, options),
  ])
}

/** In rounds, each in a separate process. */
export async function measureRebuilds(name: string, order: Omit<RoundOrder, 'first'>, options: Options): Promise<Line> {
  const rounds: RoundFigures[] = []
  for (let round = 0; round < options.rounds; round++) {
    const first = round % 2 === 0 ? 'rebuild' : 'reading'
    rounds.push(await runRound({ ...order, first }, options.profile))
  }
  console.log(`rebuild: at most ${Math.max(...rounds.map(({ peak_mib }) => peak_mib))} MiB of the process's memory`)
  const figures = new Map([
    ['rebuild', rounds.map(({ rebuild }) => rebuild)],
    ['reading', rounds.map(({ reading }) => reading)],
  ])
  const result = { name, unit: 'events/s', target: TARGET }
  const costs = rounds.flatMap(({ spent, events }) => (spent ? [costOf('event', events, spent)] : []))
  return { ...compare(figures, { value: 'rebuild', floor: 'reading' }, result), cost: middleOf('event', costs) }
}

async function fillLedgers(databaseUrl: string): Promise<RoundOrder['ends']> {
  const shops = await createShops(databaseUrl, COMPANIES)
  return withCore(databaseUrl, async (core) => {
    const filled: RoundOrder['ends'][number][] = []
    for (const { companyId } of shops)
      filled.push({ companyId, revision: await fill(core, companyId, EVENTS / COMPANIES) })
    return filled
  })
}

/** A new process, because the one that wrote the events has the compiled code and the garbage of a writer. */
async function runRound(order: RoundOrder, profile: string | null): Promise<RoundFigures> {
  const profiling = profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : []
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, NODE_ENV: 'production', ROUND: JSON.stringify(order) }
  const program = [...profiling, 'dist/bench/rebuild-round.js']
  const { stdout } = await execute(process.execPath, program, { cwd: ROOT, env })
  return JSON.parse(stdout) as RoundFigures
}
