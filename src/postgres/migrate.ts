import { createHmac } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join, parse } from 'node:path'
import type { Client, ClientBase, Pool } from 'pg'
import { IncompatibleVersion, UnsupportedPostgres } from '#lib/errors.ts'
import { projectRoot } from '#lib/files.ts'
import { createClient } from './pool.ts'
import { inTransactionOn, LOCK_TIMEOUT_MS, retryOnLockTimeout } from './transaction.ts'

/** The service's role on the embedded server. */
export const SERVICE_ROLE = 'tillbook_service'

/** Advisory lock: of two processes that start together, one creates the role. */
const ROLE_LOCK = 8_314_159_268

/** Derived one-way from the superuser's password, so that a copy of the data directory has it too. */
export const deriveServicePassword = (superusersPassword: string): string =>
  createHmac('sha256', superusersPassword).update(SERVICE_ROLE).digest('base64url')

/** Creates the role or resets its attributes: LOGIN, and no other privilege in the cluster. */
export async function ensureServiceRole(client: ClientBase, role: string, password: string): Promise<void> {
  const [name, secret] = [client.escapeIdentifier(role), client.escapeLiteral(password)]
  await inTransactionOn(client, async () => {
    await client.query('select pg_advisory_xact_lock($1)', [ROLE_LOCK])
    const { rowCount } = await client.query('select from pg_roles where rolname = $1', [role])
    await client.query(
      `${rowCount === 0 ? 'create' : 'alter'} role ${name}
       login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password ${secret}`,
    )
  })
}

/** Tables of `ops` that only migrations may write. */
const OWNERS_WORD = ['migrations']

/**
 * Actual and required privileges of the service's role ($1), by direct grants: INSERT and SELECT in `ledger` and in
 * append-only tables of `ops`; all changes of rows in the other tables of `ops`; ownership of the read model's schemas.
 */
const GRANTS = `
  with service as (select oid, quote_ident(rolname) as name from pg_roles where rolname = $1),
  things as (
    select case c.relkind when 'S' then 'sequence' else 'table' end as kind, format('%I.%I', n.nspname, c.relname) as name,
      c.relacl as acl,
      case when c.relkind = 'S' then array['USAGE', 'SELECT', 'UPDATE']
           when n.nspname = 'ops' and c.relname = any($2::text[]) then array['SELECT']
           when n.nspname = 'ledger' or exists (select from pg_trigger where tgrelid = c.oid and tgname = 'append_only')
             then array['SELECT', 'INSERT']
           else array['SELECT', 'INSERT', 'UPDATE', 'DELETE'] end as wanted
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('ops', 'ledger') and c.relkind in ('r', 'p', 'S')
    union all
    select 'schema', quote_ident(nspname), nspacl, array['USAGE'] from pg_namespace where nspname in ('ops', 'ledger')
    union all
    select 'database', quote_ident(datname), datacl, array['CREATE', 'TEMPORARY'] from pg_database where datname = current_database()
  ),
  held as (
    select things.*, array(select a.privilege_type from aclexplode(acl) a where a.grantee = service.oid) as has, service.name as service
    from things, service
  ),
  defaults (schema, kind, type, wanted) as (values
    ('ops', 'tables', 'r', 'select, insert, update, delete'),
    ('ops', 'sequences', 'S', 'usage, select, update'),
    ('ledger', 'tables', 'r', 'select, insert'))
  select format('grant %s on %s %s to %s', array_to_string(array(select unnest(wanted) except select unnest(has)), ', '), kind, name, service)
    as statement
  from held where not wanted <@ has
  union all
  select format('revoke %s on %s %s from %s', array_to_string(array(select unnest(has) except select unnest(wanted)), ', '), kind, name, service)
  from held where kind <> 'database' and not has <@ wanted
  union all
  select format('alter default privileges in schema %I grant %s on %s to %s', d.schema, d.wanted, d.kind, service.name)
  from defaults d join pg_namespace n on n.nspname = d.schema, service
  where not exists (
    select from pg_default_acl a, aclexplode(a.defaclacl) e
    where a.defaclrole = current_user::regrole and a.defaclnamespace = n.oid and a.defaclobjtype::text = d.type and e.grantee = service.oid)`

