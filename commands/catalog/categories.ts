import { z } from 'zod'
import { ExternalId, text } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { categoryByExternalId, categoryByName } from '#projections/catalog.ts'
import { duplicateOf } from '../records.ts'

/** POST /catalog/categories */
export const CreateCategoryInput = z.strictObject({ external_id: ExternalId.nullish(), name: text(80) })
export type CreateCategoryInput = z.infer<typeof CreateCategoryInput>

/** Creates a category with a name and an external id that no other has. */
export const createCategory = command<CreateCategoryInput>({
  needs: ({ name, external_id }) => [categoryByName(name), ...(external_id ? [categoryByExternalId(external_id)] : [])],
  ids: () => ({ category: 1 }),
  decide(rows, { name, external_id }, { nextId }) {
    const sameName = duplicateOf('name', rows.get(categoryByName(name)), null)
    if (sameName) return sameName
    const same = external_id ? duplicateOf('external_id', rows.get(categoryByExternalId(external_id)), null) : null
    if (same) return same
    const created = event('CategoryCreated', { id: nextId('category'), external_id: external_id ?? null, name })
    return accept('created', created.subject, [created])
  },
})
