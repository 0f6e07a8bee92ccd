import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { z } from 'zod'
import { recordRestore } from '#commands/companies.ts'
import { isIdKind, RECORD_KINDS } from '#domain/record-kinds.ts'
import type { Refusal } from '#domain/refusal.ts'
import { isRefusal } from '#ledger/command.ts'
import { type Envelope, streamOf } from '#ledger/envelope.ts'
import { isOutside } from '#ledger/port.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import { withAdvisoryLock } from '#postgres/advisory-lock.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { companiesOfFiles } from './checkpoint-files.ts'
import { idFloor } from './id-gap.ts'
import { installationOf } from './installation.ts'
import {
  hostsOf,
  type InstallationFile,
  readInstallationNote,
  shardOf,
  writeInstallationNote,
} from './installation-file.ts'
import { type RestoreStatementOptions, recordRestoredLedger } from './restored-ledgers.ts'
import { claimStore } from './store-claim.ts'
import { readStoredMarks } from './stored-marks.ts'
import { emptyTree } from './trees.ts'

/** What an operator says. */
export interface RestoreDeclaration {
  /** UTC. */
  readonly lost_after: string
  readonly reason: string
  /** A copy beside an installation that goes on. */
  readonly copy: boolean
}

/** A restore while it is recorded, in `ops.installation`. */
const Restoring = z.object({
  restored_at: z.string(),
  lost_after: z.string(),
  reason: z.string(),
  /** The id that a copy gets; null: no copy. */
  copy_id: z.uuid().nullable(),
  /** Where the ledgers ended when it began. */
  heads: z.array(z.tuple([z.number(), z.number()])),
})
type Restoring = z.infer<typeof Restoring>

export interface Restore extends Omit<InstallationFile, 'onPutAside'>, RestoreStatementOptions {
  /** It writes though the installation is held. */
  readonly writer: Writer
  /** A random uuid, for a copy. */
  readonly newInstallationId: () => string
  /** Works on connections of the owner of what is only added to. */
  readonly asOwner: <T>(work: (pool: Pool) => Promise<T>) => Promise<T>
}

export interface RestoreReport {
  readonly installation: string
  readonly copy: boolean
  readonly restored_at: string
  readonly lost_after: string
  /** Ledgers that hold `InstallationRestored`. */
  readonly ledgers: number
  /** Those of which what was sealed last is gone, and which go on as another log. */
  readonly other_logs: number
}

/** Nothing was recorded. */
export class CannotRestore extends Unavailable {}

/** One at a time. */
const RESTORE_LOCK = 'tillbook restore'

/**
 * Records in each ledger that it comes from a backup, has ids go on beyond those that may have been given out, has sealing go on
 * from signed statements, and ends what the installation was held for (OPS-84). Interrupted anywhere, the next run goes on with
 * what the first one was told. @throws CannotRestore, Refused by the first command
 */
export async function restore(given: Restore, said: RestoreDeclaration): Promise<RestoreReport | Refusal> {
  const ifTaken = () => {
    throw new CannotRestore('another command is recording a restore')
  }
  return withAdvisoryLock(given.pool, { key: RESTORE_LOCK, ifTaken }, () => restoreAlone(given, said))
}

async function restoreAlone(given: Restore, said: RestoreDeclaration): Promise<RestoreReport | Refusal> {
  const restoring = await begin(given, said)
  const { restored_at, lost_after, reason, copy_id, heads } = restoring
  await raiseCompanyIds(given)
  let other_logs = 0
  for (const [companyId, head] of heads) {
    const recorded = await record(given, restoring, companyId, head)
    if (isRefusal(recorded)) return recorded
    const isOther =
      copy_id === null &&
      (await recordRestoredLedger(given, { companyId, restored_at, lost_after, reason, event: recorded }))
    if (isOther) other_logs += 1
  }
  if (copy_id === null) await stateGone(given, restoring)
  await end(given, restoring)
  const { id: installation } = await installationOf(given.pool)
  return { installation, copy: copy_id !== null, restored_at, lost_after, ledgers: heads.length, other_logs }
}

/** What an interrupted run was told, or what this one is. @throws CannotRestore */
async function begin(given: Restore, { lost_after, reason, copy }: RestoreDeclaration): Promise<Restoring> {
  const { pool, dataDir, now, newInstallationId } = given
  const row = await installationOf(pool)
  if (row.restoring !== null) return Restoring.parse(row.restoring)
  const noted = await readInstallationNote(dataDir)
  if (copy) await makeRoom(given, row, noted?.installation ?? null)
  else if (noted && noted.installation !== row.id)
    throw new CannotRestore(
      `DATA_DIR is of installation ${noted.installation}, the database of ${row.id}: give it its own, or none`,
    )
  const { rows } = await pool.query<{ company_id: number; revision: number }>(
    'select company_id, revision from ops.ledgers where revision >= 0 order by company_id',
  )
  const heads = rows.map(({ company_id, revision }): [number, number] => [company_id, revision])
  const restoring = { restored_at: now(), lost_after, reason, copy_id: copy ? newInstallationId() : null, heads }
  await pool.query('update ops.installation set restoring = $1', [JSON.stringify(restoring)])
  return restoring
}

