import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BenchDatabase } from './database.ts'
import type { Share } from './flame/areas.ts'
import { type PostgresFlame, watchPostgres } from './flame/postgres.ts'
import { readProfile } from './flame/service.ts'

const SHOWN = 14
const SHOWN_CHARACTERS = 110

/** Profiles both processes during the benchmarks; the service's part is available after its stop. */
export interface Flame {
  /** Directory of the service's profile. */
  readonly directory: string
  watch(database: BenchDatabase): Promise<() => Promise<void>>
  tellService(): Promise<void>
}

/** @param kept - directory for the profiles; without one they are deleted */
export async function startFlame(kept: string | null): Promise<Flame> {
  const directory = kept ?? (await mkdtemp(join(tmpdir(), 'tillbook-profile-')))
  return {
    directory,
    async watch(database) {
      const watching = await watchPostgres(database)
      return async () => tellPostgres(await watching.stop())
    },
    async tellService() {
      const { areas, stretches, allocations } = await readProfile(directory)
      tell('the service, of its time at work (JavaScript thread, start and warm-up included)', areas)
      tell('the service, of the bytes that it allocated', allocations)
      console.log('\nthe service, longest stretches in which everything else waited:')
      for (const { name, ms } of stretches) console.log(`${`${ms.toFixed(1)} ms`.padStart(10)}  ${name}`)
      if (kept === null) await rm(directory, { recursive: true })
    },
  }
}

function tellPostgres({ waits, functions, statements }: PostgresFlame): void {
  tell('Postgres, backends that had something to do, by the wall', waits)
  if (functions) tell('Postgres, processor time of all its processes', functions)
  else console.log('Postgres, processor time: not told, because perf is not installed or not allowed')
  if (!statements) console.log('Postgres, statements: not told, because it has not loaded pg_stat_statements')
  for (const { statement, calls, ms, planning_ms, wal_bytes } of statements ?? []) {
    const figures = [
      `${Math.round(ms)} ms`,
      `${calls} ×`,
      `${Math.round((1_000 * ms) / calls)} µs, of them ${Math.round((1_000 * planning_ms) / calls)} to plan`,
      `${Math.round(wal_bytes / calls)} B of WAL`,
    ]
    console.log(`  ${figures.join(', ')}: ${statement.slice(0, SHOWN_CHARACTERS)}`)
  }
}

function tell(title: string, shares: readonly Share[]): void {
  console.log(`\n${title}:`)
  for (const { name, share } of shares.slice(0, SHOWN))
    console.log(`${`${(100 * share).toFixed(1)} %`.padStart(8)}  ${name}`)
}
