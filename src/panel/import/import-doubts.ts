import { isCnpj, isCpf } from '#domain/person-values.ts'
import { gtinKey } from '#domain/record-values.ts'
import { searchKey } from '#domain/text.ts'
import type { CodeTable, SimilarCode } from '#queries/import-matches.ts'
import type { Reader } from '#queries/reader.ts'
import type { Fields } from '../forms/panel-form.ts'
import type { ImportMapping } from './column-titles.ts'
import { oddWord } from './encoding.ts'
import type { KeyField, ReadLine } from './import-lines.ts'
import type { Sheet, SheetLine } from './sheet.ts'

/** A read line, and what speaks against it. */
export interface DoubtedLine {
  readonly read: ReadLine
  readonly doubt: Doubt | null
}

const zeroless = (code: string): string => code.replace(/^0+/, '')

/** Codes of digits alone that differ in zeros before them; barcodes that are GTINs are compared as such. */
const isBareCode = (field: string, code: string): boolean =>
  /^\d{1,14}$/.test(code) && zeroless(code) !== '' && (field !== 'barcode' || gtinKey(code) === null)

/** Lengths of codes that never begin with another digit than the one a spreadsheet has left out. */
const padded = (text: string, length: number, isRight: (code: string) => boolean): string | null => {
  const code = text.padStart(length, '0')
  return /^\d+$/.test(text) && text.length < length && text.length >= length - 2 && isRight(code) ? code : null
}

/** Complete codes of a fixed length, by field. */
const FIXED: Readonly<Record<string, (text: string) => string | null>> = {
  document: (text) => padded(text, 11, isCpf) ?? padded(text, 14, isCnpj),
  'address.zip': (text) => padded(text, 8, (code) => code.startsWith('0') && !code.startsWith('00')),
  ncm: (text) => padded(text, 8, (code) => code.startsWith('0') && !code.startsWith('00')),
  cest: (text) => padded(text, 7, (code) => code.startsWith('0') && !code.startsWith('00')),
}

const lost = (label: string, code: string, whole: string, of = ''): Doubt => ({
  kind: 'zeros',
  text: `${label}: "${code}" parece ser "${whole}"${of}, sem os zeros: marcada, a linha vale para "${whole}"`,
})

/** A doubt, and what else speaks against the line. */
const withDoubt = (doubt: Doubt | null, other: Doubt): Doubt =>
  doubt === null ? other : { ...doubt, text: `${doubt.text}; ${other.text}` }

/** The line with its codes of a fixed length as they were before a spreadsheet took them for numbers. */
export function withFixedCodes(line: ReadLine, fields: Fields, keyFields: readonly KeyField[]): DoubtedLine {
  let [read, doubt]: [ReadLine, Doubt | null] = [line, null]
  for (const [field, wholeOf] of Object.entries(FIXED)) {
    const code = read.values[field]
    const whole = code === undefined ? null : wholeOf(code)
    if (code === undefined || whole === null) continue
    doubt = withDoubt(doubt, lost(fields[field]?.label ?? field, code, whole))
    read = withValue(read, field, whole, keyFields)
  }
  return { read, doubt }
}

function withValue(line: ReadLine, field: string, value: string, keyFields: readonly KeyField[]): ReadLine {
  const values = { ...line.values, [field]: value }
  const key = keyFields.find(({ name }) => name === field)
  const keys = line.keys.map((one) => (one[0] === field && key ? ([field, key.normalized(value)] as const) : one))
  return { ...line, values, keys }
}

const CODE_FIELDS = ['external_id', 'barcode', 'sku'] as const

/** Records by field and code without zeros. */
type Similar = ReadonlyMap<string, readonly SimilarCode[]>