/** Append-only tables without the protection against changes. */
const UNPROTECTED = `
  select format('%I.%I', n.nspname, c.relname) as name
  from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_trigger t on t.tgrelid = c.oid and t.tgname = 'append_only'
  where n.nspname in ('ops', 'ledger') and c.relkind in ('r', 'p')
    and (t.tgenabled <> 'A' or t.tgenabled is null and n.nspname = 'ledger')
  order by 1`

/** Objects of the read model that another role owns. */
const FOREIGN = `
  select n.nspname as schema, c.relname as "table" from pg_namespace n
  left join pg_class c on c.relnamespace = n.oid and c.relkind = 'r' and c.relowner <> $1::regrole
  where n.nspname ~ '^read(_|$)' and (n.nspowner <> $1::regrole or c.oid is not null)
  order by 1, 2`

interface Foreign {
  readonly schema: string
  readonly table: string | null
}

/**
 * Statements with which the owner grants the service's role missing privileges and revokes excessive ones;
 * empty if nothing differs, as at almost every start.
 */
async function statementsFor(client: ClientBase, service: string): Promise<string[]> {
  const quoted = client.escapeIdentifier(service)
  const { rows: unprotected } = await client.query<{ name: string }>(UNPROTECTED)
  const { rows: grants } = await client.query<{ statement: string }>(GRANTS, [service, OWNERS_WORD])
  const { rows: foreign } = await client.query<Foreign>(FOREIGN, [quoted])
  return [
    ...unprotected.map(({ name }) => `select ops.append_only('${name}')`),
    ...grants.map(({ statement }) => statement),
    ...handOver(foreign, quoted),
  ]
}

/** The new owner of a table needs CREATE on its schema. */
function handOver(foreign: readonly Foreign[], service: string): string[] {
  const tables = foreign.filter(({ table }) => table !== null).map(({ schema, table }) => `${schema}.${table}`)
  if (foreign.length === 0) return []
  const schemas = [...new Set(foreign.map(({ schema }) => schema))]
  return [
    // One statement for all: with one per table, each would wait for its lock while others wait for the locks taken
    // before (OPS-36).
    ...(tables.length > 0
      ? [
          `set local statement_timeout = ${LOCK_TIMEOUT_MS}`,
          `lock table ${tables.join(', ')}`,
          'set local statement_timeout = 0',
        ]
      : []),
    ...schemas.map((schema) => `alter schema ${schema} owner to ${service}`),
    ...tables.map((table) => `alter table ${table} owner to ${service}`),
  ]
}

/** Grants and revokes in one transaction. @throws UnsupportedPostgres if the owner lacks the right. */
async function assignPrivileges(client: ClientBase, service: string): Promise<void> {
  const assign = async () => {
    for (const statement of await statementsFor(client, service)) await client.query(statement)
  }
  await inTransactionOn(client, assign).catch((error) => {
    throw isDenied(error) ? new UnsupportedPostgres(mayNot(error, service)) : error
  })
}

const SEE = 'see docs/operations/install.md, "Two roles of Postgres"'

const mayNot = ({ message }: Error, service: string): string =>
  `the owner of the database could not give ${service} what it needs (${message}): ${SEE}`

/** Whether a statement failed because of insufficient privileges. */
export const isDenied = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === '42501'

/** Roles that may write any table, or access files and programs of the server. */
const MIGHTY = ['pg_write_all_data', 'pg_execute_server_program', 'pg_write_server_files', 'pg_read_server_files']

