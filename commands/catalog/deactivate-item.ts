import { z } from 'zod'
import { refuse } from '#domain/refusal.ts'
import { Id } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { itemById } from '#projections/catalog.ts'

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
