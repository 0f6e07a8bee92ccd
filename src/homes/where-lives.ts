import type { Pool } from 'pg'
import { MAIN, type NamedUrl } from '#config/databases.ts'
import type { Lives, WhereLives } from '#ledger/follow/whereabouts.ts'
import { withPool } from '#postgres/pool.ts'
import type { Directory } from './directory.ts'

interface Asking {
  /** Whom it is asked for. */
  readonly home: string
  readonly directory: Pick<Directory, 'pool'>
  /** All but `main`. */
  readonly homes: readonly NamedUrl[]
}

/** A home that does not answer is away. */
const CONNECT_TIMEOUT_MS = 3_000

/**
 * Where companies of a shared event store live: what the directory says, and of companies that it does not know what the ledgers of
 * the other homes say. Who is nowhere lives in `main`: its directory may be older than the store, or new (HOME-90). To
 * further homes connections are opened for the question only.
 */
export function createWhereLives({ home, directory, homes }: Asking): WhereLives {
  const others = homes.filter(({ name }) => name !== home)
  /** Whoever comes here from elsewhere has a ledger here before that, and is not asked about any more. */
  const elsewhere = new Set<number>()

  /** The homes of those that have one. Null where somebody does not answer who may have the rest. */
  async function homesOf(companyIds: readonly number[], found: Map<number, string>): Promise<'all' | null> {
    for (const { company_id, home } of await ask(directory.pool, IN_DIRECTORY, companyIds)) found.set(company_id, home)
    const strangers = companyIds.filter((companyId) => !found.has(companyId))
    if (strangers.length === 0) return 'all'
    const answers = await Promise.allSettled([
      ...(home === MAIN ? [] : [ask(directory.pool, IN_HOME, strangers, MAIN)]),
      ...others.map(({ name, url }) => askApart(url, strangers, name)),
    ])
    for (const answer of answers)
      if (answer.status === 'fulfilled') for (const { company_id, home } of answer.value) found.set(company_id, home)
    return answers.every(({ status }) => status === 'fulfilled') ? 'all' : null
  }

  return async (companyIds) => {
    const asked = companyIds.filter((companyId) => !elsewhere.has(companyId))
    const found = new Map<number, string>()
    const whole = asked.length === 0 ? 'all' : await homesOf(asked, found).catch(() => null)
    const lives = (companyId: number): Lives => {
      if (elsewhere.has(companyId)) return 'elsewhere'
      const name = found.get(companyId) ?? (whole && MAIN)
      if (name === null) return 'unknown'
      if (name !== home) elsewhere.add(companyId)
      return name === home ? 'here' : 'elsewhere'
    }
    return new Map(companyIds.map((companyId) => [companyId, lives(companyId)]))
  }
}

interface Residence {
  readonly company_id: number
  readonly home: string
}

const IN_DIRECTORY = 'select company_id, home from ops.company_homes where company_id = any($1::bigint[])'

/** Also whose first event is not applied yet. Of whom arrives or has left another home knows more. */
const IN_HOME = `select company_id, $2 as home from ops.ledgers
  where company_id = any($1::bigint[]) and (move is null or move in ('paused', 'leaving'))`

/** A home that is empty has nobody. @throws where nobody answers */
async function ask(
  pool: Pool,
  text: string,
  companyIds: readonly number[],
  ...name: readonly string[]
): Promise<readonly Residence[]> {
  try {
    return (await pool.query<Residence>(text, [companyIds, ...name])).rows
  } catch (error) {
    if ((error as { code?: string }).code === UNDEFINED_TABLE) return []
    throw error
  }
}

const UNDEFINED_TABLE = '42P01'

async function askApart(url: string, companyIds: readonly number[], name: string): Promise<readonly Residence[]> {
  const options = { max: 1, connect_timeout_ms: CONNECT_TIMEOUT_MS, application_name: 'tillbook homes' }
  return withPool(url, options, (pool) => ask(pool, IN_HOME, companyIds, name))
}
