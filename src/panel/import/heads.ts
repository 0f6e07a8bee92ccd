import { searchKey } from '#domain/text.ts'
import { ownValue } from '#lib/own-value.ts'
import type { Fields } from '../forms/form.ts'
import type { Synonyms } from './title-synonyms.ts'

/** Fields by column. */
export type ImportMapping = ReadonlyMap<number, string>

/** A title without marks, punctuation and the name of a store behind it: `Price [Loja 1]`, `Nome*`. */
const plainHead = (head: string): string =>
  searchKey(
    head
      .replace(/\[[^[\]]*\]/g, ' ')
      .replace(/[._*:-]/g, ' ')
      .replace(/\s+/g, ' ')
      .replace(/ ?\/ ?/g, '/'),
  )

/** The same without remarks in parentheses: `Preço (R$)`. */
const withoutRemarks = (head: string): string => plainHead(head.replace(/\([^()]*\)/g, ' '))

interface Candidate {
  readonly field: string
  /** Lower is more telling. */
  readonly rank: number
}

type HeadWords = ReadonlyMap<string, readonly Candidate[]>

/** Fields by known title: labels, API names and synonyms. */
export function createHeadWords(fields: Fields, synonyms: Synonyms): HeadWords {
  const words = new Map<string, Candidate[]>()
  for (const [field, { label }] of Object.entries(fields)) {
    const known = [label, withoutRemarks(label), field, ...(ownValue(synonyms, field) ?? [])]
    for (const [rank, word] of known.entries()) {
      const key = plainHead(word)
      const before = words.get(key) ?? []
      if (!before.some((one) => one.field === field)) words.set(key, [...before, { field, rank }])
    }
  }
  return words
}

export const candidatesOf = (words: HeadWords, head: string): readonly Candidate[] =>
  words.get(plainHead(head)) ?? words.get(withoutRemarks(head)) ?? []

/**
 * Fields of columns by their titles. A field has the column with its most telling title; the fields of `shared` have
 * each column with one of theirs.
 */
export function guessMapping(heads: readonly string[], words: HeadWords, shared: readonly string[]): ImportMapping {
  const mapping = new Map<number, string>()
  const taken = new Set<string>()
  const candidates = heads.flatMap((head, column) =>
    candidatesOf(words, head).map((candidate) => ({ ...candidate, column })),
  )
  for (const { field, column } of candidates.sort((a, b) => a.rank - b.rank)) {
    if (mapping.has(column) || (taken.has(field) && !shared.includes(field))) continue
    taken.add(field)
    mapping.set(column, field)
  }
  return new Map([...mapping].sort(([a], [b]) => a - b))
}
