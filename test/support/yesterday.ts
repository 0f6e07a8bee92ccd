import type { Pool } from 'pg'
import { type Envelope, GENESIS_HASH, hashEnvelope, streamName } from '#ledger/command.ts'
import { tamperBy } from './tamper.ts'

const DAY_MS = 86_400_000

/**
 * Moves all events of a company's ledger one day back. The chain is hashed again, so the ledger still verifies; tests
 * cannot set the clock back, because commands use the clock of Postgres.
 */
export async function moveToYesterday(pool: Pool, companyId: number): Promise<void> {
  const stream = streamName(companyId)
  const { rows } = await pool.query<{ envelope: Envelope }>(
    'select envelope from ledger.events where stream = $1 order by revision',
    [stream],
  )
  let previous_hash: string = GENESIS_HASH
  for (const { envelope } of rows) {
    const recorded_at = new Date(Date.parse(envelope.recorded_at) - DAY_MS).toISOString()
    const { hash: _, data, ...head } = { ...envelope, recorded_at, previous_hash }
    previous_hash = hashEnvelope({ ...head, data })
    await tamperBy(
      pool,
      'update ledger.events set recorded_at = $3, envelope = $4 where stream = $1 and revision = $2',
      [stream, envelope.revision, recorded_at, JSON.stringify({ ...head, hash: previous_hash, data })],
    )
  }
  await pool.query(
    `update ledgers set hash = $2, last_recorded_at = last_recorded_at - interval '1 day' where company_id = $1`,
    [companyId, previous_hash],
  )
}
