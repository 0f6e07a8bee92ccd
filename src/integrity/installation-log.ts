import { join } from 'node:path'
import * as z from 'zod'
import { appendLines, eachLine, lastLine } from '#lib/json.ts'
import type { Database, Queryable } from '#postgres/database.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { findCosigned } from './attestations.ts'
import { openKeyRing, type SealKeyRing, toVerifierKeys } from './checkpoint-keys.ts'
import {
  installationCheckpoints,
  type Line,
  lastStoredCheckpoint,
  parseStoredCheckpoint,
  type SignedCheckpoint,
  type StoredCheckpoint,
} from './checkpoint-log.ts'
import { type Sealing, signOnce, treeWith } from './checkpoints.ts'
import { appenderFrom, leafHash, type TreeHead } from './merkle.ts'
import { CheckpointAltered, formatCheckpoint, openNote, orNothing, parseCheckpoint, proofText } from './note.ts'
import { proveInclusion } from './prover.ts'
import { growTree, type TreeLog } from './trees.ts'

type Client = Queryable

/** A line of `DATA_DIR/seals/installation.entries`, and a row. */
const Entry = z.strictObject({
  /** Leaf index in the installation log. */
  index: z.int().nonnegative(),
  company_id: z.int().positive(),
  size: z.int().positive(),
  /** Text of the company's checkpoint, without signatures. The leaf is its hash. */
  text: z.string(),
})
type Entry = z.infer<typeof Entry>

/** No company has id 0. */
const INSTALLATION = 0
const BATCH = 1_000

const entryFileOf = (directory: string): string => join(directory, 'installation.entries')

/** Installation log: its leaves are the texts of checkpoints, in the order in which rounds added them. */
export const installationLog = (pool: Client): TreeLog => ({
  id: INSTALLATION,
  async *leaves(from) {
    for await (const entries of entriesFrom(pool, from)) yield entries.map(({ text }) => Buffer.from(text))
  },
})

/** Ends before a missing entry. */
async function* entriesFrom(client: Client, from: number): AsyncGenerator<Entry[]> {
  for (let next = from; ; ) {
    const { rows } = await client.query<Entry>(
      'select index, company_id, size, text from ops.installation_entries where index >= $1 order by index limit $2',
      [next, BATCH],
    )
    const gap = rows.findIndex(({ index }, place) => index !== next + place)
    const sound = gap < 0 ? rows : rows.slice(0, gap)
    if (sound.length > 0) yield sound
    if (sound.length < BATCH) return
    next += BATCH
  }
}

/** Adds each checkpoint that is not its company's last entry yet. @throws CheckpointAltered */
export async function addEntries(sealing: Sealing, made: ReadonlyMap<number, SignedCheckpoint>): Promise<void> {
  await inTransaction(sealing.pool, async (_, client) => {
    await client.query(`select pg_advisory_xact_lock(hashtextextended('tillbook installation entries', 0))`)
    const file = entryFileOf(sealing.directory)
    const next = await evenEntries(client, file)
    const known = await lastTexts(client, [...made.keys()])
    const moved = [...made].filter(([companyId, checkpoint]) => known.get(companyId) !== formatCheckpoint(checkpoint))
    const entries = moved.map(([company_id, checkpoint], place) => {
      const { size } = checkpoint
      return { index: next + place, company_id, size, text: formatCheckpoint(checkpoint) }
    })
    if (entries.length === 0) return
    await appendLines(file, entries)
    await insertEntries(client, entries)
  })
}

/**
 * Copies missing entries between file and table and returns the next index. @throws CheckpointAltered if they differ.
 */
async function evenEntries(client: Client, file: string): Promise<number> {
  const inFile = entryOf(await lastLine(file).catch(orNothing), file)
  const { rows } = await client.query<Entry>(
    'select index, company_id, size, text from ops.installation_entries order by index desc limit 1',
  )
  const [inTable] = rows
  const [at, end] = [inFile?.index ?? -1, inTable?.index ?? -1]
  if (at > end) {
    for await (const line of eachLine(file)) {
      const entry = entryOf(line, file) as Entry
      if (entry.index === end) assertSame(entry, inTable)
      if (entry.index > end) await insertEntries(client, [entry])
    }
  } else if (inFile) {
    const same = await client.query<Entry>('select text from ops.installation_entries where index = $1', [at])
    assertSame(inFile, same.rows[0])
  }
  if (end > at) for await (const entries of entriesFrom(client, at + 1)) await appendLines(file, entries)
  return Math.max(at, end) + 1
}

function entryOf(line: unknown, file: string): Entry | null {
  if (line === null) return null
  const entry = Entry.safeParse(line)
  if (!entry.success) throw new CheckpointAltered(`${file} holds what is no entry of the installation log`)
  return entry.data
}

function assertSame({ index, text }: Entry, other: Pick<Entry, 'text'> | undefined): void {
  if (other?.text !== text)
    throw new CheckpointAltered(`entry ${index} of the installation log is not the same in file and database`)
}