/** Excessive privileges of a session's role that would allow changes of recorded history. */
const EXCESS = `
  with mine as (
    select c.oid, format('%I.%I', n.nspname, c.relname) as name,
      n.nspname = 'ledger' or c.relname = any($2::text[]) or exists (select from pg_trigger where tgrelid = c.oid and tgname = 'append_only') as is_kept,
      pg_has_role(c.relowner, 'MEMBER') as is_owned
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('ops', 'ledger') and c.relkind in ('r', 'p', 'S')
  ),
  excess (place, what) as (
    select 1, attribute from pg_roles,
      unnest(array[case when rolsuper then 'is a superuser' end, case when rolcreaterole then 'may create roles' end,
                   case when rolreplication then 'may replicate' end]) as attribute
    where rolname = current_user
    union all
    select 2, 'is a member of ' || rolname from pg_roles where rolname = any($1::text[]) and pg_has_role(oid, 'MEMBER')
    union all
    select 3, 'owns the database' from pg_database where datname = current_database() and pg_has_role(datdba, 'MEMBER')
    union all
    select 4, 'owns schema ' || nspname from pg_namespace
    where nspname in ('ops', 'ledger') and pg_has_role(nspowner, 'MEMBER')
    union all
    select 5, 'may create in schema ' || nspname from pg_namespace
    where nspname in ('ops', 'ledger') and has_schema_privilege(oid, 'CREATE') and not pg_has_role(nspowner, 'MEMBER')
    union all
    select 6, 'owns tables of ops and ledger, as ' || min(name) from mine where is_owned having count(*) > 0
    union all
    select 7, 'owns functions of ops and ledger, as ' || min(p.proname) from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ('ops', 'ledger') and pg_has_role(p.proowner, 'MEMBER') having count(*) > 0
    union all
    select 8, format('may %s %s', string_agg(privilege, ', ' order by privilege), name)
    from mine, unnest(array['UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER']) as privilege
    where is_kept and not is_owned and (has_table_privilege(oid, privilege)
      or privilege = 'UPDATE' and has_any_column_privilege(oid, privilege))
    group by name
    union all
    select 9, format('may TRIGGER %s', name) from mine where not is_kept and not is_owned and has_table_privilege(oid, 'TRIGGER')
  )
  select what from excess where what is not null order by place, what`

/** Descriptions of excessive privileges; for a superuser, who has all of them, just that. */
async function excessOf(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ what: string }>(EXCESS, [MIGHTY, OWNERS_WORD])
  const { rows: unprotected } = await pool.query<{ name: string }>(UNPROTECTED)
  const all = rows.map(({ what }) => what)
  return [
    ...(all[0] === 'is a superuser' ? all.slice(0, 1) : all),
    ...unprotected.map(({ name }) => `finds ${name} without the trigger that refuses changes`),
  ]
}

/** Privileges that the service needs and lacks. */
const LACKING = `
  select what from (values
    ('CREATE on the database', has_database_privilege(current_database(), 'CREATE')),
    ('TEMPORARY on the database', has_database_privilege(current_database(), 'TEMPORARY')),
    ('USAGE on schema ops', has_schema_privilege('ops', 'USAGE')),
    ('USAGE on schema ledger', has_schema_privilege('ledger', 'USAGE')),
    ('INSERT on ledger.events', has_schema_privilege('ledger', 'USAGE') and has_table_privilege('ledger.events', 'INSERT')))
    as needed (what, is_given)
  where not is_given`

interface Judging {
  /** Called with excessive privileges; null: the start fails instead. */
  readonly onExcess: ((privileges: readonly string[]) => void) | null
}

/** Checks the service's role at the start. @throws UnsupportedPostgres with each wrong privilege. */
export async function assertLeast(pool: Pool, { onExcess }: Judging): Promise<void> {
  const { rows } = await pool.query<{ what: string }>(LACKING)
  if (rows.length > 0) {
    const lacking = rows.map(({ what }) => what).join(', ')
    throw new UnsupportedPostgres(`the role of DATABASE_URL lacks ${lacking}: ${SEE}`)
  }
  const excess = await excessOf(pool)
  if (excess.length === 0) return
  if (!onExcess) throw new UnsupportedPostgres(`the role of DATABASE_URL ${excess.join(', ')}, and should not: ${SEE}`)
  onExcess(excess)
}

/** Owner of the read model if it is not the pool's role; null also if there is no read model. */
export async function ownerOfReadModel(pool: Pool): Promise<string | null> {
  const { rows } = await pool.query<{ role: string }>(
    `select r.rolname as role from pg_namespace n join pg_roles r on r.oid = n.nspowner
     where n.nspname = 'read' and r.rolname <> current_user`,
  )
  return rows[0]?.role ?? null
}

export async function loadCurrentRole(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ role: string }>('select current_user as role')
  return rows[0]?.role ?? ''
}

const SCHEMA = 'ops'
const TABLE = 'migrations'
/** Advisory lock: of two processes that start together, the second one waits and then has nothing to do. */
const MIGRATION_LOCK = 8_314_159_266

interface Options {
  /** Numbered .sql files; the service's own by default. */
  readonly folder?: string
  /** False: only an empty database is set up. */
  readonly upgrades?: boolean
  /** The service's role if it differs from the migrating role; it is granted the required privileges. */
  readonly service?: string | null
  readonly log?: (line: string) => void
}

