import { toCents } from '#domain/money.ts'
import { searchKey } from '#domain/text.ts'
import { variantKey } from '#projections/catalog.ts'
import { type CodedItem, findMatchingVariants, itemsWithCodes } from '#queries/import-matches.ts'
import type { Reader } from '#queries/reader.ts'
import type { ImportMapping } from './column-titles.ts'
import { isWrong, type PlannedRow, VARIANT_FIELDS, type ValidRow, validRows } from './import-plan.ts'
import type { Sheet, SheetLine } from './sheet.ts'

/** The item of a variant: a record, or the record that a line of the file makes. */
export type PlannedParent = { readonly id: number } | { readonly line: number }

/** Without the fields of variants if no column names the item of which they are: the shop's items may have sizes. */
export function withoutStrayVariants(mapping: ImportMapping): ImportMapping {
  const [parent, ...others]: readonly string[] = VARIANT_FIELDS
  const isNamed = [...mapping.values()].some((field) => field === parent)
  return isNamed ? mapping : new Map([...mapping].filter(([, field]) => !others.includes(field)))
}

interface Candidate {
  readonly parent: PlannedParent
  readonly isVariant: boolean
}

const CODES = ['external_id', 'sku'] as const

/** Candidates by code, which a record and the line that changes it share. */
type Candidates = ReadonlyMap<string, ReadonlyMap<string, Candidate>>

function candidatesBy(
  field: (typeof CODES)[number],
  lines: readonly ValidRow[],
  records: readonly CodedItem[],
): Candidates {
  const byCode = new Map<string, Map<string, Candidate>>()
  const add = (code: unknown, key: string, candidate: Candidate) => {
    if (typeof code !== 'string') return
    const known = byCode.get(code) ?? new Map<string, Candidate>()
    byCode.set(code, known.set(key, candidate))
  }
  for (const record of records)
    add(record[field], `id ${record.id}`, { parent: { id: record.id }, isVariant: record.is_variant })
  for (const { number, id, input, variant } of lines) {
    const key = id === null ? `line ${number}` : `id ${id}`
    const known = byCode.get(String(input[field]))?.get(key)
    const isVariant = variant !== null || (known?.isVariant ?? false)
    add(input[field], key, { parent: id === null ? { line: number } : { id }, isVariant })
  }
  return byCode
}

/** The item with a code: its external id, else its SKU. A text says why there is none. */
function parentWith(code: string, both: readonly Candidates[]): PlannedParent | string {
  const found = both.map((candidates) => candidates.get(code)).find((some) => some !== undefined)
  if (found === undefined) return 'não foi encontrado no catálogo nem no arquivo'
  const [candidate] = [...found.values()]
  if (found.size > 1 || !candidate) return 'é o código de mais de um item'
  return candidate.isVariant ? 'é uma variação' : candidate.parent
}

export interface ResolvedVariants {
  readonly lines: readonly PlannedRow[]
  /** By code. */
  readonly parents: ReadonlyMap<string, PlannedParent>
}

/** Finds the items of variants among records and other lines. A variant without one is wrong. */
export async function resolveVariants(
  reader: Reader,
  lines: readonly PlannedRow[],
  label: string,
): Promise<ResolvedVariants> {
  const valid = validRows(lines)
  const codes = [...new Set(valid.flatMap(({ variant }) => variant?.parent ?? []))]
  if (codes.length === 0) return { lines, parents: new Map() }
  const records = await itemsWithCodes(reader, codes)
  const both = CODES.map((field) => candidatesBy(field, valid, records))
  const found = new Map(codes.map((code) => [code, parentWith(code, both)] as const))
  const parents = new Map(
    [...found].flatMap(([code, parent]) => (typeof parent === 'string' ? [] : [[code, parent] as const])),
  )
  const judged = lines.map((line): PlannedRow => {
    const code = isWrong(line) ? undefined : line.variant?.parent
    const parent = code === undefined ? undefined : found.get(code)
    return typeof parent === 'string' ? { number: line.number, errors: [`${label}: "${code}" ${parent}`] } : line
  })
  const unique = withoutRepeated(judged, parents, await knownVariants(reader, judged, parents), label)
  return { lines: withParentsDoubts(unique, parents), parents }
}

type Parents = ResolvedVariants['parents']

const variantOf = (line: PlannedRow): ValidRow['variant'] => (isWrong(line) ? null : line.variant)

/** Ids of variants by item, size and colour. */
async function knownVariants(
  reader: Reader,
  lines: readonly PlannedRow[],
  parents: Parents,
): Promise<ReadonlyMap<string, number>> {
  const variants = lines.flatMap((line) => variantOf(line) ?? [])
  const ids = [...parents.values()].flatMap((parent) => ('id' in parent ? [parent.id] : []))
  const known = ids.length === 0 ? [] : await findMatchingVariants(reader, ids, variants.map(variantKey))
  return new Map(known.map(({ id, parent_id, variant_key }) => [`${parent_id} ${variant_key}`, id]))
}

/** A size and colour of an item that another record or an earlier line has is wrong. */
function withoutRepeated(
  lines: readonly PlannedRow[],
  parents: Parents,
  known: ReadonlyMap<string, number>,
  label: string,
): PlannedRow[] {
  const seen = new Map<string, number>()
  return lines.map((line) => {
    const variant = variantOf(line)
    const parent = variant && parents.get(variant.parent)
    if (isWrong(line) || !variant || !parent) return line
    const key = `${'id' in parent ? parent.id : `line ${parent.line}`} ${variantKey(variant)}`
    const [record, before] = [known.get(key), seen.get(key)]
    seen.set(key, before ?? line.number)
    const wrong = (text: string): PlannedRow => ({ number: line.number, errors: [`${label}: ${text}`] })
    if (record !== undefined && record !== line.id) return wrong(`esta variação já é do cadastro ${record}`)
    return before === undefined ? line : wrong(`esta variação repete a linha ${before}`)
  })
}

/** Variants of an item whose line is in doubt are in doubt too. */
function withParentsDoubts(lines: readonly PlannedRow[], parents: Parents): PlannedRow[] {
  const doubts = new Map(validRows(lines).map(({ number, doubt }) => [number, doubt]))
  return lines.map((line) => {
    const variant = variantOf(line)
    const parent = variant && parents.get(variant.parent)
    const doubt = parent && 'line' in parent ? doubts.get(parent.line) : null
    if (isWrong(line) || !doubt || line.doubt || !parent || !('line' in parent)) return line
    return { ...line, doubt: { ...doubt, text: `o produto da linha ${parent.line} está por confirmar: ${doubt.text}` } }
  })
}

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
 * in columns of their own; a product with variations has the least price of them. Other tables are
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
