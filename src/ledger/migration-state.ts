import { Unavailable, WrongShardError } from '#lib/errors.ts'
import type { Queryable } from '#postgres/database.ts'
import type { Transaction } from '#postgres/transaction.ts'

/**
 * Migration state of a company on this shard (SHARD-40); null if it is here and does not migrate. `paused`: background
 * jobs start nothing for it; `leaving`: writes are refused too; `left` and `arriving`: it is on another shard, and its
 * rows here are outdated or incomplete.
 */
export type MigrationState = 'paused' | 'leaving' | 'left' | 'arriving'

const isElsewhere = (move: MigrationState | null): boolean => move === 'left' || move === 'arriving'

/** Reason why writes of a company are refused now; null if they are accepted. */
export function writeRefusal(companyId: number, move: MigrationState | null): Unavailable | null {
  if (isElsewhere(move)) return new WrongShardError(companyId)
  return move === 'leaving' ? new Unavailable(`company ${companyId} moves to another shard`) : null
}

/** @throws WrongShardError if the company's rows here are outdated or incomplete (SHARD-42). */
export function assertOnThisShard(companyId: number, move: MigrationState | null): void {
  if (isElsewhere(move)) throw new WrongShardError(companyId)
}

/**
 * Whether a transaction may change a company's rows beside its ledger without the ledger's lock. Call it first: if the
 * answer is true, a process that pauses the company waits for the end of this transaction (SHARD-45).
 */
export async function acceptsSideWrites(tx: Transaction, companyId: number): Promise<boolean> {
  const { rows } = await tx.query<{ stays: boolean }>(STAYS_HERE, [companyId])
  return rows[0]?.stays ?? false
}

/** Assigns the transaction id before the migration state is read. */
const STAYS_HERE = {
  name: 'company_stays_here',
  text: 'select move is null as stays, pg_current_xact_id() from ledgers where company_id = $1',
}

/**
 * Rows beside the ledger migrate with the company only if they were committed before writes were refused. Call this
 * after the COMMIT and before the caller gets a confirmation (SHARD-46). @throws Unavailable, WrongShardError
 */
export async function assertAcceptsWrites(pool: Queryable, companyId: number): Promise<void> {
  const { rows } = await pool.query<{ move: MigrationState | null }>({ ...MOVE_OF, values: [companyId] })
  const refusal = writeRefusal(companyId, rows[0]?.move ?? null)
  if (refusal) throw refusal
}

const MOVE_OF = { name: 'move_of_company', text: 'select move from ops.ledgers where company_id = $1' }

/**
 * Companies that background jobs skip, for jobs that do not select their work by a statement
 * (src/background/migration-condition.ts).
 */
export const migratingCompanies = (pool: Queryable): Promise<ReadonlySet<number>> =>
  companiesWhere(pool, 'move is not null')

/** Companies on other shards that still have rows here. */
export const companiesOnOtherShards = (pool: Queryable): Promise<ReadonlySet<number>> =>
  companiesWhere(pool, `move in ('left', 'arriving')`)

async function companiesWhere(pool: Queryable, condition: string): Promise<ReadonlySet<number>> {
  const { rows } = await pool.query<{ company_id: number }>(`select company_id from ops.ledgers where ${condition}`)
  return new Set(rows.map(({ company_id }) => company_id))
}
