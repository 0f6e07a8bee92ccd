import { COUNTED_TABLES } from '#cells/carried-tables.ts'
import { streamOf } from '#ledger/envelope.ts'
import { copyCheckpoints } from './files.ts'
import type { Migration } from './migrating-shard.ts'
import { MigrationRefused } from './migration-refused.ts'
import { readLedgerHead } from './replay.ts'

/** Gap left between copied ids and new ones, so that ids taken meanwhile do not collide. */
const ROOM = 1_000

/**
 * Copies what neither replication nor the ledger carries, while writes are closed (SHARD-53). Resolves once both shards
 * have the same ledger head. @throws MigrationRefused
 */
export async function completeArrival(move: Migration): Promise<void> {
  const { companyId, from, to } = move
  const [here, there] = await Promise.all([readLedgerHead(from, companyId), readLedgerHead(to, companyId)])
  if (here.revision !== there.revision || here.hash !== there.hash)
    throw new MigrationRefused(
      'differs',
      `the ledger ends at revision ${here.revision}, but at ${there.revision} on shard ${to.name}`,
    )
  if (!from.store.transactional)
    for await (const { revision } of from.store.read(streamOf(companyId), here.revision + 1))
      throw new MigrationRefused('slow', `revision ${revision} is not applied yet on shard ${from.name}`)
  await to.pool.query(
    `update ops.ledgers set reacted_revision = $2, last_recorded_at = $3, ids = $4 where company_id = $1 and move = 'arriving'`,
    [companyId, here.reacted_revision, here.last_recorded_at, JSON.stringify(here.ids)],
  )
  await copyPersons(move)
  await raiseIds(move)
  await copyCheckpoints(from, to, companyId)
}

interface Person {
  readonly email: string
  readonly password_hash: string
  readonly generation: number
}

/** Copies the logins of the company's users; an account that the target knows keeps its newer password. */
async function copyPersons({ companyId, from, to }: Migration): Promise<void> {
  const { rows } = await from.pool.query<Person>(
    `select email, password_hash, generation from ops.persons
     where email in (select email from users where company_id = $1)`,
    [companyId],
  )
  await to.pool.query(
    `insert into ops.persons as known (email, password_hash, generation)
     select * from unnest($1::text[], $2::text[], $3::integer[])
     on conflict (email) do update set password_hash = excluded.password_hash, generation = excluded.generation
     where known.generation < excluded.generation`,
    [rows.map(({ email }) => email), rows.map((row) => row.password_hash), rows.map(({ generation }) => generation)],
  )
}

async function raiseIds({ companyId, to }: Migration): Promise<void> {
  for (const table of COUNTED_TABLES)
    await to.pool.query(
      `with brought as (select max(id) as id from ${table} where company_id = $1),
         given as (select last_value as id from pg_sequences
           where format('%I.%I', schemaname, sequencename) = pg_get_serial_sequence('${table}', 'id'))
       select setval(pg_get_serial_sequence('${table}', 'id'), brought.id + ${ROOM}) from brought, given
       where brought.id >= coalesce(given.id, 0)`,
      [companyId],
    )
}
