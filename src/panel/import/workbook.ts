import { StringDecoder } from 'node:string_decoder'
import { format as formatNumber, getFormatInfo, isDateFormat } from 'numfmt'
import sax from 'sax'
import yauzl, { type Entry, type ZipFile } from 'yauzl'
import type { Pause } from './encoding.ts'

/**
 * How a cell shows its number. `code`: digits with leading zeros or marks between them, such as those of a postal code; a
 * number is its value, whatever decimals are shown.
 */
type CellFormat = { readonly as: 'number' } | { readonly as: 'date' | 'percent' | 'code'; readonly pattern: string }

/** Format of a style, by its index. */
type Formats = (style: string) => CellFormat

/** Formats without a pattern in the file (ECMA 376, 18.8.30) that are no plain numbers. */
const BUILT_IN: Readonly<Record<string, string>> = {
  9: '0%',
  10: '0.00%',
  ...Object.fromEntries(
    [14, 15, 16, 17, 22, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58].map((id) => [id, 'dd/mm/yyyy']),
  ),
  ...Object.fromEntries([18, 19, 20, 21, 32, 33, 34, 35, 45, 46, 47, 55, 56].map((id) => [id, 'hh:mm'])),
}

/** Patterns of Excel are not longer. */
const MAX_PATTERN = 255

/** Digits, marks between them, and no decimal point: `00000`, `000"."000"."000-00`, `[<=9999999]###\-####`. */
function isCode(pattern: string): boolean {
  const bare = pattern.replace(/"[^"]*"|\\.|\[[^\]]*\]/g, '')
  return /^[0#()\-/ ;]+$/.test(bare) && (bare.match(/0/g)?.length ?? 0) + (bare.match(/#/g)?.length ?? 0) > 1
}

function formatOf(pattern: string): CellFormat {
  if (pattern === '' || pattern.length > MAX_PATTERN) return { as: 'number' }
  try {
    if (isDateFormat(pattern)) return { as: 'date', pattern }
    if (getFormatInfo(pattern).isPercent) return { as: 'percent', pattern }
    return isCode(pattern) ? { as: 'code', pattern } : { as: 'number' }
  } catch {
    // A pattern that Excel would refuse too.
    return { as: 'number' }
  }
}

function createFormats(styles: readonly string[], custom: ReadonlyMap<string, string>): Formats {
  const known = new Map<string, CellFormat>()
  return (style) => {
    const id = styles[Number(style)] ?? '0'
    const format = known.get(id) ?? formatOf(custom.get(id) ?? BUILT_IN[id] ?? '')
    known.set(id, format)
    return format
  }
}

const LOCALE = { locale: 'pt-BR' } as const

/** Days between the two calendars of workbooks. */
const DAYS_TO_1904 = 1_462

/** `dd/mm/aaaa`, with hours and minutes if there are any; these alone without a day. */
function shownDate(serial: number, pattern: string): string {
  const time = formatNumber('hh:mm', serial, LOCALE)
  const hasDay = /[dy]/i.test(pattern.replace(/"[^"]*"|\\.|\[[^\]]*\]/g, ''))
  if (!hasDay && serial < 1) return time
  const day = formatNumber('dd/mm/yyyy', serial, LOCALE)
  return serial % 1 === 0 || time === '00:00' ? day : `${day} ${time}`
}

/** Beyond these a number has lost digits, or a date is none. */
const [LOST_DIGITS, MAX_SERIAL] = [1e15, 2_958_465]

/** A number with a decimal comma. Four decimals instead of three: `1,250` could be read in two ways. */
function shownNumber(number: number): string {
  if (Math.abs(number) >= LOST_DIGITS) return number.toExponential(5).replace('.', ',').replace('e', 'E')
  const exact = Number(number.toPrecision(15))
  const text = String(exact)
  if (text.includes('e')) return formatNumber('0.###############', exact, LOCALE)
  return text.replace('.', ',').replace(/,(\d{3})$/, ',$10')
}

/** What a person reads in a cell: numbers with all their decimals, dates, percents, codes and booleans as they are shown. */
function shownValue(type: string, value: string, format: CellFormat | null, is1904: boolean): string {
  if (type === 'b') return value.trim() === '1' ? 'VERDADEIRO' : value.trim() === '' ? '' : 'FALSO'
  if (type === 'd')
    return value.replace(
      /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}:\d{2}).*)?$/,
      (_, y, m, d, time) => `${d}/${m}/${y}${time && time !== '00:00' ? ` ${time}` : ''}`,
    )
  if (type !== 'n' || value.trim() === '') return value
  const number = Number(value)
  if (!Number.isFinite(number)) return value
  if (format === null || format.as === 'number' || (format.as === 'code' && !Number.isInteger(number)))
    return shownNumber(number)
  const serial = is1904 ? number + DAYS_TO_1904 : number
  if (format.as === 'date')
    return serial >= 0 && serial <= MAX_SERIAL ? shownDate(serial, format.pattern) : shownNumber(number)
  try {
    return formatNumber(format.pattern, number, LOCALE).trim()
  } catch {
    return shownNumber(number)
  }
}

