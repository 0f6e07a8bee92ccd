import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { administer, type BenchDatabase } from '../database.ts'
import { type Share, sharesOf } from './areas.ts'

/** Server settings required for statement times. */
export const STATEMENT_TIMES = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track_planning': 'on',
}

/** Work of Postgres, as far as it can be measured. */
export interface PostgresFlame {
  /** Active backends: running, or their wait events. */
  readonly waits: readonly Share[]
  /** Null if the server does not provide them. */
  readonly statements: readonly StatementTime[] | null
  /** Shares of the processor time of all its processes; null without `perf`. */
  readonly functions: readonly Share[] | null
}

interface StatementTime {
  readonly statement: string
  readonly calls: number
  /** Time to run and to plan it. */
  readonly ms: number
  readonly planning_ms: number
  readonly wal_bytes: number
}

const SAMPLE_MS = 20
const PERF_HZ = 499

/** Samples until it is stopped. */
export async function watchPostgres({ url, ownerUrl }: BenchDatabase): Promise<{ stop(): Promise<PostgresFlame> }> {
  const tells = await administer(ownerUrl, async (client) => {
    await client.query('create extension if not exists pg_stat_statements')
    await client.query('select pg_stat_statements_reset()')
  }).then(
    () => true,
    () => false,
  )
  const sampling = await sampleWaits(ownerUrl)
  const recording = await recordFunctions()
  return {
    async stop() {
      const [waits, functions] = [await sampling.stop(), await recording.stop()]
      return {
        waits,
        functions,
        statements: tells ? await statementsOf(ownerUrl, url) : null,
      }
    },
  }
}

async function sampleWaits(ownerUrl: string): Promise<{ stop(): Promise<Share[]> }> {
  const client = new pg.Client({ connectionString: ownerUrl, application_name: 'bench' })
  await client.connect()
  const seen = new Map<string, number>()
  let last: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    last = client.query<{ wait: string }>(WAITS).then(({ rows }) => {
      for (const { wait } of rows) seen.set(wait, (seen.get(wait) ?? 0) + 1)
    })
  }, SAMPLE_MS)
  return {
    async stop() {
      clearInterval(timer)
      await last
      await client.end()
      return sharesOf(seen)
    },
  }
}

const WAITS = `
  select coalesce(wait_event_type || ' ' || wait_event, 'at work') as wait from pg_stat_activity
  where pid <> pg_backend_pid() and backend_type = 'client backend' and state = 'active'`

async function statementsOf(ownerUrl: string, url: string): Promise<StatementTime[]> {
  const { pathname, username: user } = new URL(url)
  const database = pathname.slice(1)
  const { rows } = await administer(ownerUrl, (client) =>
    client.query<{ statement: string; calls: string; ms: number; planning_ms: number; wal_bytes: string }>(
      `select regexp_replace(query, '\\s+', ' ', 'g') as statement, calls, total_exec_time + total_plan_time as ms, total_plan_time as planning_ms, wal_bytes
       from pg_stat_statements s join pg_database d on d.oid = s.dbid
       where d.datname = $1 and s.userid = $2::regrole order by ms desc limit 15`,
      [database, user],
    ),
  )
  return rows.map((row) => ({ ...row, calls: Number(row.calls), wal_bytes: Number(row.wal_bytes) }))
}

/** Samples the whole machine, because backends come and go. */
async function recordFunctions(): Promise<{ stop(): Promise<Share[] | null> }> {
  const directory = await mkdtemp(join(tmpdir(), 'tillbook-perf-'))
  const file = join(directory, 'perf.data')
  const recorder = spawn('perf', ['record', '-q', '-a', '-e', 'cpu-clock', '-F', String(PERF_HZ), '-o', file], {
    stdio: 'ignore',
  })
  const ended = once(recorder, 'exit').catch(() => null)
  return {
    async stop() {
      try {
        return await functionsOf(recorder, ended, file)
      } catch {
        return null
      } finally {
        await rm(directory, { recursive: true })
      }
    },
  }
}

async function functionsOf(recorder: ChildProcess, ended: Promise<unknown>, file: string): Promise<Share[]> {
  recorder.kill('SIGINT')
  await ended
  const report = ['report', '-i', file, '--comm', 'postgres', '--no-children', '--stdio', '-q', '--sort', 'dso,symbol']
  const { stdout } = await promisify(execFile)('perf', [...report, '-g', 'none'], { maxBuffer: 64 * 1_048_576 })
  return functionsIn(stdout)
}

/** Parses lines like `12.34%  postgres  [.] heap_insert`; all kernel functions are one entry. */
export function functionsIn(report: string): Share[] {
  const figures = new Map<string, number>()
  for (const line of report.split('\n')) {
    const [, share = '', where = '', symbol = ''] = /^\s*([\d.]+)%\s+\S+\s+\[(.)\]\s+(\S+)/.exec(line) ?? []
    if (share === '') continue
    const name = where === 'k' ? 'the kernel' : symbol
    figures.set(name, (figures.get(name) ?? 0) + Number(share))
  }
  return sharesOf(figures)
}
