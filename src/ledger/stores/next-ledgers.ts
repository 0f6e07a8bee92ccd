import type { Pool } from 'pg'
import type { EventStore } from '../port.ts'
import { createPostgresStore, LEDGER_SCHEMA } from './postgres.ts'

/** Where ledgers are written anew, to take the place of those in `ledger`. */
const NEXT_SCHEMA = 'ledger_next'
/** Where those before are kept until an operator drops them. */
export const FORMER_SCHEMA = 'ledger_former'

/** Runs a statement; in the switch, in its transaction. */
interface Runner {
  query(text: string): Promise<{ readonly rowCount: number | null }>
}

/** The ledgers to come, in this Postgres; what an interrupted run has written is still there. */
export async function openNextLedgers(pool: Pool): Promise<EventStore> {
  await pool.query(`create schema if not exists ${NEXT_SCHEMA}`)
  await pool.query(`create table if not exists ${NEXT_SCHEMA}.events (
    like ${LEDGER_SCHEMA}.events including defaults, constraint events_pkey primary key (stream, revision))`)
  return {
    ...createPostgresStore(pool, { schema: NEXT_SCHEMA }),
    async append(appends) {
      for (const { stream, commands } of appends) {
        const events = commands.flat()
        await pool.query({
          name: 'append_next_events',
          text: `insert into ${NEXT_SCHEMA}.events (stream, revision, id, type, subject, recorded_at, envelope)
                 select $1, v.* from unnest($2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::timestamptz[], $7::json[])
                   as v(revision, id, type, subject, recorded_at, envelope)`,
          values: [
            stream,
            events.map((event) => event.revision),
            events.map((event) => event.id),
            events.map((event) => event.type),
            events.map((event) => event.subject),
            events.map((event) => event.recorded_at),
            events.map((event) => JSON.stringify(event)),
          ],
        })
      }
    },
  }
}

/** Only whoever looks records up needs it: to build it from the full table costs less than to keep it meanwhile. */
export async function indexNextLedgers(pool: Pool): Promise<void> {
  await pool.query(`create index if not exists events_by_subject on ${NEXT_SCHEMA}.events (stream, subject, revision)`)
  await pool.query(`analyze ${NEXT_SCHEMA}.events`)
}

/** Puts the ledgers of this Postgres aside, and what was written anew in their place; where nothing was, an empty table. */
export async function switchLedgers(tx: Runner, { isNextHere }: { readonly isNextHere: boolean }): Promise<void> {
  await tx.query(`create schema ${FORMER_SCHEMA}`)
  await tx.query(`alter table ${LEDGER_SCHEMA}.events set schema ${FORMER_SCHEMA}`)
  if (isNextHere) {
    await tx.query(`alter table ${NEXT_SCHEMA}.events set schema ${LEDGER_SCHEMA}`)
    await tx.query(`drop schema ${NEXT_SCHEMA}`)
  } else {
    await tx.query(`create table ${LEDGER_SCHEMA}.events (like ${FORMER_SCHEMA}.events including defaults,
      constraint events_pkey primary key (stream, revision))`)
    await tx.query(`create index events_by_subject on ${LEDGER_SCHEMA}.events (stream, subject, revision)`)
  }
  await tx.query(SAME_ROLES)
  await tx.query(`select ops.append_only('${LEDGER_SCHEMA}.events')`)
}

/** Whoever could add to the former ledgers can add to these. */
const SAME_ROLES = `do $$
declare
  v_role text;
begin
  for v_role in
    select quote_ident(r.rolname) from pg_class c, aclexplode(c.relacl) a join pg_roles r on r.oid = a.grantee
    where c.oid = '${FORMER_SCHEMA}.events'::regclass and a.grantee <> c.relowner and a.privilege_type = 'INSERT'
  loop
    execute format('grant select, insert on ${LEDGER_SCHEMA}.events to %s', v_role);
  end loop;
end $$`

/** Whether ledgers of before are still kept aside in this Postgres. */
export async function hasFormerLedgers(runner: Runner): Promise<boolean> {
  const { rowCount } = await runner.query(`select from pg_namespace where nspname = '${FORMER_SCHEMA}'`)
  return rowCount === 1
}

/** Ends them for good. */
export async function dropFormerLedgers(runner: Runner): Promise<void> {
  await runner.query(`drop schema if exists ${FORMER_SCHEMA} cascade`)
}
