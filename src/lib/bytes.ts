import { blocks } from './blocks.ts'

/** A range of a buffer. Copying a range is cheaper than creating a view. */
export interface Part<B extends Buffer = Buffer> {
  readonly bytes: B
  readonly start: number
  readonly end: number
}

/** A string, or ranges of its UTF-8 that have not been joined. */
export type Text = string | readonly Part[]

export const partOf = (text: string): Part => {
  const bytes = Buffer.from(text)
  return { bytes, start: 0, end: bytes.length }
}

const partsOf = (texts: readonly Text[]): Part[] =>
  texts.flatMap((text) => (typeof text === 'string' ? [partOf(text)] : text))

const lengthOf = (parts: readonly Part[]): number => parts.reduce((sum, { start, end }) => sum + end - start, 0)

function copy(parts: readonly Part[], target: Buffer): void {
  let at = 0
  for (const { bytes, start, end } of parts) at += bytes.copy(target, at, start, end)
}

/** Concatenated UTF-8 of several texts. */
export function bytesOf(...texts: readonly Text[]): Buffer {
  const parts = partsOf(texts)
  const bytes = Buffer.allocUnsafe(lengthOf(parts))
  copy(parts, bytes)
  return bytes
}

/** The same in a pooled buffer, valid until `release`. */
export function bytesInBlock(...texts: readonly Text[]): { readonly bytes: Buffer; release(): void } {
  const parts = partsOf(texts)
  const length = lengthOf(parts)
  const block = blocks.take(length)
  copy(parts, block)
  return { bytes: block.subarray(0, length), release: () => blocks.giveBack(block) }
}

export const textOf = (text: Text): string => (typeof text === 'string' ? text : bytesOf(text).toString())