async function similarCodes(
  reader: Reader,
  similar: CodeTable,
  lines: readonly DoubtedLine[],
): Promise<ReadonlyMap<string, Similar>> {
  const found = new Map<string, Similar>()
  for (const field of CODE_FIELDS.filter((one) => similar.fields.includes(one))) {
    const codes = lines.flatMap(({ read: { values } }) => {
      const code = values[field]
      return code !== undefined && isBareCode(field, code) ? [zeroless(code)] : []
    })
    const records = codes.length === 0 ? [] : await similar.find(reader, field, [...new Set(codes)])
    const byCode = new Map<string, SimilarCode[]>()
    for (const record of records)
      byCode.set(zeroless(record.code), [...(byCode.get(zeroless(record.code)) ?? []), record])
    found.set(field, byCode)
  }
  return found
}

/**
 * Lines with the code of a record, or of an earlier line, but for zeros before it: a spreadsheet has left them out. A
 * ticked line changes that record.
 */
export async function restoreZeros(
  reader: Reader,
  similar: CodeTable,
  lines: readonly DoubtedLine[],
  fields: Fields,
  keyFields: readonly KeyField[],
): Promise<DoubtedLine[]> {
  const records = await similarCodes(reader, similar, lines)
  const earlier = new Map<string, { readonly code: string; readonly number: number }>()
  return lines.map((line): DoubtedLine => {
    let { read, doubt } = line
    for (const field of CODE_FIELDS) {
      const code = read.values[field]
      if (code === undefined || !isBareCode(field, code)) continue
      const label = fields[field]?.label ?? field
      const key = `${field} ${zeroless(code)}`
      const known = records.get(field)?.get(zeroless(code)) ?? []
      const [record] = known
      const before = earlier.get(key)
      if (!before) earlier.set(key, { code, number: read.number })
      if (record && !known.some((one) => one.code === code)) {
        doubt = withDoubt(doubt, lost(label, code, record.code, ` (${record.text})`))
        if (known.every((one) => one.code === record.code)) read = withValue(read, field, record.code, keyFields)
      } else if (before && before.code !== code && !record)
        doubt = withDoubt(doubt, {
          kind: 'zeros',
          text: `${label}: "${code}" só difere nos zeros de "${before.code}", da linha ${before.number}`,
        })
    }
    return { read, doubt }
  })
}

/** Why a line is probably not meant, by kind. Such a line is imported only if the user ticks it. */
export const DOUBT_KINDS = {
  summary: 'Totais, rodapés e títulos repetidos',
  inactive: 'Inativos e rascunhos',
  zeros: 'Códigos que parecem ter perdido zeros',
  letters: 'Letras que parecem trocadas',
} as const
export type DoubtKind = keyof typeof DOUBT_KINDS

export interface Doubt {
  readonly kind: DoubtKind
  readonly text: string
}

/** Longest cell that is compared with words. */
const MAX_WORD = 120

const keyOf = (cell: string): string => searchKey(cell.slice(0, MAX_WORD))

/** A column that says whether a record is in use: its values that say no. */
interface StatusColumn {
  readonly column: number
  isInactive(key: string): boolean
}

/** Words of a record that is not in use; `Bloqueado p/ venda`, `Não ativo`. */
const INACTIVE =
  /^(?:nao (?:ativ[oa]|publicad[oa]|habilitad[oa]|visivel|disponivel)|inativ[oa]s?|inactive|exclui?d[oa]s?|deletad[oa]|deleted|desativad[oa]|desabilitad[oa]|disabled|bloquead[oa]|cancelad[oa]|suspens[oa]|pausad[oa]|arquivad[oa]|archived|rascunho|draft|privado|private|pendente|pending|lixeira|trash|oculto|hidden|indisponivel|unavailable|fora de linha|descontinuad[oa]|discontinued|nao publicado|unpublished|encerrad[oa]|baixad[oa])(?![\p{L}\d])/u
/** The same where no title tells what a column is: the whole cell is a word that is about records alone. */
const CLEARLY_INACTIVE =
  /^(?:inativ[oa]s?|inactive|exclui?d[oa]s?|deletad[oa]|deleted|desativad[oa]|desabilitad[oa]|disabled|arquivad[oa]|archived|rascunho|draft)$/
