import { blocks } from './blocks.ts'

/** A text, or pieces of its UTF-8 that nobody has put together yet. */
export type Text = string | readonly Buffer[]

const piecesOf = (texts: readonly Text[]): Buffer[] =>
  texts.flatMap((text) => (typeof text === 'string' ? [Buffer.from(text)] : text))

/** UTF-8 of texts, one after the other. */
export const bytesOf = (...texts: readonly Text[]): Buffer => Buffer.concat(piecesOf(texts))

/** The same in a block, which holds until it is released. */
export function bytesInBlock(...texts: readonly Text[]): { readonly bytes: Buffer; release(): void } {
  const pieces = piecesOf(texts)
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const block = blocks.take(length)
  let at = 0
  for (const piece of pieces) at += piece.copy(block, at)
  return { bytes: block.subarray(0, length), release: () => blocks.giveBack(block) }
}

export const textOf = (text: Text): string => (typeof text === 'string' ? text : Buffer.concat(text).toString())
