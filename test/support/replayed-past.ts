import type { Pool, PoolClient } from 'pg'
import { type Calendar, dateInZone } from '#domain/instant.ts'
import { type Envelope, streamName } from '#ledger/command.ts'
import { type EventReader, readNewest } from '#ledger/port.ts'
import { replay } from '#ledger/rebuild/replay.ts'
import { tableDdl } from '#ledger/table.ts'
import { transactionOn } from '#postgres/transaction.ts'

interface Ledgers extends EventReader {
  readonly pool: Pool
}

/** Replays the whole ledger of a company up to a revision: the reference result for optimized as-of queries. */
export async function withReplayedPast<T>(
  core: Ledgers,
  companyId: number,
  revision: number,
  work: (past: { readonly pool: Pool; readonly calendar: Calendar }) => Promise<T>,
): Promise<T> {
  const client = await core.pool.connect()
  try {
    const last = await replayInto(client, core, companyId, revision)
    const { rows } = await client.query<{ timezone: string }>('select timezone from pg_temp.companies')
    const timezone = rows[0]?.timezone ?? 'UTC'
    const calendar = { timezone, today: dateInZone(last.recorded_at, timezone) }
    return await work({ pool: { query: client.query.bind(client) } as unknown as Pool, calendar })
  } finally {
    client.release(true)
  }
}

const SETTINGS = `set search_path = pg_temp; begin;
  create table pg_temp.ledgers (like ops.ledgers including all);`

async function replayInto(client: PoolClient, reading: Ledgers, companyId: number, revision: number) {
  const { model } = reading
  const tables = model.projections.flatMap((projection) => projection.tables)
  await client.query([SETTINGS, ...tables.map((table) => tableDdl(table, 'pg_temp'))].join('\n'))
  let last: Envelope | undefined
  async function* upToThen(): AsyncGenerator<Envelope> {
    for await (const event of readNewest(reading, streamName(companyId), 0)) {
      if (event.revision > revision) return
      last = event
      yield event
    }
  }
  await replay(transactionOn(client), model, companyId, upToThen(), revision)
  if (!last) throw new Error('there is nothing to replay')
  await client.query(
    `insert into pg_temp.ledgers (company_id, revision, reacted_revision, hash, last_recorded_at) values ($1, $2, $2, $3, $4)`,
    [companyId, last.revision, last.hash, last.recorded_at],
  )
  await client.query('commit')
  return last
}
