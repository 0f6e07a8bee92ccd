import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { Unavailable } from '#lib/errors.ts'
import { envelopeKeyId, openEnvelope, sealEnvelope } from './envelope.ts'

/**
 * Seals secrets for storage (OPS-70). The context names the row, such as `webhook_secrets/1/7`: a value opens only in
 * its own context, so that writing to the database cannot pass one value off as another.
 */
export interface Vault {
  /** An envelope (envelope.ts) with the master key's id of 8 bytes. */
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

const ID_BYTES = 8

const derive = (secret: Buffer, use: string, bytes: number) =>
  Buffer.from(hkdfSync('sha256', secret, '', `tillbook master key: ${use}`, bytes))

/** The master key of 32 random bytes. */
export const toMasterKey = (secret: Buffer): MasterKey => ({
  id: derive(secret, 'id', ID_BYTES).toString('hex'),
  cipherKey: createSecretKey(derive(secret, 'seal', MASTER_KEY_BYTES)),
})

/** Id of the master key that sealed a value. */
export function sealedBy(sealed: Buffer): string {
  const id = envelopeKeyId(sealed, ID_BYTES)
  if (!id) throw new Error('not a sealed value: wrong version or length')
  return id.toString('hex')
}

export function createVault(keys: MasterKeyRing): Vault {
  return {
    seal(plain, context) {
      const { id, cipherKey } = keys.current()
      return sealEnvelope(plain, Buffer.from(id, 'hex'), cipherKey, context)
    },
    open(sealed, context) {
      const id = sealedBy(sealed)
      const key = keys.find(id)
      if (!key) throw new UnknownMasterKey(id)
      return openEnvelope(sealed, ID_BYTES, key.cipherKey, context)
    },
  }
}
