import { createCipheriv, createDecipheriv } from 'node:crypto'
import { randomBytesOf } from '#lib/random.ts'

/** Stored in place of a personal value. */
export interface SealedValue {
  /** Base64url of version (1 byte), id of the key (16), nonce (12), ciphertext of the value's JSON, tag (16). */
  readonly sealed: string
}

/** A 256-bit key in clear. */
export interface PersonSecret {
  /** A uuid. */
  readonly id: string
  readonly secret: Buffer
}

const VERSION = 1
const ALGORITHM = 'aes-256-gcm'
const KEY_ID_AT = 1
const NONCE_AT = KEY_ID_AT + 16
const NONCE_BYTES = 12
const CIPHERTEXT_AT = NONCE_AT + NONCE_BYTES
const TAG_BYTES = 16

/** No personal field is an object with this as its only member. */
export const isSealed = (value: unknown): value is SealedValue =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Partial<SealedValue>).sealed === 'string' &&
  Object.keys(value).length === 1

/** Seals a JSON value. It can be opened only at the same place. */
export function sealValue(value: unknown, { id, secret }: PersonSecret, place: string): SealedValue {
  const nonce = randomBytesOf(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, secret, nonce)
  cipher.setAAD(Buffer.from(place))
  const ciphertext = cipher.update(JSON.stringify(value), 'utf8')
  cipher.final()
  const head = Buffer.alloc(NONCE_AT)
  head[0] = VERSION
  head.write(plainId(id), KEY_ID_AT, 'hex')
  return { sealed: Buffer.concat([head, nonce, ciphertext, cipher.getAuthTag()]).toString('base64url') }
}

/** Key id as in sealed values: hexadecimal digits without hyphens. */
export const plainId = (id: string): string => id.replaceAll('-', '')

/** Id of the key that sealed a value, without hyphens; null if the value is not sealed. */
export function sealedKeyId({ sealed }: SealedValue): string | null {
  const head = Buffer.from(sealed.slice(0, HEAD_CHARACTERS), 'base64url')
  return head[0] === VERSION && head.length >= NONCE_AT ? head.toString('hex', KEY_ID_AT, NONCE_AT) : null
}

/** Four characters carry three bytes. */
const HEAD_CHARACTERS = Math.ceil(NONCE_AT / 3) * 4

/** @throws Error if the value was altered, or was sealed for another place or with another key */
export function openValue({ sealed }: SealedValue, secret: Buffer, place: string): unknown {
  const bytes = Buffer.from(sealed, 'base64url')
  const nonce = bytes.subarray(NONCE_AT, CIPHERTEXT_AT)
  const decipher = createDecipheriv(ALGORITHM, secret, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(place))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  const plain = decipher.update(bytes.subarray(CIPHERTEXT_AT, -TAG_BYTES))
  decipher.final()
  return JSON.parse(plain.toString())
}
