import { setTimeout as delay } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import { streamName } from '#ledger/command.ts'
import { StepRefused } from '#lib/errors.ts'
import { inTransaction } from '#postgres/transaction.ts'
import {
  type CarriedTable,
  type CellParts,
  carriedTables,
  createFileWriter,
  type FileHeader,
  type FilePart,
  isOfCompany,
} from './company-file.ts'
import { loadInstallation } from './installation.ts'

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