/** Limits at which reading a workbook stops. */
export interface WorkbookLimits {
  /** Rows with content, those above the titles included. */
  readonly rows: number
  readonly columns: number
  /** Longer cells are cut, in UTF-16 units. */
  readonly cellLength: number
}

/**
 * Why a workbook is not read. `parts`: its parts, unpacked, or the texts of its table are too large; `elements`: they have
 * too many elements, empty rows and cells among them.
 */
export type WorkbookFault = 'format' | 'parts' | 'elements' | 'rows' | 'columns'

export interface WorkbookRow {
  readonly number: number
  readonly cells: readonly string[]
}

/** The first sheet of a workbook. */
export interface Workbook {
  readonly sheet: string
  /** Number of other visible sheets. */
  readonly others: number
  readonly rows: readonly WorkbookRow[]
}

/** Unpacked bytes of all parts that are read; a table of 5,000 lines has a tenth. */
const MAX_UNPACKED = 32_000_000
/** Elements of all parts that are read: 5,000 lines with 30 columns have a third; they take some seconds. */
const MAX_ELEMENTS = 1_000_000
/** Texts of a table, in UTF-16 units: cells may share one long text. */
const MAX_TEXT = 8_000_000
const [MAX_ENTRIES, MAX_DEPTH, MAX_ATTRIBUTES] = [2_000, 64, 200]

class Stop extends Error {
  readonly fault: WorkbookFault
  constructor(fault: WorkbookFault) {
    super(fault)
    this.fault = fault
  }
}

type Attributes = Readonly<Record<string, string>>

/** Reacts to the elements of a part, by local name. */
interface Elements {
  open?(name: string, attributes: Attributes): void
  text?(text: string): void
  close?(name: string): void
}

interface Package {
  has(path: string): boolean
  /** Reads a part in slices. */
  read(path: string, elements: Elements): Promise<void>
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1)

/** Attributes by local name: relationships have a prefix of their own. */
function localAttributes(attributes: Attributes): Attributes {
  const names = Object.keys(attributes)
  if (!names.some((name) => name.includes(':'))) return attributes
  return Object.fromEntries(names.map((name) => [localName(name), attributes[name] as string]))
}

/**
 * Parser whose depth and attributes are bounded, its elements by `onElement`; it expands no entities but those of XML
 * itself.
 */
export function createParser({ open, text, close }: Elements, onElement: () => void) {
  const parser = sax.parser(true, {})
  let [depth, attributes] = [0, 0]
  parser.onerror = () => {
    throw new Stop('format')
  }
  parser.onattribute = () => {
    attributes += 1
    if (attributes > MAX_ATTRIBUTES) throw new Stop('format')
  }
  parser.onopentag = (tag) => {
    onElement()
    depth += 1
    attributes = 0
    if (depth > MAX_DEPTH) throw new Stop('format')
    open?.(localName(tag.name), localAttributes(tag.attributes as Attributes))
  }
  parser.onclosetag = (name) => {
    depth -= 1
    close?.(localName(name))
  }
  if (text) {
    parser.ontext = text
    parser.oncdata = text
  }
  return parser
}

/** Bytes that are parsed at a time: some 2 ms. */
export const PIECE = 8_192

function* piecesOf(chunk: Buffer): Generator<Buffer> {
  for (let at = 0; at < chunk.length; at += PIECE) yield chunk.subarray(at, at + PIECE)
}

