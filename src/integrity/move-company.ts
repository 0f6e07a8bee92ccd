import { rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Pool, PoolClient } from 'pg'
import { claimDatabase, registeredMasterKeys } from '#crypto/master-key-registry.ts'
import type { MasterKeys } from '#crypto/master-keys.ts'
import { streamName } from '#ledger/command.ts'
import { IDS_OF_A_CELL } from '#ledger/ledgers.ts'
import { StepRefused, UnsupportedPostgres } from '#lib/errors.ts'
import type { Queryable } from '#postgres/database.ts'
import { withPool } from '#postgres/pool.ts'
import { inTransaction, inTransactionOn, LOCK_TIMEOUT_MS, retryOnLockTimeout } from '#postgres/transaction.ts'
import { type RingEntry, ringEntries } from './checkpoint-keys.ts'
import {
  type CarriedTable,
  type CellParts,
  CREDENTIALS,
  carriedTables,
  createFileWriter,
  type FileHeader,
  type FilePart,
  isOfCompany,
  LOGIN_TABLES,
  openImport,
} from './company-file.ts'
import { type Installation, loadInstallation } from './installation.ts'
import { checkpointPath, readSigningKey } from './note.ts'

export interface ExportReport {
  readonly company_id: number
  readonly export: string
  readonly events: number
  readonly rows: number
}

interface Exporting {
  readonly newId: () => string
  /** Writes a part of the file; resolves when more may come. */
  readonly write: (text: string) => Promise<void>
  readonly onEvents: (events: number) => void
}

/**
 * Closes a company and writes all of it to a file. Repeatable: a closed company does not change, and keeps the id
 * of its export. @throws StepRefused
 */
export async function exportCompany(
  cell: CellParts,
  companyId: number,
  { newId, write, onEvents }: Exporting,
): Promise<ExportReport> {
  const id = await closeCompany(cell.pool, companyId, newId)
  await awaitLeases(cell.pool, companyId)
  return inTransaction(
    cell.pool,
    async (_, client) => {
      const header = await headerOf(cell, client, companyId, id)
      const file = createFileWriter(write, cell.vault, header)
      await file.line(header)
      let rows = 0
      const line = (part: FilePart) => {
        if ('table' in part) rows += 1
        else onEvents(1)
        return file.line(part)
      }
      for (const table of await carriedTables(client)) await writeRows(client, table, companyId, line)
      await writeEvents(cell, header, line)
      await file.end()
      return { company_id: companyId, export: id, events: header.revision + 1, rows }
    },
    'begin isolation level repeatable read read only; set local idle_in_transaction_session_timeout = 0',
  )
}

/** Waits for the ledger's lock, and for transactions that write beside it (`ops.refuse_closed`). Returns the export's id. */
async function closeCompany(pool: Pool, companyId: number, newId: () => string): Promise<string> {
  return inTransaction(pool, async (_, client) => {
    const { rows } = await client.query<{ revision: number; hash: string; missing_keys: string | null }>(
      'select revision, hash, missing_keys from ops.ledgers where company_id = $1 for update',
      [companyId],
    )
    const [ledger] = rows
    if (!ledger || ledger.revision < 0) throw new StepRefused('no_company', `there is no company ${companyId} here`)
    if (ledger.missing_keys)
      throw new StepRefused(
        'keys_missing',
        `company ${companyId} is read-only because keys of persons are missing: run "tillbook person lost-keys" first`,
      )
    await client.query('select pg_advisory_xact_lock(ops.company_lock($1))', [companyId])
    await client.query(
      'update ops.ledgers set closed_at = coalesce(closed_at, clock_timestamp()) where company_id = $1',
      [companyId],
    )
    const known = await client.query<{ id: string; state: string }>(
      `select id, state from ops.company_moves where company_id = $1 and state in ('exported', 'confirmed')`,
      [companyId],
    )
    const [open] = known.rows
    if (open?.state === 'confirmed')
      throw new StepRefused(
        'being_removed',
        `company ${companyId} is open elsewhere and is being removed here: run "tillbook company remove" again`,
      )
    if (open) return open.id
    const id = newId()
    await client.query(
      `insert into ops.company_moves (id, company_id, revision, hash, state) values ($1, $2, $3, $4, 'exported')`,
      [id, companyId, ledger.revision, ledger.hash],
    )
    return id
  })
}

