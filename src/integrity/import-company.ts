import type { Pool, PoolClient } from 'pg'
import { type Envelope, GENESIS_HASH, streamName } from '#ledger/command.ts'
import { isOutside, readNewest } from '#ledger/port.ts'
import { REBUILD_LOCK } from '#ledger/rebuild/rebuild.ts'
import { replay } from '#ledger/rebuild/replay.ts'
import { listReadSchemas } from '#ledger/rebuild/version.ts'
import { createPersonKeys } from '#ledger/sealed-fields.ts'
import { CopyDiffers, copyStream } from '#ledger/stores/copy-ledgers.ts'
import { groupBy, inBatches } from '#lib/collections.ts'
import { StepRefused } from '#lib/errors.ts'
import { withPool } from '#postgres/pool.ts'
import { type BulkTransaction, inTransaction, type Transaction } from '#postgres/transaction.ts'
import {
  brokenFile,
  type CarriedTable,
  type CellParts,
  carriedTables,
  type FileHeader,
  readHeader,
  readParts,
  signImport,
} from './company-file.ts'
import { type Installation, loadInstallation } from './installation.ts'
import { walkChain } from './verify.ts'

type Row = Readonly<Record<string, string | null>>

/** Inserts rows of a file; a person whom the installation knows keeps what is here. */
async function createRowWriter(client: PoolClient, companyId: number) {
  const tables = await carriedTables(client)
  const persons: Row[] = []

  return {
    async write(name: string, rows: readonly Row[]): Promise<void> {
      const table = tables.find((each) => each.name === name)
      const columns = table?.columns.map((column) => column.name).join()
      if (!table || rows.some((row) => Object.keys(row).join() !== columns))
        throw brokenFile(`the file has a table ${name} with other columns`)
      if (name === 'ops.persons') {
        await assertLoginsKept(client, companyId, rows)
        persons.push(...rows)
      }
      await client.query(insertion(table), [JSON.stringify(rows)])
    },
    /** Once all rows and users are here. */
    async finish(): Promise<void> {
      await adoptLogins(client, companyId, persons)
      for (const { name } of tables.filter(({ isCounted }) => isCounted))
        await client.query(
          `select setval('${name}_id_seq', b.id) from (select max(id) as id from ${name} where company_id = $1) b, ${name}_id_seq s
           where b.id > s.last_value`,
          [companyId],
        )
    },
  }
}

function insertion({ name, columns, isOfLogins }: CarriedTable): string {
  const values = columns.map((column) => `(r ->> '${column.name}')::${column.type}`)
  return `insert into ${name} (${columns.map((column) => `"${column.name}"`).join(', ')}) overriding system value
    select ${values.join(', ')} from json_array_elements($1::json) as r
    ${isOfLogins ? `where not exists (select from ops.persons where email = r ->> 'email') on conflict do nothing` : ''}`
}

/**
 * An address that users of other companies have here, whose password was lost with a Postgres: the file's password would let its
 * holder into those companies. @throws StepRefused
 */
async function assertLoginsKept(client: PoolClient, companyId: number, persons: readonly Row[]): Promise<void> {
  const { rows } = await client.query<{ email: string; roles: string }>(
    `select f.email, string_agg(distinct u.doc ->> 'role', ', ') as roles from unnest($2::text[]) as f(email)
     join users u on u.email = f.email and u.company_id <> $1 and u.doc ->> 'status' in ('active', 'inactive')
     where not exists (select from ops.persons p where p.email = f.email) group by 1`,
    [companyId, persons.map(({ email }) => email)],
  )
  const [lost] = rows
  if (lost)
    throw new StepRefused(
      'login_lost',
      `${lost.email} is a user here (${lost.roles}) without a password, and the file's would open that company: set one first`,
    )
}

/**
 * Persons who keep another password here: their tills stay logged in, but not by ended tokens, whose generation could be the living
 * one here; their sessions end, which could switch to other companies of this installation.
 */
const adoptLogins = (client: PoolClient, companyId: number, persons: readonly Row[]) =>
  client.query(
    `with kept as (
       select u.id as user_id, f.generation as former, p.generation as own
       from json_to_recordset($2) as f(email text, password_hash text, generation integer)
       join ops.persons p on p.email = f.email and (p.password_hash, p.generation) is distinct from (f.password_hash, f.generation)
       join users u on u.company_id = $1 and u.doc ->> 'email' = f.email),
     sessions as (delete from ops.sessions s using kept k where s.company_id = $1 and s.user_id = k.user_id),
     tokens as (
       delete from ops.sync_tokens t using kept k
       where t.company_id = $1 and t.user_id = k.user_id and t.person_generation <> k.former)
     update ops.sync_tokens t set person_generation = k.own from kept k
     where t.company_id = $1 and t.user_id = k.user_id and t.person_generation = k.former`,
    [companyId, JSON.stringify(persons)],
  )

interface Importing {
  /** Whether another company may have the same CNPJ (OPS-29). */
  readonly allowsSameCnpj: boolean
  /** UTC. */
  readonly now: () => string
  readonly onEvents: (events: number) => void
}

