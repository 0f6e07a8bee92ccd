import { mkdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pool } from 'pg'
import * as z from 'zod'
import { type Envelope, streamName } from '#ledger/command.ts'
import { type EventStore, isOutside, type OutsideStore } from '#ledger/port.ts'
import { Unavailable } from '#lib/errors.ts'
import { writeFileAtomically } from '#lib/files.ts'
import { lastLine } from '#lib/json.ts'
import { parseStoredCheckpoint } from './checkpoint-log.ts'
import { claimStore, departedCompanies, lastClaim, lastStatements, loadInstallation } from './installation.ts'
import { checkpointPath, companiesOfFiles } from './note.ts'

/** An event that the database had. If it is missing or different, the database was restored or altered. */
interface LedgerMark {
  readonly company_id: number
  readonly revision: number
  /** Null if only the position is known, as for the last event that a checkpoint covers. */
  readonly hash: string | null
}

/** Input of the check, read at the start and periodically. */
export interface InstallationView {
  readonly database: {
    readonly id: string
    /** Recorded location of the ledgers; null if they are in this database or none was recorded. */
    readonly event_store: string | null
    /**
     * Recorded identity of the Postgres server and database; null if none was recorded or Postgres did not report it.
     */
    readonly identity: string | null
    readonly isRestoring: boolean
    /** Whether the database has any event. */
    readonly hasLedgers: boolean
  }
  /** Present identity as reported by Postgres; null if not reported. */
  readonly identity: string | null
  /** Installation id in DATA_DIR; null if there is none. */
  readonly directory: string | null
  /** Marks of DATA_DIR that the ledgers lack. */
  readonly missing: readonly LedgerMark[]
  /** Null if the ledgers are in Postgres. */
  readonly store: {
    readonly address: string
    /** Installation id in the store's stream; null if there is none. */
    readonly id: string | null
    readonly isEmpty: boolean
    /** Heads recorded in the database that the store lacks. */
    readonly missing: readonly LedgerMark[]
  } | null
}

/** Reason for the write block; it also stops deliveries, provider polling and checkpoints. */
export type Inconsistency =
  | 'event_store_forgotten'
  | 'event_store_empty'
  | 'event_store_of_another'
  | 'event_store_behind'
  | 'directory_of_another'
  | 'copied'
  | 'behind'
  | 'restoring'

/** These also block reads from the store: its events do not match the tables. */
const OF_STORE: readonly Inconsistency[] = [
  'event_store_forgotten',
  'event_store_empty',
  'event_store_of_another',
  'event_store_behind',
]

export const isOfStore = (inconsistency: Inconsistency | null): boolean =>
  inconsistency !== null && OF_STORE.includes(inconsistency)

/**
 * Checks that database, DATA_DIR and event store belong to one installation and that none is behind; null if
 * consistent. A new DATA_DIR means another machine if the database has not moved, and a copy if it has.
 */
export function findInconsistency({
  database,
  identity,
  directory,
  missing,
  store,
}: InstallationView): Inconsistency | null {
  const ofStore = storeTrouble(database, store)
  if (ofStore) return ofStore
  if (database.isRestoring) return 'restoring'
  if (isOfAnother({ database, directory, store }) && database.hasLedgers) return 'directory_of_another'
  if (missing.length > 0) return 'behind'
  const hasMoved = database.identity !== null && identity !== null && database.identity !== identity
  return directory === null && hasMoved ? 'copied' : null
}

/**
 * Whether DATA_DIR belongs to another installation. A database without events starts a new installation in it.
 */
const isOfAnother = ({
  database,
  directory,
  store,
}: Pick<InstallationView, 'database' | 'directory' | 'store'>): boolean =>
  directory !== null && directory !== inconsistencyId(database, store)

/** Id of the installation. A database without events adopts the id of the ledgers that it finds. */
function inconsistencyId(
  database: InstallationView['database'],
  store: Pick<NonNullable<InstallationView['store']>, 'id'> | null,
): string {
  return database.hasLedgers ? database.id : (store?.id ?? database.id)
}

/** Whether the database gets the id of the ledgers that it finds. */
const adoptsLedgers = ({ database, store }: Pick<InstallationView, 'database' | 'store'>): boolean =>
  database.id !== inconsistencyId(database, store)

function storeTrouble(database: InstallationView['database'], store: InstallationView['store']): Inconsistency | null {
  if (!store) return database.event_store === null ? null : 'event_store_forgotten'
  if (!database.hasLedgers) return null
  if (store.id !== null && store.id !== database.id) return 'event_store_of_another'
  if (store.isEmpty) return 'event_store_empty'
  return store.missing.length > 0 ? 'event_store_behind' : null
}

const CONFIRM =
  'If the database was restored, run "tillbook restored --lost-after INSTANT --reason …", INSTANT being that of the backup'
const COPY = 'for a copy on purpose, as for trials, run "tillbook restored --copy"'

