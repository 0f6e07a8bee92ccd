import pg from 'pg'
import { isSharedDatabase } from './database.ts'

/** The clock of a test's database, which decides the time of events. */
export interface DatabaseClock {
  /** Moves it to an instant (UTC), from which it goes on. */
  moveTo(instant: string): Promise<void>
  close(): Promise<void>
}

/**
 * Replaces the clock of one database, so that a history can have days: the service takes all its times from
 * `clock_timestamp()`. `now()` and column defaults stay as they are.
 */
export async function openDatabaseClock(ownerUrl: string): Promise<DatabaseClock> {
  if (isSharedDatabase(ownerUrl)) throw new Error('the clock would move for other files, too: use OWN_DATABASE')
  const pool = new pg.Pool({ connectionString: ownerUrl, max: 1, application_name: 'database clock' })
  await pool.query(`set allow_system_table_mods = on;
    create table public.clock_ahead (ahead interval not null);
    insert into public.clock_ahead values ('0');
    grant usage on schema public to public;
    grant select on public.clock_ahead to public;
    update pg_proc set proname = 'wall_clock' where proname = 'clock_timestamp' and pronamespace = 'pg_catalog'::regnamespace;
    create function pg_catalog.clock_timestamp() returns timestamptz language sql volatile
      as 'select pg_catalog.wall_clock() + ahead from public.clock_ahead'`)
  return {
    async moveTo(instant) {
      await pool.query('update public.clock_ahead set ahead = $1::timestamptz - pg_catalog.wall_clock()', [instant])
    },
    close: () => pool.end(),
  }
}
