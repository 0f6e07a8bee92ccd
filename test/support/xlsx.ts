import { buffer } from 'node:stream/consumers'
import yazl from 'yazl'

/** A text, a number, or the attributes and content of a cell's element. */
export type XlsxCell = string | number | null | { readonly xml: string }

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const RELATIONS = 'http://schemas.openxmlformats.org/package/2006/relationships'
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

/** Patterns of the styles 1, 2 … that cells name by `s`. */
const stylesOf = (patterns: readonly string[]): string =>
  `<styleSheet xmlns="${MAIN}"><numFmts>${patterns
    .map((pattern, at) => `<numFmt numFmtId="${164 + at}" formatCode="${escaped(pattern)}"/>`)
    .join('')}</numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${patterns
    .map((_, at) => `<xf numFmtId="${164 + at}"/>`)
    .join('')}</cellXfs></styleSheet>`

interface XlsxOptions {
  /** Number formats of the styles 1, 2 … */
  readonly formats?: readonly string[]
  readonly is1904?: boolean
  /** Elements of sheets before and behind the one with the rows: its relation is `rId1`. */
  readonly sheets?: string
  /** Parts instead of those that are made, or besides. */
  readonly parts?: Readonly<Record<string, string>>
}

const cellOf = (cell: XlsxCell, texts: string[]): string => {
  if (cell === null) return '<c s="0"/>'
  if (typeof cell === 'object') return cell.xml
  if (typeof cell === 'number') return `<c><v>${cell}</v></c>`
  return `<c t="s"><v>${texts.push(cell) - 1}</v></c>`
}

/** The file of a workbook, as Excel writes it. */
export async function xlsx(rows: readonly (readonly XlsxCell[])[], options: XlsxOptions = {}): Promise<Buffer> {
  const texts: string[] = []
  const lines = rows.map((cells) => `<row>${cells.map((cell) => cellOf(cell, texts)).join('')}</row>`).join('')
  const { formats = [], is1904 = false, sheets = '<sheet name="Plan1" sheetId="1" r:id="rId1"/>' } = options
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`
  const parts = {
    '_rels/.rels': `<Relationships xmlns="${RELATIONS}">${relation('rId1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><workbookPr${is1904 ? ' date1904="1"' : ''}/><sheets>${sheets}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${RELATIONS}">${relation('rId1', 'worksheet', 'worksheets/sheet1.xml')}${relation('rId2', 'worksheet', '/xl/worksheets/sheet2.xml')}${relation('rId3', 'sharedStrings', 'sharedStrings.xml')}${relation('rId4', 'styles', 'styles.xml')}</Relationships>`,
    'xl/worksheets/sheet1.xml': `<worksheet xmlns="${MAIN}"><sheetData>${lines}</sheetData></worksheet>`,
    'xl/worksheets/sheet2.xml': `<worksheet xmlns="${MAIN}"><sheetData><row><c t="inlineStr"><is><t>Outra</t></is></c></row></sheetData></worksheet>`,
    'xl/sharedStrings.xml': `<sst xmlns="${MAIN}">${texts.map((text) => `<si><t xml:space="preserve">${escaped(text)}</t></si>`).join('')}</sst>`,
    'xl/styles.xml': stylesOf(formats),
    ...options.parts,
  }
  const zip = new yazl.ZipFile()
  for (const [name, content] of Object.entries(parts)) zip.addBuffer(Buffer.from(content), name)
  zip.end()
  return buffer(zip.outputStream as NodeJS.ReadableStream)
}
