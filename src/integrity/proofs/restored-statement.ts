import { join } from 'node:path'
import type { PoolClient } from 'pg'
import { z } from 'zod'
import type { SigningKey } from '#integrity/audit/signing-key.ts'
import { eachLine } from '#lib/json-lines.ts'
import { openNote, parseNote, signNote, type VerifierKey } from './note.ts'

/** A line of `DATA_DIR/seals/restored.jsonl`, and a row of `ops.restored_ledgers`. */
export const KeptStatement = z.strictObject({
  company_id: z.int().positive(),
  /** UTC. */
  restored_at: z.iso.datetime({ precision: 3 }),
  /** Signed note. */
  note: z.string(),
})
export type KeptStatement = z.infer<typeof KeptStatement>

/** A head of a log; its last event is that of revision `size - 1`. */
export interface StatedHead {
  readonly origin: string
  readonly size: number
  /** Base64, as in checkpoints. */
  readonly root: string
}

/** What an operator says, by the key of the seals, of a ledger that was restored from a backup (PROOF). */
export interface RestoredStatement {
  readonly company_id: number
  /** UTC. */
  readonly restored_at: string
  /** UTC: events that were recorded after it may be lost. */
  readonly lost_after: string
  /** The last checkpoint before. */
  readonly before: StatedHead
  /**
   * The ledger with its `InstallationRestored`. Of the same origin where all that was sealed is still there; else of the next one.
   * Null: nothing of the ledger is left.
   */
  readonly since: StatedHead | null
  /** Hash of `InstallationRestored`, the last event of `since`: hex. Null without one. */
  readonly hash: string | null
  readonly reason: string
}

export const restoredFileOf = (directory: string): string => join(directory, 'restored.jsonl')

/** Under which they are signed; also the first line. */
export const restoredNameOf = (installationId: string): string => `tillbook/${installationId}/restored`

const NONE = '-'

const textOf = (head: StatedHead | null) => (head ? `${head.origin} ${head.size} ${head.root}` : NONE)

/** A signed note of eight lines: name, `company-{id}`, when, lost after, head before, head since, hash, reason. */
export function signStatement(
  installationId: string,
  key: Pick<SigningKey, 'privateKey'>,
  said: RestoredStatement,
): string {
  const name = restoredNameOf(installationId)
  const { company_id, restored_at, lost_after, before, since, hash, reason } = said
  const lines = [
    name,
    `company-${company_id}`,
    restored_at,
    lost_after,
    textOf(before),
    textOf(since),
    hash ?? NONE,
    reason,
  ]
  const text = lines.map((line) => `${line}\n`).join('')
  return signNote(text, [{ name, privateKey: key.privateKey }])
}

const HEAD = /^(\S+) ([1-9]\d{0,15}) ([A-Za-z0-9+/]{43}=)$/
const COMPANY = /^company-([1-9]\d{0,15})$/
const HASH = /^[0-9a-f]{64}$/
const Instant = z.iso.datetime({ precision: 3 })

/** What a note says, nothing of it verified; null when it is something else. */
export function parseRestored(note: string): RestoredStatement | null {
  const lines = parseNote(note)?.text.slice(0, -1).split('\n') ?? []
  if (lines.length !== 8) return null
  const [name = '', company = '', restored_at, lost_after, before = '', since = '', hash = '', reason = ''] = lines
  const [companyId, heads] = [COMPANY.exec(company)?.[1], [headOf(before), headOf(since)]]
  const [first, second] = heads
  const isGone = since === NONE && hash === NONE
  const isSound = name.startsWith('tillbook/') && name.endsWith('/restored') && (isGone || (second && HASH.test(hash)))
  const times = z.tuple([Instant, Instant]).safeParse([restored_at, lost_after])
  if (!isSound || !companyId || !first || !times.success) return null
  const [at, after] = times.data
  const said = { company_id: Number(companyId), restored_at: at, lost_after: after, before: first, reason }
  return isGone ? { ...said, since: null, hash: null } : { ...said, since: second as StatedHead, hash }
}

function headOf(text: string): StatedHead | null {
  const [, origin, size, root] = HEAD.exec(text) ?? []
  return origin && size && root ? { origin, size: Number(size), root } : null
}

/** The same, where a known key has signed it for this installation; else null. */
export function openRestored(note: string, keys: readonly VerifierKey[]): RestoredStatement | null {
  const said = parseRestored(note)
  return said && openNote(note, keys) !== null ? said : null
}

/** The last statement of each company in a folder of seals. */
export async function lastStatements(directory: string): Promise<Map<number, KeptStatement>> {
  const kept = z.array(KeptStatement).parse(await linesOf(directory))
  return new Map(kept.map((line) => [line.company_id, line]))
}

/** A company's statements, the oldest first, from wherever there are more of them: a database may be older than the folder. */
export async function statementsOf(
  client: Pick<PoolClient, 'query'>,
  directory: string,
  companyId: number,
): Promise<KeptStatement[]> {
  const lines = z.array(KeptStatement).parse(await linesOf(directory))
  const { rows } = await client.query<KeptStatement>(
    'select company_id, restored_at, note from ops.restored_ledgers where company_id = $1 order by restored_at',
    [companyId],
  )
  const inFile = lines.filter(({ company_id }) => company_id === companyId)
  return inFile.length > rows.length ? inFile : rows
}

async function linesOf(directory: string): Promise<unknown[]> {
  const lines: unknown[] = []
  for await (const line of eachLine(restoredFileOf(directory))) lines.push(line)
  return lines
}