const MESSAGES: Readonly<Record<Inconsistency, string>> = {
  event_store_forgotten:
    'The ledgers of this database are not in it: set EVENTSTORE_URL to where they are. Without it there would be two histories of each company.',
  event_store_empty:
    'The event store of EVENTSTORE_URL is empty, but this database knows of ledgers: correct EVENTSTORE_URL, leave it out where the ledgers are in Postgres, or copy them first ("tillbook ledger copy").',
  event_store_of_another:
    'The event store of EVENTSTORE_URL is of another installation than the database: correct EVENTSTORE_URL or DATABASE_URL. A copy needs an event store of its own.',
  event_store_behind:
    'The event store lacks events that this database has applied: restore a Postgres of before the backup of the event store, or copy the ledgers again if they were copied.',
  directory_of_another: `DATA_DIR is of another installation than the database. Give it the DATA_DIR that belongs to it; ${COPY}.`,
  copied: `The database is not where it was, and DATA_DIR is new. If it was moved, start it once with the DATA_DIR of before. ${CONFIRM}; ${COPY}.`,
  behind: `The ledgers lack events that DATA_DIR has noted. ${CONFIRM}.`,
  restoring: 'A restore is being recorded: run "tillbook restored" again, which goes on where it was.',
}

/** Message for the operator. */
export const inconsistencyMessage = (inconsistency: Inconsistency): string => MESSAGES[inconsistency]

/**
 * Ledger marks from the last checkpoints in DATA_DIR: a database without them is behind. For a restored ledger the
 * statement replaces the checkpoint. Lines that are not valid are ignored here; checkpoints report them.
 */
export async function readStoredMarks(dataDir: string): Promise<LedgerMark[]> {
  const directory = join(dataDir, 'seals')
  const restored = await lastStatements(directory)
  const marks: LedgerMark[] = []
  for (const companyId of await companiesOfFiles(directory)) {
    const checkpoint = await lastCheckpoint(directory, companyId)
    const since = restored.get(companyId)?.restored_at ?? ''
    if (checkpoint && checkpoint.made_at > since)
      marks.push({ company_id: companyId, revision: checkpoint.size - 1, hash: null })
  }
  return marks
}

async function lastCheckpoint(directory: string, companyId: number) {
  try {
    const line = (await lastLine(checkpointPath(directory, companyId))) as { note: string; made_at: string } | null
    return line && parseStoredCheckpoint(line)
  } catch {
    return null
  }
}

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
export const parseStoreHosts = (eventStoreUrl: string): string =>
  /^[a-z+]+:\/\/(?:[^@/]*@)?([^/?]+)/i.exec(eventStoreUrl)?.[1] ?? ''

/** Number of recorded heads. A restore to an earlier time lacks at least one of the latest. */
const MARKS = 8

/**
 * Compares database, DATA_DIR and event store. `isWhole` includes all checkpoints of DATA_DIR, as at a start. An
 * unreachable store is skipped.
 */
async function readInstallation(
  place: InstallationFile,
  { isWhole }: { readonly isWhole: boolean },
): Promise<InstallationView> {
  const { pool, store, dataDir } = place
  const [row, identity, heads, noted] = await Promise.all([
    loadInstallation(pool),
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
  return { address: parseStoreHosts(place.eventStoreUrl ?? ''), id: claim?.installation ?? null, isEmpty, missing }
}

/** Marks that the ledgers lack. */
async function missingOf({ pool, store }: InstallationFile, marks: readonly LedgerMark[]): Promise<LedgerMark[]> {
  const missing: LedgerMark[] = []
  const departed = await departedCompanies(pool)
  for (const mark of marks) {
    if (departed.has(mark.company_id)) continue
    const stream = streamName(mark.company_id)
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
async function settleInstallation(place: InstallationFile, sight: InstallationView): Promise<void> {
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

/** Consistency of the process's database, DATA_DIR and event store (OPS-80). */
export interface InstallationCheck {
  /** Result of the last check; null if consistent. */
  inconsistency(): Inconsistency | null
  /** Whether this is a deliberate copy, which sends nothing to the outside. */
  isCopy(): boolean
  /** Runs the check again. */
  look(): Promise<Inconsistency | null>
  /** Records the installation in all three, and the ledger heads in DATA_DIR. Only while they are consistent. */
  note(): Promise<void>
}

/** Without files to check, as in unrelated tests, it always reports consistency. */
export function createInstallationCheck(place: InstallationFile | null): InstallationCheck {
  let inconsistency: Inconsistency | null = null
  let isCopy = false
  let isFirst = true
  async function look(): Promise<Inconsistency | null> {
    if (!place) return null
    const sight = await readInstallation(place, { isWhole: isFirst || inconsistency !== null })
    isCopy = (await loadInstallation(place.pool)).is_copy
    inconsistency = findInconsistency(sight)
    isFirst = false
    // Must run before the database has events; after that the check would report another installation's files.
    if (inconsistency === null && (isOfAnother(sight) || adoptsLedgers(sight))) await settleInstallation(place, sight)
    return inconsistency
  }
  return {
    inconsistency: () => inconsistency,
    isCopy: () => isCopy,
    look,
    async note() {
      if (!place) return
      const sight = await readInstallation(place, { isWhole: false })
      if (findInconsistency(sight) === null) await settleInstallation(place, sight)
    },
  }
}

/** Writes are blocked because database, DATA_DIR and event store do not match, or one of them is behind. */
export class WritesBlocked extends Unavailable {
  constructor(readonly inconsistency: Inconsistency) {
    super(inconsistencyMessage(inconsistency))
  }
}

/** @throws WritesBlocked */
export function assertConsistent({ inconsistency }: Pick<InstallationCheck, 'inconsistency'>): void {
  const found = inconsistency()
  if (found) throw new WritesBlocked(found)
}
