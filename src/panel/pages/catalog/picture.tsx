import { deleteItemPicture, setItemPicture } from '#commands/catalog/item-picture.ts'
import type { Refusal } from '#domain/refusal.ts'
import { getItem } from '#queries/catalog/items.ts'
import type { FormRoute, FormSubmission, PageContext } from '../../route.ts'
import { buttonRoute, runAndRedirect } from '../../ui/form-pages.tsx'
import { Card } from '../../ui/parts.tsx'
import { PictureForm, PictureProblem, uploadPicture } from '../../ui/picture-form.tsx'
import { loadRecord } from '../../ui/record-pages.tsx'
import type { Item } from './stock.tsx'

const pathOf = (id: number): string => `/catalogo/${id}/imagem`

interface PictureProps {
  readonly visit: PageContext
  readonly item: Item
  readonly refusal?: Refusal
}

/** Picture of an item, with the forms that change it. */
export const PictureCard = ({ visit, item: { id, name, picture_url }, refusal }: PictureProps) => {
  const isOpen = !visit.readModel.moment && visit.reaches('POST', pathOf(id))
  if (!isOpen && picture_url === null) return null
  return (
    <Card title="Imagem">
      {refusal && <PictureProblem what="A imagem" refusal={refusal} />}
      {picture_url !== null && <img class="picture" src={picture_url} alt={name} width="240" />}
      {isOpen && (
        <PictureForm
          visit={visit}
          to={pathOf(id)}
          noun="imagem"
          hint="Aparece no catálogo e nos caixas."
          hasPicture={picture_url !== null}
        />
      )}
    </Card>
  )
}

const loadItem = (visit: PageContext) => loadRecord<Item>(visit, ({ readModel }, id) => getItem(readModel.reader, id))

async function upload(submission: FormSubmission) {
  const item = await loadItem(submission)
  if (item === null) return null
  return uploadPicture(submission, {
    set: (content) =>
      runAndRedirect(
        submission,
        setItemPicture,
        { id: item.id, content },
        { to: `/catalogo/${item.id}`, flash: 'imagem' },
      ),
    refused: (refusal) => ({
      title: item.name,
      parent: { label: 'Catálogo', to: '/catalogo' },
      body: <PictureCard visit={submission} item={item} refusal={refusal} />,
    }),
  })
}

export const pictureForms: readonly FormRoute[] = [
  { path: '/catalogo/:id/imagem', section: 'catalog', access: 'edit_catalog', takesFile: true, submit: upload },
  buttonRoute<Item>({
    path: '/catalogo/:id/imagem/excluir',
    section: 'catalog',
    access: 'edit_catalog',
    subject: loadItem,
    act: (submission, { id }) =>
      runAndRedirect(submission, deleteItemPicture, { id }, { to: `/catalogo/${id}`, flash: 'imagem-excluida' }),
  }),
]
