import type { ClientBase, Pool } from 'pg'
import { ownerUrlOf } from './database.ts'
import { administer } from './server.ts'

/**
 * Changes append-only data, as the owner of the database can: disables the trigger and enables it again in the same
 * transaction. Uses its own connection as the owner, unless the pool is the owner's.
 */
export async function tamper(pool: Pool, work: (client: ClientBase) => Promise<unknown>): Promise<void> {
  const given = pool.options.connectionString ?? ''
  const url = ownerUrlOf(given)
  if (url !== given) return administer(url, (client) => unguarded(client, work))
  const client = await pool.connect()
  await unguarded(client, work).finally(() => client.release())
}

const everyTable = (change: 'disable' | 'enable always'): string => `do $$
declare
  v_table regclass;
begin
  for v_table in select tgrelid from pg_trigger where tgname = 'append_only' order by tgrelid loop
    execute format('alter table %s ${change} trigger append_only', v_table);
  end loop;
end $$`

async function unguarded(client: ClientBase, work: (client: ClientBase) => Promise<unknown>): Promise<void> {
  await client.query(`begin; ${everyTable('disable')}`)
  try {
    await work(client)
    await client.query(`${everyTable('enable always')}; commit`)
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

/** Tampers with one statement. */
export const tamperBy = (pool: Pool, text: string, values: readonly unknown[] = []): Promise<void> =>
  tamper(pool, (client) => client.query(text, [...values]))

/** Deletes all events. */
export async function emptyLedgers(pool: Pool): Promise<void> {
  const { rowCount } = await pool.query('select from ledger.events limit 1')
  if (rowCount === 1) await tamperBy(pool, 'delete from ledger.events')
}
