import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '#config/config.ts'
import { Unavailable } from '#lib/errors.ts'
import { isOutage, type Queryable } from '#postgres/database.ts'
import type { TreeHead } from './merkle.ts'
import { decodeBase64 } from './note.ts'

/** A tree head in the form that is signed: a C2SP checkpoint (tlog-checkpoint.md) without extension lines. */
export interface Checkpoint extends TreeHead {
  /** Permanent, globally unique name of the log; also the name of the key that signs it. */
  readonly origin: string
}

const HASH_BYTES = 32
const DECIMAL = /^(?:0|[1-9]\d{0,15})$/

/**
 * Origin of a company's ledger. A restore that lost sealed events starts another log:
 * `generation` counts from 1.
 */
export function companyOrigin(installationId: string, companyId: number, generation = 1): string {
  return `tillbook/${installationId}/company-${companyId}${generation === 1 ? '' : `/${generation}`}`
}

/** Origin of the installation log of a cell (CELL-9). */
export function installationOrigin({ installationId, cell }: { installationId: string; cell: number }): string {
  return `tillbook/${installationId}${cell === 0 ? '' : `/cell-${cell}`}`
}

/** The company of an origin (null for an installation log); null if the text is not an origin of Tillbook. */
export function parseOrigin(origin: string): { companyId: number | null } | null {
  const found = /^tillbook\/[^/]+(?:\/cell-[1-9]\d{0,8}|\/company-([1-9]\d{0,14})(?:\/[1-9]\d{0,3})?)?$/.exec(origin)
  return found && { companyId: found[1] === undefined ? null : Number(found[1]) }
}

/** Three lines, each with a line feed: origin, size, root in base64. */
export const formatCheckpoint = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n`

/** Parses a note's text; null unless it has exactly these three lines. */
export function parseCheckpoint(text: string): Checkpoint | null {
  const [origin = '', size = '', root = '', ...rest] = text.split('\n')
  const hash = hashOf(root)
  if (origin === '' || rest.length !== 1 || rest[0] !== '') return null
  return hash && isDecimal(size) ? { origin, size: Number(size), root: hash } : null
}

/** Proof that an entry is in the log with this checkpoint: the content of tlog-proof.md. */
export interface LogProof {
  readonly index: number
  /** Describes the entry to readers. The proof does not cover it: compare its hash with the leaf. */
  readonly extra?: Buffer
  /** From the leaf's sibling up to the root's child. */
  readonly hashes: readonly Buffer[]
  /** Signed note. */
  readonly checkpoint: string
}

const PROOF_HEADER = 'c2sp.org/tlog-proof@v1'

export function proofText({ index, extra, hashes, checkpoint }: LogProof): string {
  const told = extra ? [`extra ${extra.toString('base64')}`] : []
  const lines = [PROOF_HEADER, ...told, `index ${index}`, ...hashes.map((hash) => hash.toString('base64'))]
  return `${lines.join('\n')}\n\n${checkpoint}`
}

/**
 * Parses a proof without verifying it; null if the format is wrong. Extra data are skipped because the proof does not
 * cover them.
 */
export function parseProof(text: string): LogProof | null {
  const end = text.indexOf('\n\n')
  const [header, ...lines] = text.slice(0, Math.max(end, 0)).split('\n')
  if (lines[0]?.startsWith('extra ')) lines.shift()
  const [, index = ''] = /^index (.+)$/.exec(lines.shift() ?? '') ?? []
  const hashes = lines.map(hashOf)
  if (header !== PROOF_HEADER || !isDecimal(index) || !hashes.every((hash) => hash !== null)) return null
  return { index: Number(index), hashes, checkpoint: text.slice(end + 2) }
}

const isDecimal = (text: string): boolean => DECIMAL.test(text) && Number.isSafeInteger(Number(text))

function hashOf(base64: string): Buffer | null {
  const hash = decodeBase64(base64)
  return hash?.length === HASH_BYTES ? hash : null
}

/** Directory of checkpoints, keys and their entries. */
export const sealDirectory = ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string => join(DATA_DIR, 'seals')

const CHECKPOINT_FILE = /^company-([1-9]\d*)\.checkpoints$/

export const checkpointPath = (directory: string, companyId: number | null): string =>
  join(directory, `${companyId === null ? 'installation' : `company-${companyId}`}.checkpoints`)

/** The last checkpoint is missing, or no known key has signed it. Nothing is built upon it. */
export class CheckpointAltered extends Error {
  override readonly name = 'SealAltered'
}

/**
 * A checkpoint cannot be stored because its folder is full, read-only or missing. Signing stops until it can.
 */
export class SealsUnwritable extends Unavailable {}

/** Converts file errors to SealsUnwritable and returns all others unchanged. Connection errors have an errno too. */
export function sealingError(directory: string, error: unknown): unknown {
  const { errno, message } = error as NodeJS.ErrnoException
  if (typeof errno !== 'number' || isOutage(error)) return error
  return new SealsUnwritable(`seals cannot be written to ${directory}: ${message}`, { cause: error })
}

/** Invalid JSON counts as an altered line. */
export function orNothing(error: unknown): object {
  if (error instanceof SyntaxError) return {}
  throw error
}

/** Companies with checkpoints in the folder. */
export async function companiesOfFiles(directory: string): Promise<number[]> {
  const found = (await namesIn(directory)).map((name) => CHECKPOINT_FILE.exec(name)?.[1])
  return found.flatMap((id) => (id === undefined ? [] : Number(id)))
}

/** Whether the folder or the database has a checkpoint. */
export async function hasCheckpoints(directory: string, client: Queryable): Promise<boolean> {
  if ((await namesIn(directory)).some((name) => name.endsWith('.checkpoints'))) return true
  const { rows } = await client.query<{ found: boolean }>(
    'select exists (select from ops.ledger_checkpoints) or exists (select from ops.installation_checkpoints) as found',
  )
  return rows[0]?.found ?? false
}

async function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}
