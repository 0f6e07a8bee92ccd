import type { ItemObject } from '../../../../projections/catalog-items.ts'
import { stockText } from '../words/catalog.ts'
import { Badge } from './parts.tsx'

/** What there is of an item; that there is nothing left is marked. */
export const Stock = ({ item: { stock, unit } }: { readonly item: Pick<ItemObject, 'stock' | 'unit'> }) => {
  const [text, tone] = stockText(stock, unit)
  return tone === null ? text : <Badge tone={tone}>{text}</Badge>
}
