import { verify } from 'node:crypto'
import { z } from 'zod'
import { canonicalJson, streamOf } from '#ledger/envelope.ts'
import { keyIdOf, publicKeyOf } from './signing-key.ts'

const VERSION = 1

/**
 * A signed head of a ledger, as 0.1 made them: whoever keeps one can still show that nothing up to it was altered or cut off.
 * The signature is Ed25519 over the canonical JSON (RFC 8785) of all other members.
 */
export const Seal = z.strictObject({
  version: z.literal(VERSION),
  company_id: z.int().positive(),
  stream: z.string(),
  revision: z.int().nonnegative(),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** UTC. */
  sealed_at: z.iso.datetime({ precision: 3 }),
  /** First 16 hex digits of the SHA-256 of the public key. */
  key_id: z.string(),
  /** SPKI, DER, base64. */
  public_key: z.base64(),
  /** Base64. */
  signature: z.base64(),
})
export type Seal = z.infer<typeof Seal>

/** Whether a seal was made with a key (base64 of its public part): one that is trusted, or at least the one that it names. */
export function isGenuine(seal: Seal, publicKey: string): boolean {
  const { signature, ...head } = seal
  if (head.public_key !== publicKey || head.key_id !== keyIdOf(publicKey)) return false
  if (head.stream !== streamOf(head.company_id)) return false
  const key = publicKeyOf(publicKey)
  return key !== null && verify(null, bytesOf(head), key, Buffer.from(signature, 'base64'))
}

const bytesOf = (head: Omit<Seal, 'signature'>): Buffer => Buffer.from(canonicalJson(head))

/** What is in a file of seals: one, a list, or one a line. Null when it is something else, `line` saying where. */
export function parseSeals(text: string): { seals: Seal[] } | { line: number } {
  const whole = parse(text)
  if (whole !== undefined) {
    const seals = z.union([z.array(Seal), Seal.transform((seal) => [seal])]).safeParse(whole)
    return seals.success ? { seals: seals.data } : { line: 1 }
  }
  const seals: Seal[] = []
  for (const [position, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const seal = Seal.safeParse(parse(line))
    if (!seal.success) return { line: position + 1 }
    seals.push(seal.data)
  }
  return { seals }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