/**
 * A copy must share neither DATA_DIR nor event store with what it was copied from. Seals of another installation that had this
 * DATA_DIR before are put aside: they are not the copy's. @throws CannotRestore
 */
async function makeRoom(
  { store, eventStoreUrl, dataDir }: Restore,
  row: Awaited<ReturnType<typeof installationOf>>,
  noted: string | null,
) {
  if (noted === row.id && !row.is_copy)
    throw new CannotRestore('DATA_DIR is that of the installation which this is a copy of: give the copy another one')
  if (isOutside(store) && hostsOf(eventStoreUrl ?? '') === row.event_store)
    throw new CannotRestore(
      `the event store ${row.event_store} is that of the installation which this is a copy of: give the copy another one`,
    )
  if (noted === null) return
  await rename(join(dataDir, 'seals'), join(dataDir, `seals.${noted}`)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}

/** Companies that may have been made since: of some, seals are still here. */
const COMPANIES_BEYOND = 1_000

async function raiseCompanyIds({ pool, dataDir }: Restore): Promise<void> {
  const sealed = Math.max(0, ...(await companiesOfFiles(join(dataDir, 'seals'))))
  await pool.query(
    `select setval('ops.company_ids', greatest($1, (select coalesce(max(company_id), 0) from ops.ledgers)) + $2)
     from ops.company_ids s where case when s.is_called then s.last_value else 0 end
       < greatest($1, (select coalesce(max(company_id), 0) from ops.ledgers)) + $2`,
    [sealed, COMPANIES_BEYOND],
  )
}

/** The ledger's `InstallationRestored` of this restore. */
async function record(
  given: Restore,
  restoring: Restoring,
  companyId: number,
  head: number,
): Promise<Envelope | Refusal> {
  const before = await recorded(given, companyId, head)
  if (before) return before
  const { lost_after, reason, copy_id } = restoring
  const ids = await idsFor(given, restoring, companyId, head)
  const answer = await runAsSystem(given.writer, companyId, recordRestore, {
    lost_after,
    reason,
    copy: copy_id !== null,
    ids,
  })
  if (isRefusal(answer)) return answer
  const since = await recorded(given, companyId, head)
  if (!since) throw new Error(`company ${companyId} holds no InstallationRestored`)
  return since
}

async function recorded({ store }: Restore, companyId: number, head: number): Promise<Envelope | null> {
  for await (const event of store.read(streamOf(companyId), head + 1))
    if (event.type === 'InstallationRestored') return event
  return null
}

async function idsFor(
  { pool, store, dataDir }: Restore,
  { restored_at, lost_after }: Restoring,
  companyId: number,
  head: number,
) {
  let first_at = lost_after
  for await (const { recorded_at } of store.pick(streamOf(companyId), [0])) first_at = recorded_at
  const mark = (await readStoredMarks(dataDir)).find(({ company_id }) => company_id === companyId)
  const sealed = Math.max(0, (mark?.revision ?? 0) - head)
  const { rows } = await pool.query<{ ids: Record<string, number> }>(
    'select ids from ops.ledgers where company_id = $1',
    [companyId],
  )
  return idFloor(RECORD_KINDS.filter(isIdKind), rows[0]?.ids ?? {}, {
    events: head + 1,
    first_at,
    lost_after,
    restored_at,
    sealed,
  })
}

/** Companies of which the folder has seals, and nothing else is left. */
async function stateGone(given: Restore, { restored_at, lost_after, reason, heads }: Restoring): Promise<void> {
  const there = new Set(heads.map(([companyId]) => companyId))
  for (const companyId of await companiesOfFiles(given.directory))
    if (!there.has(companyId))
      await recordRestoredLedger(given, { companyId, restored_at, lost_after, reason, event: null })
}

/** What is about seals of the installation that this was copied from. */
const OF_SEALS = [
  'seal_keys',
  'ledger_checkpoints',
  'installation_entries',
  'installation_checkpoints',
  'checkpoint_tokens',
  'restored_ledgers',
]

/** The owner's to do: these tables are only added to. */
const emptySeals = (pool: Pool): Promise<void> =>
  inTransaction(pool, async (_, client) => {
    for (const table of OF_SEALS.map((name) => `ops.${name}`))
      await client.query(
        `alter table ${table} disable trigger append_only; delete from ${table}; select ops.append_only('${table}')`,
      )
  })

/** DATA_DIR and event store first: until the database says that it is over, the next run does it again. */
async function end(given: Restore, { copy_id }: Restoring): Promise<void> {
  const { pool, store, eventStoreUrl } = given
  const id = copy_id ?? (await installationOf(pool)).id
  if (copy_id !== null && isOutside(store)) await claimStore(given, store, id)
  if (copy_id !== null) {
    await given.asOwner(emptySeals)
    await emptyTree(pool, 0)
  }
  await writeInstallationNote(given, id)
  const home = await shardOf(pool)
  await inTransaction(pool, async (_, client) => {
    if (copy_id !== null) await client.query('delete from ops.sealing_faults')
    await client.query(
      `update ops.installation set id = $1, is_copy = is_copy or $2, home = coalesce($3, home),
         event_store = $4, restoring = null`,
      [id, copy_id !== null, home, eventStoreUrl === null ? null : hostsOf(eventStoreUrl)],
    )
  })
}
