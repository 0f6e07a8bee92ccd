/** An event that the database had. If it is missing or different, the database was restored or altered. */
export interface LedgerMark {
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

/** Reason for the write block; it also stops deliveries, provider polling and checkpoints (OPS-80). */
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
export function inconsistencyOf({
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
 * Whether DATA_DIR belongs to another installation. A database without events starts a new installation in it (OPS-81).
 */
export const isOfAnother = ({
  database,
  directory,
  store,
}: Pick<InstallationView, 'database' | 'directory' | 'store'>): boolean =>
  directory !== null && directory !== inconsistencyId(database, store)

/** Id of the installation. A database without events adopts the id of the ledgers that it finds. */
export function inconsistencyId(
  database: InstallationView['database'],
  store: Pick<NonNullable<InstallationView['store']>, 'id'> | null,
): string {
  return database.hasLedgers ? database.id : (store?.id ?? database.id)
}

/** Whether the database gets the id of the ledgers that it finds. */
export const adoptsLedgers = ({ database, store }: Pick<InstallationView, 'database' | 'store'>): boolean =>
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
