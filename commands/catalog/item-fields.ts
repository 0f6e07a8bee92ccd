import { invalid, type Refusal } from '#domain/refusal.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { categoryById, type ItemFields, itemByBarcode, itemByExternalId } from '#projections/catalog.ts'
import { duplicateOf } from '../records/duplicate.ts'
import type { ItemInput } from './item-input.ts'

/** Fields that refer to other records or must differ from theirs. */
interface LinkedFields {
  readonly external_id?: string | null
  readonly barcode?: string | null
  readonly category_id?: number | null
}

/** A whole item as it is recorded, stock aside: what was not sent is empty. */
export function fieldsOf(externalId: string | null, input: ItemInput): ItemFields {
  return {
    external_id: externalId,
    type: input.type,
    name: input.name,
    sku: input.sku ?? null,
    barcode: input.barcode ?? null,
    category_id: input.category_id ?? null,
    unit: input.unit ?? null,
    price: input.price,
    cost: input.cost ?? null,
  }
}

/** The rows that `findConflict` looks at. */
export function linkedRefs({ external_id, barcode, category_id }: LinkedFields): AnyRef[] {
  return [
    ...(external_id ? [itemByExternalId(external_id)] : []),
    ...(barcode ? [itemByBarcode(barcode)] : []),
    ...(category_id ? [categoryById(category_id)] : []),
  ]
}

/** The refusal of an unknown category, or of an external id or barcode that another item has. */
export function findConflict(
  rows: Rows,
  { external_id, barcode, category_id }: LinkedFields,
  ownId: number | null,
): Refusal | null {
  if (category_id && !rows.get(categoryById(category_id))) return invalid('category_id', 'categoria não encontrada')
  const same = external_id ? duplicateOf('external_id', rows.get(itemByExternalId(external_id)), ownId) : null
  if (same || !barcode) return same
  return duplicateOf('barcode', rows.get(itemByBarcode(barcode)), ownId)
}
