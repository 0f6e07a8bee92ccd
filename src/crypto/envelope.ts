import { type CipherKey, createCipheriv, createDecipheriv } from 'node:crypto'
import { randomBytesOf } from '#lib/random.ts'

const VERSION = 1
const ALGORITHM = 'aes-256-gcm'
const KEY_ID_AT = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Bytes before the nonce: the version and the id of the key. */
export const headBytes = (idBytes: number): number => KEY_ID_AT + idBytes

/**
 * Encrypts and authenticates: version (1 byte), id of the key, nonce (12), ciphertext (length of `plain`), tag (16). It
 * opens only in the same context. Random nonces are safe for 2^32 seals per key (NIST SP 800-38D).
 */
export function sealEnvelope(plain: Buffer, keyId: Buffer, key: CipherKey, context: string): Buffer {
  const nonce = randomBytesOf(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, nonce)
  cipher.setAAD(Buffer.from(context))
  // GCM is a stream mode: `final` returns no bytes.
  const ciphertext = cipher.update(plain)
  cipher.final()
  return Buffer.concat([Buffer.of(VERSION), keyId, nonce, ciphertext, cipher.getAuthTag()])
}

/** Id of the key of an envelope, or of its head; null for other bytes. */
export const envelopeKeyId = (sealed: Buffer, idBytes: number): Buffer | null =>
  sealed[0] === VERSION && sealed.length >= headBytes(idBytes) ? sealed.subarray(KEY_ID_AT, headBytes(idBytes)) : null

/** @throws Error if the envelope was altered, or was sealed in another context or with another key */
export function openEnvelope(sealed: Buffer, idBytes: number, key: CipherKey, context: string): Buffer {
  const nonceAt = headBytes(idBytes)
  const ciphertextAt = nonceAt + NONCE_BYTES
  if (sealed.length < ciphertextAt + TAG_BYTES) throw new Error('not a sealed value: too short')
  const nonce = sealed.subarray(nonceAt, ciphertextAt)
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(context))
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  const plain = decipher.update(sealed.subarray(ciphertextAt, -TAG_BYTES))
  decipher.final()
  return plain
}