const NO = /^(?:n|nao|no|false|falso|f|0|-1|i|e)$/
const YES = /^(?:s|sim|y|yes|true|verdadeiro|v|1|-1|x)$/
const STATUS =
  /^(?:situacao|status|estado)(?: (?:do|da|de) (?:cadastro|produto|item|anuncio|cliente|fornecedor|registro|contato|venda))?$|^visibilidade no catalogo$|^(?:visibility in catalog|catalog visibility)$/
const IN_USE =
  /^(?:(?:produto|item|cadastro|cliente|fornecedor|registro) )?(?:ativ[oa]|active|is active|habilitad[oa]|enabled|publicad[oa]|published|visivel|visible|a venda|disponivel para venda|available for sale|vendavel|exibir na loja|mostrar na loja|no catalogo)\??$/
const OUT_OF_USE =
  /^(?:(?:produto|item|cadastro|cliente|fornecedor|registro) )?(?:inativ[oa]|inactive|exclui?d[oa]|deletad[oa]|deleted|is deleted|desativad[oa]|disabled|bloquead[oa]|arquivad[oa]|archived|rascunho|draft|fora de linha|descontinuad[oa]|discontinued|(?:n?a )?lixeira)\??$/
const END_DATE =
  /^(?:(?:data|dt)(?: d[aeo])?|) ?(?:exclusao|inativacao|desativacao|exclui?do em|inativado em|desativado em|deleted at|baixa)$/

/** `00/00/0000` is no date. */
const isEmptyDate = (key: string): boolean => /^[0/\-: .]*$/.test(key)

function statusColumns({ heads }: Sheet): StatusColumn[] {
  return heads.flatMap((head, column): StatusColumn[] => {
    const key = keyOf(
      head
        .slice(0, MAX_WORD)
        .replace(/\[[^[\]]{0,60}\]|\([^()]{0,60}\)/g, '')
        .replace(/[._*:]/g, ' '),
    )
      .replace(/\s+/g, ' ')
      .trim()
    const one = (isInactive: StatusColumn['isInactive']) => [{ column, isInactive }]
    if (STATUS.test(key)) return one((value) => INACTIVE.test(value) || /^(?:i|e|0|-1)$/.test(value))
    if (IN_USE.test(key)) return one((value) => NO.test(value) || INACTIVE.test(value))
    if (OUT_OF_USE.test(key)) return one((value) => YES.test(value) || INACTIVE.test(value))
    return END_DATE.test(key) ? one((value) => !isEmptyDate(value) && value !== 'null') : []
  })
}

const TOTAL =
  /^(?:(?:(?:valor|vlr|custo|soma|saldo|qtde?|quantidade|media)\.? )?(?:sub)?-?\s?tota(?:l|is)(?:\s(?:geral|gerais|parcial|final|de|do|da|dos|das|em|no|na|por)\b.*)?|soma|media|somatorio)\s?[:.=]?\s*(?:r\$)?[\s\d.,]*$/
const COUNTED =
  /^(?:(?:qtde?|quantidade|total|numero|n[o°]?)\.?(?: de| total)? )?(?:registros|produtos|itens|clientes|fornecedores|linhas|cadastros)(?: (?:listados|encontrados|impressos|exportados|no total))?\s?[:=]?\s*\d[\d.]*$|^\d[\d.]* (?:registros?|produtos?|itens|clientes?|fornecedores|linhas|cadastros)(?: (?:listad|encontrad|impress|exportad|no total).*)?$/
const FOOTER =
  /^(?:(?:emitid|impress|gerad|exportad|extraid|atualizad)[oa]s? (?:em|por|as|no dia|pelo|pela|via)\b|(?:emissao|impressao|data|data da? (?:emissao|impressao|geracao|exportacao)|data e hora|usuario|operador|periodo|filtros?|empresa|sistema)\s?:|relatorio (?:de|do|dos|das|gerado|emitido|geral)\b|listagem (?:de|dos|das)\b|fim d[oa] (?:relatorio|listagem|arquivo)|pag(?:ina)?\.?:? ?\d+(?: ?(?:de|\/) ?\d+)?$|(?:desenvolvido|powered) (?:por|by)\b|(?:https?:\/\/|www\.)\S+$|\*{2,}|-{3,}$|={3,}$|_{3,}$)/

