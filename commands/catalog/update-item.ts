import { z } from 'zod'
import { refuse } from '#domain/refusal.ts'
import { Id } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command, isRefusal } from '#ledger/command.ts'
import { itemById } from '#projections/catalog.ts'
import { changesBetween, isEmpty } from '../records/changes.ts'
import { findConflict, linkedRefs } from './item-fields.ts'
import { ItemChanges } from './item-input.ts'
import { moveStock } from './stock.ts'

export const UpdateItemInput = z.strictObject({ id: Id, changes: ItemChanges })
export type UpdateItemInput = z.infer<typeof UpdateItemInput>

/** Changes the fields that are named; a movement of stock is an event of its own, because it is no change of the item. */
export const updateItem = command<UpdateItemInput>({
  needs: ({ id, changes }) => [itemById(id), ...linkedRefs(changes)],
  decide(rows, { id, changes: input }) {
    const known = rows.get(itemById(id))
    if (!known || known.deleted_at) return refuse('not_found')
    const { stock: _stock, stock_adjustment: _adjustment, ...fields } = input
    const conflict = findConflict(rows, fields, id)
    if (conflict) return conflict
    const moved = moveStock({ id, type: fields.type ?? known.doc.type, stock: known.doc.stock }, input)
    if (isRefusal(moved)) return moved
    const changes = changesBetween(known.doc, fields)
    // What is told of an event shows the record as it is then: the one that is told comes last.
    const events = [...moved, ...(isEmpty(changes) ? [] : [event('CatalogItemUpdated', { id, changes })])]
    return accept(events.length > 0 ? 'updated' : 'unchanged', `catalog_item/${id}`, events)
  },
})
