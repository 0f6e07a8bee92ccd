import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import * as z from 'zod'
import type { Vault } from '#crypto/vault.ts'
import type { Envelope } from '#ledger/command.ts'
import type { EventStore } from '#ledger/port.ts'
import type { ReadModel } from '#ledger/projection.ts'
import { StepRefused } from '#lib/errors.ts'
import { eachText } from '#lib/json.ts'
import type { Queryable } from '#postgres/database.ts'
import { knownRing, openKeyRing, toVerifierKeys } from './checkpoint-keys.ts'
import type { Sealing } from './checkpoints.ts'
import { openNote, signNote } from './note.ts'

/** An installation, with what moves a company into it and out of it. */
export interface CellParts {
  readonly pool: Pool
  readonly databaseUrl: string
  readonly store: EventStore
  readonly model: ReadModel
  readonly vault: Vault
  /** Id of the current master key. */
  readonly masterKey: string
  readonly sealing: Sealing
  /** Works as the owner of the database, without a statement timeout. */
  asOwner<T>(work: (pool: Pool) => Promise<T>): Promise<T>
}

/** What an installation states of a company that it has imported (CELL-6). */
const ImportStatement = z.strictObject({
  company_id: z.int().positive(),
  export: z.uuid(),
  /** Installations that exported and imported. */
  from: z.uuid(),
  to: z.uuid(),
  /** Last event of the file. */
  revision: z.int().nonnegative(),
  hash: z.string(),
  /** UTC. */
  at: z.string(),
})
export type ImportStatement = z.infer<typeof ImportStatement>

/** Name under which the statement is signed; also its first line. All cells have one ring of keys. */
const nameOf = (family: string): string => `tillbook/${family}/imports`

/** Signed note of two lines: name, and the statement as JSON. @throws WrongSealKey */
export async function signImport(sealing: Sealing, said: ImportStatement): Promise<string> {
  const { installationId, current } = await openKeyRing(sealing)
  const name = nameOf(installationId)
  return signNote(`${name}\n${JSON.stringify(said)}\n`, [{ name, privateKey: current.privateKey }])
}

/** Null if the text is no such note, or no key of the ring has signed it. @throws WrongSealKey */
export async function openImport(sealing: Sealing, note: string): Promise<ImportStatement | null> {
  const ring = await knownRing(sealing)
  const name = nameOf(ring.installationId)
  const [first, json = ''] = openNote(note, toVerifierKeys(ring, name))?.text.split('\n') ?? []
  return first === name ? ImportStatement.parse(JSON.parse(json)) : null
}

/** Tables of `ops` with a company's rows that do not travel with it, and why. */
export const LEFT_TABLES: Readonly<Record<string, string>> = {
  ledgers: 'made where the company arrives, as the first line of the file says',
  company_moves: 'each installation has its own side of a move',
  panel_request_counts: 'counts of the last minute: where the company arrives they begin anew',
  imports: 'files of the hour: a pending import needs another upload',
  demo_companies: 'which companies a start fills with examples; those that have moved are filled already',
  table_checks: 'compared anew where the company arrives',
  checkpoint_faults: 'found anew where the company arrives',
  installation_entries: 'the log of this installation: what it has said of the company stays said',
}

/** Logins of a company's users, by e-mail. Persons come last: what is of unknown ones is recognized by their absence. */
export const LOGIN_TABLES = ['second_factors', 'recovery_codes', 'password_links', 'persons']

/** What opens a company. */
export const CREDENTIALS = [
  'api_key_secrets',
  'sessions',
  'sync_tokens',
  'store_secrets',
  'invitations',
  'shared_links',
]

/** A table whose rows of a company are carried. */
export interface CarriedTable {
  /** With its schema. */
  readonly name: string
  readonly isOfLogins: boolean
  /** Only the owner deletes from it. */
  readonly isAppendOnly: boolean
  /** Whether ids are of the installation: they continue after the carried ones. */
  readonly isCounted: boolean
  /** In order, without generated ones. */
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  /** Columns of the primary key, quoted. */
  readonly key: readonly string[]
}

/** Every table of `ops` that names companies in its rows, but those left behind; logins first. */
export async function carriedTables(client: Queryable): Promise<readonly CarriedTable[]> {
  const { rows } = await client.query<CarriedTable>(
    `select 'ops.' || c.relname as name, c.relname = any($1) as "isOfLogins", bool_or(a.attidentity <> '') as "isCounted",
       exists (select from pg_trigger where tgrelid = c.oid and tgname = 'append_only') as "isAppendOnly",
       json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod)) order by a.attnum) as columns,
       coalesce(json_agg(quote_ident(a.attname)) filter (where a.attnum = any(i.indkey)), '[]') as key
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
       left join pg_index i on i.indrelid = c.oid and i.indisprimary
     where c.relnamespace = 'ops'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     group by c.oid, c.relname
     having c.relname = any($1) or bool_or(a.attname = 'company_id') and c.relname <> all($2)
     order by array_position($1, c.relname::text), c.relname`,
    [LOGIN_TABLES, Object.keys(LEFT_TABLES)],
  )
  return rows
}