async function openPackage(bytes: Buffer, pause: Pause): Promise<Package> {
  const zip: ZipFile = await yauzl.fromBufferPromise(bytes, { lazyEntries: true })
  if (zip.entryCount > MAX_ENTRIES) throw new Stop('parts')
  const entries = new Map<string, Entry>()
  for await (const entry of zip.eachEntry()) {
    await pause()
    entries.set(entry.fileName.toLowerCase(), entry)
  }
  let [unpacked, elementCount] = [0, 0]
  function onElement(): void {
    elementCount += 1
    if (elementCount > MAX_ELEMENTS) throw new Stop('elements')
  }
  return {
    has: (path) => entries.has(path.toLowerCase()),
    async read(path, elements) {
      const entry = entries.get(path.toLowerCase())
      if (!entry) throw new Stop('format')
      if (unpacked + entry.uncompressedSize > MAX_UNPACKED) throw new Stop('parts')
      const parser = createParser(elements, onElement)
      const decoder = new StringDecoder('utf8')
      const stream = await zip.openReadStreamPromise(entry)
      try {
        for await (const chunk of stream) {
          unpacked += (chunk as Buffer).length
          if (unpacked > MAX_UNPACKED) throw new Stop('parts')
          for (const piece of piecesOf(chunk as Buffer)) {
            await pause()
            parser.write(decoder.write(piece))
          }
        }
      } finally {
        stream.destroy()
      }
      parser.write(decoder.end()).close()
    },
  }
}

interface Relation {
  readonly type: string
  readonly path: string
}

/** Path of a part that a relation of `base` names. */
function pathFrom(base: string, target: string): string {
  const parts = target.startsWith('/') ? [] : base.split('/').slice(0, -1)
  for (const part of target.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return parts.join('/')
}

async function relationsOf(workbook: Package, part: string): Promise<ReadonlyMap<string, Relation>> {
  const at = part.lastIndexOf('/') + 1
  const relations = new Map<string, Relation>()
  await workbook.read(`${part.slice(0, at)}_rels/${part.slice(at)}.rels`, {
    open(name, { Id, Type = '', Target = '' }) {
      if (name !== 'Relationship' || Id === undefined) return
      relations.set(Id, { type: Type.slice(Type.lastIndexOf('/') + 1), path: pathFrom(part, Target) })
    },
  })
  return relations
}

/** Texts that cells share, cut to the length of a cell. */
async function sharedTexts(workbook: Package, path: string, cellLength: number): Promise<readonly string[]> {
  const texts: string[] = []
  let [text, isText, isPhonetic] = ['', false, false]
  await workbook.read(path, {
    open(name) {
      if (name === 'si') text = ''
      else if (name === 't') isText = !isPhonetic
      else if (name === 'rPh') isPhonetic = true
    },
    text(part) {
      if (isText && text.length <= cellLength) text += part
    },
    close(name) {
      if (name === 't') isText = false
      else if (name === 'rPh') isPhonetic = false
      else if (name === 'si') texts.push(unescaped(text.slice(0, cellLength)))
    },
  })
  return texts
}

/** `_x000D_`: how a workbook writes characters that XML has not. */
const unescaped = (text: string): string =>
  text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

async function formatsOf(workbook: Package, path: string | undefined): Promise<Formats> {
  const custom = new Map<string, string>()
  const styles: string[] = []
  let isCell = false
  if (path !== undefined)
    await workbook.read(path, {
      open(name, { numFmtId = '0', formatCode = '' }) {
        if (name === 'numFmt') custom.set(numFmtId, formatCode)
        else if (name === 'cellXfs') isCell = true
        else if (name === 'xf' && isCell) styles.push(numFmtId)
      },
      close(name) {
        if (name === 'cellXfs') isCell = false
      },
    })
  return createFormats(styles, custom)
}

/** Column of a reference: 27 of `AB3`; null without one. */
function columnOf(reference: string | undefined): number | null {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? '')?.[0]
  if (letters === undefined) return null
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1
}

interface TableParts {
  readonly path: string
  readonly texts: readonly string[]
  readonly formats: Formats
  readonly is1904: boolean
}

