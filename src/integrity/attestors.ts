import { createHash } from 'node:crypto'
import { mkdir, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fsyncFolder } from '#lib/files.ts'
import type { SignedCheckpoint } from './checkpoint-log.ts'
import {
  type Checkpoint,
  COSIGNATURE,
  formatCheckpoint,
  isValidSignature,
  parseSignatureLine,
  parseVkey,
  type VerifierKey,
  verifierKey,
} from './note.ts'

/**
 * `cosignature`: a line of a signed note; `time_stamp`: a TimeStampResp as DER; `copy`: the name under which the
 * checkpoint was stored.
 */
export type TokenKind = 'cosignature' | 'time_stamp' | 'copy'

/** A checkpoint of the installation log, with the log's own signatures only. */
export type AttestationRequest = Omit<SignedCheckpoint, 'made_at'>

interface AskOptions {
  /** Size of the newest checkpoint with a token from this attestor; 0 before the first. */
  readonly last: number
  /** Aborts the request. */
  readonly signal: AbortSignal
}

/** An attestor in the settings. */
export interface NamedAttestor {
  /** Name in tokens, metrics and the panel; contains no secrets. */
  readonly source: string
  readonly kind: TokenKind
  /** Of the party that is asked; null for a folder. */
  readonly host: string | null
}

/** Independent party that vouches for checkpoints. An attacker with access to the database does not control it. */
export interface Attestor {
  /** Name in tokens, metrics and the panel; contains no secrets. */
  readonly source: string
  readonly kind: TokenKind
  /**
   * Whether each checkpoint needs its own token. A cosignature or time stamp also covers all earlier checkpoints, with
   * which its own is consistent, so missed ones are not requested later.
   */
  readonly takesEach: boolean
  /** @returns a verified token. @throws AttestorFailed */
  ask(checkpoint: AttestationRequest, options: AskOptions): Promise<Buffer>
}

/**
 * `unreachable`: no response, or one that asks for a retry; `refused`: for example a witness that does not know the
 * log; `inconsistent`: the attestor has seen a different or longer log under this name; `wrong_answer`: the response
 * contains no valid token.
 */
export type AttestationProblem = 'unreachable' | 'refused' | 'inconsistent' | 'wrong_answer'

