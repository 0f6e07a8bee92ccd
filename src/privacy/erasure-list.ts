import { createHash } from 'node:crypto'
import { mkdir, open, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Pool } from 'pg'
import * as z from 'zod'
import { forgetPerson } from '#commands/forget-person.ts'
import { PERSON_PARTS, type PersonPart } from '#domain/person-values.ts'
import { isRefusal } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { coalesce, recordsEvents, retry } from '#lib/background-loops.ts'
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
 * written soon after the commit. It contains no personal data and must not be restored from a backup.
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

interface Forgetting {
  readonly pool: Pool
  readonly writer: Writer
  readonly list: ErasureList
  readonly retentionYears: number
  /** Called for each person who is erased again. */
  readonly onForgotten: (companyId: number, subject: string) => void
  readonly onError: (error: unknown) => void
}

/**
 * Repeats erasures that a restored backup has undone: for persons on the list if their key is the destroyed one,
 * or if they existed before its destruction. Retries while writes are blocked; resolves when none is left.
 */
export const eraseRestoredPersons = (forgetting: Forgetting, signal: AbortSignal): Promise<void> =>
  retry(signal, () => forgetOnce(forgetting), forgetting.onError)

/** A failure for one person does not stop the erasure of others. */
async function forgetOnce(forgetting: Forgetting): Promise<'done'> {
  const { pool, list, onForgotten } = forgetting
  const failures: unknown[] = []
  for (const restored of await findRestored(pool, await list.read())) {
    try {
      await forgetAgain(forgetting, restored)
      onForgotten(restored.companyId, restored.subject)
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
  await list.sync()
  return 'done'
}

async function forgetAgain(
  { writer, retentionYears }: Forgetting,
  { companyId, subject, parts }: Restored,
): Promise<void> {
  const { type, id } = parseSubject(subject)
  const answer = await runAsSystem(writer, companyId, forgetPerson, {
    kind: type as 'customer',
    id,
    ground: 'restored_backup',
    // If only a part was erased, the law requires the rest to be kept.
    queue: !parts.includes('identity'),
    retention_years: retentionYears,
  })
  if (isRefusal(answer)) throw new Error(`${subject} of company ${companyId} cannot be forgotten: ${answer.refused}`)
}

interface Restored {
  readonly companyId: number
  readonly subject: string
  readonly parts: readonly PersonPart[]
}

/** Customers first; their erasure includes their orders. */
async function findRestored(pool: Pool, listed: readonly ForgottenKey[]): Promise<readonly Restored[]> {
  if (listed.length === 0) return []
  const { rows } = await pool.query<Restored>({
    ...FIND_RESTORED,
    values: [
      listed.map(({ company_id }) => company_id),
      listed.map(({ subject }) => parseSubject(subject).type),
      listed.map(({ subject }) => parseSubject(subject).id),
      listed.map(({ part }) => part),
      listed.map(({ key }) => key),
      listed.map(({ at }) => at),
    ],
  })
  return rows
}

/**
 * Since the restore an id may have been assigned to another person. That record is younger than the list's entry.
 */
const FIND_RESTORED = {
  name: 'find_restored_persons',
  text: `
select listed.company_id as "companyId", kind || '/' || listed.id as subject, array_agg(distinct listed.part) as parts
from unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::timestamptz[])
    as listed(company_id, kind, id, part, key, at)
  join lateral (
    select doc from customers where kind = 'customer' and company_id = listed.company_id and id = listed.id
    union all select doc from suppliers where kind = 'supplier' and company_id = listed.company_id and id = listed.id
    union all select doc from users where kind = 'user' and company_id = listed.company_id and id = listed.id
    union all select doc from orders where kind = 'order' and company_id = listed.company_id and id = listed.id
  ) as record on true
  left join person_keys k on k.company_id = listed.company_id and k.subject = kind || '/' || listed.id and k.part = listed.part
where ${recordsEvents('listed.company_id')} and (k.key_id is null or k.wrapped is not null)
  and (encode(sha256(k.key_id::text::bytea), 'hex') = listed.key or (record.doc ->> 'created_at')::timestamptz <= listed.at)
group by listed.company_id, kind, listed.id
order by listed.company_id, kind, listed.id`,
}
