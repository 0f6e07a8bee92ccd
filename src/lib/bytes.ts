import { blocks } from './blocks.ts'

/** Some of the bytes of a buffer: a view of its own would cost more than the copy that is made of it. */
export interface Part<B extends Buffer = Buffer> {
  readonly bytes: B
  readonly start: number
  readonly end: number
}

/** A text, or parts of its UTF-8 that nobody has put together yet. */
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

/** UTF-8 of texts, one after the other. */
export function bytesOf(...texts: readonly Text[]): Buffer {
  const parts = partsOf(texts)
  const bytes = Buffer.allocUnsafe(lengthOf(parts))
  copy(parts, bytes)
  return bytes
}

/** The same in a block, which holds until it is released. */
export function bytesInBlock(...texts: readonly Text[]): { readonly bytes: Buffer; release(): void } {
  const parts = partsOf(texts)
  const length = lengthOf(parts)
  const block = blocks.take(length)
  copy(parts, block)
  return { bytes: block.subarray(0, length), release: () => blocks.giveBack(block) }
}

export const textOf = (text: Text): string => (typeof text === 'string' ? text : bytesOf(text).toString())
