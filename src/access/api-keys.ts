import { createHash } from 'node:crypto'

/** 256 bits. */
export const KEY_BYTES = 32

const PREFIX_LENGTH = 12
const FORMAT = /^tb_(?:live|test)_[A-Za-z0-9_-]{43}$/

/** A new key. `key` is shown once and not stored. */
export interface NewKey {
  readonly key: string
  /** First characters, for recognition. */
  readonly prefix: string
  readonly hash: Buffer
}

/** Part of the key that distinguishes test companies from real ones. */
export const modeOf = (isTest: boolean): 'live' | 'test' => (isTest ? 'test' : 'live')

/** Creates a key from KEY_BYTES random bytes. */
export function newKey(random: Buffer, mode: 'live' | 'test' = 'live'): NewKey {
  if (random.length !== KEY_BYTES) throw new RangeError(`a key takes ${KEY_BYTES} random bytes`)
  const key = `tb_${mode}_${random.toString('base64url')}`
  return { key, prefix: key.slice(0, PREFIX_LENGTH), hash: hashKey(key) }
}

/** Hash by which a key is stored. 256 random bits need no slow hash: they cannot be guessed. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

/** Checks the format, so that other texts are refused without a lookup. */
export function isKey(text: string): boolean {
  return FORMAT.test(text)
}
