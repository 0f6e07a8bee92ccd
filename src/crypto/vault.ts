import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { Unavailable } from '#lib/errors.ts'
import { randomBytesOf } from '#lib/random.ts'

/**
 * Seals secrets for storage (OPS-70). The context names the row, such as `webhook_secrets/1/7`: a value opens only in
 * its own context, so that writing to the database cannot pass one value off as another.
 */
export interface Vault {
  /** Version (1 byte), id of the master key (8), nonce (12), ciphertext (length of `plain`), tag (16). */
  seal(plain: Buffer, context: string): Buffer
  /** @throws UnknownMasterKey; Error if the value was altered or belongs to another context */
  open(sealed: Buffer, context: string): Buffer
}

/** 32 bytes that seal all other secrets. The id reveals nothing about them. */
export interface MasterKey {
  /** 16 hexadecimal digits. */
  readonly id: string
  readonly cipherKey: KeyObject
}

/** The master keys of a process. */
export interface MasterKeyRing {
  /** The key that seals. */
  current(): MasterKey
  /** A key that opens, current or former; null if unknown. */
  find(id: string): MasterKey | null
}

/** The value was sealed by a master key that this process does not have, for example during a rotation. */
export class UnknownMasterKey extends Unavailable {
  constructor(id: string) {
    super(`sealed by master key ${id}, which this process does not have`)
  }
}

export const MASTER_KEY_BYTES = 32

const VERSION = 1
const ALGORITHM = 'aes-256-gcm'
const ID_BYTES = 8
const NONCE_BYTES = 12
const TAG_BYTES = 16
const NONCE_AT = 1 + ID_BYTES
const CIPHERTEXT_AT = NONCE_AT + NONCE_BYTES

const derive = (secret: Buffer, use: string, bytes: number) =>
  Buffer.from(hkdfSync('sha256', secret, '', `tillbook master key: ${use}`, bytes))

/** The master key of 32 random bytes. */
export const toMasterKey = (secret: Buffer): MasterKey => ({
  id: derive(secret, 'id', ID_BYTES).toString('hex'),
  cipherKey: createSecretKey(derive(secret, 'seal', MASTER_KEY_BYTES)),
})

/** Id of the master key that sealed a value. */
export function sealedBy(sealed: Buffer): string {
  if (sealed[0] !== VERSION || sealed.length < CIPHERTEXT_AT + TAG_BYTES)
    throw new Error('not a sealed value: wrong version or length')
  return sealed.toString('hex', 1, NONCE_AT)
}

/** Random nonces are safe for 2^32 seals per master key (NIST SP 800-38D). */
export function createVault(keys: MasterKeyRing): Vault {
  return {
    seal(plain, context) {
      const { id, cipherKey } = keys.current()
      const nonce = randomBytesOf(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, cipherKey, nonce)
      cipher.setAAD(Buffer.from(context))
      // GCM is a stream mode: `final` returns no bytes.
      const ciphertext = cipher.update(plain)
      cipher.final()
      return Buffer.concat([Buffer.of(VERSION), Buffer.from(id, 'hex'), nonce, ciphertext, cipher.getAuthTag()])
    },
    open(sealed, context) {
      const id = sealedBy(sealed)
      const key = keys.find(id)
      if (!key) throw new UnknownMasterKey(id)
      const decipher = createDecipheriv(ALGORITHM, key.cipherKey, sealed.subarray(NONCE_AT, CIPHERTEXT_AT))
      decipher.setAAD(Buffer.from(context))
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
      const plain = decipher.update(sealed.subarray(CIPHERTEXT_AT, -TAG_BYTES))
      decipher.final()
      return plain
    },
  }
}
