import type { Pool } from 'pg'
import type { WorkPace } from '#lib/background-loops.ts'
import { inBatches, prefetch } from '#lib/collections.ts'
import type { BulkTransaction, Transaction } from '#postgres/transaction.ts'
import { companyIdOfStream, type Envelope, streamName } from '../command.ts'
import type { EventReader } from '../port.ts'
import { collectErasures, collectRefs, project, type ReadModel } from '../projection.ts'
import { listSealers, type Sealer } from '../sealed-fields.ts'
import { createWorkingSet, type WorkingSet } from '../working-set.ts'
import { resetCompanyRows } from '../write/unit-of-work.ts'

/**
 * Destruction time of lost keys. It precedes the erasure list (src/privacy/erasures.ts), so that the person does
 * not count as erased if a backup with the key is found.
 */
const LOST_AT = '1900-01-01T00:00:00.000Z'

const BATCH_EVENTS = 500

/** Keys that seal fields of a ledger and are missing from `ops.person_keys`, one batch of events at a time. */
async function* missingIn(reading: EventReader, companyId: number): AsyncGenerator<readonly Sealer[]> {
  for await (const events of inBatches(reading.store.read(streamName(companyId), 0), BATCH_EVENTS)) {
    const sealers = new Map<string, Sealer>()
    for (const event of events)
      for (const sealer of listSealers(event, reading.model.personalFields(event))) sealers.set(sealer.keyId, sealer)
    const known = sealers.size > 0 ? await reading.keys.find([...sealers.keys()]) : new Map()
    const missing = [...sealers.values()].filter(({ keyId }) => !known.has(keyId))
    if (missing.length > 0) yield missing
  }
}

/** Number of missing keys of a company, and of the persons concerned. */
export async function countMissingKeys(
  reading: EventReader,
  companyId: number,
): Promise<{ readonly keys: number; readonly persons: number }> {
  const [keys, persons] = [new Set<string>(), new Set<string>()]
  for await (const missing of missingIn(reading, companyId))
    for (const { keyId, subject } of missing) {
      keys.add(keyId)
      persons.add(subject)
    }
  return { keys: keys.size, persons: persons.size }
}

/**
 * Makes fields sealed by missing keys read as null from now on, as if the keys had been destroyed.
 * Idempotent. Returns the number of keys.
 */
export async function declareKeysLost(
  { pool, ...reading }: EventReader & { readonly pool: Pool },
  companyId: number,
): Promise<number> {
  let lost = 0
  for await (const missing of missingIn(reading, companyId)) lost += await noteLost(pool, companyId, missing)
  return lost
}

/** Declares the missing keys of all ledgers in the store lost (OPS-922). */
export async function declareAllKeysLost(reading: EventReader & { readonly pool: Pool }): Promise<number> {
  let lost = 0
  for await (const stream of reading.store.streams()) {
    const companyId = companyIdOfStream(stream)
    if (companyId !== null) lost += await declareKeysLost(reading, companyId)
  }
  return lost
}

/**
 * A part has one row. If a new key was created for it since, or two of its keys are lost, the row of a lost key gets a
 * subject of its own: only its id is looked up.
 */
async function noteLost(pool: Pool, companyId: number, missing: readonly Sealer[]): Promise<number> {
  const column = (of: (sealer: Sealer) => string): string[] => missing.map(of)
  const { rowCount } = await pool.query(
    `insert into ops.person_keys (company_id, subject, part, key_id, wrapped, created_at, destroyed_at)
     select $1, case when v.place = 1 and k.key_id is null then v.subject else 'lost/' || v.key_id end, v.part, v.key_id, null, $5, $5
     from (select *, row_number() over (partition by subject, part order by key_id) as place
           from unnest($2::text[], $3::text[], $4::uuid[]) as given(subject, part, key_id)) as v
     left join ops.person_keys k on k.company_id = $1 and k.subject = v.subject and k.part = v.part
     on conflict do nothing`,
    [companyId, column(({ subject }) => subject), column(({ part }) => part), column(({ keyId }) => keyId), LOST_AT],
  )
  return rowCount ?? 0
}

