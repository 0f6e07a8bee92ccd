import type { Envelope } from '#ledger/envelope.ts'
import { appendLines } from '#lib/json-lines.ts'
import { originOf } from './checkpoint.ts'
import { lastStoredCheckpoint, ledgerCheckpoints, type SignedCheckpoint } from './checkpoint-log.ts'
import { treeWith } from './checkpoints.ts'
import type { InstallationFile } from './installation-file.ts'
import { openKeyRing, type RingPlace, type SealKeyRing } from './key-ring.ts'
import { generationOf } from './log-generation.ts'
import { rootOf } from './merkle.ts'
import {
  type KeptStatement,
  lastStatements,
  parseRestored,
  type RestoredStatement,
  restoredFileOf,
  signStatement,
} from './restored-statement.ts'
import { growTree, hashesOf, ledgerLog } from './trees.ts'

export interface RestoreStatementOptions extends Pick<InstallationFile, 'store'>, RingPlace {}

interface Restored extends Pick<RestoredStatement, 'restored_at' | 'lost_after' | 'reason'> {
  readonly companyId: number
  /** The ledger's `InstallationRestored`; null if nothing of the ledger is left. */
  readonly event: Envelope | null
}

/**
 * Signs a statement of what a restore did to a sealed ledger and where sealing continues (OPS-85). Returns whether the
 * ledger continues as another log because it lost sealed events. Repeatable. @throws CheckpointAltered, WrongSealKey
 */
export async function recordRestoredLedger(
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
  const { number } = await generationOf(pool, directory, companyId)
  const { last } = await lastStoredCheckpoint(pool, ledgerCheckpoints(ring, directory, companyId, number), ring)
  if (!last) return false
  const before = { origin: last.origin, size: last.size, root: last.root.toString('base64') }
  const since = event && (await headSince(stating, ring, { companyId, last, number, size: event.revision + 1 }))
  const statement = { ...said, company_id: companyId, before, since, hash: event?.hash ?? null }
  const note = signStatement(ring.installationId, ring.current, statement)
  const kept = { company_id: companyId, restored_at: said.restored_at, note }
  await appendLines(restoredFileOf(directory), [kept])
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
  const root = rootOf(await hashesOf(pool, companyId, size), size).toString('base64')
  return { origin: originOf(installationId, companyId, covered ? number : number + 1), size, root }
}

const keep = ({ pool }: RestoreStatementOptions, { company_id, restored_at, note }: KeptStatement) =>
  pool.query(
    'insert into ops.restored_ledgers (company_id, restored_at, note) values ($1, $2, $3) on conflict do nothing',
    [company_id, restored_at, note],
  )
