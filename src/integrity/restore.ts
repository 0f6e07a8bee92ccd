import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pool } from 'pg'
import * as z from 'zod'
import { recordRestore } from '#commands/company-commands.ts'
import { isIdKind, RECORD_KINDS } from '#domain/record-values.ts'
import type { Refusal } from '#domain/refusals.ts'
import { type Envelope, isRefusal, streamName } from '#ledger/command.ts'
import { raiseCompanyIds } from '#ledger/ledgers.ts'
import { isOutside } from '#ledger/port.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import { appendLines } from '#lib/json.ts'
import { inTransaction, withAdvisoryLock } from '#postgres/transaction.ts'
import { openKeyRing, type RingPlace, type SealKeyRing } from './checkpoint-keys.ts'
import { lastStoredCheckpoint, ledgerCheckpoints, type SignedCheckpoint } from './checkpoint-log.ts'
import { countGeneration, treeWith } from './checkpoints.ts'
import {
  claimStore,
  type KeptStatement,
  lastStatements,
  loadInstallation,
  parseRestored,
  type RestoredStatement,
  restoredPath,
  signStatement,
} from './installation.ts'
import {
  type InstallationFile,
  parseStoreHosts,
  readDatabaseIdentity,
  readInstallationNote,
  readStoredMarks,
  writeInstallationNote,
} from './installation-check.ts'
import { computeRoot } from './merkle.ts'
import { companiesOfFiles, companyOrigin } from './note.ts'
import { emptyTree, growTree, ledgerLog, readTreeHashes } from './trees.ts'

interface RestoreStatementOptions extends Pick<InstallationFile, 'store'>, RingPlace {}

interface Restored extends Pick<RestoredStatement, 'restored_at' | 'lost_after' | 'reason'> {
  readonly companyId: number
  /** The ledger's `InstallationRestored`; null if nothing of the ledger is left. */
  readonly event: Envelope | null
}

/**
 * Signs a statement of what a restore did to a sealed ledger and where sealing continues. Returns whether the
 * ledger continues as another log because it lost sealed events. Repeatable. @throws CheckpointAltered, WrongSealKey
 */
async function recordRestoredLedger(
  stating: RestoreStatementOptions,
  { companyId, event, ...said }: Restored,
): Promise<boolean> {
  const { pool, directory } = stating
  const known = (await lastStatements(directory)).get(companyId)
  if (known?.restored_at === said.restored_at) {
    await keep(stating, known)
    return isOther(parseRestored(known.note))
  }
  const ring = await openKeyRing(stating)
  const { number } = await countGeneration(pool, directory, companyId)
  const { last } = await lastStoredCheckpoint(pool, ledgerCheckpoints(ring, directory, companyId, number), ring)
  if (!last) return false
  const before = { origin: last.origin, size: last.size, root: last.root.toString('base64') }
  const since = event && (await headSince(stating, ring, { companyId, last, number, size: event.revision + 1 }))
  const statement = { ...said, company_id: companyId, before, since, hash: event?.hash ?? null }
  const note = signStatement(ring.installationId, ring.current, statement)
  const kept = { company_id: companyId, restored_at: said.restored_at, note }
  await appendLines(restoredPath(directory), [kept])
  await keep(stating, kept)
  return isOther(statement)
}

const isOther = (said: Pick<RestoredStatement, 'before' | 'since'> | null): boolean =>
  said?.since?.origin !== said?.before.origin

async function headSince(
  { pool, store }: RestoreStatementOptions,
  { installationId }: SealKeyRing,
  { companyId, last, number, size }: { companyId: number; last: SignedCheckpoint; number: number; size: number },
) {
  const log = ledgerLog(store, companyId)
  const covered = size > last.size && (await treeWith(pool, log, last)).hashes !== null
  await growTree(pool, log)
  const root = computeRoot(await readTreeHashes(pool, companyId, size), size).toString('base64')
  return { origin: companyOrigin(installationId, companyId, covered ? number : number + 1), size, root }
}

