import { mkdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pool } from 'pg'
import * as z from 'zod'
import { type Envelope, streamOf } from '#ledger/envelope.ts'
import { type EventStore, isOutside, type OutsideStore } from '#ledger/port.ts'
import { Unavailable } from '#lib/errors.ts'
import { writeFileAtomically } from '#lib/files.ts'
import { departedCompanies, installationOf } from './installation.ts'
import { type InstallationView, inconsistencyId, isOfAnother, type LedgerMark } from './installation-check.ts'
import { claimStore, lastClaim } from './store-claim.ts'
import { readStoredMarks } from './stored-marks.ts'

/** `DATA_DIR/installation.json`: the installation that owns DATA_DIR, and the ledger heads when it was written. */
const Noted = z.strictObject({
  installation: z.uuid(),
  /** Heads of the ledgers with the latest events. */
  marks: z.array(z.strictObject({ company_id: z.int().positive(), revision: z.int().nonnegative(), hash: z.string() })),
})
type Noted = z.infer<typeof Noted>

/** Resources that a process checks. */
export interface InstallationFile {
  readonly pool: Pool
  readonly store: EventStore
  /** EVENTSTORE_URL; null if the ledgers are in Postgres. */
  readonly eventStoreUrl: string | null
  readonly dataDir: string
  /** UUID version 7. */
  readonly newId: () => string
  /** UTC. */
  readonly now: () => string
  /** Called with the folder to which files of another installation were moved. */
  readonly onPutAside: (folder: string) => void
}

const noteFileOf = (dataDir: string): string => join(dataDir, 'installation.json')

/** Hosts of an EventStoreDB, without user and password. */
export const hostsOf = (eventStoreUrl: string): string =>
  /^[a-z+]+:\/\/(?:[^@/]*@)?([^/?]+)/i.exec(eventStoreUrl)?.[1] ?? ''

/** Number of recorded heads. A restore to an earlier time lacks at least one of the latest. */
const MARKS = 8

/**
 * Compares database, DATA_DIR and event store. `isWhole` includes all checkpoints of DATA_DIR, as at a start. An
 * unreachable store is skipped.
 */
export async function readInstallation(
  place: InstallationFile,
  { isWhole }: { readonly isWhole: boolean },
): Promise<InstallationView> {
  const { pool, store, dataDir } = place
  const [row, identity, heads, noted] = await Promise.all([
    installationOf(pool),
    readDatabaseIdentity(pool),
    newestHeads(pool),
    readInstallationNote(dataDir),
  ])
  const outside = isOutside(store) ? await storeOf(place, store, heads).catch(unreachable) : null
  const directory = noted?.installation ?? null
  // Marks of another installation do not apply.
  const isOurs = directory === null || directory === row.id
  const marks = isOurs ? [...(noted?.marks ?? []), ...(isWhole ? await readStoredMarks(dataDir) : [])] : []
  const missing = outside === undefined ? [] : await missingOf(place, marks)
  return {
    database: { ...row, isRestoring: row.restoring !== null, hasLedgers: row.has_ledgers },
    identity,
    directory,
    missing,
    store:
      outside === undefined ? { address: row.event_store ?? '', id: row.id, isEmpty: false, missing: [] } : outside,
  }
}

/** @returns undefined if the store is unreachable */
function unreachable(error: unknown): undefined {
  if (!(error instanceof Unavailable)) throw error
}

async function storeOf(
  place: InstallationFile,
  store: OutsideStore,
  heads: readonly LedgerMark[],
): Promise<NonNullable<InstallationView['store']>> {
  await store.ping()
  let isEmpty = true
  for await (const _ of store.streams()) {
    isEmpty = false
    break
  }
  const claim = await lastClaim(store)
  const missing = isEmpty ? [] : await missingOf(place, heads)
  return { address: hostsOf(place.eventStoreUrl ?? ''), id: claim?.installation ?? null, isEmpty, missing }
}

/** Marks that the ledgers lack. */
async function missingOf({ pool, store }: InstallationFile, marks: readonly LedgerMark[]): Promise<LedgerMark[]> {
  const missing: LedgerMark[] = []
  const departed = await departedCompanies(pool)
  for (const mark of marks) {
    if (departed.has(mark.company_id)) continue
    const stream = streamOf(mark.company_id)
    let found: Envelope | undefined
    for await (const event of store.pick(stream, [mark.revision])) found = event
    if (!found || (mark.hash !== null && mark.hash !== found.hash)) missing.push(mark)
  }
  return missing
}

/**
 * Identity of this database in Postgres: server, timeline (every restore and promotion starts a new one) and database.
 */
export async function readDatabaseIdentity(pool: Pool): Promise<string | null> {
  try {
    const { rows } = await pool.query<{ identity: string }>(
      `select concat_ws('/', s.system_identifier, c.timeline_id, d.oid) as identity
       from pg_control_system() s, pg_control_checkpoint() c, pg_database d where d.datname = current_database()`,
    )
    return rows[0]?.identity ?? null
  } catch (error) {
    // Some providers do not grant this function.
    if ((error as { code?: string }).code === '42501') return null
    throw error
  }
}

async function newestHeads(pool: Pool): Promise<(LedgerMark & { readonly hash: string })[]> {
  const { rows } = await pool.query<LedgerMark & { readonly hash: string }>(
    `select company_id, revision, hash from ops.ledgers
     where revision >= 0 and last_recorded_at <= clock_timestamp()
     order by last_recorded_at desc limit $1`,
    [MARKS],
  )
  return rows
}

export async function readInstallationNote(dataDir: string): Promise<Noted | null> {
  const text = await readFile(noteFileOf(dataDir), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  return text === null ? null : Noted.parse(JSON.parse(text))
}

/** Writes installation and ledger heads to DATA_DIR, unless the file is up to date. */
export async function writeInstallationNote(
  { pool, dataDir }: Pick<InstallationFile, 'pool' | 'dataDir'>,
  installation: string,
): Promise<void> {
  const [marks, noted] = await Promise.all([newestHeads(pool), readInstallationNote(dataDir)])
  if (noted && JSON.stringify([noted.installation, noted.marks]) === JSON.stringify([installation, marks])) return
  await mkdir(dataDir, { recursive: true })
  await writeFileAtomically(noteFileOf(dataDir), `${JSON.stringify({ installation, marks } satisfies Noted)}\n`)
}

/**
 * Records the installation id in database, event store and DATA_DIR once the check has passed. Repeatable: existing
 * records stay.
 */
export async function settleInstallation(place: InstallationFile, sight: InstallationView): Promise<void> {
  const { database, identity, store } = sight
  const id = inconsistencyId(database, store)
  if (isOfAnother(sight)) await putAside(place, sight.directory as string)
  const event_store = store?.address || database.event_store
  await place.pool.query(
    `update ops.installation set id = $1, event_store = $2, identity = coalesce($3, identity)
     where (id, event_store, identity) is distinct from ($1::uuid, $2, coalesce($3, identity))`,
    [id, event_store, identity],
  )
  if (isOutside(place.store) && store && store.id === null) await claimStore(place, place.store, id)
  await writeInstallationNote(place, id)
}

/** Keeps the checkpoints of another installation, but moves them away. */
async function putAside({ dataDir, onPutAside }: InstallationFile, installation: string): Promise<void> {
  const folder = `${join(dataDir, 'seals')}-${installation}`
  await rename(join(dataDir, 'seals'), folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  onPutAside(folder)
}
