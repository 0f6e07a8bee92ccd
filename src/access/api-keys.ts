import { createHash } from 'node:crypto'

/** Random bytes of a key: 256 bits. */
export const KEY_BYTES = 32

const PREFIX_LENGTH = 12
const FORMAT = /^tb_(?:live|test)_[A-Za-z0-9_-]{43}$/

/** A new key; `key` itself is shown once and kept nowhere. */
export interface NewKey {
  readonly key: string
  /** Its first characters, to recognise it by. */
  readonly prefix: string
  readonly hash: Buffer
}

/** What tells keys of test companies from those of real ones (KIT-31). */
export const modeOf = (isTest: boolean): 'live' | 'test' => (isTest ? 'test' : 'live')

/** Makes a key of KEY_BYTES random bytes. */
export function newKey(random: Buffer, mode: 'live' | 'test' = 'live'): NewKey {
  if (random.length !== KEY_BYTES) throw new RangeError(`a key takes ${KEY_BYTES} random bytes`)
  const key = `tb_${mode}_${random.toString('base64url')}`
  return { key, prefix: key.slice(0, PREFIX_LENGTH), hash: hashKey(key) }
}

/** What a key is found by. 256 random bits need no slow hash: nobody can try them out. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

/** Whether a text can be a key at all; anything else needs no look-up to be refused. */
export function isKey(text: string): boolean {
  return FORMAT.test(text)
}
