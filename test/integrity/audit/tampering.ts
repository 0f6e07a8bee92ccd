import type { Pool } from 'pg'
import { type Envelope, GENESIS_HASH, hashEnvelope, streamName } from '#ledger/command.ts'
import { createPostgresStore } from '#ledger/stores/postgres-store.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { type Sketch, sealedAfter } from '../../ledger/sealed-events.ts'
import { tamperBy } from '../../support/tamper.ts'

/** Row that an attacker with database access can write. */
export interface Row {
  readonly stream?: string
  readonly revision: number
  readonly envelope: string
}

let companies = 0

/** Ledger of a new company as the service writes it: the events, and its position. */
export async function writeLedger(pool: Pool, events: number | readonly Sketch[]): Promise<number> {
  const companyId = ++companies
  const sketches =
    typeof events === 'number'
      ? Array.from({ length: events }, (_, n) => ({
          subject: `counter/${1 + (n % 3)}`,
          data: { id: 1 + (n % 3), by: n },
        }))
      : events
  const sealed = sealedAfter(streamName(companyId), null, sketches)
  if (sealed.length > 0) {
    const store = createPostgresStore(pool)
    const append = { stream: streamName(companyId), expectedRevision: -1, commands: [sealed] }
    await inTransaction(pool, (tx) => store.append([append], tx))
  }
  await notePosition(pool, companyId, sealed.at(-1) ?? { revision: -1, hash: GENESIS_HASH })
  return companyId
}

/** Records the position like the service. */
export async function notePosition(
  pool: Pool,
  companyId: number,
  { revision, hash }: { readonly revision: number; readonly hash: string },
): Promise<void> {
  await pool.query(
    `insert into ops.ledgers (company_id, revision, hash, last_recorded_at) values ($1, $2, $3, '2026-03-10T16:00:00Z')
     on conflict (company_id) do update set revision = excluded.revision, hash = excluded.hash`,
    [companyId, revision, hash],
  )
}

/** All events of a company, in order of revision. */
export async function eventsOf(pool: Pool, companyId: number): Promise<Envelope[]> {
  const { rows } = await pool.query<{ envelope: Envelope }>(
    'select envelope from ledger.events where stream = $1 order by revision',
    [streamName(companyId)],
  )
  return rows.map(({ envelope }) => envelope)
}

/** The event with changes and a matching hash. */
export function rehashed(event: Envelope, changes: Partial<Envelope>): Envelope {
  const { hash: _, data, ...head } = { ...event, ...changes }
  return { ...head, hash: hashEnvelope({ ...head, data }), data }
}

/** Replaces a stored envelope, with matching columns. */
export async function replaceEvent(pool: Pool, companyId: number, revision: number, event: Envelope): Promise<void> {
  await tamperBy(
    pool,
    `update ledger.events set envelope = $3, id = $4, type = $5, subject = $6, recorded_at = $7
     where stream = $1 and revision = $2`,
    [streamName(companyId), revision, JSON.stringify(event), event.id, event.type, event.subject, event.recorded_at],
  )
}

/** Inserts an envelope at a revision. */
export async function insertEvent(pool: Pool, companyId: number, revision: number, event: Envelope): Promise<void> {
  await pool.query(
    `insert into ledger.events (stream, revision, id, type, subject, recorded_at, envelope)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [streamName(companyId), revision, event.id, event.type, event.subject, event.recorded_at, JSON.stringify(event)],
  )
}

export const removeEvents = (pool: Pool, companyId: number, from: number, to: number) =>
  tamperBy(pool, 'delete from ledger.events where stream = $1 and revision between $2 and $3', [
    streamName(companyId),
    from,
    to,
  ])

/** Rewrites the tail from a revision with matching hashes, like an attacker with database access. */
export async function forgeTail(
  pool: Pool,
  companyId: number,
  from: number,
  change: (event: Envelope) => Partial<Envelope>,
): Promise<void> {
  let previous: Envelope | undefined
  for (const event of (await eventsOf(pool, companyId)).slice(from)) {
    const chained = previous ? { previous_hash: previous.hash } : change(event)
    previous = rehashed(event, chained)
    await replaceEvent(pool, companyId, event.revision, previous)
  }
}
