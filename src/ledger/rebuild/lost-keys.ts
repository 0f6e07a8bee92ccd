import type { Pool } from 'pg'
import { inBatches } from '#lib/batches.ts'
import { companyIdOfStream, streamOf } from '../envelope.ts'
import { type Sealer, sealersOf } from '../personal-fields.ts'
import type { EventReader } from '../reading.ts'

/**
 * Destruction time of lost keys. It precedes the erasure list (src/privacy/erasure-list.ts), so that the person does
 * not count as erased if a backup with the key is found.
 */
const LOST_AT = '1900-01-01T00:00:00.000Z'

const BATCH_EVENTS = 500

/** Keys that seal fields of a ledger and are missing from `ops.person_keys`, one batch of events at a time. */
async function* missingIn(reading: EventReader, companyId: number): AsyncGenerator<readonly Sealer[]> {
  for await (const events of inBatches(reading.store.read(streamOf(companyId), 0), BATCH_EVENTS)) {
    const sealers = new Map<string, Sealer>()
    for (const event of events)
      for (const sealer of sealersOf(event, reading.model.personalFields(event))) sealers.set(sealer.keyId, sealer)
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
 * Makes fields sealed by missing keys read as null from now on, as if the keys had been destroyed (LEDGER-53).
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