const keep = ({ pool }: RestoreStatementOptions, { company_id, restored_at, note }: KeptStatement) =>
  pool.query(
    'insert into ops.restored_ledgers (company_id, restored_at, note) values ($1, $2, $3) on conflict do nothing',
    [company_id, restored_at, note],
  )

/** Highest assigned id of a company by kind. */
export type Counters = Readonly<Record<string, number>>

interface Lost {
  /** Number of remaining events, and the time of the first one (UTC). */
  readonly events: number
  readonly first_at: string
  /** UTC. */
  readonly lost_after: string
  readonly restored_at: string
  /** Number of lost events that a checkpoint covered. */
  readonly sealed: number
}

/** Minimum gap, also if the pace of the ledger is unknown. */
const LEAST = 10_000
/** Upper bound of the ratio between the event rate in the lost period and the average. */
const RUSH = 20
const DAY_MS = 86_400_000
/** Keeps ids well below the largest safe integer. */
const MOST = 1_000_000_000_000

/**
 * Ids up to this floor must not be assigned again. Each assigned id has an event, so at most as many ids were lost as
 * events. Their number is estimated from the ledger's pace with a large margin.
 */
export function idFloor(kinds: readonly string[], ids: Counters, lost: Lost): Counters {
  const margin = marginOf(lost)
  return Object.fromEntries(kinds.map((kind) => [kind, Math.min(MOST, (ids[kind] ?? 0) + margin)]))
}

function marginOf({ events, first_at, lost_after, restored_at, sealed }: Lost): number {
  const known_ms = Math.max(DAY_MS, Date.parse(lost_after) - Date.parse(first_at))
  const lost_ms = Math.max(0, Date.parse(restored_at) - Date.parse(lost_after))
  return Math.max(LEAST, sealed + Math.ceil((RUSH * events * lost_ms) / known_ms))
}

/** The operator's declaration. */
export interface RestoreDeclaration {
  /** UTC. */
  readonly lost_after: string
  readonly reason: string
  /** A copy beside an installation that stays in use. */
  readonly copy: boolean
}

/** State of an unfinished restore in `ops.installation`. */
const Restoring = z.object({
  restored_at: z.string(),
  lost_after: z.string(),
  reason: z.string(),
  /** New installation id of a copy; null for a restore. */
  copy_id: z.uuid().nullable(),
  /** Ledger heads when the restore began. */
  heads: z.array(z.tuple([z.number(), z.number()])),
})
type Restoring = z.infer<typeof Restoring>

export interface Restore extends Omit<InstallationFile, 'onPutAside'>, RestoreStatementOptions {
  /** Exempt from the write block. */
  readonly writer: Writer
  /** Random uuid for a copy. */
  readonly newInstallationId: () => string
  /** Runs work on connections of the tables' owner; append-only tables need it. */
  readonly asOwner: <T>(work: (pool: Pool) => Promise<T>) => Promise<T>
}

export interface RestoreReport {
  readonly installation: string
  readonly copy: boolean
  readonly restored_at: string
  readonly lost_after: string
  /** Number of ledgers with `InstallationRestored`. */
  readonly ledgers: number
  /** Number of ledgers that lost sealed events and continue as another log. */
  readonly other_logs: number
}

/** The restore was refused; nothing was recorded. */
export class CannotRestore extends Unavailable {}

/** Serializes restores. */
const RESTORE_LOCK = 'tillbook restore'