interface ReplayOptions {
  readonly onApplied?: ((events: number) => void) | undefined
  /** A portion ends when rows are written. */
  readonly pace?: WorkPace | undefined
  /** By default no event was read before its fields became unreadable. */
  readonly erasesAfter?: number
}
/**
 * Weight of events between two writes of rows: most rows that change again do so soon, and are written once. Bounds
 * memory. An event counts for itself and for each member of its lists, because the rows of long sales are large.
 */
const KEPT_WEIGHT = 4_000

/**
 * Applies one company's events up to a revision (inclusive) to tables without rows of that company, or in the state
 * just before the first event. It creates no stored answers and no deliveries. `onApplied` is called every few hundred
 * events. Fields that became unreadable by events after `erasesAfter` may have been read earlier, so they are erased
 * from the tables. Returns the number of applied events.
 */
export async function replay(
  tx: BulkTransaction,
  model: ReadModel,
  companyId: number,
  events: AsyncIterable<Envelope>,
  upToRevision: number,
  { onApplied = () => {}, pace, erasesAfter = Number.POSITIVE_INFINITY }: ReplayOptions = {},
): Promise<number> {
  let applied = 0
  let erasing: ((tx: Transaction) => Promise<void>)[] = []
  let weight = 0
  let kept = createWorkingSet()
  let writing: Promise<unknown> = Promise.resolve()
  let resumedAt = performance.now()
  const rest = async () => {
    await writing
    await pace?.(performance.now() - resumedAt)
    resumedAt = performance.now()
  }
  const write = async () => {
    await writing
    writing = Promise.all(kept.flushInBulk(tx))
    // The failure is handled where `writing` is awaited, even if the next batch fails first.
    writing.catch(() => {})
    kept = createWorkingSet()
    weight = 0
    if (erasing.length === 0) return
    // Rows must be written before they are loaded again.
    await writing
    for (const erase of erasing) await erase(tx)
    erasing = []
  }
  for await (const batch of prefetch(inBatches(upTo(upToRevision, events), BATCH_EVENTS))) {
    for (const part of partsOf(model, batch)) {
      // Rows must be written before they can be deleted.
      if (empties(model, part[0])) await writing
      await applyBatch(tx, model, companyId, kept, part)
    }
    for (const event of batch)
      if (event.revision > erasesAfter) erasing.push(...collectErasures(model, companyId, event))
    applied += batch.length
    onApplied(batch.length)
    weight += batch.reduce((sum, event) => sum + weightOf(event), 0)
    if (weight < KEPT_WEIGHT) continue
    await write()
    if (pace) await rest()
  }
  await write()
  await rest()
  return applied
}

const empties = (model: ReadModel, event: Envelope | undefined): boolean =>
  event !== undefined && model.emptiedBy(event).length > 0

/**
 * Splits a batch so that only the first event of a part may empty the company: rows loaded before it are invalid
 * afterwards.
 */
function partsOf(model: ReadModel, batch: readonly Envelope[]): readonly (readonly Envelope[])[] {
  const cuts = batch.flatMap((event, place) => (empties(model, event) ? [place] : []))
  return [0, ...cuts].map((from, n) => batch.slice(from, cuts[n] ?? batch.length)).filter((part) => part.length > 0)
}

async function applyBatch(
  tx: BulkTransaction,
  model: ReadModel,
  companyId: number,
  set: WorkingSet,
  batch: readonly Envelope[],
): Promise<void> {
  if (batch[0]) await resetCompanyRows({ model, set, tx }, companyId, batch[0])
  for (const event of batch) set.queue(companyId, collectRefs(model, event))
  await Promise.all(set.load(tx))
  const rows = set.of(companyId)
  for (const event of batch) project(model, rows, event)
}

function weightOf({ data }: Envelope): number {
  let weight = 1
  for (const name in data) {
    const member: unknown = (data as Record<string, unknown>)[name]
    if (Array.isArray(member)) weight += member.length
  }
  return weight
}

async function* upTo(revision: number, events: AsyncIterable<Envelope>): AsyncGenerator<Envelope> {
  for await (const event of events) {
    if (event.revision > revision) return
    yield event
  }
}
