import { envelopeKeyId, headBytes, openEnvelope, sealEnvelope } from './envelope.ts'

/** Stored in place of a personal value. */
export interface SealedValue {
  /** Base64url of the value's JSON in an envelope (envelope.ts) with a key's id of 16 bytes. */
  readonly sealed: string
}

/** A 256-bit key in clear. */
export interface PersonSecret {
  /** A uuid. */
  readonly id: string
  readonly secret: Buffer
}

const ID_BYTES = 16

/** No personal field is an object with this as its only member. */
export const isSealed = (value: unknown): value is SealedValue =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Partial<SealedValue>).sealed === 'string' &&
  Object.keys(value).length === 1

/** Seals a JSON value. It can be opened only at the same place. */
export function sealValue(value: unknown, { id, secret }: PersonSecret, place: string): SealedValue {
  const plain = Buffer.from(JSON.stringify(value))
  return { sealed: sealEnvelope(plain, Buffer.from(plainId(id), 'hex'), secret, place).toString('base64url') }
}

/** Key id as in sealed values: hexadecimal digits without hyphens. */
export const plainId = (id: string): string => id.replaceAll('-', '')

/** Id of the key that sealed a value, without hyphens; null if the value is not sealed. */
export function sealedKeyId({ sealed }: SealedValue): string | null {
  const head = Buffer.from(sealed.slice(0, HEAD_CHARACTERS), 'base64url')
  return envelopeKeyId(head, ID_BYTES)?.toString('hex') ?? null
}

/** Four characters carry three bytes. */
const HEAD_CHARACTERS = Math.ceil(headBytes(ID_BYTES) / 3) * 4

/** @throws Error if the value was altered, or was sealed for another place or with another key */
export const openValue = ({ sealed }: SealedValue, secret: Buffer, place: string): unknown =>
  JSON.parse(openEnvelope(Buffer.from(sealed, 'base64url'), ID_BYTES, secret, place).toString())
