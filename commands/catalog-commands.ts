import { createHash } from 'node:crypto'
import * as z from 'zod'
import { MAX_PICTURE_BYTES, PICTURE_TOO_LARGE, pictureProblem } from '#domain/images.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import { Id, limitedText, NewExternalId } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import {
  type CategoryFields,
  categoryByExternalId,
  categoryById,
  categoryByName,
  itemById,
  itemPictures,
} from '#projections/catalog.ts'
import { changesShape, toRecordedValues, wholeShape } from '#records/field.ts'
import { CATEGORY_FIELDS } from '#records/items.ts'
import {
  type CommandWarnings,
  isEmpty,
  namedRefs,
  pickChanges,
  type RecordId,
  refuseDuplicate,
  warnSpelledAlike,
} from './record-commands.ts'

/** Body of POST /catalog/categories and of PUT by-external (its external id comes from the path). */
export const CreateCategoryInput = z.strictObject(wholeShape(CATEGORY_FIELDS))
export type CreateCategoryInput = z.infer<typeof CreateCategoryInput>

/** Creates a category with a unique name and external id. */
export const createCategory = command<CreateCategoryInput>({
  permission: 'edit_catalog',
  needs: uniqueRefs,
  decide(rows, input, { nextId }) {
    const fields = toRecordedValues(CATEGORY_FIELDS, input)
    const duplicate = findDuplicate(rows, fields, null)
    if (duplicate) return duplicate
    const created = event('CategoryCreated', { id: nextId('category'), ...fields })
    return accept('created', created.subject, [created], [], alike(rows, fields.name, null))
  },
})

/** Body of PUT /catalog/categories/by-external/{external_id}, and each item of a batch. */
export const ReplaceCategoryInput = z.strictObject({ ...wholeShape(CATEGORY_FIELDS), external_id: NewExternalId })
export type ReplaceCategoryInput = z.infer<typeof ReplaceCategoryInput>

/** Creates, replaces or revives the category with this external id. */
export const replaceCategory = command<ReplaceCategoryInput>({
  permission: 'edit_catalog',
  needs: uniqueRefs,
  decide(rows, fields, { nextId }) {
    const known = rows.get(categoryByExternalId(fields.external_id))
    const duplicate = findDuplicate(rows, { name: fields.name }, known?.id ?? null)
    if (duplicate) return duplicate
    const remarks = alike(rows, fields.name, known?.id ?? null)
    if (!known) {
      const created = event('CategoryCreated', { id: nextId('category'), ...fields })
      return accept('created', created.subject, [created], [], remarks)
    }
    const { id } = known
    if (known.deleted_at)
      return accept('updated', `category/${id}`, [event('CategoryRevived', { id, ...fields })], [], remarks)
    return changed(id, pickChanges(known.doc, fields), remarks)
  },
})

/** Body of PATCH /catalog/categories/{id}; absent fields stay unchanged. */
export const CategoryChanges = z.strictObject(changesShape(CATEGORY_FIELDS))

export const UpdateCategoryInput = z.strictObject({ id: Id, changes: CategoryChanges })
export type UpdateCategoryInput = z.infer<typeof UpdateCategoryInput>

/** Changes the given fields; its items show the new name. */
export const updateCategory = command<UpdateCategoryInput>({
  permission: 'edit_catalog',
  needs: ({ id, changes }) => [categoryById(id), ...uniqueRefs(changes)],
  decide(rows, { id, changes: patch }) {
    const known = rows.get(categoryById(id))
    if (!known || known.deleted_at) return refuse('not_found')
    const duplicate = findDuplicate(rows, patch, id)
    return duplicate ?? changed(id, pickChanges(known.doc, patch), alike(rows, patch.name, id))
  },
})

/**
 * Removes a category from lists and frees its name. Its items have no category until it is revived or they get another
 * one.
 */