/** Rows with content; formulas are their values. */
async function rowsOf(
  workbook: Package,
  { path, texts, formats, is1904 }: TableParts,
  limits: WorkbookLimits,
): Promise<WorkbookRow[]> {
  const rows: WorkbookRow[] = []
  let [number, column, total] = [0, -1, 0]
  let cells: string[] = []
  let [type, format]: [string, CellFormat | null] = ['n', null]
  let [value, isValue, isPhonetic] = ['', false, false]

  function endCell(): void {
    const shown = type === 's' ? (texts[Number(value)] ?? '') : shownValue(type, value, format, is1904)
    const text = (type === 'inlineStr' || type === 'str' ? unescaped(shown) : shown).slice(0, limits.cellLength).trim()
    if (text === '') return
    if (column >= limits.columns) throw new Stop('columns')
    total += text.length
    if (total > MAX_TEXT) throw new Stop('parts')
    while (cells.length < column) cells.push('')
    cells[column] = text
  }

  await workbook.read(path, {
    open(name, { r, s, t }) {
      if (name === 'row') {
        number = /^\d{1,7}$/.test(r ?? '') ? Number(r) : number + 1
        cells = []
        column = -1
      } else if (name === 'c') {
        column = columnOf(r) ?? column + 1
        value = ''
        type = t ?? 'n'
        format = s === undefined ? null : formats(s)
      } else if (name === 'v' || name === 't') isValue = !isPhonetic
      else if (name === 'rPh') isPhonetic = true
    },
    text(part) {
      if (isValue && value.length <= limits.cellLength) value += part
    },
    close(name) {
      if (name === 'v' || name === 't') isValue = false
      else if (name === 'rPh') isPhonetic = false
      else if (name === 'c') endCell()
      else if (name === 'row' && cells.length > 0) {
        if (rows.length === limits.rows) throw new Stop('rows')
        rows.push({ number, cells })
      }
    },
  })
  return rows
}

async function readFirstSheet(bytes: Buffer, limits: WorkbookLimits, pause: Pause): Promise<Workbook> {
  const workbook = await openPackage(bytes, pause)
  const main = [...(await relationsOf(workbook, '')).values()].find(({ type }) => type === 'officeDocument')
  if (!main || !workbook.has(main.path)) throw new Stop('format')
  const sheets: { name: string; id: string; isHidden: boolean }[] = []
  let is1904 = false
  await workbook.read(main.path, {
    open(name, { name: title = '', id = '', state, date1904 }) {
      if (name === 'workbookPr') is1904 = date1904 === '1' || date1904 === 'true'
      if (name === 'sheet' && sheets.length < MAX_ENTRIES)
        sheets.push({ name: title, id, isHidden: state === 'hidden' || state === 'veryHidden' })
    },
  })
  const relations = await relationsOf(workbook, main.path)
  const tables = sheets.filter(({ id, isHidden }) => !isHidden && relations.get(id)?.type === 'worksheet')
  const [first] = tables
  if (!first) throw new Stop('format')
  const pathOf = (type: string) => {
    const path = [...relations.values()].find((one) => one.type === type)?.path
    return path !== undefined && workbook.has(path) ? path : undefined
  }
  const textsPath = pathOf('sharedStrings')
  const texts = textsPath === undefined ? [] : await sharedTexts(workbook, textsPath, limits.cellLength)
  const formats = await formatsOf(workbook, pathOf('styles'))
  const path = relations.get(first.id)?.path as string
  const rows = await rowsOf(workbook, { path, texts, formats, is1904 }, limits)
  return { sheet: first.name.slice(0, 100), others: tables.length - 1, rows }
}

/** Whether a file is a ZIP package, as workbooks of Excel since 2007 are. */
export const isPackage = (bytes: Buffer): boolean => bytes.length > 4 && bytes.readUInt32BE(0) === 0x504b0304

/**
 * Reads the first visible sheet of an XLSX workbook in slices, each part as a stream, no further than the limits. What
 * is no workbook, encrypted or damaged is a fault.
 */
export async function readWorkbook(
  bytes: Buffer,
  limits: WorkbookLimits,
  pause: Pause,
): Promise<Workbook | WorkbookFault> {
  try {
    return await readFirstSheet(bytes, limits, pause)
  } catch (error) {
    return error instanceof Stop ? error.fault : 'format'
  }
}
