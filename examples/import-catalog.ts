/**
 * Imports the products of a CSV file into the catalog, by their external_id: `npm run -s import-catalog --
 * products.csv`. A repeated import updates changed products. A column `stock` sets the stock each time.
 */
import { readFileSync } from 'node:fs'
import { createClient, type Schema } from '@tillbook/client'
import { type Info, parse } from 'csv-parse/sync'

const { BASE = 'http://127.0.0.1:3000', KEY = '' } = process.env
const [file = 'products.csv'] = process.argv.slice(2)
const tillbook = createClient({ baseUrl: BASE, key: KEY })

/** Items per request. */
const BATCH = 500
const FIELDS = ['external_id', 'name', 'sku', 'barcode', 'unit', 'gtin', 'ncm', 'cest'] as const
const NUMBERS = ['price', 'cost', 'stock'] as const

interface Line {
  readonly line: number
  readonly item: Schema<'CatalogItemBatchItem'>
}

const categories = new Map<string, number>()

/** Category with a name, created if it does not exist. */
async function categoryOf(name: string): Promise<number> {
  const known = categories.get(name)
  if (known !== undefined) return known
  const { data, error } = await tillbook.PUT('/catalog/categories/by-external/{external_id}', {
    params: { path: { external_id: name } },
    body: { name },
  })
  // It exists under another external_id.
  const id = error?.error.code === 'duplicate_resource' ? error.error.details?.conflicting_id : data?.data.id
  if (id === undefined) throw new Error(`category ${name}: ${error?.error.message}`)
  categories.set(name, id)
  return id
}

/** Converts `1.234,5` of a Brazilian spreadsheet to `1234.5`. */
const decimal = (text: string) => (text.includes(',') ? text.replaceAll('.', '').replace(',', '.') : text)

/** An empty cell is an absent field. */
async function itemOf(cells: Readonly<Record<string, string>>): Promise<Line['item']> {
  const texts = FIELDS.map((name) => [name, cells[name]] as const)
  const numbers = NUMBERS.map((name) => [name, cells[name] && decimal(cells[name])] as const)
  const given = Object.fromEntries([...texts, ...numbers].filter(([, value]) => value))
  const category = cells.category && { category_id: await categoryOf(cells.category) }
  // The service reports missing and invalid fields of a line.
  return { ...given, ...category } as Line['item']
}

let [written, refused] = [0, 0]

async function write(lines: readonly Line[]): Promise<void> {
  const { data, error } = await tillbook.POST('/catalog/items/batch', {
    body: { items: lines.map(({ item }) => item) },
  })
  if (!data) throw new Error(`${error.error.code}: ${error.error.message}`)
  written += data.meta.succeeded
  refused += data.meta.failed
  for (const { index, code, message, details } of data.meta.errors)
    console.error(`line ${lines[index]?.line}: ${code} ${message} ${JSON.stringify(details ?? {})}`)
}

const text = readFileSync(file, 'utf8')
/** Brazilian spreadsheets write 18,90, and separate cells by semicolons. */
const delimiter = text.slice(0, text.indexOf('\n')).includes(';') ? ';' : ','
const rows: { record: Record<string, string>; info: Info }[] = parse(text, {
  bom: true,
  columns: true,
  delimiter,
  trim: true,
  skip_empty_lines: true,
  info: true,
})
for (let start = 0; start < rows.length; start += BATCH) {
  const lines: Line[] = []
  for (const { record, info } of rows.slice(start, start + BATCH))
    lines.push({ line: info.lines, item: await itemOf(record) })
  await write(lines)
}
console.log(`${written} written, ${refused} refused`)
if (refused > 0) process.exitCode = 1
