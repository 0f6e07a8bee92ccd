import type { DataOf } from '#events/catalogue.ts'
import type { Rows } from '#ledger/working-set.ts'
import { itemById } from '#projections/catalog.ts'
import { brokenPieceWarnings, type CommandWarnings } from '../catalog/item-input.ts'

type SaleItem = DataOf<'SaleCompleted'>['items'][number]

/** Warnings of lines with a fraction of a piece; their items are loaded. Almost no sale has a line with a fraction. */
export function brokenPieceRemarks(rows: Rows, items: readonly SaleItem[]): CommandWarnings | undefined {
  const warnings = items.flatMap(({ catalog_item_id, quantity }, position) => {
    if (catalog_item_id === null || quantity.endsWith('.000')) return []
    const unit = rows.get(itemById(catalog_item_id))?.doc.unit
    return brokenPieceWarnings(unit, { [`items[${position}].quantity`]: quantity })
  })
  return warnings.length > 0 ? { warnings } : undefined
}