/** No token was issued. The message is for the operator. */
export class AttestorFailed extends Error {
  override readonly name = 'AttestorFailed'
  constructor(
    readonly problem: AttestationProblem,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** Limit from the request to the last byte of the response. */
const TIMEOUT_MS = 15_000
/** Limit of the response body. Time stamps with a long certificate chain have about 10 KB. */
const MAX_BYTES = 65_536
/** Length of an error body quoted to the operator. */
const QUOTED_CHARS = 200

/** Loaded at the first request: commands that send none start in three quarters of the time. */
const connections = () => import('./attestor-connections.ts')

interface Call {
  readonly method: 'POST' | 'PUT'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Buffer
  /** Aborts the request. */
  readonly signal: AbortSignal
  readonly timeout_ms?: number | undefined
}

interface AttestorAnswer {
  readonly status: number
  readonly body: Buffer
}

/**
 * Sends a request to an attestor at the configured address: no redirects, no cookies, bounded time and size. @throws
 * AttestorFailed
 */
export async function callAttestor({
  url,
  signal,
  timeout_ms = TIMEOUT_MS,
  ...options
}: Call): Promise<AttestorAnswer> {
  try {
    const { sendRequest } = await connections()
    const ends = AbortSignal.any([signal, AbortSignal.timeout(timeout_ms)])
    const { statusCode, body } = await sendRequest(url, { ...options, signal: ends })
    return { status: statusCode, body: await bounded(body) }
  } catch (error) {
    if (error instanceof AttestorFailed) throw error
    throw new AttestorFailed('unreachable', `no answer: ${(error as Error).message}`, { cause: error })
  }
}

async function bounded(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new AttestorFailed('wrong_answer', `the answer has more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Classifies a response without a token: rate limits and server errors count as unreachable and are retried. */
export function toAttestorFailure({ status, body }: AttestorAnswer): AttestorFailed {
  const quoted = body
    .toString()
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, QUOTED_CHARS)
  const isPassing = status >= 500 || status === 408 || status === 425 || status === 429
  return new AttestorFailed(isPassing ? 'unreachable' : 'refused', `answered ${status}${quoted && `: ${quoted}`}`)
}

interface WitnessOptions {
  /** Submission prefix without a trailing slash. */
  readonly url: string
  /** Key that verifies its cosignatures. */
  readonly key: VerifierKey
  /** Proof that the log of size `to` begins with the log of size `from`; hashes of 32 bytes. */
  readonly consistencyProof: (from: number, to: number) => Promise<readonly Buffer[]>
  readonly timeout_ms?: number
}

/** A configured witness. */
export interface NamedWitness {
  readonly url: string
  readonly vkey: string
}

/**
 * Parses the keys of witnesses. A key published for plain signatures is converted: it has another id for cosignatures.
 * Null if one is not Ed25519, has a wrong id, or occurs twice.
 */
export function parseWitnesses(named: readonly NamedWitness[]): { url: string; key: VerifierKey }[] | null {
  const witnesses: { url: string; key: VerifierKey }[] = []
  for (const { url, vkey } of named) {
    const parsed = parseVkey(vkey)
    if (!parsed) return null
    const key = verifierKey(parsed.name, parsed.publicKey, COSIGNATURE)
    if (witnesses.some((before) => before.key.name === key.name)) return null
    witnesses.push({ url, key })
  }
  return witnesses
}

/** A witness may report its size once. A second different size means that another process has submitted meanwhile. */
const ATTEMPTS = 2
const SIZE = /^(?:0|[1-9]\d{0,15})\n$/
const MAX_PROOF = 63

/**
 * C2SP witness (tlog-witness.md): it cosigns a checkpoint only if that extends the last one it has seen of this log. It
 * reports the size that it has seen (409), so either side can recover from lost state.
 */
export function createWitness({ url, key, consistencyProof, timeout_ms }: WitnessOptions): Attestor {
  async function submit(
    from: number,
    { note, size }: AttestationRequest,
    signal: AbortSignal,
  ): Promise<AttestorAnswer> {
    const proof = from === 0 ? [] : await consistencyProof(from, size)
    if (proof.length > MAX_PROOF) throw new Error(`a proof of ${proof.length} hashes is none`)
    const lines = [`old ${from}`, ...proof.map((hash) => hash.toString('base64'))]
    const body = `${lines.join('\n')}\n\n${note}`
    return callAttestor({ method: 'POST', url: `${url}/add-checkpoint`, body, signal, timeout_ms })
  }

  return {
    source: key.name,
    kind: 'cosignature',
    takesEach: false,
    async ask(checkpoint, { last, signal }: AskOptions) {
      let from = Math.min(last, checkpoint.size)
      for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
        const answer = await submit(from, checkpoint, signal)
        if (answer.status === 200) return cosignatureIn(answer.body, formatCheckpoint(checkpoint), key)
        if (answer.status === 422) throw new AttestorFailed('inconsistent', toAttestorFailure(answer).message)
        if (answer.status !== 409) throw toAttestorFailure(answer)
        from = sizeIn(answer)
        if (from > checkpoint.size)
          throw new AttestorFailed(
            'inconsistent',
            `it has seen this log with ${from} entries, beyond the ${checkpoint.size} here`,
          )
      }
      throw new AttestorFailed('unreachable', 'another size was submitted meanwhile')
    },
  }
}

function sizeIn({ body }: AttestorAnswer): number {
  const text = body.toString('latin1')
  if (!SIZE.test(text)) throw new AttestorFailed('wrong_answer', 'answered 409 without a size')
  return Number(text)
}

/** Finds the line of the known key; other lines are ignored. */
function cosignatureIn(body: Buffer, text: string, key: VerifierKey): Buffer {
  for (const line of body.toString().split('\n')) {
    const signature = parseSignatureLine(line)
    if (!signature || signature.name !== key.name || signature.keyId !== key.keyId) continue
    if (!isValidSignature(key, text, signature.signature) || signature.signature.readBigUInt64BE(0) === 0n)
      throw new AttestorFailed('wrong_answer', 'its cosignature is not of this checkpoint')
    return Buffer.from(`${line}\n`)
  }
  throw new AttestorFailed('wrong_answer', `it gave no cosignature of ${key.name} with key ${key.keyId}`)
}

const SIZE_DIGITS = 16
const HASH_DIGITS = 16

/**
 * Name of a checkpoint's copy: its log, its size (sortable) and the beginning of the SHA-256 of its text. Two different
 * checkpoints of one size get two names, so neither hides the other.
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
      if (answer.status !== IS_THERE && !CREATED.includes(answer.status)) throw toAttestorFailure(answer)
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
