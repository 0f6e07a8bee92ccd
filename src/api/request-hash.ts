import { createHmac } from 'node:crypto'
import { canonicalJson } from '#ledger/envelope.ts'
import type { Idempotency } from '#ledger/write/idempotency.ts'

/** A received write. */
interface ReceivedWrite {
  readonly method: string
  /** Without the query string. */
  readonly path: string
  /** Parsed JSON; an absent body is an empty object. */
  readonly body: unknown
  /** Raw bytes; undefined without a body. */
  readonly rawBody: Buffer | undefined
}

/**
 * Hash of method, path and body that distinguishes requests under the same Idempotency-Key (IDEM-2). Bodies are
 * compared in canonical form (RFC 8785), so order of members, whitespace and notation of numbers and texts do not
 * matter. A null member is an absent one, except in a PATCH, where
 * it clears a field. Hashes stay in the ledger forever and bodies contain
 * personal data: the key `secret` prevents guessing the body by trial (IDEM-8). A large body is hashed in pieces, with
 * `pause` awaited after each.
 */
export async function identifyRequest(
  key: string,
  request: ReceivedWrite,
  secret: Buffer,
  pause: () => Promise<void>,
): Promise<Idempotency> {
  const line = `${request.method} ${request.path}\n`
  return { key, requestHash: await meaningOf(request, () => createHmac('sha256', secret).update(line), pause) }
}

/** Characters of canonical JSON hashed without a pause. */
const PIECE = 16_384

type Digest = ReturnType<typeof createHmac>

/** A body without canonical form, such as one with an out-of-range number, is compared by its bytes. */
async function meaningOf(
  { method, body, rawBody = Buffer.alloc(0) }: ReceivedWrite,
  begin: () => Digest,
  pause: () => Promise<void>,
): Promise<string> {
  const digest = begin()
  try {
    const keepsNull = method === 'PATCH'
    if (rawBody.length <= PIECE) digest.update(canonicalJson(keepsNull ? body : withoutNull(body)))
    else await updateCanonical(digest, body, keepsNull, pause)
    return digest.digest('hex')
  } catch {
    return begin().update(rawBody).digest('hex')
  }
}

/** The value without members that are null, at every depth. Elements of lists stay: their position has a meaning. */
function withoutNull(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNull)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) => (each === null ? [] : [[name, withoutNull(each)]])),
  )
}

/** Updates a digest with the canonical JSON of a value; `keepsNull` as for null members. */
async function updateCanonical(
  digest: Digest,
  value: unknown,
  keepsNull: boolean,
  pause: () => Promise<void>,
): Promise<void> {
  let text = ''
  async function visit(each: unknown): Promise<void> {
    if (typeof each !== 'object' || each === null) text += canonicalJson(each)
    else if (Array.isArray(each)) {
      text += '['
      for (const [position, element] of each.entries()) await member(position, '', element)
      text += ']'
    } else {
      text += '{'
      const members = each as Record<string, unknown>
      const names = Object.keys(members).filter((name) => keepsNull || members[name] !== null)
      for (const [position, name] of names.sort().entries())
        await member(position, `${JSON.stringify(name)}:`, members[name])
      text += '}'
    }
  }
  async function member(position: number, name: string, each: unknown): Promise<void> {
    text += position === 0 ? name : `,${name}`
    await visit(each)
    if (text.length < PIECE) return
    digest.update(text)
    text = ''
    await pause()
  }
  await visit(value)
  digest.update(text)
}
