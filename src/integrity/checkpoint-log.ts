import * as z from 'zod'
import { appendLines, lastLine } from '#lib/json.ts'
import type { Queryable } from '#postgres/database.ts'
import { type KnownRing, type SealKeyRing, toVerifierKeys } from './checkpoint-keys.ts'
import type { TreeHead } from './merkle.ts'
import {
  type Checkpoint,
  CheckpointAltered,
  checkpointPath,
  companyOrigin,
  formatCheckpoint,
  installationOrigin,
  openNote,
  orNothing,
  parseCheckpoint,
  parseNote,
  signNote,
} from './note.ts'

type Client = Queryable

/** A stored checkpoint. */
export interface SignedCheckpoint extends Checkpoint {
  /** Signed note. */
  readonly note: string
  /** UTC. */
  readonly made_at: string
}

/** A line of a checkpoint file, and the trusted columns of a row; other columns are ignored. */
const CheckpointLine = z.strictObject({ note: z.string(), made_at: z.iso.datetime({ precision: 3 }) })
export type Line = z.infer<typeof CheckpointLine>

/** Storage of a log's checkpoints: an append-only file and a table. */
export interface CheckpointLog {
  readonly origin: string
  /** Origins of the same ledger before restores that lost events. The file may end with one of them. */
  readonly formerOrigins: readonly string[]
  readonly file: string
  newest(client: Client): Promise<Line | null>
  insert(client: Client, checkpoint: SignedCheckpoint): Promise<unknown>
}

export function ledgerCheckpoints(
  { installationId }: KnownRing,
  directory: string,
  companyId: number,
  generation: number,
): CheckpointLog {
  return {
    origin: companyOrigin(installationId, companyId, generation),
    formerOrigins: Array.from({ length: generation - 1 }, (_, n) => companyOrigin(installationId, companyId, n + 1)),
    file: checkpointPath(directory, companyId),
    async newest(client) {
      const { rows } = await client.query<Line>(
        `select note, made_at from ops.ledger_checkpoints where company_id = $1 and generation = $2
         order by size desc limit 1`,
        [companyId, generation],
      )
      return rows[0] ?? null
    },
    insert: (client, { size, root, note, made_at }) =>
      client.query(
        `insert into ops.ledger_checkpoints (company_id, generation, size, root, note, made_at)
         values ($1, $2, $3, $4, $5, $6)`,
        [companyId, generation, size, root, note, made_at],
      ),
  }
}

export function installationCheckpoints(ring: KnownRing, directory: string): CheckpointLog {
  return {
    origin: installationOrigin(ring),
    formerOrigins: [],
    file: checkpointPath(directory, null),
    async newest(client) {
      const { rows } = await client.query<Line>(
        'select note, made_at from ops.installation_checkpoints order by size desc limit 1',
      )
      return rows[0] ?? null
    },
    insert: (client, { size, root, note, made_at }) =>
      client.query('insert into ops.installation_checkpoints (size, root, note, made_at) values ($1, $2, $3, $4)', [
        size,
        root,
        note,
        made_at,
      ]),
  }
}

/** @throws CheckpointAltered if the line is not a checkpoint. */
export function parseStoredCheckpoint({ note, made_at }: Line): SignedCheckpoint {
  const checkpoint = parseCheckpoint(parseNote(note)?.text ?? '')
  if (!checkpoint) throw new CheckpointAltered('a checkpoint that is kept is none')
  return { ...checkpoint, note, made_at }
}

/** The last checkpoint of a log, and where it is missing: in the file, the table, or neither. */
export interface StoredCheckpoint {
  readonly last: SignedCheckpoint | null
  readonly isInFile: boolean
  readonly isInTable: boolean
}

/**
 * The last checkpoint, signed by a key of the ring. After a crash or a change of machine it may exist in one place
 * only. @throws CheckpointAltered if a stored checkpoint has no valid signature, or if two differ at the same size.
 */
export async function lastStoredCheckpoint(
  client: Client,
  log: CheckpointLog,
  ring: KnownRing,
): Promise<StoredCheckpoint> {
  const [line, row] = [await lineOf(log), await log.newest(client)]
  const inFile = line && genuine(log, ring, line, log.file)
  const inTable = row && genuine(log, ring, row, 'the database')
  if (inFile && inTable && inFile.size === inTable.size && !inFile.root.equals(inTable.root))
    throw new CheckpointAltered(`${log.file} and the database have two checkpoints of size ${inFile.size}`)
  const last = (inTable?.size ?? -1) > (inFile?.size ?? -1) ? inTable : inFile
  return { last, isInFile: inFile?.size === last?.size, isInTable: inTable?.size === last?.size }
}

async function lineOf({ file }: CheckpointLog): Promise<Line | null> {
  const line = await lastLine(file).catch(orNothing)
  if (line === null) return null
  const parsed = CheckpointLine.safeParse(line)
  if (!parsed.success) throw new CheckpointAltered(`what ends ${file} is no checkpoint`)
  return parsed.data
}

/** Null for a checkpoint of a former log. */
function genuine(log: CheckpointLog, ring: KnownRing, line: Line, where: string): SignedCheckpoint | null {
  const checkpoint = parseStoredCheckpoint(line)
  const isFormer = log.formerOrigins.includes(checkpoint.origin)
  const isSigned = openNote(line.note, toVerifierKeys(ring, checkpoint.origin)) !== null
  if (!isSigned || (!isFormer && checkpoint.origin !== log.origin))
    throw new CheckpointAltered(
      `the last checkpoint of ${log.origin} in ${where} is not one that a known key has signed`,
    )
  return isFormer ? null : checkpoint
}

/** Signs a tree head. The caller must have verified that it extends the last one, and must hold the log's lock. */
export function signHead(
  ring: SealKeyRing,
  { origin }: CheckpointLog,
  head: TreeHead,
  made_at: string,
): SignedCheckpoint {
  const checkpoint = { origin, size: head.size, root: head.root }
  const note = signNote(formatCheckpoint(checkpoint), [{ name: origin, privateKey: ring.current.privateKey }])
  return { ...checkpoint, note, made_at }
}

/** Stores a checkpoint where it is missing: first in the file, so that every checkpoint in the database is on disk. */
export async function storeCheckpoint(
  client: Client,
  log: CheckpointLog,
  checkpoint: SignedCheckpoint,
  { isInFile, isInTable }: Pick<StoredCheckpoint, 'isInFile' | 'isInTable'>,
): Promise<void> {
  const { note, made_at } = checkpoint
  if (!isInFile) await appendLines(log.file, [{ note, made_at } satisfies Line])
  if (!isInTable) await log.insert(client, checkpoint)
}
