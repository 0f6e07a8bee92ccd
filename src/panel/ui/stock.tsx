import type { ItemObject } from '#projections/catalog.ts'
import { stockText } from '../words/catalog.ts'
import { Badge } from './parts.tsx'

/** A catalog item as the API shows it. */
export type Item = ItemObject & { readonly category_name: string | null }

/** What there is of an item; that there is nothing left is marked. */
export const Stock = ({ item: { stock, unit } }: { readonly item: Item }) => {
  const [text, tone] = stockText(stock, unit)
  return tone === null ? text : <Badge tone={tone}>{text}</Badge>
}
