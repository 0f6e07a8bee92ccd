import { Readable } from 'node:stream'
import yazl from 'yazl'
import type { Cell, TableOf } from './panel-route.ts'

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const RELATIONS = 'http://schemas.openxmlformats.org/package/2006/relationships'
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const CONTENT = 'application/vnd.openxmlformats-officedocument.spreadsheetml'

/** Rows of a sheet and UTF-16 units of a cell, at most, in Excel. */
const [MAX_ROWS, MAX_TEXT] = [1_048_576, 32_767]

/** Approximate size of a sent part, in UTF-16 units. */
const PART = 16_384

const DAY_MS = 86_400_000
/** Days from 30/12/1899, where workbooks begin to count, to 1970. */
const DAYS_TO_1970 = 25_569

/** Built-in formats (ECMA 376, 18.8.30): `#,##0.00`, a day, a day with its time. Their places are the cells' styles. */
const FORMATS = [0, 4, 14, 22]
const [AMOUNT, DAY, TIME] = [1, 2, 3]

const PARTS: Readonly<Record<string, string>> = {
  '[Content_Types].xml': `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${CONTENT}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${CONTENT}.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="${CONTENT}.styles+xml"/></Types>`,
  '_rels/.rels': `<Relationships xmlns="${RELATIONS}"><Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${RELATIONS}"><Relationship Id="rId1" Type="${OFFICE}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="${OFFICE}/styles" Target="styles.xml"/></Relationships>`,
  'xl/styles.xml': `<styleSheet xmlns="${MAIN}"><fonts count="1"><font/></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="${FORMATS.length}">${FORMATS.map((id) => `<xf numFmtId="${id}" applyNumberFormat="1"/>`).join('')}</cellXfs></styleSheet>`,
}

/** XML has no control characters, which workbooks write as `_x000D_`, and what looks like these. */
const ESCAPED = /[\p{Cc}\p{Cs}\uFFFE\uFFFF]|_(?=x[0-9A-Fa-f]{4}_)/gu
const MARKUP: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

const escaped = (text: string): string =>
  text
    .slice(0, MAX_TEXT)
    .replace(ESCAPED, (char) => `_x${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`)
    .replace(/[&<>"]/g, (char) => MARKUP[char] as string)

const numberCell = (value: string | number, style = 0): string => `<c s="${style}"><v>${value}</v></c>`

/** A text is never a formula, whatever it begins with. */
function cellXml(cell: Cell): string {
  if (cell === null || cell === undefined || cell === '') return '<c/>'
  if (typeof cell === 'number') return numberCell(cell)
  if (typeof cell === 'string') return `<c t="inlineStr"><is><t xml:space="preserve">${escaped(cell)}</t></is></c>`
  if ('decimal' in cell) return numberCell(cell.decimal, AMOUNT)
  const days = Date.parse(`${cell.local.slice(0, 19)}Z`) / DAY_MS + DAYS_TO_1970
  return numberCell(days, cell.local.length > 10 ? TIME : DAY)
}

const rowXml = (cells: readonly Cell[]): string => `<row>${cells.map(cellXml).join('')}</row>`

async function* sheetParts({ heads, rows }: TableOf, maxRows: number): AsyncGenerator<string> {
  let part = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><worksheet xmlns="${MAIN}"><sheetData>${rowXml(heads)}`
  let count = 1
  for await (const row of rows) {
    count += 1
    const isLast = count === maxRows
    part += isLast ? rowXml(['Há mais linhas: o arquivo CSV tem todas.']) : rowXml(row)
    if (isLast) break
    if (part.length < PART) continue
    yield part
    part = ''
  }
  yield `${part}</sheetData></worksheet>`
}

/** A workbook with one sheet, as it is read. Rows beyond those of Excel are left out, and the last one says so. */
export function xlsxStream(name: string, table: TableOf, mtime: Date, maxRows = MAX_ROWS): Readable {
  const zip = new yazl.ZipFile()
  const out = zip.outputStream as Readable
  const workbook = `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="${escaped(name)}" sheetId="1" r:id="rId1"/></sheets></workbook>`
  for (const [path, part] of Object.entries({ ...PARTS, 'xl/workbook.xml': workbook }))
    zip.addBuffer(Buffer.from(part), path, { mtime })
  zip.addReadStreamLazy('xl/worksheets/sheet1.xml', { mtime }, (begin) => {
    const parts = Readable.from(sheetParts(table, maxRows), { objectMode: false })
    parts.once('error', (error) => out.destroy(error))
    begin(null, parts)
  })
  zip.end()
  return out
}