/**
 * Records the restore in each ledger, raises the id floor above ids that may have been assigned, continues sealing from
 * signed statements, and lifts the write block. An interrupted run is continued by the next one with the
 * declaration of the first. @throws CannotRestore, Refused by the first command
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
  await raiseCompanyIds(given.pool, await companiesOfFiles(join(given.dataDir, 'seals')), COMPANIES_BEYOND)
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
  const { id: installation } = await loadInstallation(given.pool)
  return { installation, copy: copy_id !== null, restored_at, lost_after, ledgers: heads.length, other_logs }
}

/** Returns the state of an interrupted run, or starts this one. @throws CannotRestore */
async function begin(given: Restore, { lost_after, reason, copy }: RestoreDeclaration): Promise<Restoring> {
  const { pool, dataDir, now, newInstallationId } = given
  const row = await loadInstallation(pool)
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
 * A copy must not share DATA_DIR or event store with its source. Checkpoints of another installation in this DATA_DIR
 * are moved away. @throws CannotRestore
 */
async function makeRoom(
  { store, eventStoreUrl, dataDir }: Restore,
  row: Awaited<ReturnType<typeof loadInstallation>>,
  noted: string | null,
) {
  if (noted === row.id && !row.is_copy)
    throw new CannotRestore('DATA_DIR is that of the installation which this is a copy of: give the copy another one')
  if (isOutside(store) && parseStoreHosts(eventStoreUrl ?? '') === row.event_store)
    throw new CannotRestore(
      `the event store ${row.event_store} is that of the installation which this is a copy of: give the copy another one`,
    )
  if (noted === null) return
  await rename(join(dataDir, 'seals'), join(dataDir, `seals.${noted}`)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}

/** Margin for ids of companies created after the backup; the folder may have checkpoints of some. */
const COMPANIES_BEYOND = 1_000

/** Returns the ledger's `InstallationRestored` of this restore. */
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
  for await (const event of store.read(streamName(companyId), head + 1))
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
  for await (const { recorded_at } of store.pick(streamName(companyId), [0])) first_at = recorded_at
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

/** Signs statements for companies that have checkpoints in the folder but no ledger. */
async function stateGone(given: Restore, { restored_at, lost_after, reason, heads }: Restoring): Promise<void> {
  const there = new Set(heads.map(([companyId]) => companyId))
  for (const companyId of await companiesOfFiles(given.directory))
    if (!there.has(companyId))
      await recordRestoredLedger(given, { companyId, restored_at, lost_after, reason, event: null })
}

/** Tables about checkpoints of the source installation. */
const OF_SEALS = [
  'checkpoint_keys',
  'ledger_checkpoints',
  'installation_entries',
  'installation_checkpoints',
  'checkpoint_tokens',
  'restored_ledgers',
]

/** Needs the tables' owner, because these tables are append-only. */
const emptySeals = (pool: Pool): Promise<void> =>
  inTransaction(pool, async (_, client) => {
    for (const table of OF_SEALS.map((name) => `ops.${name}`))
      await client.query(
        `alter table ${table} disable trigger append_only; delete from ${table}; select ops.append_only('${table}')`,
      )
  })

/** Updates DATA_DIR and event store first: until the database records the end, the next run repeats this. */
async function end(given: Restore, { copy_id }: Restoring): Promise<void> {
  const { pool, store, eventStoreUrl } = given
  const id = copy_id ?? (await loadInstallation(pool)).id
  if (copy_id !== null && isOutside(store)) await claimStore(given, store, id)
  if (copy_id !== null) {
    await given.asOwner(emptySeals)
    await emptyTree(pool, 0)
  }
  await writeInstallationNote(given, id)
  const identity = await readDatabaseIdentity(pool)
  await inTransaction(pool, async (_, client) => {
    if (copy_id !== null) await client.query('delete from ops.checkpoint_faults')
    await client.query(
      `update ops.installation set id = $1, is_copy = is_copy or $2, identity = coalesce($3, identity),
         event_store = $4, restoring = null, family = case when $2 then null else family end, cell = case when $2 then 0 else cell end`,
      [id, copy_id !== null, identity, eventStoreUrl === null ? null : parseStoreHosts(eventStoreUrl)],
    )
  })
}