export interface ImportReport {
  readonly company_id: number
  readonly export: string
  readonly events: number
  /** Signed note for the installation that exported. */
  readonly note: string
}

/**
 * Imports a company from its file in one transaction, which opens the company here. Events of a store outside Postgres are
 * appended just before its COMMIT, and another run finds them. @throws StepRefused
 */
export async function importCompany(cell: CellParts, path: string, importing: Importing): Promise<ImportReport> {
  const header = await readHeader(path)
  const installation = await loadInstallation(cell.pool)
  await assertMayCome(cell, installation, header)
  await verifyFile(cell, path, header)
  const { company_id, export: id, installation: from, revision, hash } = header
  const said = { company_id, export: id, from, to: installation.id, revision, hash, at: importing.now() }
  const note = await signImport(cell.sealing, said)
  if (isOutside(cell.store)) await reserve(cell.pool, company_id)
  const sessions = { max: 1, pipeline: true, keyLookupsOnly: true, read_schemas: listReadSchemas(cell.model) }
  const own = { statement_timeout_ms: 0, idle_in_transaction_timeout_ms: 0, application_name: 'tillbook import' }
  try {
    await withPool(cell.databaseUrl, { ...sessions, ...own }, (pool) =>
      inTransaction(pool, (tx, client) => bringIn({ cell, path, header, note, tx, client }, importing)),
    )
  } catch (error) {
    if (isOutside(cell.store)) await release(cell, company_id)
    throw takenOf(error) ?? error
  }
  return { company_id, export: id, events: revision + 1, note }
}

/** Checks that need no more than the file's first line. @throws StepRefused */
async function assertMayCome(
  { pool, masterKey, model }: CellParts,
  own: Installation,
  header: FileHeader,
): Promise<void> {
  const id = header.company_id
  const obstacles = {
    own_export:
      header.installation === own.id &&
      `this installation has exported the file itself: "tillbook company reopen ${id}" opens the company again`,
    other_family:
      header.family !== own.family &&
      'the file is of other keys: prepare a new cell by "tillbook database prepare --like" before its first start',
    other_master_key:
      header.master_key !== masterKey && `the file is sealed by master key ${header.master_key}, not by ${masterKey}`,
    other_version:
      header.version !== model.version && 'the file is of another version of the program: both cells need the same one',
  }
  for (const [code, message] of Object.entries(obstacles)) if (message) throw new StepRefused(code, message)
  const { rows } = await pool.query<{ note: string }>(
    `select note from ops.company_moves where id = $1 and state = 'arrived'`,
    [header.export],
  )
  const already = `company ${id} has been imported from this export already, with this note`
  if (rows[0]) throw new StepRefused('already_imported', already, { note: rows[0].note })
}

async function* eventsOf({ vault }: CellParts, path: string): AsyncGenerator<Envelope> {
  for await (const part of readParts(path, vault)) if ('event' in part) yield part.event
}

/** Reads the whole file before anything is changed: its digest, its ledger, and that it goes on where the company left. */
async function verifyFile(cell: CellParts, path: string, header: FileHeader): Promise<void> {
  const { company_id: id, revision, hash } = header
  const { rows } = await cell.pool.query<{ revision: number; hash: string }>(
    `select revision, hash from ops.company_moves where company_id = $1 and state = 'removed'`,
    [id],
  )
  const [left] = rows
  async function* stored() {
    for await (const event of eventsOf(cell, path)) yield { json: JSON.stringify(event), beside: {} }
  }
  const found = await walkChain(stored(), { stream: streamName(id), anchors: [{ revision, hash }, ...rows] })
  const fault = found.first_error ?? (found.revision > revision ? { revision, reason: 'beyond_head' } : null)
  if (left && (left.revision > revision || (fault?.reason === 'other_hash' && fault.revision === left.revision)))
    throw new StepRefused(
      'older_ledger',
      `company ${id} left here with event ${left.revision}, which the file does not have: import a later export`,
    )
  if (fault) throw brokenFile(`the ledger in the file is not whole: ${fault.reason} at revision ${fault.revision}`)
}

interface Bringing {
  readonly cell: CellParts
  readonly path: string
  readonly header: FileHeader
  readonly note: string
  readonly tx: BulkTransaction
  readonly client: PoolClient
}

/** Lines that are written at once. */
const BATCH = 200

