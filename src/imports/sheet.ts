import { isUtf8 } from 'node:buffer'
import { invalid, type Refusal } from '#domain/refusal.ts'
import { restoreFormulas } from '#lib/spreadsheet-text.ts'
import { type CsvFault, type CsvLimits, createCsvReader } from './csv.ts'

/** Maximum file size; a line has about 400 bytes. */
export const MAX_FILE_BYTES = 2_000_000
export const MAX_LINES = 5_000
/** No field of a record is longer than 2,000 characters. */
const LIMITS: CsvLimits = { columns: 60, cellLength: 5_000, rowLength: 65_536 }
/** Longer column titles are truncated. */
const MAX_HEAD_LENGTH = 200

/** A table saved as CSV, with column titles in its first line. */
export interface Sheet {
  readonly heads: readonly string[]
  readonly lines: readonly SheetLine[]
}

export interface SheetLine {
  /** Line number in a spreadsheet: the titles are line 1. */
  readonly number: number
  readonly cells: readonly string[]
}

/** Yields to other requests; awaited after each slice of long work (src/lib/time-slicing.ts). */
export type Pause = () => Promise<void>

/** Amount decoded or read between two pauses, in bytes or UTF-16 units. */
const PART = 16_384

/** Decodes a file saved by a spreadsheet: UTF-8, or the Windows ANSI code page. */
async function decoded(bytes: Buffer, pause: Pause): Promise<string> {
  const decoder = new TextDecoder(isUtf8(bytes) ? 'utf-8' : 'windows-1252')
  let text = ''
  for (let from = 0; from < bytes.length; from += PART) {
    await pause()
    text += decoder.decode(bytes.subarray(from, from + PART), { stream: true })
  }
  return text + decoder.decode()
}

const DELIMITERS = [';', ',', '\t']

/** The most frequent delimiter in the first line. */
function delimiterOf(text: string): string {
  const begin = text.slice(0, LIMITS.rowLength)
  const heads = begin.slice(0, begin.search(/[\r\n]|$/))
  const count = (delimiter: string) => heads.split(delimiter).length
  return DELIMITERS.reduce((best, one) => (count(one) > count(best) ? one : best))
}

const shown = (count: number): string => count.toLocaleString('pt-BR')

const FAULTS: Readonly<Record<CsvFault, string>> = {
  columns: `tem mais de ${LIMITS.columns} colunas`,
  cell: `tem uma célula com mais de ${shown(LIMITS.cellLength)} caracteres`,
  row: `tem uma linha com mais de ${shown(LIMITS.rowLength)} caracteres`,
  quotes: `tem aspas que não se fecham em ${shown(LIMITS.cellLength)} caracteres`,
}

/**
 * Reads a table in slices, up to its limits; empty lines are skipped. Refuses a file that is no table or exceeds a
 * limit (PANEL-321).
 */
export async function readSheet(bytes: Buffer, pause: Pause): Promise<Sheet | Refusal> {
  if (bytes.includes(0)) return invalid('file', 'não é um arquivo CSV: salve a planilha como CSV')
  const text = await decoded(bytes, pause)
  const reader = createCsvReader(text, delimiterOf(text), LIMITS)
  const lines: SheetLine[] = []
  let heads: readonly string[] | null = null
  let number = 0
  for (let read = 0; ; ) {
    if (reader.position - read > PART) {
      read = reader.position
      await pause()
    }
    const row = reader.next()
    if (row === null) break
    number += 1
    if (typeof row === 'string') return invalid('file', `${FAULTS[row]} (linha ${shown(number)})`)
    if (!heads) heads = row.map((head) => restoreFormulas(head.slice(0, MAX_HEAD_LENGTH)))
    else if (row.some((cell) => cell !== '')) {
      if (lines.length === MAX_LINES)
        return invalid('file', `tem mais de ${shown(MAX_LINES)} linhas: divida-o em partes`)
      lines.push({ number, cells: row.map(restoreFormulas) })
    }
  }
  if (!heads || lines.length === 0) return invalid('file', 'não tem linhas abaixo dos títulos das colunas')
  return { heads, lines }
}
