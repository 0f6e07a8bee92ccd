import { setTimeout as delay } from 'node:timers/promises'
import { carriedTables } from '#cells/carried-tables.ts'
import type { MigratingShard, Migration } from './migrating-shard.ts'
import { MigrationRefused } from './migration-refused.ts'

/** Name of the migration's publication and subscription; the slot adds the database's number. */
export const replicationName = (companyId: number): string => `tillbook_move_${companyId}`

const POLL_MS = 10
/** Time without progress of the first copy after which a hint is printed. */
const STILL_MS = 10_000

/** Parts that an interrupted migration has left. */
export interface Replication {
  readonly publication: boolean
  /** False also for a slot that Postgres has invalidated because it held back too much. */
  readonly slot: boolean
  readonly subscription: boolean
}

/** An incomplete replication is not resumed. */
export const isWhole = ({ publication, slot, subscription }: Replication): boolean =>
  publication && slot && subscription

export async function readReplication({ companyId, from, to }: Migration): Promise<Replication> {
  const name = replicationName(companyId)
  const [here, there] = await Promise.all([
    from.owner.query<{ publication: boolean; slot: boolean }>(
      `select exists (select from pg_publication where pubname = $1) as publication,
         exists (select from pg_replication_slots where slot_name = ${SLOT_NAME_SQL} and wal_status is distinct from 'lost') as slot`,
      [name],
    ),
    to.owner.query(`select from pg_subscription where subname = $1 and subdbid = ${THIS_DATABASE}`, [name]),
  ])
  const { publication = false, slot = false } = here.rows[0] ?? {}
  return { publication, slot, subscription: there.rowCount === 1 }
}

const THIS_DATABASE = '(select oid from pg_database where datname = current_database())'

/** Slots belong to the server: another database on it may migrate a company with the same number. $1 is the name. */
export const SLOT_NAME_SQL = `$1 || '_' || ${THIS_DATABASE}`

/**
 * Starts logical replication of a company's rows (SHARD-52). The slot is created first: with both shards on one server
 * the subscription would wait for itself.
 */
export async function startReplication({ companyId, from, to }: Migration): Promise<void> {
  const name = replicationName(companyId)
  const tables = carriedTables(from.store).map((table) => `${table.name} where (${table.of(String(companyId))})`)
  await from.owner.query(`create publication ${name} for table ${tables.join(', ')}`)
  const { rows } = await from.owner.query<{ slot_name: string }>(
    `select slot_name from pg_create_logical_replication_slot((${SLOT_NAME_SQL})::name, 'pgoutput')`,
    [name],
  )
  const url = `'${from.ownerUrl.replaceAll("'", "''")}'`
  await to.owner.query(
    `create subscription ${name} connection ${url} publication ${name} with (create_slot = false, slot_name = '${rows[0]?.slot_name}')`,
  )
}

/** Waits for the initial copy, through restarts of the servers, which resume by themselves. */
export async function waitForInitialCopy({ companyId, to, onProgress, progress }: Migration): Promise<void> {
  let seen = -1
  let movedAt = performance.now()
  for (;;) {
    const { rows } = await to.owner.query<{ done: number; all: number }>(
      `select count(*) filter (where r.srsubstate = 'r')::int as done, count(*)::int as all
       from pg_subscription s join pg_subscription_rel r on r.srsubid = s.oid
       where s.subname = $1 and s.subdbid = ${THIS_DATABASE}`,
      [replicationName(companyId)],
    )
    const { done = 0, all = 0 } = rows[0] ?? {}
    if (all > 0 && done === all) return onProgress(`copied ${all} tables`)
    const now = performance.now()
    if (done !== seen && all > 0) {
      if (seen < 0) progress?.begin('tables', all)
      progress?.add(done - Math.max(0, seen))
      seen = done
      movedAt = now
    }
    if (now - movedAt > STILL_MS) {
      movedAt = now
      onProgress(
        `the copy makes no progress; see the log of shard ${to.name} (for example, max_logical_replication_workers is too small)`,
      )
    }
    await delay(POLL_MS * 5)
  }
}

/** Waits until everything committed on the source so far has arrived. @throws MigrationRefused on time-out */
export async function waitForReplication({ companyId, from, to, newId }: Migration, withinMs: number): Promise<void> {
  const mark = newId()
  // Flushes this commit, and all before it, even if the server commits asynchronously.
  await from.owner.query(
    `begin; set local synchronous_commit = local;
     insert into ops.move_marks (company_id, mark) values (${Number(companyId)}, '${mark}')
     on conflict (company_id) do update set mark = excluded.mark; commit`,
  )
  const until = performance.now() + withinMs
  for (;;) {
    const { rowCount } = await to.owner.query('select from ops.move_marks where company_id = $1 and mark = $2', [
      companyId,
      mark,
    ])
    if (rowCount === 1) return
    if (performance.now() > until)
      throw new MigrationRefused('replication', `replication made no progress within ${withinMs} ms`)
    await delay(POLL_MS)
  }
}

/** Drops what is left of the replication, slots first: they would retain the source's write-ahead log (SHARD-56). */
export async function endReplication({
  companyId,
  from,
  to,
}: Pick<Migration, 'companyId' | 'from' | 'to'>): Promise<void> {
  const name = replicationName(companyId)
  const { rows } = await to.owner.query<{ oid: number }>(
    `select oid::bigint as oid from pg_subscription where subname = $1 and subdbid = ${THIS_DATABASE}`,
    [name],
  )
  const oid = rows[0]?.oid
  if (oid !== undefined) await to.owner.query(`alter subscription ${name} disable`)
  await dropSlots(from, [name, ...(oid === undefined ? [] : [`pg_${oid}_sync_%`])])
  if (oid !== undefined) {
    await to.owner.query(`alter subscription ${name} set (slot_name = none)`)
    await to.owner.query(`drop subscription ${name}`)
  }
  await from.owner.query(`drop publication if exists ${name}`)
  for (const shard of [from, to])
    await shard.owner.query('delete from ops.move_marks where company_id = $1', [companyId])
}

/** Includes the slots of initial table copies. A reader that does not stop is terminated. */
async function dropSlots({ owner }: MigratingShard, names: readonly string[]): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const { rows } = await owner.query<{ slot_name: string; active_pid: number | null }>(
      `select slot_name, active_pid from pg_replication_slots
       where database = current_database() and (slot_name = ${SLOT_NAME_SQL} or slot_name like $2)`,
      [names[0], (names[1] ?? '').replaceAll('_', '\\_')],
    )
    if (rows.length === 0) return
    for (const { slot_name, active_pid } of rows) {
      if (active_pid === null) await owner.query('select pg_drop_replication_slot($1)', [slot_name]).catch(() => {})
      else if (tries > 50) await owner.query('select pg_terminate_backend($1)', [active_pid])
    }
    await delay(POLL_MS * 2)
  }
}
