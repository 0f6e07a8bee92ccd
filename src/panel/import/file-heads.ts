import { bareTaxNumber, isCnpj, isCpf } from '#domain/person-values.ts'
import { searchKey } from '#domain/text.ts'
import { ownValue } from '#lib/collections.ts'
import type { Fields } from '../forms/panel-form.ts'
import type { Synonyms } from './column-titles.ts'
import type { Sheet } from './sheet.ts'

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

/** Lines whose cells are looked at. */
const MAX_LINES = 50

const isDocument = (cell: string): boolean => {
  const text = bareTaxNumber(cell.replace(/^'/, ''))
  // Spreadsheets drop zeros at the beginning of a number.
  return isCpf(text.padStart(11, '0')) || isCnpj(text.padStart(14, '0'))
}

/** Columns that are not imported although most of their first cells are a CPF or CNPJ. */
export function unmappedDocuments({ heads, lines }: Sheet, mapping: ImportMapping): string[] {
  return heads.flatMap((head, column) => {
    if (mapping.has(column)) return []
    const cells = lines.slice(0, MAX_LINES).flatMap(({ cells }) => cells[column] || [])
    const documents = cells.filter(isDocument)
    return documents.length * 2 > cells.length ? [head || `Coluna ${column + 1}`] : []
  })
}

/** Head of the column with the reasons in a file of wrong lines. */
export const REASON_HEAD = 'O que corrigir'

/** Columns with content that are not imported; those that may be documents are told apart. */
export function unmappedColumns(sheet: Sheet, mapping: ImportMapping, told: readonly string[]): string[] {
  const width = Math.max(...sheet.lines.slice(0, MAX_LINES).map(({ cells }) => cells.length), 0)
  return Array.from({ length: Math.max(width, sheet.heads.length) }, (_, column) => column).flatMap((column) => {
    const head = sheet.heads[column] || `Coluna ${column + 1}`
    if (mapping.has(column) || head === REASON_HEAD || told.includes(head)) return []
    const isFilled = sheet.heads[column] || sheet.lines.slice(0, MAX_LINES).some(({ cells }) => cells[column])
    return isFilled ? [head] : []
  })
}

/** An amount, a code or a date: no column is called so. */
const VALUE = /^(?:R\$\s*)?\d[\d.,/-]*$/

/** Whether the row of titles has values: then the file has no titles, and its first record would be lost. */
export const hasNoHeads = ({ heads }: Sheet): boolean => heads.some((head) => VALUE.test(head))
