import type { Pool } from 'pg'
import { inBatches } from '#lib/batches.ts'
import { companyOf } from '../envelope.ts'
import { type Sealer, sealersOf } from '../personal-fields.ts'
import type { Reading } from '../reading.ts'

/**
 * When a key was destroyed that was lost: before the list of the forgotten begins (src/wiping/forgotten-list.ts), so that nobody
 * takes its person for one who was forgotten, should a backup with the key be found.
 */
const LOST_AT = '1900-01-01T00:00:00.000Z'

const BATCH_EVENTS = 500

/**
 * Has what the store's ledgers hold sealed with keys that are not in `ops.person_keys` be null from now on, as if the keys had been
 * destroyed (HOME-97). Repeatable. Returns how many keys there were.
 */
export async function giveUpLostKeys(reading: Reading & { readonly pool: Pool }): Promise<number> {
  let lost = 0
  for await (const stream of reading.store.streams()) {
    const companyId = companyOf(stream)
    if (companyId === null) continue
    for await (const events of inBatches(reading.store.read(stream, 0), BATCH_EVENTS)) {
      const sealers = new Map<string, Sealer>()
      for (const event of events)
        for (const sealer of sealersOf(event, reading.model.personalFields(event))) sealers.set(sealer.keyId, sealer)
      const known = sealers.size > 0 ? await reading.keys.find([...sealers.keys()]) : new Map()
      const missing = [...sealers.values()].filter(({ keyId }) => !known.has(keyId))
      if (missing.length > 0) lost += await noteLost(reading.pool, companyId, missing)
    }
  }
  return lost
}

async function noteLost(pool: Pool, companyId: number, missing: readonly Sealer[]): Promise<number> {
  const column = (of: (sealer: Sealer) => string): string[] => missing.map(of)
  const { rowCount } = await pool.query(
    `insert into ops.person_keys (company_id, subject, part, key_id, wrapped, created_at, destroyed_at)
     select $1, v.subject, v.part, v.key_id, null, $5, $5 from unnest($2::text[], $3::text[], $4::uuid[]) as v(subject, part, key_id)
     on conflict do nothing`,
    [companyId, column(({ subject }) => subject), column(({ part }) => part), column(({ keyId }) => keyId), LOST_AT],
  )
  return rowCount ?? 0
}
