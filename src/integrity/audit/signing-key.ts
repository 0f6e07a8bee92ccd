import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createFileAtomically } from '#lib/files.ts'

/** Ed25519 signing key of the service. */
export interface SigningKey {
  /** First 16 hex digits of the SHA-256 of the public key. */
  readonly keyId: string
  /** SPKI, DER, base64. */
  readonly publicKey: string
  readonly privateKey: KeyObject
}

/** Reads the key in a PEM file; null if the file does not exist. @throws if it is not Ed25519. */
export async function readSigningKey(path: string): Promise<SigningKey | null> {
  const pem = await readIfThere(path)
  if (pem === null) return null
  const privateKey = createPrivateKey(pem)
  const publicKey = textOf(createPublicKey(privateKey), path)
  return { keyId: keyIdOf(publicKey), publicKey, privateKey }
}

/** Reads the key in a PEM file, or creates it with mode 0600. Concurrent processes all use the first one created. */
export async function makeSigningKey(path: string): Promise<SigningKey> {
  const { privateKey } = generateKeyPairSync('ed25519')
  await mkdir(dirname(path), { recursive: true })
  await createFileAtomically(path, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
  return (await readSigningKey(path)) as SigningKey
}

const PEM = /-----BEGIN [A-Z ]+-----[^-]+-----END [A-Z ]+-----/g

/** Public keys in a PEM file, one or more; accepts private keys too. @throws if one is not Ed25519. */
export async function readPublicKeys(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8')
  return (text.match(PEM) ?? [text]).map((pem) => textOf(createPublicKey(pem), path))
}

/** PEM for other tools. */
export const pemOf = (publicKey: string): string =>
  `-----BEGIN PUBLIC KEY-----\n${publicKey}\n-----END PUBLIC KEY-----\n`

export const keyIdOf = (publicKey: string): string =>
  createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex').slice(0, 16)

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
