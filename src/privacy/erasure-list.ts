import { createHash } from 'node:crypto'
import { mkdir, open, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Pool } from 'pg'
import * as z from 'zod'
import { coalesce } from '#background/repeat.ts'
import { PERSON_PARTS } from '#domain/personal-data.ts'
import { fsyncFolder } from '#lib/files.ts'

/** A destroyed key, as a line of the file. */
const ErasedKey = z.strictObject({
  company_id: z.int().positive(),
  /** As `customer/9`. */
  subject: z.string(),
  part: z.enum(PERSON_PARTS),
  /** SHA-256, in hex, of the key's id. */
  key: z.string(),
  /** Time of destruction, UTC. */
  at: z.iso.datetime({ precision: 3 }),
})
export type ForgottenKey = z.infer<typeof ErasedKey>

/**
 * List of erased persons outside Postgres: `forgotten.jsonl` beside the checkpoints, one line per destroyed key,
 * written soon after the commit. It contains no personal data and must not be restored from a backup (PRIV-40).
 */
export interface ErasureList {
  read(): Promise<readonly ForgottenKey[]>
  /**
   * Appends keys that are in `ops.person_keys` but not in the file. Concurrent processes may write duplicates, which
   * are harmless.
   */
  sync(): Promise<void>
  /** Schedules a sync. */
  note(): void
  /** Resolves when scheduled syncs have ended. After a failed one the next `sync` writes the missing lines. */
  idle(): Promise<void>
}

/** Covers transactions that commit after later ones. */
const OVERLAP_MINUTES = 60

const EPOCH = '1970-01-01T00:00:00.000Z'

interface ListOptions {
  readonly pool: Pool
  readonly dataDir: string
  readonly onError: (error: unknown) => void
}

export function createErasureList({ pool, dataDir, onError }: ListOptions): ErasureList {
  const path = join(dataDir, 'seals', 'forgotten.jsonl')
  let listed: Set<string> | null = null
  let since = EPOCH

  async function syncOnce(): Promise<void> {
    listed ??= new Set((await readLines(path)).map(({ key }) => key))
    const known = listed
    const { rows } = await pool.query<Destroyed>({ ...FIND_DESTROYED, values: [since, OVERLAP_MINUTES] })
    const missing = rows.map(lineOf).filter(({ key }) => !known.has(key))
    if (missing.length > 0) await append(path, missing)
    for (const { key } of missing) known.add(key)
    since = rows.at(-1)?.destroyed_at ?? since
  }
  /** Runs syncs one after the other, so that none appends the lines of another again. */
  let last: Promise<void> = Promise.resolve()
  function sync(): Promise<void> {
    last = last.catch(() => {}).then(syncOnce)
    return last
  }
  const syncing = coalesce(() => sync().catch(onError))

  return { read: () => readLines(path), sync, note: syncing.ask, idle: syncing.idle }
}

interface Destroyed extends Pick<ForgottenKey, 'company_id' | 'subject' | 'part'> {
  readonly key_id: string
  readonly destroyed_at: string
}

const FIND_DESTROYED = {
  name: 'find_destroyed_keys',
  text: `select company_id, subject, part, key_id, destroyed_at from person_keys
         where destroyed_at > $1::timestamptz - make_interval(mins => $2) order by destroyed_at`,
}

const lineOf = ({ company_id, subject, part, key_id, destroyed_at }: Destroyed): ForgottenKey => ({
  company_id,
  subject,
  part,
  key: hashOfKey(key_id),
  at: destroyed_at,
})

const hashOfKey = (keyId: string): string => createHash('sha256').update(keyId).digest('hex')

/** Skips a line truncated by a crash; it is appended again. */
async function readLines(path: string): Promise<ForgottenKey[]> {
  return (await textOf(path)).split('\n').flatMap((line) => ErasedKey.safeParse(parsed(line)).data ?? [])
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

/**
 * Appends in one write, so that processes do not mix their lines. A leading line feed closes a line truncated by a
 * crash.
 */
async function append(path: string, keys: readonly ForgottenKey[]): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const file = await open(path, 'a+', 0o600)
  try {
    const { size } = await file.stat()
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1))
    const begin = size === 0 || buffer.toString() === '\n' ? '' : '\n'
    await file.writeFile(`${begin}${keys.map((key) => `${JSON.stringify(key)}\n`).join('')}`)
    await file.sync()
  } finally {
    await file.close()
  }
  await fsyncFolder(dirname(path))
}
