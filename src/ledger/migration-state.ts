import type { Pool } from 'pg'
import { Unavailable } from '#lib/errors.ts'
import { WrongShardError } from '#lib/moved.ts'
import type { Transaction } from '#postgres/transaction.ts'

/**
 * How a company stands in its home (HOME-40), null where it lives there and stays: `paused`, nothing that runs by itself begins
 * anything of it; `leaving`, no writes either; `left` and `arriving`, it lives elsewhere, and its rows are old or being made.
 */
export type MigrationState = 'paused' | 'leaving' | 'left' | 'arriving'

const isElsewhere = (move: MigrationState | null): boolean => move === 'left' || move === 'arriving'

/** Why nothing may be written for a company now; null where all may. */
export function writeRefusal(companyId: number, move: MigrationState | null): Unavailable | null {
  if (isElsewhere(move)) return new WrongShardError(companyId)
  return move === 'leaving' ? new Unavailable(`company ${companyId} moves to another home`) : null
}

/** @throws Moved where the rows of a company are not what it is (HOME-42). */
export function assertOnThisShard(companyId: number, move: MigrationState | null): void {
  if (isElsewhere(move)) throw new WrongShardError(companyId)
}

/**
 * Whether a transaction may change what a company has beside its ledger, without the ledger's lock: asked first. Where it may, whoever
 * pauses the company waits for its end (HOME-45).
 */
export async function acceptsSideWrites(tx: Transaction, companyId: number): Promise<boolean> {
  const { rows } = await tx.query<{ stays: boolean }>(STAYS_HERE, [companyId])
  return rows[0]?.stays ?? false
}

/** The transaction gets its number before it is known how the company stands. */
const STAYS_HERE = {
  name: 'company_stays_here',
  text: 'select move is null as stays, pg_current_xact_id() from ledgers where company_id = $1',
}

/**
 * What was written beside a ledger goes along when the company moves, if it was committed before writes were refused: asked afterwards,
 * and before anybody is told that it was kept (HOME-46). @throws Unavailable, Moved
 */
export async function assertAcceptsWrites(pool: Pick<Pool, 'query'>, companyId: number): Promise<void> {
  const { rows } = await pool.query<{ move: MigrationState | null }>({ ...MOVE_OF, values: [companyId] })
  const refusal = writeRefusal(companyId, rows[0]?.move ?? null)
  if (refusal) throw refusal
}

const MOVE_OF = { name: 'move_of_company', text: 'select move from ops.ledgers where company_id = $1' }

/** Those that what runs by itself leaves alone, where it does not find its work by a statement (src/postgres/migration-condition.ts). */
export const migratingCompanies = (pool: Pick<Pool, 'query'>): Promise<ReadonlySet<number>> =>
  companiesWhere(pool, 'move is not null')

/** Those of which there are rows here, though they live in other homes. */
export const companiesOnOtherShards = (pool: Pick<Pool, 'query'>): Promise<ReadonlySet<number>> =>
  companiesWhere(pool, `move in ('left', 'arriving')`)

async function companiesWhere(pool: Pick<Pool, 'query'>, condition: string): Promise<ReadonlySet<number>> {
  const { rows } = await pool.query<{ company_id: number }>(`select company_id from ops.ledgers where ${condition}`)
  return new Set(rows.map(({ company_id }) => company_id))
}
