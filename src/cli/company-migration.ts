import * as z from 'zod'
import { configOf } from '#config/config.ts'
import { invalid, refuse } from '#domain/refusal.ts'
import { newId } from '#lib/ids.ts'
import { migrateCompany, undoMigration } from '#sharding/migration/migrate-company.ts'
import type { MigratingShard } from '#sharding/migration/migrating-shard.ts'
import type { MigrationRun } from '#sharding/migration/migration-steps.ts'
import { emptiestShard, shardNamed } from './shards.ts'
import { type Context, parseIdArgument, Refused, type Verbs, validateInput } from './verb.ts'

/** Runs `work` with the owner connection of a shard and its database. */
async function withShard<T>(context: Context, name: string, work: (shard: MigratingShard) => Promise<T>): Promise<T> {
  const [core, { databaseUrl, ownerUrl = databaseUrl }] = [
    await context.core({ shard: name }),
    await context.addresses(name),
  ]
  const { pool, store, model, keys } = core
  const dataDir = configOf(context.config, name).DATA_DIR
  const verifyTables = (companyId: number) => core.verifyTables(companyId, { onApplied: context.progress.add })
  return core.asOwner((owner) =>
    work({ name, databaseUrl, ownerUrl, dataDir, pool, owner, store, model, keys, verifyTables }),
  )
}

/** The shard that has the company, or has just released it, for a migration to `to`. @throws Refused */
async function sourceShardOf(context: Context, companyId: number, to: string): Promise<string> {
  const directory = await context.directory()
  if (!(await directory.shards()).some(({ name }) => name === to)) throw new Refused(refuse('not_found', { shard: to }))
  const shard = await directory.shardOf(companyId)
  if (shard === null) throw new Refused(refuse('not_found', { company_id: companyId }))
  if (shard !== to) return shard
  // The migration passed its switch but was not completed.
  const { pool } = await context.core({ shard: to })
  const { rows } = await pool.query<{ other_shard: string }>(
    `select other_shard from ops.moves where company_id = $1 and direction = 'in'`,
    [companyId],
  )
  if (!rows[0]) throw new Refused(invalid('to', 'a empresa já está nesse shard'))
  return rows[0].other_shard
}

const WAIT = 'deve ser um número de segundos de 0 a 3600'
/** Seconds, as text. */
const Wait = z.object({
  answersMs: z
    .string()
    .regex(/^\d{1,4}$/, WAIT)
    .transform((seconds) => Number(seconds) * 1_000)
    .refine((ms) => ms <= 3_600_000, WAIT),
})

interface MigrationOptions extends Pick<MigrationRun, 'companyId' | 'answersMs' | 'keep'> {
  /** Cancels the migration; the company stays on its shard. */
  readonly undo: boolean
}

async function runMigration(
  context: Context,
  { undo, ...how }: MigrationOptions,
  [leaves, to]: readonly [string, string],
): Promise<object> {
  const { pool: main } = await context.core()
  return withShard(context, leaves, (from) =>
    withShard(context, to, async (target) => {
      const { progress } = context
      const moving: MigrationRun = { ...how, from, to: target, main, onProgress: progress.tell, progress, newId }
      if (!undo) return migrateCompany(moving)
      await undoMigration(moving)
      return { company_id: how.companyId, shard: leaves }
    }),
  )
}

/** A company on a shard being emptied, with the target shard of a migration in progress. */
interface DepartingCompany {
  readonly company_id: number
  readonly begun: string | null
}

/** Companies of the shard, and companies whose migration away from it passed its switch but was not completed. */
async function listDepartingCompanies(context: Context, name: string): Promise<readonly DepartingCompany[]> {
  const { pool: main } = await context.core()
  const { pool } = await context.core({ shard: name })
  const [lives, moves] = await Promise.all([
    main.query<{ company_id: number }>('select company_id from ops.company_shards where shard = $1', [name]),
    pool.query<{ company_id: number; other_shard: string }>(
      `select company_id, other_shard from ops.moves where direction = 'out'`,
    ),
  ])
  const begun = new Map(moves.rows.map((row) => [row.company_id, row.other_shard]))
  const ids = new Set([...begun.keys(), ...lives.rows.map((row) => row.company_id)])
  return [...ids].sort((a, b) => a - b).map((id) => ({ company_id: id, begun: begun.get(id) ?? null }))
}

/**
 * Migrates all companies of a shard one by one, each to the emptiest shard that accepts new companies (SHARD-10).
 * @throws Refused
 */
async function empty(context: Context, name: string, answersMs: number): Promise<void> {
  for (const { company_id, begun } of await listDepartingCompanies(context, name)) {
    const to = begun ?? (await emptiestShard(context))
    if (to === null) throw new Refused(invalid('move', 'nenhum outro shard recebe empresas'))
    process.stderr.write(`company ${company_id} to ${to}\n`)
    await runMigration(context, { companyId: company_id, answersMs, keep: false, undo: false }, [name, to])
  }
}

export const verbs: Verbs<'company move' | 'shard drain'> = {
  'company move': {
    async run(context, { company, to, undo, keep, wait = '60' }) {
      const companyId = parseIdArgument(company)
      const { answersMs } = validateInput(Wait, { answersMs: wait })
      const how = { companyId, answersMs, keep: keep !== undefined, undo: undo !== undefined }
      return runMigration(context, how, [await sourceShardOf(context, companyId, to), to])
    },
  },
  'shard drain': {
    async run(context, { name, undo, move: moves, wait = '60' }) {
      const { answersMs } = validateInput(Wait, { answersMs: wait })
      if (undo !== undefined && moves !== undefined) throw new Refused(invalid('move', 'não combina com --undo'))
      await shardNamed(context, name)
      await (await context.directory()).drain(name, undo === undefined)
      if (moves !== undefined) await empty(context, name, answersMs)
      return shardNamed(context, name)
    },
  },
}