/** Alone in its line: a date, a time, a page, a version, or `Grupo: Bebidas`. */
const LONE =
  /^(?:\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}(?:[ ,].*)?|\d{1,2}:\d{2}(?::\d{2})?|[\p{L} ./]{2,30}:(?:\s.*)?|continua(?:cao)?\b.*|.{0,60}\bv(?:ersao)?\.? ?\d+\.\d.*|\d+ ?(?:de|\/) ?\d+)$/u

/** Texts with these are names, whatever they begin with. */
const MAX_FILLED_FOOTER = 3

interface LineView {
  readonly filled: readonly string[]
  readonly keys: readonly string[]
}

/** Whether a line sums up the lines above it, or closes the report. */
function isSummary({ filled, keys }: LineView): string | null {
  const total = keys.findIndex((key) => TOTAL.test(key) || COUNTED.test(key))
  if (total >= 0) return `"${filled[total]?.slice(0, 60)}" parece ser um total`
  const isFooter = (key: string) => FOOTER.test(key) || (keys.length === 1 && LONE.test(key))
  const footer = keys.length > MAX_FILLED_FOOTER ? -1 : keys.findIndex(isFooter)
  return footer < 0 ? null : `"${filled[footer]?.slice(0, 60)}" parece ser do rodapé de um relatório`
}

/** Finds what speaks against a line as a record. */
export interface DoubtFinder {
  of(line: SheetLine, read: ReadLine): Doubt | null
}

/** `isHead`: whether a text is a known column title. `isFreeText`: whether a field may have any words. */
export function createDoubtFinder(
  sheet: Sheet,
  mapping: ImportMapping,
  isHead: (text: string) => boolean,
  isFreeText: (field: string) => boolean,
): DoubtFinder {
  const statuses = statusColumns(sheet)
  const heads = sheet.heads.map(keyOf)

  function repeatsHeads({ cells }: SheetLine, { filled }: LineView): boolean {
    const equal = cells.filter(
      (cell, column) => cell !== '' && (keyOf(cell) === heads[column] || (heads[column] && isHead(cell))),
    )
    return equal.length > 0 && equal.length * 2 >= filled.length
  }

  function inactiveCell({ cells }: SheetLine, keys: readonly string[]): string | null {
    const status = statuses.find(({ column, isInactive }) => cells[column] && isInactive(keys[column] ?? ''))
    const column = status?.column ?? keys.findIndex((key, column) => !mapping.has(column) && CLEARLY_INACTIVE.test(key))
    return column < 0 ? null : `${(sheet.heads[column] ?? '').slice(0, 60)}: ${cells[column]?.slice(0, 60)}`
  }

  return {
    of(line, { values }) {
      const keys = line.cells.map((cell) => (cell === '' ? '' : keyOf(cell)))
      const isFilled = (_: string, column: number) => line.cells[column] !== ''
      const view = { filled: line.cells.filter(isFilled), keys: keys.filter(isFilled) }
      const summary = isSummary(view)
      if (summary !== null) return { kind: 'summary', text: summary }
      if (repeatsHeads(line, view)) return { kind: 'summary', text: 'repete os títulos das colunas' }
      const inactive = inactiveCell(line, keys)
      if (inactive !== null) return { kind: 'inactive', text: inactive }
      for (const [field, value] of Object.entries(values)) {
        const odd = isFreeText(field) ? oddWord(value) : null
        if (odd !== null) return { kind: 'letters', text: `"${odd}" tem letras que nenhuma palavra do português tem` }
      }
      return null
    },
  }
}
