import * as z from 'zod'
import { formatCount, formatQuantity } from '#domain/brazilian-format.ts'
import { may } from '#domain/permissions.ts'
import { boundedText } from '#domain/text.ts'
import { QueryId } from '#http/query-values.ts'
import { countItems } from '#queries/catalog/items.ts'
import { type LowStockObject, searchLowStock } from '#queries/catalog/running-out.ts'
import type { Fields } from '../../forms/form.ts'
import { lineInput, recordChoiceInput } from '../../forms/kinds.ts'
import { link } from '../../link.ts'
import type { PageContext, PanelPage, PanelRoute } from '../../route.ts'
import { amountCell, type FileColumn, listFile } from '../../ui/csv-file.ts'
import { Figure } from '../../ui/figure.tsx'
import { List, type ListRequest, listFiltered, readListPage } from '../../ui/list.tsx'
import type { Column } from '../../ui/list-table.tsx'
import { categoryFilterOptions } from './categories.tsx'
import { coverText, StockInfo } from './stock.tsx'

export const RUNNING_OUT_PATH = '/catalogo/reposicao'

const filters = async (visit: PageContext): Promise<Fields> => ({
  q: { label: 'Busca', kind: lineInput, columns: 6, hint: 'Palavras do nome, SKU, código de barras ou externo.' },
  category_id: { label: 'Categoria', kind: recordChoiceInput(await categoryFilterOptions(visit), 'Todas'), columns: 6 },
})

const Search = z.object({
  q: boundedText(120).optional(),
  category_id: QueryId.optional(),
  cursor: z.string().max(2_000).optional(),
})

const pageOf = ({ readModel }: PageContext, asked: Readonly<Record<string, string>>, { limit }: ListRequest) =>
  listFiltered(Search, asked, (search) => searchLowStock(readModel.reader, { ...search, limit }, readModel))

async function sumOf({ readModel }: PageContext, asked: Readonly<Record<string, string>>) {
  const { cursor: _, ...search } = Search.parse(asked)
  const count = await countItems(readModel.reader, { ...search, low_stock: true })
  return (
    <p class="sums">
      <Figure name="acabando">{formatCount(count)}</Figure>
      {count === 1 ? ' produto acabando' : ' produtos acabando'}
    </p>
  )
}

const withUnit = (quantity: string, unit: string | null): string =>
  `${formatQuantity(quantity)}${unit === null ? '' : ` ${unit}`}`

/** Sales of others count in what was sold, and in how long the stock lasts. */
const showsSold = ({ session }: PageContext): boolean => may(session.permissions, 'see_all_sales')

const SOLD: readonly Column<LowStockObject>[] = [
  {
    head: 'Vendido em 30 dias',
    cell: ({ catalog_item_id, sold_30_days, unit }) => (
      <>
        <Figure name="vendido-30-dias" of={`item/${catalog_item_id}`}>
          {formatQuantity(sold_30_days)}
        </Figure>
        {unit && ` ${unit}`}
      </>
    ),
    isNumber: true,
    isExtra: true,
  },
  { head: 'Dura', cell: coverText, isNumber: true },
]

const columnsFor = (visit: PageContext): readonly Column<LowStockObject>[] => [
  { head: 'Produto', cell: ({ catalog_item_id: id, name }) => <a href={link(`/catalogo/${id}`)}>{name}</a> },
  { head: 'Estoque', cell: (item) => <StockInfo item={item} of={`item/${item.catalog_item_id}`} />, isNumber: true },
  {
    head: 'Mínimo',
    cell: ({ min_stock, unit }) => min_stock && withUnit(min_stock, unit),
    isNumber: true,
    isExtra: true,
  },
  ...(showsSold(visit) ? SOLD : []),
]

/** Products that run out, with the days that their stock lasts. */
async function show(visit: PageContext): Promise<PanelPage> {
  const fields = await filters(visit)
  const list = await readListPage<LowStockObject>(visit, fields, pageOf, sumOf)
  const body = (
    <List
      visit={visit}
      filters={fields}
      list={list}
      caption="Produtos acabando"
      columns={columnsFor(visit)}
      empty="Nenhum produto acabando."
      file={`${RUNNING_OUT_PATH}.csv`}
    />
  )
  return { title: 'Reposição', body, parent: { label: 'Catálogo', to: '/catalogo' } }
}

const SOLD_IN_FILE: readonly FileColumn<LowStockObject>[] = [
  ['Vendido em 30 dias', ({ sold_30_days }) => amountCell(sold_30_days)],
  ['Dias de estoque', ({ days_of_stock }) => days_of_stock],
]

const file = listFile<LowStockObject>({
  path: RUNNING_OUT_PATH,
  section: 'catalog',
  filters,
  page: pageOf,
  columns: (visit) => [
    ['Produto', ({ name }) => name],
    ['Código externo', ({ external_id }) => external_id],
    ['Unidade', ({ unit }) => unit],
    ['Estoque', ({ stock }) => amountCell(stock)],
    ['Estoque mínimo', ({ min_stock }) => amountCell(min_stock)],
    ...(showsSold(visit) ? SOLD_IN_FILE : []),
  ],
})

export const runningOutPages: readonly PanelRoute[] = [{ path: RUNNING_OUT_PATH, section: 'catalog', show }, file]
