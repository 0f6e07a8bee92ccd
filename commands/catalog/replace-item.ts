import { z } from 'zod'
import { ExternalId } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { itemByExternalId } from '#projections/catalog.ts'
import { changesBetween, isEmpty } from '../records/changes.ts'
import { fieldsOf, findConflict, linkedRefs } from './item-fields.ts'
import { checkStock, itemShape } from './item-input.ts'
import { countStock, normalized } from './stock.ts'

/** PUT /catalog/items/by-external/{external_id}, and each item of a batch. */
export const ReplaceItemInput = z.strictObject({ external_id: ExternalId, ...itemShape }).superRefine(checkStock)
export type ReplaceItemInput = z.infer<typeof ReplaceItemInput>

/** Makes the item with this external id what the input says: creates, replaces or revives it. Stock not sent is left alone. */
export const replaceItem = command<ReplaceItemInput>({
  needs: linkedRefs,
  ids: () => ({ catalog_item: 1 }),
  decide(rows, input, { nextId }) {
    const known = rows.get(itemByExternalId(input.external_id))
    const conflict = findConflict(rows, input, known?.id ?? null)
    if (conflict) return conflict
    const fields = fieldsOf(input.external_id, input)
    if (!known) {
      const stock = input.stock ? normalized(input.stock) : null
      const created = event('CatalogItemCreated', { id: nextId('catalog_item'), ...fields, stock })
      return accept('created', created.subject, [created])
    }
    const { id } = known
    const changes = changesBetween(known.doc, fields)
    const changed = isEmpty(changes) ? [] : [event('CatalogItemUpdated', { id, changes })]
    // What is told of an event shows the record as it is then: the one that is told comes last.
    const events = [
      ...countStock({ id, type: input.type, stock: known.doc.stock }, input.stock),
      ...(known.deleted_at ? [event('CatalogItemRevived', { id, ...fields })] : changed),
    ]
    return accept(events.length > 0 ? 'updated' : 'unchanged', `catalog_item/${id}`, events)
  },
})