export const deleteCategory = command<RecordId>({
  permission: 'edit_catalog',
  needs: ({ id }) => [categoryById(id)],
  decide(rows, { id }) {
    const known = rows.get(categoryById(id))
    if (!known || known.deleted_at) return refuse('not_found')
    return accept('deleted', `category/${id}`, [event('CategoryDeleted', { id })])
  },
})

type UniqueFields = Partial<{ readonly [F in keyof CategoryFields]: CategoryFields[F] | undefined }>

function uniqueRefs({ name, external_id }: UniqueFields): AnyRef[] {
  return [...namedRefs(categoryByName, name), ...(external_id ? [categoryByExternalId(external_id)] : [])]
}

/** Refusal if another category has this name or external id; the name is checked first. */
function findDuplicate(rows: Rows, { name, external_id }: UniqueFields, ownId: number | null): Refusal | null {
  const sameName = name === undefined ? null : refuseDuplicate('name', rows.get(categoryByName(name)), ownId)
  if (sameName || !external_id) return sameName
  return refuseDuplicate('external_id', rows.get(categoryByExternalId(external_id)), ownId)
}

const alike = (rows: Rows, name: string | undefined, ownId: number | null) =>
  warnSpelledAlike(rows, { byName: categoryByName }, name, ownId)

function changed(id: number, changes: UniqueFields, remarks: CommandWarnings | undefined) {
  if (isEmpty(changes)) return accept('unchanged', `category/${id}`, [], [], remarks)
  const updated = event('CategoryUpdated', { id, changes: changes as Partial<CategoryFields> })
  return accept('updated', `category/${id}`, [updated], [], remarks)
}

/** Body of PUT /catalog/items/{id}/picture: the picture in base64. */
export const PictureInput = z.strictObject({
  content: limitedText(Math.ceil(MAX_PICTURE_BYTES / 3) * 4, 'deve ser um texto', PICTURE_TOO_LARGE)
    .base64('deve estar em base64')
    .transform((text) => Buffer.from(text, 'base64'))
    .superRefine((bytes, context) => {
      const message = pictureProblem(bytes)
      if (message !== null) context.addIssue({ code: 'custom', message })
    }),
})

const SetPictureInput = z.object({ id: Id, content: z.instanceof(Buffer) })
type SetPictureInput = z.infer<typeof SetPictureInput>

/** Address of a picture, below the service: its digest makes the answer immutable. */
const pictureUrl = (companyId: number, itemId: number, digest: string): string =>
  `/pictures/${companyId}/${itemId}/${digest}.webp`

/** Sets or replaces the picture of an item. */
export const setItemPicture = command<SetPictureInput>({
  permission: 'edit_catalog',
  needs: ({ id }) => [itemById(id)],
  decide(rows, { id, content }, { companyId: company_id, recordedAt: stored_at }) {
    const item = rows.get(itemById(id))
    if (!item || item.deleted_at) return refuse('not_found')
    const problem = pictureProblem(content)
    if (problem !== null) return refuseField('content', problem)
    const digest = createHash('sha256').update(content).digest()
    const picture_url = pictureUrl(company_id, id, digest.toString('hex'))
    const row = { company_id, catalog_item_id: id, digest, content, stored_at }
    if (item.doc.picture_url === picture_url) return accept('unchanged', `catalog_item/${id}`)
    const changed = event('CatalogItemUpdated', { id, changes: { picture_url } })
    return accept('updated', changed.subject, [changed], [{ table: itemPictures, row }])
  },
})

/** Deletes the picture of an item. */
export const deleteItemPicture = command<RecordId>({
  permission: 'edit_catalog',
  needs: ({ id }) => [itemById(id)],
  decide(rows, { id }, { companyId: company_id, recordedAt: stored_at }) {
    const item = rows.get(itemById(id))
    if (!item || item.deleted_at || item.doc.picture_url === null) return refuse('not_found')
    const changed = event('CatalogItemUpdated', { id, changes: { picture_url: null } })
    const row = { company_id, catalog_item_id: id, digest: null, content: null, stored_at }
    return accept('deleted', changed.subject, [changed], [{ table: itemPictures, row }])
  },
})
