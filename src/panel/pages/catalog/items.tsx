import * as z from 'zod'
import { ItemChanges } from '#commands/catalog/item-input.ts'
import { CreateItemInput, createItem, deactivateItem, reactivateItem, updateItem } from '#commands/catalog/items.ts'
import { formatCount, formatDateTime, formatDateTimeSeconds, formatMoney } from '#domain/brazilian-format.ts'
import { may } from '#domain/permissions.ts'
import { boundedText } from '#domain/text.ts'
import { ITEM_TYPES } from '#events/catalog.ts'
import { QueryFlag, QueryId } from '#http/query-values.ts'
import { ownValue } from '#lib/own-value.ts'
import { countItems, getAnyItem, getItem, ITEM_ORDERS, searchItems } from '#queries/catalog/items.ts'
import { type StockCover, stockCovers } from '#queries/catalog/running-out.ts'
import type { ListOrder } from '#queries/list-statement.ts'
import { offersApproval } from '../../approval.ts'
import type { Fields } from '../../forms/form.ts'
import {
  amountInput,
  choiceInput,
  lineInput,
  namedOptions,
  quantityInput,
  recordChoiceInput,
  yesOrNoInput,
} from '../../forms/kinds.ts'
import { link } from '../../link.ts'
import type { PageContext } from '../../route.ts'
import { amountCell, metadataCell } from '../../ui/csv-file.ts'
import { Figure } from '../../ui/figure.tsx'
import { ButtonForm } from '../../ui/form.tsx'
import { formPages, runAndRedirect } from '../../ui/form-pages.tsx'
import { listFiltered, type QuickFilter } from '../../ui/list.tsx'
import type { OptionalColumn } from '../../ui/list-table.tsx'
import { loadRecord, recordPages } from '../../ui/record-pages.tsx'
import { categoryFilterOptions, categoryOptions } from './categories.tsx'
import { INVENTORIES_PATH } from './inventory-counts.tsx'
import { ITEM_TAX_COLUMNS, ITEM_TAX_INPUTS, itemTaxFacts } from './item-taxes.ts'
import { MOVEMENTS_PATH, MovementsCard } from './movements.tsx'
import { PictureCard } from './picture.tsx'
import { marginText, PriceInfo } from './price.tsx'
import { RUNNING_OUT_PATH } from './running-out.tsx'
import { type Item, StockCard, StockInfo } from './stock.tsx'
import { VariantsCard, variantText } from './variants.tsx'

const ITEM_TYPE_NAMES: Readonly<Record<(typeof ITEM_TYPES)[number], string>> = {
  product: 'Produto',
  service: 'Serviço',
}

const PATH = '/catalogo'

const types = namedOptions(ITEM_TYPE_NAMES)

const filters = async (visit: PageContext): Promise<Fields> => ({
  q: { label: 'Busca', kind: lineInput, columns: 4, hint: 'Palavras do nome, SKU, código de barras ou externo.' },
  category_id: { label: 'Categoria', kind: recordChoiceInput(await categoryFilterOptions(visit), 'Todas'), columns: 4 },
  type: { label: 'Tipo', kind: choiceInput(types, 'Todos'), columns: 4 },
  out_of_stock: { label: 'Sem estoque', kind: yesOrNoInput, columns: 4 },
  low_stock: { label: 'Acabando', kind: yesOrNoInput, columns: 4 },
  state: { label: 'Situação', kind: choiceInput([{ value: 'inactive', label: 'Desativados' }], 'Ativos'), columns: 4 },
})

const Search = z.object({
  q: boundedText(120).optional(),
  category_id: QueryId.optional(),
  type: z.enum(ITEM_TYPES).optional(),
  out_of_stock: QueryFlag.optional(),
  low_stock: QueryFlag.optional(),
  state: z.literal('inactive').optional(),
  cursor: z.string().optional(),
})

const seesCosts = ({ session: { permissions } }: PageContext): boolean => may(permissions, 'see_costs')

/** Margin of the item as it is; scripts keep it up while a price is typed. */
const marginHint = (item: Item | undefined): string => `Margem: ${(item && marginText(item)) ?? '—'}`

