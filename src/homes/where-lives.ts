import type { Pool } from 'pg'
import { MAIN } from '#config/config.ts'
import type { Lives, WhereLives } from '#ledger/follow/whereabouts.ts'
import { createPool } from '#postgres/pool.ts'

/** A home's Postgres. */
export interface HomeUrl {
  readonly name: string
  readonly url: string
}

/** A home that does not answer is away. */
const CONNECT_TIMEOUT_MS = 3_000

/**
 * Where companies of a shared event store live, for the home of a name: what the directory says, and of companies that it does not
 * know what the other homes' own ledgers say. Who is nowhere lives in `main`: its directory may be older than the store, or
 * new (HOME-90). `homes` are all, `main` too; connections are opened for the question only.
 */
export function createWhereLives(home: string, homes: readonly HomeUrl[]): WhereLives {
  const main = homes.filter(({ name }) => name === MAIN)
  const others = homes.filter(({ name }) => name !== home)
  /** Whoever comes here from elsewhere has a ledger here before that, and is not asked about any more. */
  const elsewhere = new Set<number>()
  return async (asking) => {
    const found = new Map<number, Lives>()
    const settle = (companyId: number, name: string) => {
      found.set(companyId, name === home ? 'here' : 'elsewhere')
      if (name !== home) elsewhere.add(companyId)
    }
    for (const companyId of asking) if (elsewhere.has(companyId)) found.set(companyId, 'elsewhere')
    const companyIds = asking.filter((companyId) => !elsewhere.has(companyId))
    if (companyIds.length === 0) return found
    const [directory] = await Promise.all(main.map(({ url }) => asked(url, companyIds, IN_DIRECTORY)))
    for (const { company_id, home: name } of directory ?? []) settle(company_id, name as string)
    const strangers = companyIds.filter((companyId) => !found.has(companyId))
    if (strangers.length === 0) return found
    const answers = await Promise.all(
      others.map(async ({ name, url }) => ({ name, known: await asked(url, strangers, IN_HOME) })),
    )
    for (const { name, known } of answers) for (const { company_id } of known ?? []) settle(company_id, name)
    const isSure = directory !== null && answers.every(({ known }) => known !== null)
    for (const companyId of strangers) {
      if (found.has(companyId)) continue
      if (isSure) settle(companyId, MAIN)
      else found.set(companyId, 'unknown')
    }
    return found
  }
}

const IN_DIRECTORY = 'select company_id, home from ops.company_homes where company_id = any($1::bigint[])'

/** Also whose first event is not applied yet. Of whom arrives or has left another home knows more. */
const IN_HOME = `select company_id from ops.ledgers
  where company_id = any($1::bigint[]) and (move is null or move = 'leaving')`

interface Answer {
  readonly company_id: number
  readonly home?: string
}

/** Null where nobody answers. */
async function asked(url: string, companyIds: readonly number[], text: string): Promise<readonly Answer[] | null> {
  const pool: Pool = createPool(url, {
    max: 1,
    connect_timeout_ms: CONNECT_TIMEOUT_MS,
    application_name: 'tillbook homes',
  })
  try {
    return (await pool.query<Answer>(text, [companyIds])).rows
  } catch (error) {
    // A home that is empty yet has nobody.
    return (error as { code?: string }).code === UNDEFINED_TABLE ? [] : null
  } finally {
    await pool.end()
  }
}

const UNDEFINED_TABLE = '42P01'
