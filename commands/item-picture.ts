import { createHash } from 'node:crypto'
import * as z from 'zod'
import { MAX_PICTURE_BYTES, PICTURE_TOO_LARGE, pictureProblem } from '#domain/images.ts'
import { refuse, refuseField } from '#domain/refusals.ts'
import { Id, limitedText } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { itemById, itemPictures } from '#projections/catalog.ts'
import type { RecordId } from './record-commands.ts'

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