export const itemFields = async (visit: PageContext, item?: Item): Promise<Fields> => ({
  name: { label: 'Nome', kind: lineInput, isRequired: true, columns: 8 },
  type: { label: 'Tipo', kind: choiceInput(types), isRequired: true, columns: 4 },
  price: { label: 'Preço de venda (R$)', kind: amountInput, isRequired: true, columns: 4 },
  ...(seesCosts(visit) && { cost: { label: 'Custo (R$)', kind: amountInput, columns: 4, hint: marginHint(item) } }),
  unit: { label: 'Unidade', kind: lineInput, columns: 4, hint: 'Ex.: UN, KG, CX' },
  category_id: {
    label: 'Categoria',
    kind: recordChoiceInput(await categoryOptions(visit), 'Sem categoria'),
    columns: 4,
  },
  barcode: { label: 'Código de barras', kind: lineInput, columns: 4 },
  sku: { label: 'SKU', kind: lineInput, columns: 4 },
  external_id: {
    label: 'Código externo',
    kind: lineInput,
    columns: 4,
    hint: 'Código deste cadastro em outro sistema (opcional).',
  },
  gtin: { label: 'GTIN', kind: lineInput, columns: 4, hint: 'Para a nota fiscal. Deixe em branco se não tiver.' },
  ncm: { label: 'NCM', kind: lineInput, columns: 4, hint: 'Ex.: 0901.21.00' },
  cest: { label: 'CEST', kind: lineInput, columns: 4, hint: 'Ex.: 17.096.00' },
  ...(item === undefined && {
    stock: {
      label: 'Estoque inicial',
      kind: quantityInput,
      columns: 4,
      hint: 'Deixe em branco para não controlar o estoque. Serviços não têm estoque.',
    },
  }),
  min_stock: {
    label: 'Estoque mínimo',
    kind: quantityInput,
    columns: 4,
    hint: 'Com esta quantidade ou menos, o produto aparece em Reposição.',
  },
  ...ITEM_TAX_INPUTS,
})

const ORDERS: Readonly<Record<string, ListOrder>> = ITEM_ORDERS

/** Deactivated items have no page: the list offers to reactivate them. */
const columnsFor = (visit: PageContext): OptionalColumn<Item>[] => {
  const isInactive = visit.query.state === 'inactive'
  const name = ({ id, name }: Item) => (isInactive ? name : <a href={link(`${PATH}/${id}`)}>{name}</a>)
  return [
    { head: 'Nome', cell: name, order: 'nome' },
    { head: 'Categoria', cell: ({ category_name }) => category_name, isExtra: true },
    { head: 'Preço', cell: (item) => <PriceInfo item={item} seesCosts={seesCosts(visit)} />, isNumber: true },
    { head: 'Estoque', cell: (item) => <StockInfo item={item} of={`item/${item.id}`} />, isNumber: true },
    isInactive &&
      !visit.readModel.moment && {
        head: 'Voltar a vender',
        cell: ({ id }) => <ButtonForm visit={visit} to={`${PATH}/${id}/reativar`} label="Reativar" />,
      },
  ]
}

/** Name of the number of listed items. */
function listedAs({ low_stock, out_of_stock }: z.infer<typeof Search>): string {
  if (low_stock) return 'acabando'
  return out_of_stock ? 'sem-estoque' : 'itens-listados'
}

/** Reactivates an item, by the list's button, which shows this page if another user has to approve it. */
export const itemReactivation = formPages<Item, object>({
  path: `${PATH}/:id/reativar`,
  section: 'catalog',
  access: 'edit_catalog',
  subject: (visit) => loadRecord<Item>(visit, ({ readModel }, id) => getAnyItem(readModel.reader, id)),
  title: ({ name }) => `Reativar ${name}`,
  label: 'Reativar',
  back: () => PATH,
  fields: () => ({}),
  needsApproval: (_, visit) => offersApproval(visit, 'change_price'),
  schema: z.strictObject({}),
  act: (submission, { id }) =>
    runAndRedirect(submission, reactivateItem, { id }, { to: `${PATH}/${id}`, flash: 'item-reativado' }),
})

/** Sales of others count in it. */
async function coverOf(item: Item, { readModel, session }: PageContext): Promise<StockCover | undefined> {
  if (item.type === 'service' || readModel.moment || !may(session.permissions, 'see_all_sales')) return undefined
  return (await stockCovers(readModel.reader, [item], readModel)).get(item.id)
}