/** Hint for a database that is outdated and was not to be migrated. */
export const MIGRATE_HINT =
  'The database is of an older version of this program: start the service of this version, or run "tillbook projections rebuild", and repeat.'

/**
 * Applies all new numbered .sql files to the operational schema in one transaction. It checks first: if nothing is to
 * do, nothing is locked. @throws IncompatibleVersion if the database has a migration that is unknown here, because an
 * older program cannot keep the invariants of a newer one; and if migrations are pending but were not requested.
 * @throws UnsupportedPostgres if the role of `url` lacks privileges.
 */
export async function migrate(url: string, options: Options = {}): Promise<void> {
  const folder = options.folder ?? join(projectRoot(), 'src', 'postgres', 'migrations')
  const log = options.log ?? ((line: string) => process.stderr.write(`${line}\n`))
  const client = createClient(url, { application_name: 'tillbook migrations' })
  // A connection lost between statements fails the next statement.
  client.on('error', () => {})
  await client.connect()
  try {
    // Roles that may create schemas could shadow the intended names.
    await client.query('set search_path = pg_catalog, pg_temp')
    await bringUp(client, { ...options, folder, log })
  } catch (error) {
    throw isDenied(error) ? new UnsupportedPostgres(`${(error as Error).message}: ${NOT_OWNER}`) : error
  } finally {
    await client.end()
  }
}

interface Roles {
  /** Pool of the service's role. */
  readonly pool: Pool
  readonly databaseUrl: string
  /** URL of the owner; without it the service's role must be the owner. */
  readonly ownerUrl: string | undefined
}

/** Migrates, and grants the service's role its privileges if it is not the owner. @throws as `migrate` */
export async function migrateAsOwner({ pool, databaseUrl, ownerUrl }: Roles, options: Options = {}): Promise<void> {
  if (ownerUrl === undefined) return migrate(databaseUrl, options)
  await migrate(ownerUrl, { ...options, service: await loadCurrentRole(pool) })
}

const NOT_OWNER =
  'the role of DATABASE_URL may not set the database up. Call "tillbook database prepare" with DATABASE_OWNER_URL'

async function bringUp(
  client: Client,
  { folder, log, upgrades, service = null }: Options & Required<Pick<Options, 'folder' | 'log'>>,
): Promise<void> {
  const { isNew, isCurrent } = await look(client, folder)
  if (!isNew && !isCurrent && upgrades === false) throw new IncompatibleVersion(MIGRATE_HINT)
  const isServable = async () => service === null || (await statementsFor(client, service)).length === 0
  if (isCurrent && (await isServable())) return
  await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
  const { isCurrent: isDone } = await look(client, folder)
  await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`)
  const patience = { client, what: 'migrations', tell: log }
  const applied = isDone ? [] : await retryOnLockTimeout(patience, () => apply(client, folder, log))
  for (const name of applied) log(`migrations: ${name} applied`)
  if (service !== null) await retryOnLockTimeout(patience, () => assignPrivileges(client, service))
}

/** The library is loaded only if there is something to migrate. */
async function apply(client: Client, folder: string, log: (line: string) => void): Promise<string[]> {
  const { runMigrations } = await import('./run-migrations.ts')
  return runMigrations(client, { folder, schema: SCHEMA, table: TABLE, log })
}

interface Look {
  /** No migration was ever applied. */
  readonly isNew: boolean
  readonly isCurrent: boolean
}

async function look(client: Client, folder: string): Promise<Look> {
  const known = new Set((await readdir(folder)).map((file) => parse(file).name))
  const table = await client.query<{ name: string | null }>('select to_regclass($1) as name', [`${SCHEMA}.${TABLE}`])
  if (!table.rows[0]?.name) return { isNew: true, isCurrent: false }
  const { rows } = await client.query<{ name: string }>(`select name from ${SCHEMA}.${TABLE} order by id`)
  const unknown = rows.map(({ name }) => name).filter((name) => !known.has(name))
  if (unknown.length > 0)
    throw new IncompatibleVersion(
      `The database was set up by a newer version of this program, which applied ${unknown.join(', ')}: start that version.`,
    )
  return { isNew: rows.length === 0, isCurrent: rows.length === known.size }
}
