import { z } from 'zod'
import { ExternalId } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { fieldsOf, findConflict, linkedRefs } from './item-fields.ts'
import { checkStock, itemShape } from './item-input.ts'
import { normalized } from './stock.ts'

/** POST /catalog/items, and the body of PUT by-external, whose external id is in the path. */
export const CreateItemInput = z
  .strictObject({ external_id: ExternalId.nullish(), ...itemShape })
  .superRefine(checkStock)
export type CreateItemInput = z.infer<typeof CreateItemInput>

/** Creates a product or service with an external id and a barcode that no other has. */
export const createItem = command<CreateItemInput>({
  needs: linkedRefs,
  ids: () => ({ catalog_item: 1 }),
  decide(rows, input, { nextId }) {
    const conflict = findConflict(rows, input, null)
    if (conflict) return conflict
    const created = event('CatalogItemCreated', {
      id: nextId('catalog_item'),
      ...fieldsOf(input.external_id ?? null, input),
      stock: input.stock ? normalized(input.stock) : null,
    })
    return accept('created', created.subject, [created])
  },
})