export const catalogPages = recordPages<Item>({
  path: PATH,
  section: 'catalog',
  editing: 'edit_catalog',
  subject: 'catalog_item',
  words: { all: 'Catálogo', create: 'Novo produto ou serviço', none: 'Nenhum item encontrado.' },
  list: {
    filters,
    columns: columnsFor,
    order: 'nome',
    page: ({ readModel }, asked, { limit, order = '' }) =>
      listFiltered(Search, asked, (search) =>
        searchItems(readModel.reader, { ...search, limit, order: ownValue(ORDERS, order) }),
      ),
    summary: async ({ readModel }, asked) => {
      const { cursor: _, ...search } = Search.parse(asked)
      const count = await countItems(readModel.reader, search)
      return (
        <p class="sums">
          <Figure name={listedAs(search)}>{formatCount(count)}</Figure>
          {count === 1 ? ' item' : ' itens'}
        </p>
      )
    },
    quick: (): readonly QuickFilter[] => [
      { label: 'Acabando', filters: { low_stock: 'on' } },
      { label: 'Sem estoque', filters: { out_of_stock: 'on' } },
      { label: 'Desativados', filters: { state: 'inactive' } },
    ],
    file: (visit) => [
      ['Nome', ({ name }) => name],
      ['Tipo', ({ type }) => ITEM_TYPE_NAMES[type]],
      ['Categoria', ({ category_name }) => category_name],
      ['Tamanho', ({ variant }) => variant?.size],
      ['Cor', ({ variant }) => variant?.color],
      ['Preço', ({ price }) => amountCell(price)],
      ...(seesCosts(visit) ? [['Custo', ({ cost }: Item) => amountCell(cost)] as const] : []),
      ['Estoque', ({ stock }) => amountCell(stock)],
      ['Estoque mínimo', ({ min_stock }) => amountCell(min_stock)],
      ['Unidade', ({ unit }) => unit],
      ['Código de barras', ({ barcode }) => barcode],
      ['SKU', ({ sku }) => sku],
      ['Código externo', ({ external_id }) => external_id],
      ['GTIN', ({ gtin }) => gtin],
      ['NCM', ({ ncm }) => ncm],
      ['CEST', ({ cest }) => cest],
      ...ITEM_TAX_COLUMNS,
      ['Cadastro', ({ created_at }) => formatDateTimeSeconds(created_at, visit.readModel.timezone)],
      ['Metadados', metadataCell],
    ],
    more: [
      { label: 'Categorias', to: `${PATH}/categorias` },
      { label: 'Reposição', to: RUNNING_OUT_PATH },
      { label: 'Inventários', to: INVENTORIES_PATH },
      { label: 'Movimentação', to: MOVEMENTS_PATH },
      { label: 'Importar', to: `${PATH}/importar` },
    ],
  },
  get: ({ readModel }, id) => getItem(readModel.reader, id),
  nameOf: ({ name }) => name,
  head: ({ id }) => ({ more: [{ label: 'Vendas deste item', to: '/vendas', parameters: { item: id } }] }),
  facts: (item, visit) => [
    ['Tipo', ITEM_TYPE_NAMES[item.type]],
    ['Preço de venda', <PriceInfo key="price" item={item} seesCosts={seesCosts(visit)} />],
    ['Custo', seesCosts(visit) && item.cost && formatMoney(item.cost)],
    ['Margem', seesCosts(visit) && marginText(item)],
    ['Estoque', <StockInfo key="stock" item={item} />],
    ['Variação', variantText(item)],
    [
      'Variação de',
      item.parent_id && <a key="parent" href={link(`${PATH}/${item.parent_id}`)}>{`Produto ${item.parent_id}`}</a>,
    ],
    ['Categoria', item.category_name],
    ['Unidade', item.unit],
    ['Código de barras', item.barcode],
    ['SKU', item.sku],
    ['Código externo', item.external_id],
    ['GTIN', item.gtin],
    ['NCM', item.ncm],
    ['CEST', item.cest],
    ...itemTaxFacts(item),
    ['Cadastro', formatDateTime(item.created_at, visit.readModel.timezone)],
    ['Última alteração', formatDateTime(item.updated_at, visit.readModel.timezone)],
  ],
  more: async (item, visit) => (
    <>
      {item.picture_url !== null && <PictureCard visit={visit} item={item} />}
      <StockCard visit={visit} item={item} cover={await coverOf(item, visit)} />
      {await VariantsCard({ visit, item })}
      {await MovementsCard({ visit, item })}
      {item.picture_url === null && <PictureCard visit={visit} item={item} />}
    </>
  ),
  fields: itemFields,
  create: {
    schema: CreateItemInput,
    command: createItem,
    // For a barcode that another item had: the rest needs no approval (ROLE-782).
    needsApproval: (visit) => offersApproval(visit, 'change_price'),
  },
  update: {
    label: 'Editar',
    schema: ItemChanges,
    command: updateItem,
    // For the price: the rest needs no approval.
    needsApproval: (_item, visit) => offersApproval(visit, 'change_price'),
  },
  remove: {
    label: 'Desativar',
    question:
      'O item deixa de aparecer nas listas e não pode mais ser vendido; o código de barras fica livre. Vendas já feitas ficam como estão. Em Catálogo › Desativados ele pode ser reativado.',
    flash: 'item-desativado',
    command: deactivateItem,
  },
})
