import { nameKey } from '#domain/text.ts'

/** Longest name of a person, in code points. */
export const MAX_NAME = 120

/** Numbered names that are tried: `(2)` to `(20)`. */
const LAST_NUMBER = 20

/** Characters of a document that tell two persons apart. */
const DOCUMENT_END = 4

const NUMBERED = / \(\d{1,2}\)$/

/**
 * Names to suggest instead of a taken one, the best first: `José da Silva (2)`, and at last one with the end of the
 * document (PERSON-100).
 */
export function namesLike(name: string, document: string | null | undefined): string[] {
  const base = name.replace(/\s+/g, ' ').replace(NUMBERED, '')
  const numbered = Array.from({ length: LAST_NUMBER - 1 }, (_, at) => withSuffix(base, `(${at + 2})`))
  const names = document ? [...numbered, withSuffix(base, `(${document.slice(-DOCUMENT_END)})`)] : numbered
  return names.filter((one) => nameKey(one) !== nameKey(name))
}

/** Shortens the name where both together would be too long. */
const withSuffix = (name: string, suffix: string): string =>
  `${[...name]
    .slice(0, MAX_NAME - suffix.length - 1)
    .join('')
    .trimEnd()} ${suffix}`
