/** Element types that are sent in binary. Other types are sent as text, and the statement casts the array. */
export type ElementType = 'bigint' | 'integer' | 'boolean' | 'bytea' | 'json' | 'text'

const OIDS: { readonly [T in ElementType]: number } = {
  bigint: 20,
  integer: 23,
  boolean: 16,
  bytea: 17,
  json: 114,
  text: 25,
}

const HEAD_BYTES = 20
const LENGTH_BYTES = 4
const NULL_LENGTH = -1
const TWO_TO_32 = 0x1_0000_0000

/**
 * An array parameter `$n::type[]` in binary format. A text literal would need escaping here and parsing there, most of
 * the cost of sending arrays of JSON. Numbers must be safe integers; json is text.
 */
export function binaryArray(type: ElementType, items: readonly unknown[]): Buffer {
  let bytes = HEAD_BYTES + items.length * LENGTH_BYTES
  let hasNull = 0
  for (const item of items) {
    if (item === null || item === undefined) hasNull = 1
    else bytes += lengthOf(type, item)
  }
  const array = Buffer.allocUnsafe(bytes)
  array.writeInt32BE(1, 0)
  array.writeInt32BE(hasNull, 4)
  array.writeInt32BE(OIDS[type], 8)
  array.writeInt32BE(items.length, 12)
  array.writeInt32BE(1, 16)
  let at = HEAD_BYTES
  for (const item of items) {
    if (item === null || item === undefined) at = array.writeInt32BE(NULL_LENGTH, at)
    else {
      const end = write(type, item, array, at + LENGTH_BYTES)
      array.writeInt32BE(end - at - LENGTH_BYTES, at)
      at = end
    }
  }
  return array
}

function lengthOf(type: ElementType, item: unknown): number {
  if (type === 'bigint') return 8
  if (type === 'integer') return 4
  if (type === 'boolean') return 1
  return type === 'bytea' ? (item as Buffer).length : Buffer.byteLength(item as string)
}

/** Returns the end of the item. */
function write(type: ElementType, item: unknown, array: Buffer, at: number): number {
  if (type === 'bigint') {
    const high = Math.floor((item as number) / TWO_TO_32)
    array.writeInt32BE(high, at)
    return array.writeUInt32BE((item as number) - high * TWO_TO_32, at + 4)
  }
  if (type === 'integer') return array.writeInt32BE(item as number, at)
  if (type === 'boolean') return array.writeUInt8(item ? 1 : 0, at)
  if (type === 'bytea') return at + (item as Buffer).copy(array, at)
  return at + array.write(item as string, at)
}
