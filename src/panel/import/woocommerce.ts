import { toCents } from '#domain/money.ts'
import { searchKey } from '#domain/text.ts'
import type { Sheet, SheetLine } from '#imports/sheet.ts'
import type { ImportMapping } from './heads.ts'

/** Titles of the columns of an attribute: its name, and its value in a variation. */
const ATTRIBUTE =
  /^(?:(?:attribute|atributo) (\d{1,2}) (name|nome|value|valor)|(nome|valor(?:es|\(es\))?) do atributo (\d{1,2}))/

/** Titles of the columns that the table of a shop with variations has besides. */
const [SIZE, COLOR] = ['Tamanho', 'Cor']
const COLORS = /^(?:pa_)?(?:cor|cores|color|colour|colors)$/

/** Attributes of a product are as many at most; WooCommerce numbers them from 1. */
interface AttributeColumns {
  name?: number
  value?: number
}

function attributeColumns(heads: readonly string[]): AttributeColumns[] {
  const found = new Map<string, AttributeColumns>()
  for (const [column, head] of heads.entries()) {
    const [, number, part, word, after] = ATTRIBUTE.exec(searchKey(head)) ?? []
    const at = number ?? after
    if (at === undefined) continue
    const columns = found.get(at) ?? {}
    if ((part ?? word ?? '').startsWith('n')) columns.name ??= column
    else columns.value ??= column
    found.set(at, columns)
  }
  return [...found.values()].filter(({ name, value }) => name !== undefined && value !== undefined)
}

/** Size and colour of a variation. Attributes that are neither stand in the size. */
function variantCells({ cells }: SheetLine, attributes: readonly AttributeColumns[]): readonly [string, string] {
  const [sizes, colors]: [string[], string[]] = [[], []]
  for (const { name = -1, value = -1 } of attributes) {
    const text = cells[value] ?? ''
    if (text !== '') (COLORS.test(searchKey(cells[name] ?? '')) && colors.length === 0 ? colors : sizes).push(text)
  }
  return [sizes.join(' / '), colors[0] ?? '']
}

/** The least price of the variations of a product: it has none of its own. */
function leastPrice(prices: readonly string[]): string {
  const plain = prices.filter((price) => /^\d{1,9}(?:[.,]\d{1,2})?$/.test(price))
  const centsOf = (price: string) =>
    toCents(
      price
        .replace(',', '.')
        .replace(/^(\d+)$/, '$1.00')
        .replace(/\.(\d)$/, '.$10'),
    )
  return plain.reduce((least, price) => (least === '' || centsOf(price) < centsOf(least) ? price : least), '')
}

/** `Roupas > Camisetas, Promoção` is *Camisetas*; commas of a name have a backslash before them. */
const firstCategory = (cell: string): string =>
  (/^(?:[^,\\]|\\.)*/.exec(cell)?.[0] ?? '').split('>').at(-1)?.replace(/\\(.)/g, '$1').trim() ?? ''

/**
 * The table that WooCommerce exports, as any other: variations name their product by its code, and have size and colour
 * in columns of their own; a product with variations has the least price of them (IMPORT-826). Other tables are
 * unchanged.
 */
export function fromWooCommerce(sheet: Sheet, mapping: ImportMapping): Sheet {
  const columnOf = (field: string) => [...mapping].find(([, one]) => one === field)?.[0] ?? -1
  const [type, parent, price, category] = ['type', 'parent', 'price', 'category'].map(columnOf) as [
    number,
    number,
    number,
    number,
  ]
  const [id, sku] = [columnOf('external_id'), columnOf('sku')]
  const attributes = attributeColumns(sheet.heads)
  if (type < 0 || parent < 0 || attributes.length === 0 || sheet.heads.includes(SIZE)) return sheet
  const isVariation = ({ cells }: SheetLine) =>
    searchKey((cells[type] ?? '').slice(0, 40)).startsWith('varia') && (cells[parent] ?? '') !== ''
  const cellOf = ({ cells }: SheetLine, column: number) => (column < 0 ? '' : (cells[column] ?? ''))
  const idsBySku = new Map(
    sheet.lines.flatMap((line) =>
      !isVariation(line) && cellOf(line, sku) !== '' ? [[cellOf(line, sku), cellOf(line, id)] as const] : [],
    ),
  )
  const codeOf = (line: SheetLine): string => {
    const code = cellOf(line, parent)
    return /^id:\d+$/.test(code) ? code.slice(3) : idsBySku.get(code) || code
  }
  const prices = new Map<string, string[]>()
  for (const line of sheet.lines.filter(isVariation)) {
    const code = codeOf(line)
    const known = prices.get(code) ?? []
    known.push(cellOf(line, price))
    prices.set(code, known)
  }
  const width = sheet.heads.length
  const lines = sheet.lines.map((line): SheetLine => {
    const cells = Array.from({ length: Math.max(width, line.cells.length) }, (_, column) => line.cells[column] ?? '')
    const isOne = isVariation(line)
    if (isOne) cells[parent] = codeOf(line)
    if (category >= 0) cells[category] = firstCategory(cellOf(line, category))
    const own = prices.get(cellOf(line, id)) ?? prices.get(cellOf(line, sku))
    if (!isOne && own && price >= 0 && cells[price] === '') cells[price] = leastPrice(own)
    // Cells beyond the titles stay beyond them: the line is wrong.
    return {
      ...line,
      cells: [...cells.slice(0, width), ...(isOne ? variantCells(line, attributes) : ['', '']), ...cells.slice(width)],
    }
  })
  return { ...sheet, heads: [...sheet.heads, SIZE, COLOR], lines }
}
