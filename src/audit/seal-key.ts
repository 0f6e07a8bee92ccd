import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto'
import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

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

/** In its place at once and complete; of two that make one, the first wins and both use it. */
async function makeKeyFile(path: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('ed25519')
  await mkdir(dirname(path), { recursive: true })
  const draft = `${path}.${randomUUID()}`
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(privateKey.export({ type: 'pkcs8', format: 'pem' }))
      await file.sync()
    } finally {
      await file.close()
    }
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(draft, { force: true })
  }
  return readFile(path, 'utf8')
}
