import type { ClientBase, Pool } from 'pg'
import { ownerUrlOf } from './database.ts'
import { administer } from './server.ts'

/**
 * Changes what is only added to, as whoever owns the database can: the trigger is switched off, and on again in the same
 * transaction. On a connection of the owner's own, unless the pool is the owner's.
 */
export async function tamper(pool: Pool, work: (client: ClientBase) => Promise<unknown>): Promise<void> {
  const given = pool.options.connectionString ?? ''
  const url = ownerUrlOf(given)
  if (url !== given) return administer(url, (client) => unguarded(client, work))
  const client = await pool.connect()
  await unguarded(client, work).finally(() => client.release())
}

async function unguarded(client: ClientBase, work: (client: ClientBase) => Promise<unknown>): Promise<void> {
  await client.query('begin; alter table ledger.events disable trigger append_only')
  try {
    await work(client)
    await client.query('alter table ledger.events enable always trigger append_only; commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

/** One statement of it. */
export const tamperBy = (pool: Pool, text: string, values: readonly unknown[] = []): Promise<void> =>
  tamper(pool, (client) => client.query(text, [...values]))

/** No events of any company. */
export async function emptyLedgers(pool: Pool): Promise<void> {
  const { rowCount } = await pool.query('select from ledger.events limit 1')
  if (rowCount === 1) await tamperBy(pool, 'delete from ledger.events')
}
