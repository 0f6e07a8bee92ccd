import type { Product, SaleItem } from './records.ts'

/** Text as searches compare it: no accents, lower case. */
export const fold = (text: string): string =>
  // Most codes have no accents, and 50,000 of them are read at each start.
  /^[\x20-\x7e]*$/.test(text)
    ? text.toLowerCase()
    : text
        .normalize('NFD')
        .replace(/[\u0300-\u036f]/g, '')
        .toLowerCase()

/** Products in memory, found by name, SKU or barcode. */
export interface Catalog {
  readonly size: number
  /** Best first: whole words at the beginning, then anywhere. */
  search(text: string): Product[]
  /** The product whose barcode or SKU is this text. */
  byCode(code: string): Product | undefined
  bySku(sku: string): Product | undefined
  /** Unit of the product of a sold line; empty if it is not here any more. */
  unitOf(line: Pick<SaleItem, 'product_id' | 'offline_item_id'>): string
}

const SHOWN = 30

const withoutZeros = (sku: string): string => sku.replace(/^0+(?=.)/, '')

function mapCodes(products: readonly Product[]) {
  const barcodes = new Map<string, Product>()
  const skus = new Map<string, Product>()
  const units = new Map<number | string, string>()
  for (const product of products) {
    units.set(product.id > 0 ? product.id : (product.offlineId ?? ''), product.unit)
    if (product.barcode !== '') barcodes.set(product.barcode, product)
    if (product.sku !== '') skus.set(withoutZeros(fold(product.sku)), product)
  }
  return { barcodes, skus, units }
}

export function createCatalog(products: readonly Product[]): Catalog {
  let maps: ReturnType<typeof mapCodes> | undefined
  // Made at the first use: the screen does not wait for them.
  const codes = () => {
    maps ??= mapCodes(products)
    return maps
  }
  const bySku = (sku: string) => codes().skus.get(withoutZeros(fold(sku)))
  const byCode = (code: string) => codes().barcodes.get(code) ?? bySku(code)
  return {
    size: products.length,
    bySku,
    byCode,
    unitOf: ({ product_id, offline_item_id }) => codes().units.get(product_id ?? offline_item_id ?? '') ?? '',
    search(text) {
      const words = fold(text.slice(0, 100)).split(/\s+/).filter(Boolean)
      const [first] = words
      if (first === undefined) return []
      const exact = byCode(text.trim())
      const begin: Product[] = []
      const other: Product[] = []
      for (const product of products) {
        if (product === exact || !words.every((word) => product.folded.includes(word))) continue
        if (product.folded.startsWith(first)) begin.push(product)
        else if (other.length < SHOWN) other.push(product)
        if (begin.length === SHOWN) break
      }
      return [...(exact ? [exact] : []), ...begin, ...other].slice(0, SHOWN)
    },
  }
}