/** All of the import that Postgres commits at once. */
async function bringIn(bringing: Bringing, { allowsSameCnpj, onEvents }: Importing): Promise<void> {
  const { cell, path, header, note, tx, client } = bringing
  const { company_id: id, revision, hash, reacted_revision, last_recorded_at, ids } = header
  await assertFree(bringing)
  const writer = await createRowWriter(client, id)
  async function* events() {
    for await (const batch of inBatches(readParts(path, cell.vault), BATCH)) {
      const rows = batch.filter((part) => 'table' in part)
      for (const [table, parts] of groupBy(rows, (part) => part.table))
        await writer.write(
          table,
          parts.map(({ row }) => row),
        )
      yield* recorded(
        cell,
        batch.flatMap((part) => ('event' in part ? [part.event] : [])),
        tx,
      )
    }
  }
  const keys = createPersonKeys(client, cell.vault)
  const reader = { model: cell.model, keys, store: { ...cell.store, read: events } }
  await replay(tx, cell.model, id, readNewest(reader, streamName(id), 0), revision, { onApplied: onEvents })
  await writer.finish()
  if (!allowsSameCnpj) await assertOwnCnpj(client, id)
  await client.query(
    `insert into ops.ledgers (company_id, revision, reacted_revision, hash, last_recorded_at, ids) values ($1, $2, $3, $4, $5, $6)
     on conflict (company_id) do update set revision = excluded.revision, reacted_revision = excluded.reacted_revision,
       hash = excluded.hash, last_recorded_at = excluded.last_recorded_at, ids = excluded.ids, closed_at = null`,
    [id, revision, reacted_revision, hash, last_recorded_at, JSON.stringify(ids)],
  )
  await client.query(
    `with back as (update ops.company_moves set state = 'returned' where company_id = $2 and state = 'removed')
     insert into ops.company_moves (id, company_id, revision, hash, state, note) values ($1, $2, $3, $4, 'arrived', $5)`,
    [header.export, id, revision, hash, note],
  )
  if (isOutside(cell.store)) await appendOutside(bringing)
}

/** Locks out a rebuild, which would miss the company, and another import of it. @throws StepRefused */
async function assertFree({ cell, header, client }: Bringing): Promise<void> {
  const { company_id: id } = header
  const { rows } = await client.query<{ version: string; mine: boolean; calm: boolean; revision: number | null }>(
    `select m.version, pg_try_advisory_xact_lock(hashtextextended('tillbook import ' || $1, 0)) as mine,
       pg_try_advisory_xact_lock_shared(hashtextextended($2, 0)) as calm, l.revision
     from ops.read_model m left join ops.ledgers l on l.company_id = $1 and not (l.revision < 0 and l.closed_at is not null)`,
    [id, REBUILD_LOCK],
  )
  const [found] = rows
  if (found?.revision !== null) throw new StepRefused('taken', `there is a company ${id} here already`)
  if (!found.mine) throw new StepRefused('busy', `another command is importing company ${id}`)
  if (!found.calm || found.version !== cell.model.version)
    throw new StepRefused('busy', 'the tables are being rebuilt: import the company afterwards')
}

async function* recorded(cell: CellParts, events: readonly Envelope[], tx: Transaction): AsyncGenerator<Envelope> {
  const [first] = events
  if (first && cell.store.transactional)
    await cell.store.append([{ stream: first.stream, expectedRevision: first.revision - 1, commands: [events] }], tx)
  yield* events
}

/** @throws StepRefused */
async function assertOwnCnpj(client: PoolClient, companyId: number): Promise<void> {
  const { rows } = await client.query<{ holder: number | null }>(
    `select (select min(o.company_id) from companies o where o.cnpj = c.cnpj and o.company_id <> c.company_id and not o.is_test) as holder,
       pg_advisory_xact_lock(hashtextextended(c.cnpj, 0))
     from companies c where c.company_id = $1 and not c.is_test`,
    [companyId],
  )
  const holder = rows[0]?.holder ?? null
  if (holder !== null)
    throw new StepRefused('same_cnpj', `company ${holder} here has the same CNPJ: --allow-same-cnpj allows it`)
}

/** A row that keeps processes from following the stream of a company that is not there yet. */
const reserve = (pool: Pool, companyId: number) =>
  pool.query(
    'insert into ops.ledgers (company_id, hash, closed_at) values ($1, $2, clock_timestamp()) on conflict do nothing',
    [companyId, GENESIS_HASH],
  )

/** Unless events were appended: the next import goes on with them. */
async function release({ pool, store }: CellParts, companyId: number): Promise<void> {
  for await (const _ of store.read(streamName(companyId), 0)) return
  await pool.query('delete from ops.ledgers where company_id = $1 and revision < 0 and closed_at is not null', [
    companyId,
  ])
}

async function appendOutside({ cell, path, header }: Bringing): Promise<void> {
  async function* read(_stream: string, from: number) {
    for await (const event of eventsOf(cell, path)) if (event.revision >= from) yield event
  }
  await copyStream(streamName(header.company_id), { read }, cell.store).catch((error) => {
    if (!(error instanceof CopyDiffers)) throw error
    throw new StepRefused('taken', `the event store has other events of company ${header.company_id}: ${error.message}`)
  })
}

/** A row that another company has, such as the alias of a store. */
function takenOf(error: unknown): StepRefused | null {
  const { code, table, constraint, detail = '' } = error as { [member: string]: string | undefined }
  if (code !== '23505') return null
  // Other values may be secret: `Key (alias)=(padaria) already exists.`
  const isAlias = constraint === 'store_secrets_alias_key'
  return new StepRefused(
    'taken',
    isAlias ? `the alias of a store is taken: ${detail}` : `a row of ${table} is here already`,
  )
}
