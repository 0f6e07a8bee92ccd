import { z } from 'zod'
import { itemById } from '../../projections/catalog-items.ts'
import { refuse } from '../../src/domain/refusal.ts'
import { Id } from '../../src/domain/text.ts'
import { event } from '../../src/events/catalogue.ts'
import { accept, command } from '../../src/ledger/command.ts'

/** DELETE /catalog/items/{id} */
export const DeactivateItemInput = z.strictObject({ id: Id })
export type DeactivateItemInput = z.infer<typeof DeactivateItemInput>

/** Takes an item out of lists and sales and frees its barcode, without erasing it (spec, DELETE /catalog/items/{id}). */
export const deactivateItem = command<DeactivateItemInput>({
  needs: ({ id }) => [itemById(id)],
  decide(rows, { id }) {
    const known = rows.get(itemById(id))
    if (!known || known.deleted_at) return refuse('not_found')
    return accept('deleted', `catalog_item/${id}`, [event('CatalogItemDeactivated', { id })])
  },
})
