/** An event that a database had: where it is gone, or is another one, the database is not what it was. */
export interface LedgerMark {
  readonly company_id: number
  readonly revision: number
  /** Null where only its place is known, as that of the last event that a checkpoint covers. */
  readonly hash: string | null
}

/** What there is to be seen at a start, and from time to time. */
export interface InstallationView {
  readonly database: {
    readonly id: string
    /** Where it was noted to keep its ledgers; null: in itself, or never noted. */
    readonly event_store: string | null
    /** Server and database as Postgres told them apart when it was noted; null: never, or it cannot be told. */
    readonly home: string | null
    readonly isRestoring: boolean
    /** Whether it knows of any event. */
    readonly hasLedgers: boolean
  }
  /** What Postgres says now; null where it does not tell. */
  readonly home: string | null
  /** Id in DATA_DIR; null: there is none yet. */
  readonly directory: string | null
  /** Marks of DATA_DIR that the ledgers do not have. */
  readonly missing: readonly LedgerMark[]
  /** Null: the ledgers are in Postgres. */
  readonly store: {
    readonly address: string
    /** Id in its stream; null: none yet. */
    readonly id: string | null
    readonly isEmpty: boolean
    /** Heads that the database has noted and the store does not have. */
    readonly missing: readonly LedgerMark[]
  } | null
}

/** Why nothing is written, delivered, asked for or sealed (OPS-80). */
export type Inconsistency =
  | 'event_store_forgotten'
  | 'event_store_empty'
  | 'event_store_of_another'
  | 'event_store_behind'
  | 'directory_of_another'
  | 'copied'
  | 'behind'
  | 'restoring'

/** With the first of these, nothing may even be read from the store: its events are not those of the tables. */
const OF_STORE: readonly Inconsistency[] = [
  'event_store_forgotten',
  'event_store_empty',
  'event_store_of_another',
  'event_store_behind',
]

export const isOfStore = (trouble: Inconsistency | null): boolean => trouble !== null && OF_STORE.includes(trouble)

/**
 * Whether database, DATA_DIR and event store are of one installation and none of them behind; null where all is well. A DATA_DIR
 * that is new belongs to another machine as long as the database is where it was, and to a copy where it is not.
 */
export function inconsistencyOf({ database, home, directory, missing, store }: InstallationView): Inconsistency | null {
  const ofStore = storeTrouble(database, store)
  if (ofStore) return ofStore
  if (database.isRestoring) return 'restoring'
  if (isOfAnother({ database, directory, store }) && database.hasLedgers) return 'directory_of_another'
  if (missing.length > 0) return 'behind'
  const hasMoved = database.home !== null && home !== null && database.home !== home
  return directory === null && hasMoved ? 'copied' : null
}

/** Whether DATA_DIR is of another installation; a database that knows of nothing yet takes it over, as a new one (OPS-81). */
export const isOfAnother = ({
  database,
  directory,
  store,
}: Pick<InstallationView, 'database' | 'directory' | 'store'>): boolean =>
  directory !== null && directory !== inconsistencyId(database, store)

/** The installation that this is: a database that knows of nothing yet takes over the ledgers that it finds. */
export function inconsistencyId(
  database: InstallationView['database'],
  store: Pick<NonNullable<InstallationView['store']>, 'id'> | null,
): string {
  return database.hasLedgers ? database.id : (store?.id ?? database.id)
}

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

/** What an operator is told. */
export const inconsistencyMessage = (trouble: Inconsistency): string => MESSAGES[trouble]
