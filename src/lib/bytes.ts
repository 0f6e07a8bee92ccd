/** A text, or pieces of its UTF-8 that nobody has put together yet. */
export type Text = string | readonly Buffer[]

/** UTF-8 of texts, one after the other. */
export const bytesOf = (...texts: readonly Text[]): Buffer =>
  Buffer.concat(texts.flatMap((text) => (typeof text === 'string' ? [Buffer.from(text)] : text)))

export const textOf = (text: Text): string => (typeof text === 'string' ? text : Buffer.concat(text).toString())
