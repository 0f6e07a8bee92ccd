import { prefetch } from '#lib/collections.ts'
import type { Queryable } from '#postgres/database.ts'
import type { PoolOf } from '#postgres/pool.ts'
import { binaryArray } from '#postgres/row-bytes.ts'
import type { Statement } from '#postgres/transaction.ts'
import { companyIdOfStream, type Envelope } from '../command.ts'
import {
  type Append,
  type EventStore,
  type Search,
  type SearchPage,
  type StoredEvent,
  WrongExpectedRevision,
} from '../port.ts'

/** Events per page of a read; memory does not grow with the length of a stream. */
const READ_BATCH = 500

const appendEvents: Statement = {
  name: 'append_events',
  text: `select ledger.append_events($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::text[]::uuid[], $6::text[], $7::text[],
                                     $8::text[]::timestamptz[], $9::json[])`,
}

const texts = (items: readonly string[]) => binaryArray('text', items)
const bigints = (items: readonly number[]) => binaryArray('bigint', items)

/** SQLSTATE that `ledger.append_events` raises for a wrong expected revision; the message is the stream. */
const WRONG_EXPECTED_REVISION = 'TB001'
const UNIQUE_VIOLATION = '23505'

interface PostgresStoreOptions {
  /** Limits a company to its share of the connections. */
  readonly poolOf?: PoolOf
}

/**
 * Ledgers in the same Postgres as the read model: an append takes part in the transaction. `pool` serves reads only; a
 * company's ledger is read on its share of connections (`poolOf`).
 */
export function createPostgresStore(pool: Queryable, { poolOf }: PostgresStoreOptions = {}): EventStore {
  const readersOf = (stream: string): Queryable => {
    const companyId = companyIdOfStream(stream)
    return companyId === null ? pool : (poolOf?.(companyId) ?? pool)
  }
  return {
    transactional: true,
    async append(appends, tx) {
      const events = appends.flatMap((append) => append.commands.flat())
      try {
        await tx.query(appendEvents, [
          texts(appends.map((append) => append.stream)),
          bigints(appends.map((append) => append.expectedRevision)),
          texts(events.map((event) => event.stream)),
          bigints(events.map((event) => event.revision)),
          texts(events.map((event) => event.id)),
          texts(events.map((event) => event.type)),
          texts(events.map((event) => event.subject)),
          texts(events.map((event) => event.recorded_at)),
          binaryArray(
            'json',
            events.map((event) => JSON.stringify(event)),
          ),
        ])
      } catch (error) {
        throw wrongRevision(error, appends) ?? error
      }
    },
    async *read(stream, fromRevision) {
      let from = fromRevision
      for (;;) {
        const { rows } = await readersOf(stream).query<{ envelope: Envelope }>(
          'select envelope from ledger.events where stream = $1 and revision >= $2 order by revision limit $3',
          [stream, from, READ_BATCH],
        )
        for (const row of rows) yield row.envelope
        if (rows.length < READ_BATCH) return
        from += READ_BATCH
      }
    },
    async *pick(stream, revisions) {
      for (let start = 0; start < revisions.length; start += READ_BATCH) {
        const { rows } = await pool.query<{ envelope: Envelope }>({
          name: 'pick_events',
          text: 'select envelope from ledger.events where stream = $1 and revision = any($2::bigint[]) order by revision',
          values: [stream, revisions.slice(start, start + READ_BATCH)],
        })
        for (const row of rows) yield row.envelope
      }
    },
    async *streams() {
      const { rows } = await pool.query<{ stream: string }>(
        'select stream from ledger.events where revision = 0 order by stream',
      )
      for (const row of rows) yield row.stream
    },
    search: (stream, search) => searchEvents(readersOf(stream), stream, search),
    async *hashes(stream, fromRevision) {
      for (let from = fromRevision; ; ) {
        const { rows } = await readersOf(stream).query<Pick<Envelope, 'revision' | 'hash'>>({
          name: 'event_hashes',
          text: `select revision, coalesce(envelope->>'hash', '') as hash from ledger.events
                 where stream = $1 and revision >= $2 order by revision limit ${HASH_BATCH}`,
          values: [stream, from],
        })
        const last = rows.at(-1)
        if (!last) return
        yield rows
        if (rows.length < HASH_BATCH) return
        from = last.revision + 1
      }
    },
    stored: (stream, afterRevision) => storedEvents(readersOf(stream), stream, afterRevision),
  }
}

