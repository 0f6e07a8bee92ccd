import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { canonicalJson, streamOf } from '#ledger/envelope.ts'
import { createFile } from '#lib/files.ts'
import type { Anchor } from './walk.ts'

const VERSION = 1

/**
 * A signed head of a ledger: who keeps it outside can show later that nothing up to it was altered or cut off. The
 * signature is Ed25519 over the canonical JSON (RFC 8785) of all other members.
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

export function signHead(companyId: number, { revision, hash }: Anchor, sealedAt: string, key: SealKey): Seal {
  const head = {
    version: VERSION,
    company_id: companyId,
    stream: streamOf(companyId),
    revision,
    hash,
    sealed_at: sealedAt,
    key_id: key.keyId,
    public_key: key.publicKey,
  } as const
  return { ...head, signature: sign(null, bytesOf(head), key.privateKey).toString('base64') }
}

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

/** The key that seals are signed with. */
export interface SealKey {
  readonly keyId: string
  /** SPKI, DER, base64. */
  readonly publicKey: string
  readonly privateKey: KeyObject
}

/** The key in a PEM file; on first use one is made, for its owner's eyes only. It is never anywhere else. */
export async function loadSealKey(path: string): Promise<SealKey> {
  const privateKey = createPrivateKey((await readIfThere(path)) ?? (await makeKeyFile(path)))
  const publicKey = textOf(createPublicKey(privateKey), path)
  return { keyId: keyIdOf(publicKey), publicKey, privateKey }
}

/** The public key in a PEM file; that of a private key serves as well. @throws when it is no Ed25519 key. */
export async function readPublicKey(path: string): Promise<string> {
  return textOf(createPublicKey(await readFile(path)), path)
}

/** As PEM, for other tools. */
export const pemOf = (publicKey: string): string =>
  `-----BEGIN PUBLIC KEY-----\n${publicKey}\n-----END PUBLIC KEY-----\n`

export const keyIdOf = (publicKey: string): string =>
  createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex').slice(0, 16)

/** The key of its text, or null where that is no Ed25519 key. */
export function publicKeyOf(publicKey: string): KeyObject | null {
  try {
    const key = createPublicKey(pemOf(publicKey))
    return key.asymmetricKeyType === 'ed25519' ? key : null
  } catch {
    return null
  }
}

function textOf(key: KeyObject, path: string): string {
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`${path} holds no Ed25519 key`)
  return key.export({ type: 'spki', format: 'der' }).toString('base64')
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

async function makeKeyFile(path: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('ed25519')
  await mkdir(dirname(path), { recursive: true })
  await createFile(path, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
  // Of two that make one, both use the first.
  return readFile(path, 'utf8')
}