/** Deliveries and e-mails under way end before their rows are read; what takes longer may be sent once more. */
const LEASES_MS = 25_000
const POLL_MS = 20

async function awaitLeases(pool: Pool, companyId: number): Promise<void> {
  const { rows } = await pool.query<{ now: string }>('select clock_timestamp()::text as now')
  const deadline = performance.now() + LEASES_MS
  while (performance.now() < deadline) {
    const { rowCount } = await pool.query(UNDER_WAY, [companyId, rows[0]?.now])
    if (rowCount === 0) return
    await delay(POLL_MS)
  }
}

/** Leases, and statements that began before the company was closed: they may take a lease. */
const UNDER_WAY = `
  select from ops.webhook_deliveries where status = 'pending' and company_id = $1 and leased_until > clock_timestamp()
  union all select from ops.notifications where company_id = $1 and leased_until > clock_timestamp()
  union all select from ops.payment_sweeps where company_id = $1 and leased_until > clock_timestamp()
  union all select from pg_stat_activity
    where datname = current_database() and usename = current_user and pid <> pg_backend_pid() and backend_type = 'client backend'
      and state = 'active' and query_start <= $2
  limit 1`

async function headerOf(cell: CellParts, client: PoolClient, companyId: number, id: string): Promise<FileHeader> {
  const { id: installation, family } = await loadInstallation(client)
  const { rows } = await client.query<
    Pick<FileHeader, 'revision' | 'hash' | 'last_recorded_at' | 'reacted_revision' | 'ids'>
  >('select revision, hash, last_recorded_at, reacted_revision, ids from ops.ledgers where company_id = $1', [
    companyId,
  ])
  const [head] = rows
  if (!head) throw new StepRefused('no_company', `there is no company ${companyId} here any more`)
  const { masterKey: master_key, model } = cell
  const of = { export: id, installation, family, master_key, version: model.version, company_id: companyId }
  return { format: 'tillbook-company/1', ...of, ...head }
}

/** Rows fetched at once: a bound of memory. */
const FETCHED = 20

type WriteLine = (part: FilePart) => Promise<void>

async function writeRows(client: PoolClient, table: CarriedTable, companyId: number, line: WriteLine): Promise<void> {
  const texts = table.columns.map(({ name }) => `"${name}"::text`).join(', ')
  await client.query(
    `declare company_rows no scroll cursor for select row_to_json(r) as row from (
       select ${texts} from ${table.name} where ${isOfCompany(table, companyId)} order by ${table.key.join(', ')}) r`,
  )
  for (let fetched = FETCHED; fetched === FETCHED; ) {
    const { rows } = await client.query<{ row: Record<string, string | null> }>(`fetch ${FETCHED} from company_rows`)
    for (const { row } of rows) await line({ table: table.name, row })
    fetched = rows.length
  }
  await client.query('close company_rows')
}

async function writeEvents({ store }: CellParts, header: FileHeader, line: WriteLine): Promise<void> {
  let hash = ''
  for await (const event of store.read(streamName(header.company_id), 0)) {
    if (event.revision > header.revision) break
    await line({ event })
    hash = event.hash
  }
  if (hash !== header.hash)
    throw new StepRefused('busy', 'the ledger does not end where its tables do: verify it, or try again in a moment')
}

interface Likeness {
  /** Database of the first installation. */
  readonly likeUrl: string
  readonly masterKeys: MasterKeys
  /** SEAL_KEY_FILE */
  readonly keyFile: string
}

/**
 * Makes an installation a cell beside the first one, before its first start: both share secrets and keys, and it has
 * company ids of its own. Repeated, it brings keys of checkpoints that were added there. @throws UnsupportedPostgres; nothing was
 * changed
 */
export async function prepareLike(pool: Pool, { likeUrl, masterKeys, keyFile }: Likeness): Promise<void> {
  await withPool(likeUrl, { max: 1, application_name: 'tillbook command' }, async (first) => {
    const theirs = await loadInstallation(first).catch(notTillbook)
    const ring = await ringEntries(first)
    await assertFirst(first, { theirs, ring, masterKeys, keyFile })
    await claimDatabase({ pool, keys: masterKeys, onMade: () => {} })
    const ours = await loadInstallation(pool)
    await inTransaction(pool, async (_, client) => {
      if (ours.id === theirs.id || ours.family !== theirs.id) await join(client, first, { theirs, ours })
      await client.query(
        'insert into ops.checkpoint_keys select * from json_populate_recordset(null::ops.checkpoint_keys, $1) on conflict do nothing',
        [JSON.stringify(ring.map((entry, index) => ({ index, ...entry })))],
      )
    })
  })
}

