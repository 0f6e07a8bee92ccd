import type { Pool } from 'pg'
import type { Search, SearchPage, StoredEvent } from '../port.ts'

/** Revisions that one search by type looks at: no index leads to the events of a type, and a rare one must not hold up Postgres. */
const REVISIONS_OF_A_SEARCH = 50_000
/** Rows fetched at a time for verification, which takes the processor for each batch. */
const STORED_BATCH = 200

/** Events of a subject are found by their index, those of a type by looking through a bounded part of the stream. */
export async function searchEvents(
  pool: Pool,
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

/** Nothing is taken for granted: revisions may have gaps or be absurd, and times may be finer than those of the envelope. */
export async function* storedEvents(
  pool: Pool,
  stream: string,
  afterRevision: number | null,
): AsyncGenerator<StoredEvent> {
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
    for (const { envelope, revision, recorded_at, ...same } of rows) {
      const beside = { ...same, revision: Number(revision), recorded_at: recorded_at.replace(/000Z$/, 'Z') }
      yield { json: envelope, beside }
    }
    const last = rows.at(-1)
    if (!last || rows.length < STORED_BATCH) return
    after = last.revision
  }
}