/**
 * The function refuses the stream or, if another transaction committed the same revision first, the primary key does.
 */
function wrongRevision(error: unknown, appends: readonly Append[]): Error | null {
  const { code, message, schema, detail } = error as { [member: string]: string | undefined }
  const append = appends.find(({ stream }) =>
    code === WRONG_EXPECTED_REVISION
      ? stream === message
      : code === UNIQUE_VIOLATION && schema === 'ledger' && detail?.includes(`=(${stream}, `),
  )
  return append ? new WrongExpectedRevision(append.stream, append.expectedRevision) : null
}

/** Revisions that one search by type scans. There is no index by type, and a rare type must not occupy Postgres. */
const REVISIONS_OF_A_SEARCH = 50_000
/** Hashes per batch; processing a batch takes a few milliseconds of processor time. */
const HASH_BATCH = 1_024
/** Rows per batch of a verification, which blocks the event loop for each batch. */
const STORED_BATCH = 200

/** Finds events of a subject by index, and events of a type by a scan of a bounded part of the stream. */
async function searchEvents(
  pool: Queryable,
  stream: string,
  { fromRevision, toRevision, types, subject, limit }: Search,
): Promise<SearchPage> {
  const isScan = types !== null && subject === null
  const lastRevision = isScan ? Math.min(toRevision, fromRevision + REVISIONS_OF_A_SEARCH - 1) : toRevision
  const values: unknown[] = [stream, fromRevision, lastRevision, limit + 1]
  const conditions = ['stream = $1', 'revision between $2 and $3']
  if (types) conditions.push(`type = any($${values.push(types)}::text[])`)
  if (subject !== null) conditions.push(`subject = $${values.push(subject)}::text`)
  const { rows } = await pool.query<{ revision: number; json: string }>(
    `select revision, envelope::text as json from ledger.events where ${conditions.join(' and ')} order by revision limit $4`,
    values,
  )
  if (rows.length <= limit) return { events: rows, seenTo: lastRevision }
  const events = rows.slice(0, limit)
  return { events, seenTo: events.at(-1)?.revision ?? fromRevision - 1 }
}

interface StoredRow {
  envelope: string
  revision: string
  id: string
  type: string
  subject: string
  recorded_at: string
}

/**
 * Makes no assumptions: revisions may have gaps or be absurd, and times may be more precise than those of envelopes.
 */
async function* storedEvents(
  pool: Queryable,
  stream: string,
  afterRevision: number | null,
): AsyncGenerator<StoredEvent> {
  for await (const rows of prefetch(storedRows(pool, stream, afterRevision))) {
    for (const { envelope, revision, recorded_at, ...same } of rows) {
      const beside = { ...same, revision: Number(revision), recorded_at: recorded_at.replace(/000Z$/, 'Z') }
      yield { json: envelope, beside }
    }
  }
}

async function* storedRows(pool: Queryable, stream: string, afterRevision: number | null): AsyncGenerator<StoredRow[]> {
  let after = afterRevision === null ? null : String(afterRevision)
  for (;;) {
    const { rows } = await pool.query<StoredRow>(
      `select envelope::text as envelope, revision::text as revision, id::text as id, type, subject,
              coalesce(to_char(recorded_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '') as recorded_at
       from ledger.events
       where stream = $1 and ($2::bigint is null or revision > $2)
       order by ledger.events.revision
       limit ${STORED_BATCH}`,
      [stream, after],
    )
    yield rows
    const last = rows.at(-1)
    if (!last || rows.length < STORED_BATCH) return
    after = last.revision
  }
}
