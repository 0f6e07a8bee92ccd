import { createHash, sign, verify } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { canonicalJson, streamOf } from '#ledger/envelope.ts'
import { keyIdOf, publicKeyOf, type SigningKey } from './signing-key.ts'
import type { Anchor } from './walk.ts'

const VERSION = 1
const HASH = /^[0-9a-f]{64}$/

/**
 * What a ledger has become that was written anew with sealed fields (PRIV-54): the same event is at the same revision under
 * another hash. The signature is Ed25519 over the canonical JSON (RFC 8785) of all other members, by the key of the seals.
 */
const Statement = z.strictObject({
  version: z.literal(VERSION),
  company_id: z.int().positive(),
  stream: z.string(),
  /** The last event that was written anew. */
  revision: z.int().nonnegative(),
  /** Its hash in the ledger before. */
  old_hash: z.string().regex(HASH),
  /** Its hash in the ledger since. */
  new_hash: z.string().regex(HASH),
  /** SHA-256 of the lines before this one, which are the hashes of the ledger before, revision by revision. */
  old_hashes_sha256: z.string().regex(HASH),
  /** UTC. */
  resealed_at: z.iso.datetime({ precision: 3 }),
  key_id: z.string(),
  public_key: z.base64(),
  signature: z.base64(),
})
type Statement = z.infer<typeof Statement>

/** The company's mapping in the folder of the seals. */
export const mappingFileOf = (directory: string, companyId: number): string =>
  join(directory, `resealed-company-${companyId}.jsonl`)

/** A mapping while its lines are written, to a draft beside its place. */
export interface MappingDraft {
  /** The hash of the next revision in the ledger before. */
  add(oldHash: string): Promise<void>
  /** Signs what was added, and puts the file in its place: whole and on the disk when this resolves. */
  finish(newHash: string, resealedAt: string, key: SigningKey): Promise<void>
  abandon(): Promise<void>
}

/** Bytes that are gathered before they are written. */
const CHUNK_BYTES = 65_536

export async function draftMapping(directory: string, companyId: number): Promise<MappingDraft> {
  const path = mappingFileOf(directory, companyId)
  const draft = `${path}.draft`
  await mkdir(directory, { recursive: true })
  const file = await open(draft, 'w', 0o600)
  const digest = createHash('sha256')
  let waiting = ''
  let last = { revision: -1, hash: '' }
  const write = async (text: string) => {
    waiting += text
    if (waiting.length < CHUNK_BYTES) return
    await file.writeFile(waiting)
    waiting = ''
  }
  return {
    async add(oldHash) {
      digest.update(`${oldHash}\n`)
      last = { revision: last.revision + 1, hash: oldHash }
      await write(`${oldHash}\n`)
    },
    async finish(newHash, resealedAt, key) {
      const unsigned = {
        version: VERSION,
        company_id: companyId,
        stream: streamOf(companyId),
        revision: last.revision,
        old_hash: last.hash,
        new_hash: newHash,
        old_hashes_sha256: digest.digest('hex'),
        resealed_at: resealedAt,
        key_id: key.keyId,
        public_key: key.publicKey,
      } as const
      const signature = sign(null, Buffer.from(canonicalJson(unsigned)), key.privateKey).toString('base64')
      await file.writeFile(`${waiting}${JSON.stringify({ ...unsigned, signature } satisfies Statement)}\n`)
      await file.sync()
      await file.close()
      await rename(draft, path)
      const folder = await open(dirname(path), 'r')
      await folder.sync().finally(() => folder.close())
    },
    async abandon() {
      await file.close()
      await rm(draft, { force: true })
    },
  }
}

/** A mapping that was read and found to be genuine. */
export interface Mapping extends Statement {
  /** Which of the asked revisions had the asked hashes in the ledger before. */
  readonly known: readonly Anchor[]
}

/** What is in a file is no mapping, or not the one that was signed. */
export class NoMapping extends Error {
  override readonly name = 'NoMapping'
}

/**
 * Reads a mapping, line by line, and checks it: with public keys (base64) that are trusted, or at least with the one that it
 * names. `asked` are heads that may be of the ledger before; `see` is told each of its hashes. @throws NoMapping
 */
export async function readMapping(
  path: string,
  trusted: readonly string[] | null,
  asked: readonly Anchor[],
  see: (oldHash: string) => void = () => {},
): Promise<Mapping> {
  const lines = createInterface({ input: createReadStream(path, 'utf8') })
  const digest = createHash('sha256')
  const wanted = new Map(asked.map((anchor) => [`${anchor.revision} ${anchor.hash}`, anchor]))
  const known: Anchor[] = []
  let last = { revision: -1, hash: '' }
  let statement: Statement | null = null
  for await (const line of lines) {
    if (statement) throw new NoMapping('something follows the signed statement')
    if (line.startsWith('{')) {
      statement = statementOf(line)
      continue
    }
    if (!HASH.test(line)) throw new NoMapping(`line ${last.revision + 2} is no hash`)
    digest.update(`${line}\n`)
    see(line)
    last = { revision: last.revision + 1, hash: line }
    const anchor = wanted.get(`${last.revision} ${last.hash}`)
    if (anchor) known.push(anchor)
  }
  if (!statement) throw new NoMapping('the signed statement is missing')
  const isWhole =
    statement.revision === last.revision &&
    statement.old_hash === last.hash &&
    statement.old_hashes_sha256 === digest.digest('hex')
  if (!isWhole) throw new NoMapping('the hashes are not those that were signed')
  const isTrusted = trusted?.includes(statement.public_key) ?? true
  if (!isTrusted || !isGenuine(statement)) throw new NoMapping('the signature does not fit')
  return { ...statement, known }
}

function statementOf(line: string): Statement {
  try {
    return Statement.parse(JSON.parse(line))
  } catch (error) {
    throw new NoMapping('the last line is no signed statement', { cause: error })
  }
}

function isGenuine({ signature, ...unsigned }: Statement): boolean {
  if (unsigned.key_id !== keyIdOf(unsigned.public_key)) return false
  if (unsigned.stream !== streamOf(unsigned.company_id)) return false
  const key = publicKeyOf(unsigned.public_key)
  return key !== null && verify(null, Buffer.from(canonicalJson(unsigned)), key, Buffer.from(signature, 'base64'))
}
