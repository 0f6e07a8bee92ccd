import * as z from 'zod'
import {
  CategoryChanges,
  CreateCategoryInput,
  createCategory,
  deleteCategory,
  updateCategory,
} from '#commands/catalog-commands.ts'
import type { CategoryObject } from '#projections/catalog.ts'
import { getCategory, listCategoriesByName } from '#queries/item-queries.ts'
import { CATEGORY_FIELDS, CATEGORY_FILTERS, CATEGORY_STATE } from '#records/items.ts'
import type { Option } from '../forms/input-kinds.ts'
import { link } from '../page-context.ts'
import type { PageContext } from '../panel-route.ts'
import { fieldColumns, fieldFacts, fieldInput, fieldInputs, fileColumns } from '../record-fields.ts'
import { listFiltered, recordsOnPage } from '../ui/panel-list.tsx'
import { recordPages } from '../ui/record-pages.tsx'

const PATH = '/catalogo/categorias'

/** Bound of choices; a category beyond it can be assigned through the API only. */
const MOST_CHOICES = 1_000

/** All categories by name, as choices. */
export async function categoryOptions({ readModel }: PageContext): Promise<Option[]> {
  const page = await listCategoriesByName(readModel.reader, { limit: MOST_CHOICES })
  const categories = recordsOnPage<CategoryObject>(page)
  return categories.map(({ id, name }) => ({ value: String(id), label: name }))
}

/** Bound of choices of a filter, so that the page stays light; the page of a category leads to its items. */
const MOST_FILTERS = 200

/** The first categories by name, and that in the address. */
export async function categoryFilterOptions(visit: PageContext): Promise<Option[]> {
  const options = await categoryOptions(visit)
  return options.filter(({ value }, at) => at < MOST_FILTERS || value === visit.query.category_id)
}

const Search = z.object({ name: CATEGORY_FILTERS.name.whole, cursor: z.string().optional() })

const categories = { ...CATEGORY_FIELDS, ...CATEGORY_STATE }

export const categoryPages = recordPages<CategoryObject>({
  path: PATH,
  section: 'catalog',
  editing: 'edit_catalog',
  subject: 'category',
  words: {
    all: 'Categorias',
    create: 'Nova categoria',
    none: 'Nenhuma categoria encontrada.',
    begin: ['Nenhuma categoria ainda', 'Categorias agrupam os produtos, como Bebidas ou Limpeza, em buscas e preços.'],
  },
  list: {
    filters: { name: fieldInput(CATEGORY_FILTERS.name, 6) },
    columns: ({ readModel }) =>
      fieldColumns<CategoryObject, typeof categories>(categories, readModel.timezone, [
        { field: 'name', cell: ({ id, name }) => <a href={link(`${PATH}/${id}`)}>{name}</a> },
        'external_id',
      ]),
    page: ({ readModel }, asked, { limit }) =>
      listFiltered(Search, asked, (search) => listCategoriesByName(readModel.reader, { ...search, limit })),
    file: ({ readModel }) => fileColumns(categories, readModel.timezone, ['name', 'external_id']),
    more: [{ label: 'Catálogo', to: '/catalogo' }],
  },
  get: ({ readModel }, id) => getCategory(readModel.reader, id),
  nameOf: ({ name }) => name,
  facts: (category, { readModel }) =>
    fieldFacts(categories, category, readModel.timezone, ['name', 'external_id', 'created_at']),
  head: ({ id }) => ({ main: { label: 'Ver itens', to: '/catalogo', parameters: { category_id: id } } }),
  fields: () =>
    fieldInputs(CATEGORY_FIELDS, {
      name: 8,
      external_id: 4,
    }),
  create: { schema: CreateCategoryInput, command: createCategory },
  update: { label: 'Editar categoria', schema: CategoryChanges, command: updateCategory },
  remove: {
    label: 'Excluir categoria',
    question: 'A categoria deixa de aparecer nas listas e os itens dela ficam sem categoria.',
    command: deleteCategory,
  },
})