const insertEntries = (client: Client, entries: readonly Entry[]) =>
  client.query(
    `insert into ops.installation_entries (index, company_id, size, text)
     select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[])`,
    [
      entries.map(({ index }) => index),
      entries.map(({ company_id }) => company_id),
      entries.map(({ size }) => size),
      entries.map(({ text }) => text),
    ],
  )

/** Text of each company's last entry. */
async function lastTexts(client: Client, companyIds: readonly number[]): Promise<Map<number, string>> {
  const { rows } = await client.query<Pick<Entry, 'company_id' | 'text'>>(
    `select c.company_id, e.text from unnest($1::bigint[]) as c(company_id) cross join lateral
       (select text from ops.installation_entries where company_id = c.company_id order by index desc limit 1) e`,
    [companyIds],
  )
  return new Map(rows.map(({ company_id, text }) => [company_id, text]))
}

/**
 * Signs the head of the installation log; without new entries it returns the last checkpoint. All signed entries must
 * exist, and each new one must be a signed checkpoint of a company. Null for an empty log. @throws CheckpointAltered,
 * WrongSealKey
 */
export async function makeInstallationCheckpoint(sealing: Sealing): Promise<SignedCheckpoint | null> {
  for (;;) {
    const ring = await openKeyRing(sealing)
    const log = installationCheckpoints(ring, sealing.directory)
    const kept = await lastStoredCheckpoint(sealing.pool, log, ring)
    const head = await verifiedHead(sealing.pool, ring, kept)
    if (head.size === 0) return null
    const made = await signOnce(sealing, { lock: INSTALLATION, log, kept, head })
    if (!made) continue
    await growTree(sealing.pool, installationLog(sealing.pool))
    return made
  }
}

async function verifiedHead(pool: Database, ring: SealKeyRing, { last }: StoredCheckpoint): Promise<TreeHead> {
  const tree = last && (await treeWith(pool, installationLog(pool), last))
  if (tree && !tree.hashes)
    throw new CheckpointAltered('entries of the installation log are not those that were signed')
  const appender = appenderFrom(tree?.hashes ?? null, last?.size ?? 0)
  for await (const entries of entriesFrom(pool, appender.size)) {
    await assertSigned(pool, ring, entries)
    for (const { text } of entries) appender.append(leafHash(Buffer.from(text)))
  }
  return { size: appender.size, root: appender.root() }
}

async function assertSigned(client: Client, ring: SealKeyRing, entries: readonly Entry[]): Promise<void> {
  const { rows } = await client.query<{ note: string }>(
    `select note from unnest($1::bigint[], $2::bigint[]) as e(company_id, size)
     join ops.ledger_checkpoints c on c.company_id = e.company_id and c.size = e.size`,
    [entries.map(({ company_id }) => company_id), entries.map(({ size }) => size)],
  )
  const signed = new Set(rows.map(({ note }) => textIfSigned(ring, note)))
  for (const { index, text } of entries)
    if (!signed.has(text))
      throw new CheckpointAltered(`entry ${index} of the installation log is no checkpoint that was signed`)
}

function textIfSigned(ring: SealKeyRing, note: string): string | null {
  const origin = note.slice(0, note.indexOf('\n'))
  return openNote(note, toVerifierKeys(ring, origin))?.text ?? null
}

/** The newest checkpoint of the installation log, from the database. */
export async function newestInstallationCheckpoint(client: Client): Promise<SignedCheckpoint | null> {
  const { rows } = await client.query<Line>(
    'select note, made_at from ops.installation_checkpoints order by size desc limit 1',
  )
  return rows[0] ? parseStoredCheckpoint(rows[0]) : null
}

/** Inclusion of a company's checkpoint in the installation log. */
export interface LogInclusion {
  /** Text of the company's checkpoint, without signatures. */
  readonly entry: string
  readonly size: number
  readonly index: number
  /** Checkpoint of the installation log. */
  readonly checkpoint: SignedCheckpoint
  /** tlog-proof with the entry as extra data, and with all cosignatures available. */
  readonly proof: string
}

/**
 * The last entry of a company that a signed checkpoint of the installation log covers; null if there is none. @throws
 * TreeDiffers
 */
export async function proveLogInclusion(pool: Database, companyId: number): Promise<LogInclusion | null> {
  const checkpoint = await newestInstallationCheckpoint(pool)
  const { rows } = await pool.query<Entry>(
    `select index, size, text from ops.installation_entries where company_id = $1 and index < $2
     order by index desc limit 1`,
    [companyId, checkpoint?.size ?? 0],
  )
  const [entry] = rows
  if (!checkpoint || !entry || parseCheckpoint(entry.text) === null) return null
  const leaf = leafHash(Buffer.from(entry.text))
  const { hashes } = await proveInclusion(pool, INSTALLATION, leaf, { index: entry.index, size: checkpoint.size })
  const note = await findCosigned(pool, checkpoint)
  const proof = proofText({ index: entry.index, extra: Buffer.from(entry.text), hashes, checkpoint: note })
  return { entry: entry.text, size: entry.size, index: entry.index, checkpoint, proof }
}
