import { parseQuantity } from './amounts.ts'
import type { Catalog } from './product-search.ts'
import type { Product } from './records.ts'
import { readScaleLabel, type ScaleSetting } from './scale-labels.ts'

/** What was typed or scanned into the search: `3*789…`, a name, or a scale's label. */
export interface Typed {
  readonly quantity: number
  readonly text: string
}

/** Splits `3*text`; the quantity is in thousandths. */
export function readTyped(typed: string): Typed {
  const star = typed.indexOf('*')
  const quantity = star > 0 ? parseQuantity(typed.slice(0, star)) : null
  return quantity === null ? { quantity: 1000, text: typed.trim() } : { quantity, text: typed.slice(star + 1).trim() }
}

export interface Choice {
  readonly product: Product
  /** Thousandths. */
  readonly quantity: number
  /** Total in cents that a scale has printed. */
  readonly labelled: number | null
}

/** The product of a code and how much of it; null if the code is unknown. */
export function chooseByCode(catalog: Catalog, { text, quantity }: Typed, scale: ScaleSetting): Choice | null {
  const product = catalog.byCode(text)
  if (product) return { product, quantity, labelled: null }
  const label = readScaleLabel(text, scale)
  const weighed = label && catalog.bySku(label.sku)
  if (!label || !weighed || label.value === 0) return null
  if (scale.value === 'weight') return { product: weighed, quantity: label.value, labelled: null }
  if (weighed.price === 0) return null
  return { product: weighed, quantity: quantityOf(label.value, weighed.price), labelled: label.value }
}

/** Least thousandths whose price is not below a printed amount: the service takes what is above it as a discount. */
const quantityOf = (cents: number, price: number): number => Math.max(Math.ceil((cents * 1000) / price), 1)