type Installations = Readonly<Record<'theirs' | 'ours', Installation>>

/** @throws UnsupportedPostgres if the database is in use */
async function join(client: Queryable, first: Pool, { theirs, ours }: Installations): Promise<void> {
  const { rows } = await client.query<{ isUsed: boolean }>(
    `select exists (select from ops.ledgers) or exists (select from ops.checkpoint_keys) or exists (select from ops.installation_secrets)
       or exists (select from ops.persons) as "isUsed"`,
  )
  if (rows[0]?.isUsed || ours.family !== ours.id)
    throw new UnsupportedPostgres('this database is in use already: a cell is prepared before its first start')
  const secrets = await first.query<{ name: string; secret: Buffer }>(
    'select name, secret from ops.installation_secrets',
  )
  for (const { name, secret } of secrets.rows)
    await client.query('insert into ops.installation_secrets (name, secret) values ($1, $2)', [name, secret])
  const numbers = await first.query<{ cell: number }>(`select nextval('ops.cell_numbers') as cell`)
  const cell = numbers.rows[0]?.cell as number
  await client.query('update ops.installation set family = $1, cell = $2', [theirs.id, cell])
  await client.query(`select setval('ops.company_ids', $1)`, [cell * IDS_OF_A_CELL])
}

/** Undefined table, undefined column. */
const OTHER_TABLES = ['42P01', '42703']

function notTillbook(error: unknown): never {
  if (!OTHER_TABLES.includes(String((error as { code?: unknown }).code))) throw error
  throw new UnsupportedPostgres('--like must name the database of an installation of this version')
}

interface First extends Omit<Likeness, 'likeUrl'> {
  readonly theirs: Installation
  readonly ring: readonly RingEntry[]
}

/** @throws UnsupportedPostgres */
async function assertFirst(first: Pool, { theirs, ring, masterKeys, keyFile }: First): Promise<void> {
  const known = await registeredMasterKeys(first)
  const key = await readSigningKey(keyFile)
  const obstacles = [
    theirs.family !== theirs.id &&
      `--like must name the database of the first installation, whose id is ${theirs.family}`,
    !known.includes(masterKeys.all()[0]?.id ?? '') &&
      `cells share their MASTER_KEY: give this one the master key ${known.join(', ')}`,
    ring.length === 0 && 'the first installation has no key of checkpoints yet: run "tillbook ledger seal --all" there',
    key?.publicKey !== ring.at(-1)?.public_key &&
      `cells share their SEAL_KEY_FILE: ${keyFile} is not the key of the first installation`,
  ]
  for (const message of obstacles) if (message) throw new UnsupportedPostgres(message)
}

interface Move {
  readonly id: string
  readonly revision: number
  readonly hash: string
  readonly state: 'exported' | 'confirmed'
}

/** The move under way, locked. @throws StepRefused if the company was not exported */
async function lockMove(client: PoolClient, companyId: number): Promise<Move> {
  const { rows } = await client.query<Move>(
    `select id, revision, hash, state from ops.company_moves where company_id = $1 and state in ('exported', 'confirmed') for update`,
    [companyId],
  )
  if (rows[0]) return rows[0]
  throw new StepRefused('not_exported', `company ${companyId} was not exported from here, or is open again`)
}

/** Takes an export back (CELL-7). @throws StepRefused after the import was confirmed */
export async function reopenCompany({ pool }: CellParts, companyId: number, reason: string): Promise<void> {
  await inTransaction(pool, async (_, client) => {
    const { id, state } = await lockMove(client, companyId)
    if (state === 'confirmed')
      throw new StepRefused('being_removed', `company ${companyId} is open elsewhere: its import was confirmed`)
    await client.query(`update ops.company_moves set state = 'reopened', reason = $2, at = now() where id = $1`, [
      id,
      reason,
    ])
    await client.query('update ops.ledgers set closed_at = null where company_id = $1', [companyId])
  })
}

/**
 * Removes a company that another cell has imported. The note is kept first; from then on the company cannot be opened here,
 * and an interrupted removal goes on. @throws StepRefused
 */