/** Condition on the rows of a company. */
export const isOfCompany = ({ isOfLogins }: Pick<CarriedTable, 'isOfLogins'>, companyId: number): string =>
  isOfLogins
    ? `email in (select doc ->> 'email' from users where company_id = ${companyId})`
    : `company_id = ${companyId}`

/** First line of a company's file (CELL-2). */
const FileHeader = z.strictObject({
  format: z.literal('tillbook-company/1'),
  /** Id of this export; the note of its import names it. */
  export: z.uuid(),
  /** The installation that exported. */
  installation: z.uuid(),
  /** The first installation of the cells; its ring of keys signs the checkpoints of all of them. */
  family: z.uuid(),
  /** Id of the master key that sealed the secrets in the file. */
  master_key: z.string(),
  /** Version of the program's tables. */
  version: z.string(),
  company_id: z.int().positive(),
  /** Last event, and the row of `ops.ledgers` with it. */
  revision: z.int().nonnegative(),
  hash: z.string(),
  last_recorded_at: z.string(),
  reacted_revision: z.int(),
  ids: z.record(z.string(), z.int()),
})
export type FileHeader = z.infer<typeof FileHeader>

/** A row, of columns in Postgres's text, or an event. */
const FilePart = z.union([
  z.strictObject({ table: z.string(), row: z.record(z.string(), z.string().nullable()) }),
  z.strictObject({ event: z.custom<Envelope>((event) => typeof event === 'object') }),
])
export type FilePart = z.infer<typeof FilePart>

/** Last line: the number of lines before it, and their SHA-256 in hex, also sealed by the master key. */
const Trailer = z.strictObject({ count: z.int().positive(), sha256: z.string(), seal: z.base64() })

const contextOf = (header: FileHeader): string => `company_export/${header.export}`

/** Characters that are written at once. */
const WRITTEN = 65_536

/** Writes lines; `end` adds the last one. */
export function createFileWriter(write: (text: string) => Promise<void>, vault: Vault, header: FileHeader) {
  const hash = createHash('sha256')
  let count = 0
  let unwritten = ''
  return {
    async line(value: FileHeader | FilePart): Promise<void> {
      const text = `${JSON.stringify(value)}\n`
      hash.update(text)
      count += 1
      unwritten += text
      if (unwritten.length < WRITTEN) return
      await write(unwritten)
      unwritten = ''
    },
    async end(): Promise<void> {
      const sha256 = hash.digest('hex')
      const seal = vault.seal(Buffer.from(sha256), contextOf(header)).toString('base64')
      await write(`${unwritten}${JSON.stringify({ count, sha256, seal } satisfies z.infer<typeof Trailer>)}\n`)
    },
  }
}

export const brokenFile = (message: string): StepRefused => new StepRefused('broken_file', message)

/** @throws StepRefused */
function parsed<T>(schema: z.ZodType<T>, line: string | undefined, what: string): T {
  try {
    return schema.parse(JSON.parse(line ?? ''))
  } catch {
    throw brokenFile(`this is no whole file of a company: ${what} cannot be read`)
  }
}

/** @throws StepRefused */
export async function readHeader(path: string): Promise<FileHeader> {
  for await (const line of eachText(path)) return parsed(FileHeader, line, 'its first line')
  throw brokenFile('the file is empty, or there is none')
}

/**
 * All parts of the file in order. Count, digest and seal are checked at the end: undo what was done with the parts if it
 * throws. @throws StepRefused
 */
export async function* readParts(path: string, vault: Vault): AsyncGenerator<FilePart> {
  const header = await readHeader(path)
  const hash = createHash('sha256')
  let last: string | undefined
  let count = 0
  for await (const line of eachText(path)) {
    if (last !== undefined) {
      hash.update(`${last}\n`)
      count += 1
      if (count > 1) yield parsed(FilePart, last, `line ${count}`)
    }
    last = line
  }
  const trailer = parsed(Trailer, last, 'its last line, as if it were cut,')
  if (trailer.count !== count) throw brokenFile('the file is cut: lines are missing')
  if (trailer.sha256 !== hash.digest('hex'))
    throw brokenFile('the file was altered: it has not the SHA-256 of its last line')
  if (!isSealed(vault, header, trailer)) throw brokenFile('the file was not made with this MASTER_KEY')
}

function isSealed(vault: Vault, header: FileHeader, { sha256, seal }: z.infer<typeof Trailer>): boolean {
  try {
    return vault.open(Buffer.from(seal, 'base64'), contextOf(header)).toString() === sha256
  } catch {
    return false
  }
}
