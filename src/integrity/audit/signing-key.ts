import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createFileAtomically } from '#lib/files.ts'

/** An Ed25519 key that the service signs with. */
export interface SigningKey {
  /** First 16 hex digits of the SHA-256 of the public key. */
  readonly keyId: string
  /** SPKI, DER, base64. */
  readonly publicKey: string
  readonly privateKey: KeyObject
}

/** The key in a PEM file, or null where there is no such file. @throws when it is no Ed25519 key. */
export async function readSigningKey(path: string): Promise<SigningKey | null> {
  const pem = await readIfThere(path)
  if (pem === null) return null
  const privateKey = createPrivateKey(pem)
  const publicKey = textOf(createPublicKey(privateKey), path)
  return { keyId: keyIdOf(publicKey), publicKey, privateKey }
}

/** The key in a PEM file; where there is none, one is made for its owner's eyes only. Of two that make one, both use the first. */
export async function makeSigningKey(path: string): Promise<SigningKey> {
  const { privateKey } = generateKeyPairSync('ed25519')
  await mkdir(dirname(path), { recursive: true })
  await createFileAtomically(path, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
  return (await readSigningKey(path)) as SigningKey
}

const PEM = /-----BEGIN [A-Z ]+-----[^-]+-----END [A-Z ]+-----/g

/** The public keys in a PEM file, one or more; that of a private key serves as well. @throws when one is no Ed25519 key. */
export async function readPublicKeys(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8')
  return (text.match(PEM) ?? [text]).map((pem) => textOf(createPublicKey(pem), path))
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
