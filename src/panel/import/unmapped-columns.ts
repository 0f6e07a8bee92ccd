import { bareTaxNumber, isCnpj, isCpf } from '#domain/tax-number.ts'
import type { Sheet } from '#imports/sheet.ts'
import type { ImportMapping } from './heads.ts'

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
