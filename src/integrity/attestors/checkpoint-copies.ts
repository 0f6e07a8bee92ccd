import { createHash } from 'node:crypto'
import { mkdir, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fsyncFolder } from '#lib/files.ts'
import { type Checkpoint, formatCheckpoint } from '../proofs/checkpoint.ts'
import { type Attestor, AttestorFailed } from './attestor.ts'
import { callAttestor, failureOf } from './attestor-client.ts'

const SIZE_DIGITS = 16
const HASH_DIGITS = 16

/**
 * Name of a checkpoint's copy: its log, its size (sortable) and the beginning of the SHA-256 of its text. Two different
 * checkpoints of one size get two names, so neither hides the other (PROOF-65).
 */
export function nameOfCopy(checkpoint: Checkpoint): string {
  const { origin, size } = checkpoint
  const hash = createHash('sha256').update(formatCheckpoint(checkpoint)).digest('hex').slice(0, HASH_DIGITS)
  return `${origin.replaceAll('/', '-')}-${String(size).padStart(SIZE_DIGITS, '0')}-${hash}.checkpoint`
}

interface PlaceOptions {
  /** Folder URL without a trailing slash. */
  readonly url: string
  /** Sent as a bearer token. */
  readonly token: string | undefined
  readonly timeout_ms?: number
}

const CREATED = [200, 201, 202, 204]
const IS_THERE = 412

/** HTTP target that stores each checkpoint once; `If-None-Match: *` prevents overwriting. */
export function createCopyTarget({ url, token, timeout_ms }: PlaceOptions): Attestor {
  const authorization: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return {
    source: url,
    kind: 'copy',
    takesEach: true,
    async ask(checkpoint, { signal }) {
      const name = nameOfCopy(checkpoint)
      const headers = { 'content-type': 'text/plain; charset=utf-8', 'if-none-match': '*', ...authorization }
      const answer = await callAttestor({
        method: 'PUT',
        url: `${url}/${encodeURIComponent(name)}`,
        headers,
        body: checkpoint.note,
        signal,
        timeout_ms,
      })
      // A process that ended before it recorded the token has already stored it. The name identifies the text.
      if (answer.status !== IS_THERE && !CREATED.includes(answer.status)) throw failureOf(answer)
      return Buffer.from(name)
    },
  }
}

/** Names to try: a crash may leave a partial file, which must not be overwritten. */
const NAMES = 3

/** Folder that stores each checkpoint in its own write-once file, on a disk or share that protects written files. */
export function createFolderTarget(path: string): Attestor {
  return {
    source: path,
    kind: 'copy',
    takesEach: true,
    async ask(checkpoint) {
      const name = nameOfCopy(checkpoint)
      try {
        await mkdir(path, { recursive: true })
        for (let n = 1; n <= NAMES; n += 1) {
          const candidate = n === 1 ? name : `${name}.${n}`
          if (await isPut(path, candidate, checkpoint.note)) return Buffer.from(candidate)
        }
      } catch (error) {
        throw new AttestorFailed('unreachable', (error as Error).message, { cause: error })
      }
      throw new AttestorFailed('refused', `${name} is there with other contents`)
    },
  }
}

/** Creates the file unless it exists; returns whether it holds the text. */
async function isPut(folder: string, name: string, text: string): Promise<boolean> {
  const path = join(folder, name)
  try {
    const file = await open(path, 'wx', 0o444)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await fsyncFolder(folder)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return (await readFile(path, 'utf8')) === text
  }
}
