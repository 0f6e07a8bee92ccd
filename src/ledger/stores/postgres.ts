import type { Pool } from 'pg'
import type { Envelope } from '../envelope.ts'
import { type Append, type EventStore, WrongExpectedRevision } from '../port.ts'
import type { Statement } from '../transaction.ts'
import { searchEvents, storedEvents } from './postgres-search.ts'

/** Events fetched at a time while reading a stream; memory does not grow with its length. */
const READ_BATCH = 500

const appendEvents: Statement = {
  name: 'append_events',
  text: `select ledger.append_events($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::uuid[], $6::text[], $7::text[],
                                     $8::timestamptz[], $9::json[])`,
}

/** SQLSTATE that `ledger.append_events` raises for a wrong expected revision; the message is the stream. */
const WRONG_EXPECTED_REVISION = 'TB001'

/** Ledgers in the same Postgres as the read model: an append takes part in the transaction. `pool` serves reads only. */
export function createPostgresStore(pool: Pool): EventStore {
  return {
    transactional: true,
    async append(appends, tx) {
      const events = appends.flatMap((append) => append.commands.flat())
      try {
        await tx.query(appendEvents, [
          appends.map((append) => append.stream),
          appends.map((append) => append.expectedRevision),
          events.map((event) => event.stream),
          events.map((event) => event.revision),
          events.map((event) => event.id),
          events.map((event) => event.type),
          events.map((event) => event.subject),
          events.map((event) => event.recorded_at),
          events.map((event) => JSON.stringify(event)),
        ])
      } catch (error) {
        throw wrongRevision(error, appends) ?? error
      }
    },
    async *read(stream, fromRevision) {
      let from = fromRevision
      for (;;) {
        const { rows } = await pool.query<{ envelope: Envelope }>(
          'select envelope from ledger.events where stream = $1 and revision >= $2 order by revision limit $3',
          [stream, from, READ_BATCH],
        )
        for (const row of rows) yield row.envelope
        if (rows.length < READ_BATCH) return
        from += READ_BATCH
      }
    },
    async *streams() {
      const { rows } = await pool.query<{ stream: string }>(
        'select stream from ledger.events where revision = 0 order by stream',
      )
      for (const row of rows) yield row.stream
    },
    search: (stream, search) => searchEvents(pool, stream, search),
    stored: (stream, afterRevision) => storedEvents(pool, stream, afterRevision),
  }
}

/** Streams are refused by the function or, when another transaction was first to commit the same revision, by the primary key. */
function wrongRevision(error: unknown, appends: readonly Append[]): Error | null {
  const { code, message, constraint, detail } = error as { [member: string]: string | undefined }
  const append = appends.find(({ stream }) =>
    code === WRONG_EXPECTED_REVISION
      ? stream === message
      : constraint === 'events_pkey' && detail?.includes(`=(${stream}, `),
  )
  return append ? new WrongExpectedRevision(append.stream, append.expectedRevision) : null
}