export async function removeCompany(
  cell: CellParts,
  companyId: number,
  note: string,
  tell: (line: string) => void,
): Promise<void> {
  const said = await openImport(cell.sealing, note)
  const { id: installation } = await loadInstallation(cell.pool)
  const done = await cell.pool.query(
    `select from ops.company_moves where id = $1 and company_id = $2 and state = 'removed'`,
    [said?.export, companyId],
  )
  if (done.rowCount === 1) return
  await inTransaction(cell.pool, async (_, client) => {
    const { id, revision, hash } = await lockMove(client, companyId)
    const its = { company_id: companyId, export: id, from: installation, revision, hash }
    if (!said || !isDeepStrictEqual({ ...said, ...its }, said))
      throw new StepRefused('other_note', `this is not the note of the import of company ${companyId}`)
    await client.query(`update ops.company_moves set state = 'confirmed', note = $2, at = now() where id = $1`, [
      id,
      note,
    ])
    await removePersons(client, companyId)
    for (const table of CREDENTIALS) await client.query(`delete from ops.${table} where company_id = $1`, [companyId])
  })
  const own = `company_id = ${companyId}`
  for (const { tables } of cell.model.projections)
    for (const { name } of tables) await deleteRows(cell, { name, condition: own, tell })
  const ledger = { name: 'ledger.events', condition: `stream = '${streamName(companyId)}'`, isAppendOnly: true }
  await deleteRows(cell, { ...ledger, tell })
  for (const table of await carriedTables(cell.pool))
    if (!table.isOfLogins) await deleteRows(cell, { ...table, condition: isOfCompany(table, companyId), tell })
  for (const name of ['ops.trees', 'ops.tree_tiles'])
    await deleteRows(cell, { name, condition: `log = ${companyId}`, tell })
  await rm(checkpointPath(cell.sealing.directory, companyId), { force: true })
  await inTransaction(cell.pool, async (_, client) => {
    for (const table of ['table_checks', 'ledgers'])
      await client.query(`delete from ops.${table} where company_id = $1`, [companyId])
    await client.query(
      `update ops.company_moves set state = 'removed', at = now() where company_id = $1 and state = 'confirmed'`,
      [companyId],
    )
  })
}

/** Logins of persons who are users of no other company here. */
async function removePersons(client: PoolClient, companyId: number): Promise<void> {
  const { rows } = await client.query<{ email: string }>(
    `select distinct u.doc ->> 'email' as email from users u where u.company_id = $1 and u.doc ->> 'email' is not null
       and not exists (select from users o where o.company_id <> $1 and o.email = u.doc ->> 'email')`,
    [companyId],
  )
  for (const name of LOGIN_TABLES)
    await client.query(`delete from ops.${name} where email = any($1::text[])`, [rows.map(({ email }) => email)])
}

/** Rows per statement: each takes a few hundredths of a second, beside the sales of other companies. */
const PORTION = 2_000

interface Deletion {
  readonly name: string
  readonly condition: string
  /** Only the owner deletes from it, with its trigger disabled for each portion. */
  readonly isAppendOnly?: boolean
  readonly tell: (line: string) => void
}

async function deleteRows({ pool, asOwner }: CellParts, { name, condition, isAppendOnly, tell }: Deletion) {
  const { rowCount } = await pool.query(`select from ${name} where ${condition} limit 1`)
  if (rowCount === 0) return
  const portion = async (on: Pick<Pool, 'query'>) => {
    const some = `select ctid from ${name} where ${condition} limit ${PORTION}`
    const deleted = await on.query(`delete from ${name} where ${condition} and ctid = any(array(${some}))`)
    return deleted.rowCount === PORTION
  }
  if (!isAppendOnly) {
    while (await portion(pool));
    return
  }
  await asOwner(async (owner) => {
    const client = await owner.connect()
    const unlocked = () =>
      inTransactionOn(client, async () => {
        await client.query(
          `set local lock_timeout = ${LOCK_TIMEOUT_MS}; alter table ${name} disable trigger append_only`,
        )
        const goesOn = await portion(client)
        await client.query(`select ops.append_only('${name}')`)
        return goesOn
      })
    try {
      while (await retryOnLockTimeout({ client, what: `removing from ${name}`, tell }, unlocked));
    } finally {
      client.release(true)
    }
  })
}
