import { bufferPool } from './buffer-pool.ts'

/** A range of a buffer. Copying a range is cheaper than creating a view. */
export interface ByteRange<B extends Buffer = Buffer> {
  readonly bytes: B
  readonly start: number
  readonly end: number
}

/** A string, or ranges of its UTF-8 that have not been joined. */
export type EncodedText = string | readonly ByteRange[]

export const toByteRange = (text: string): ByteRange => {
  const bytes = Buffer.from(text)
  return { bytes, start: 0, end: bytes.length }
}

const partsOf = (texts: readonly EncodedText[]): ByteRange[] =>
  texts.flatMap((text) => (typeof text === 'string' ? [toByteRange(text)] : text))

const lengthOf = (parts: readonly ByteRange[]): number => parts.reduce((sum, { start, end }) => sum + end - start, 0)

function copy(parts: readonly ByteRange[], target: Buffer): void {
  let at = 0
  for (const { bytes, start, end } of parts) at += bytes.copy(target, at, start, end)
}

/** Concatenated UTF-8 of several texts. */
export function toBytes(...texts: readonly EncodedText[]): Buffer {
  const parts = partsOf(texts)
  const bytes = Buffer.allocUnsafe(lengthOf(parts))
  copy(parts, bytes)
  return bytes
}

/** The same in a pooled buffer, valid until `release`. */
export function toPooledBytes(...texts: readonly EncodedText[]): { readonly bytes: Buffer; release(): void } {
  const parts = partsOf(texts)
  const length = lengthOf(parts)
  const block = bufferPool.take(length)
  copy(parts, block)
  return { bytes: block.subarray(0, length), release: () => bufferPool.giveBack(block) }
}

export const toText = (text: EncodedText): string => (typeof text === 'string' ? text : toBytes(text).toString())
