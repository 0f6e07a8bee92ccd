import type { Pool, PoolClient } from 'pg'
import { type Calendar, dateInZone } from '#domain/instant.ts'
import { invalid, type Refusal, refuse } from '#domain/refusal.ts'
import { type Envelope, streamOf } from '#ledger/envelope.ts'
import type { EventStore } from '#ledger/port.ts'
import type { ReadModel } from '#ledger/projection.ts'
import { readNewest } from '#ledger/reading.ts'
import { replay } from '#ledger/rebuild/replay.ts'
import { indexDdl, tableDdl } from '#ledger/table.ts'
import { transactionOn } from '#ledger/transaction.ts'
import type { Semaphore } from '#lib/semaphore.ts'
import { correctionsOf, tellingFrom } from './clock-corrections.ts'
import { headOf, type Ledgers } from './verify.ts'

/** A moment of a ledger, inclusive: a revision, or a time (UTC). */
export type Moment = { readonly revision: number } | { readonly time: string }

/** A company as it was then. */
export interface CompanyAsOf {
  readonly companyId: number
  /** Sees the company's rows as of then, and nothing else: a query that needs more fails, it never shows what is now. */
  readonly pool: Pool
  readonly store: EventStore
  /** The last event of then. */
  readonly revision: number
  /** The zone and the day of then. */
  readonly calendar: Calendar
}

/** What it takes; each needs a connection for the tables and another one to read the ledger, so only a few run at a time. */
export interface AsOfCore extends Ledgers {
  readonly model: ReadModel
  readonly asOfSemaphore: Semaphore
}

/**
 * Replays one company up to a moment into temporary tables, which only this connection sees and which end with it,
 * whatever happens to the work or to the process. Refuses a moment that the ledger does not have.
 */
export function withCompanyAsOf<T>(
  core: AsOfCore,
  companyId: number,
  at: Moment,
  work: (asOf: CompanyAsOf) => Promise<T>,
): Promise<T | Refusal> {
  const { pool, store, asOfSemaphore } = core
  return asOfSemaphore.run(async () => {
    const head = await headOf(pool, companyId)
    if (head.revision < 0) return refuse('not_found', { company_id: companyId })
    if ('revision' in at && (at.revision < 0 || at.revision > head.revision))
      return invalid('at', `o livro vai da revisão 0 à ${head.revision}`)
    const client = await pool.connect()
    try {
      const telling = 'time' in at ? tellingFrom(await correctionsOf(pool, companyId), at.time) : 0
      const last = await replayInto(client, core, companyId, { ...at, telling }, head.revision)
      if (!last) return invalid('at', 'é antes do primeiro evento do livro')
      const calendar = await calendarOf(client, 'time' in at ? at.time : last.recorded_at)
      return await work({ companyId, pool: onlyOf(client), store, revision: last.revision, calendar })
    } finally {
      // Its tables, settings and plans end with it.
      client.release(true)
    }
  })
}

/** A pool is asked to `query` only: what would connect anew would see the tables of now. */
const onlyOf = (client: PoolClient): Pool => ({ query: client.query.bind(client) }) as unknown as Pool

/** Every name means a temporary table, or nothing; young tables have no statistics, so rows are looked up by key. */
const SETTINGS = `
  set temp_buffers = '32MB';
  set search_path = pg_temp;
  begin;
  set local jit = off;
  set local enable_seqscan = off;
  set local enable_hashjoin = off;
  set local enable_mergejoin = off;
  set local plan_cache_mode = force_generic_plan;`

const LEDGERS = 'create table pg_temp.ledgers (like ops.ledgers including all);'

/** Returns the last event of then; null when there is none. */
async function replayInto(
  client: PoolClient,
  { store, model }: Pick<AsOfCore, 'store' | 'model'>,
  companyId: number,
  at: Moment & { readonly telling: number },
  headRevision: number,
): Promise<Envelope | null> {
  const tables = model.projections.flatMap((projection) => projection.tables)
  await client.query([SETTINGS, LEDGERS, ...tables.map((table) => tableDdl(table, 'pg_temp'))].join('\n'))
  const lastRevision = 'revision' in at ? at.revision : headRevision
  let last: Envelope | null = null
  async function* upToThen(): AsyncGenerator<Envelope> {
    for await (const event of readNewest(store, model, streamOf(companyId), 0)) {
      if (event.revision > lastRevision || isLater(event, at)) return
      last = event
      yield event
    }
  }
  await replay(transactionOn(client), model, companyId, upToThen(), lastRevision)
  if (last) await notePosition(client, companyId, last)
  // Made when the tables are full, which is faster.
  await client.query(tables.flatMap((table) => indexDdl(table, 'pg_temp')).join('\n'))
  await client.query('commit')
  await client.query(`analyze ${tables.map(({ name }) => `pg_temp.${name}`).join(', ')}`)
  return last
}

/** Whether it came after a time, which events before the last correction of the clock by then cannot have. */
const isLater = ({ recorded_at, revision }: Envelope, at: Moment & { readonly telling: number }): boolean =>
  'time' in at && revision >= at.telling && recorded_at > at.time

async function notePosition(client: PoolClient, companyId: number, last: Envelope): Promise<void> {
  await client.query(
    `insert into pg_temp.ledgers (company_id, revision, reacted_revision, hash, last_recorded_at) values ($1, $2, $2, $3, $4)`,
    [companyId, last.revision, last.hash, last.recorded_at],
  )
}

async function calendarOf(client: PoolClient, time: string): Promise<Calendar> {
  const { rows } = await client.query<{ timezone: string }>('select timezone from pg_temp.companies')
  const timezone = rows[0]?.timezone ?? 'UTC'
  return { timezone, today: dateInZone(time, timezone) }
}
