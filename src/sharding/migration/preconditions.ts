import type { Pool } from 'pg'
import { carriedTables } from '#cells/carried-tables.ts'
import type { MigratingShard, Migration } from './migrating-shard.ts'
import { type MigrationObstacle, MigrationRefused } from './migration-refused.ts'
import { replicationName, SLOT_NAME_SQL } from './replication.ts'

/** Publications need row filters. */
const OLDEST_POSTGRES = 150_000
/** One for the migration, the others for initial table copies. */
const SLOTS = 3

const refuseUnless = (isFine: boolean, obstacle: MigrationObstacle, message: string): void => {
  if (!isFine) throw new MigrationRefused(obstacle, message)
}

/** Checks all preconditions before anything is changed (SHARD-59). @throws MigrationRefused with the remedy */
export async function checkPreconditions(move: Migration): Promise<void> {
  const { companyId, from, to } = move
  await assertAlike(from, to)
  for (const shard of [from, to]) {
    const { version } = await serverOf(shard.owner)
    refuseUnless(version >= OLDEST_POSTGRES, 'settings', `${shard.name} needs PostgreSQL 15 or newer`)
  }
  await assertMayPublish(move)
  await assertMaySubscribe(to)
  const { rows: here } = await from.owner.query<{ missing_keys: string | null }>(
    'select missing_keys from ops.ledgers where company_id = $1 and revision >= 0',
    [companyId],
  )
  refuseUnless(here.length === 1, 'company', `${from.name} has no company ${companyId}`)
  refuseUnless(
    !here[0]?.missing_keys,
    'company',
    `company ${companyId} is read-only because keys of persons are missing: "tillbook person lost-keys" first`,
  )
  const { rows: there } = await to.owner.query<{ move: string | null }>(
    'select move from ops.ledgers where company_id = $1',
    [companyId],
  )
  refuseUnless(
    there.every(({ move: state }) => state !== null),
    'company',
    `${to.name} has a company ${companyId} already`,
  )
}

interface Server {
  readonly version: number
  readonly wal_level: string
  readonly free_slots: number
  readonly is_super: boolean
  readonly may_replicate: boolean
}

async function serverOf(owner: Pool): Promise<Server> {
  const { rows } = await owner.query<Server>(
    `select current_setting('server_version_num')::int as version, current_setting('wal_level') as wal_level,
       current_setting('max_replication_slots')::int - (select count(*)::int from pg_replication_slots) as free_slots,
       rolsuper as is_super, rolreplication as may_replicate
     from pg_roles where rolname = current_user`,
  )
  return rows[0] as Server
}

async function assertMayPublish({ companyId, from }: Migration): Promise<void> {
  const server = await serverOf(from.owner)
  refuseUnless(
    server.wal_level === 'logical',
    'settings',
    `${from.name} runs with wal_level = ${server.wal_level}: set it to logical, and restart that server`,
  )
  const { rowCount: ours } = await from.owner.query(
    `select from pg_replication_slots where slot_name = ${SLOT_NAME_SQL}`,
    [replicationName(companyId)],
  )
  refuseUnless(
    server.free_slots + (ours ?? 0) >= SLOTS,
    'settings',
    `${from.name} has too few replication slots left: raise max_replication_slots`,
  )
  refuseUnless(
    server.is_super || server.may_replicate,
    'rights',
    `the owner of ${from.name} needs the attribute REPLICATION`,
  )
  const names = carriedTables(from.store).map(({ name }) => name)
  const { rows } = await from.owner.query<{ name: string }>(
    `select name from unnest($1::text[]) as name join pg_class c on c.oid = name::regclass where not pg_has_role(c.relowner, 'MEMBER')`,
    [names],
  )
  refuseUnless(rows.length === 0, 'rights', `the owner's URL of ${from.name} does not own ${rows[0]?.name}`)
}

async function assertMaySubscribe(to: MigratingShard): Promise<void> {
  const { is_super, version } = await serverOf(to.owner)
  if (is_super) return
  const { rows } = await to.owner.query<{ may: boolean }>(
    version >= 160_000 ? `select pg_has_role('pg_create_subscription', 'MEMBER') as may` : 'select false as may',
  )
  refuseUnless(
    rows[0]?.may === true,
    'rights',
    `the owner of ${to.name} may make no subscription: with PostgreSQL 15 it has to be a superuser, later a member of pg_create_subscription`,
  )
}

/** Both shards need the same program version, installation and keys. */
async function assertAlike(from: MigratingShard, to: MigratingShard): Promise<void> {
  const [here, there] = await Promise.all([from, to].map(({ owner }) => traitsOf(owner)))
  for (const [trait, obstacle, message] of TRAITS)
    refuseUnless(here?.[trait] === there?.[trait], obstacle, `${from.name} and ${to.name} ${message}`)
  // During a rotation there are two.
  refuseUnless(!here?.master_keys.includes(','), 'settings', 'the master key is being changed: finish that before')
  refuseUnless(here?.model === from.model.version, 'versions', `the tables of ${from.name} are another version's`)
}

const TRAITS = [
  ['migrations', 'versions', 'are not of one version: start the service of this version'],
  ['model', 'versions', 'have tables of two versions: start the service of this version'],
  ['installation', 'company', 'are not of one installation'],
  ['master_keys', 'settings', 'do not have one master key: finish "tillbook master-key rotate"'],
  ['seal_keys', 'settings', 'do not have the same keys for seals: "tillbook shard add" copies them'],
] as const

type Traits = Readonly<Record<(typeof TRAITS)[number][0], string>>

async function traitsOf(owner: Pool): Promise<Traits | undefined> {
  const { rows } = await owner.query<Traits>(
    `select (select string_agg(name, ',' order by name) from ops.migrations) as migrations,
       (select version from ops.read_model) as model, (select id::text from ops.installation) as installation,
       (select string_agg(encode(id, 'hex'), ',' order by id) from ops.master_keys) as master_keys,
       coalesce((select string_agg(vkey, ',' order by index) from ops.seal_keys), '') as seal_keys`,
  )
  return rows[0]
}
