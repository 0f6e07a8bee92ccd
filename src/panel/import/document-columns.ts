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
