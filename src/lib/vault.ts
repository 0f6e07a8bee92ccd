import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { randomBytesOf } from './random.ts'
import { Unavailable } from './unavailable.ts'

/**
 * Keeps secrets sealed where they are stored (OPS-70). The context says what a value is and whose, like `webhook_secrets/1/7`: sealed
 * under one context, it opens under no other, so that nobody who can write to the database passes one value off as another.
 */
export interface Vault {
  /** Version (1 byte), id of the master key (8), nonce (12), ciphertext (as long as `plain`), tag (16). */
  seal(plain: Buffer, context: string): Buffer
  /** @throws UnknownMasterKey; Error for what was changed or belongs to another context */
  open(sealed: Buffer, context: string): Buffer
}

/** 32 bytes that seal everything else, known by an id that tells nothing of them. */
export interface MasterKey {
  /** 16 hexadecimal digits. */
  readonly id: string
  readonly cipherKey: KeyObject
}

/** The master keys of a process. */
export interface KeyRing {
  /** The one that seals. */
  current(): MasterKey
  /** One that opens, be it the current one or another; null when it is not there. */
  find(id: string): MasterKey | null
}

/** What was to be opened is sealed by a master key that this process does not have, as while keys are being changed. */
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

/** The key that 32 random bytes make. */
export const masterKeyOf = (secret: Buffer): MasterKey => ({
  id: derive(secret, 'id', ID_BYTES).toString('hex'),
  cipherKey: createSecretKey(derive(secret, 'seal', MASTER_KEY_BYTES)),
})

/** Id of the master key that has sealed a value. */
export function sealedBy(sealed: Buffer): string {
  if (sealed[0] !== VERSION || sealed.length < CIPHERTEXT_AT + TAG_BYTES)
    throw new Error('this is nothing that was sealed')
  return sealed.toString('hex', 1, NONCE_AT)
}

/** Random nonces are good for 2^32 seals under one master key (NIST SP 800-38D). */
export function createVault(keys: KeyRing): Vault {
  return {
    seal(plain, context) {
      const { id, cipherKey } = keys.current()
      const nonce = randomBytesOf(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, cipherKey, nonce)
      cipher.setAAD(Buffer.from(context))
      // Nothing is left for the end: the cipher has no blocks to fill.
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
