import * as z from 'zod'
import { CreateItemInput, createItem, deactivateItem, reactivateItem, updateItem } from '#commands/item-commands.ts'
import { ItemChanges } from '#commands/record-commands.ts'
import { formatCount, formatMoney } from '#domain/person-values.ts'
import { may } from '#domain/rights.ts'
import { nameKey } from '#domain/text.ts'
import { isRefusal } from '#ledger/command.ts'
import { ownValue } from '#lib/collections.ts'
import { countItems, getAnyItem, getItem, ITEM_ORDERS, listItems, searchItems } from '#queries/item-queries.ts'
import type { ListOrder } from '#queries/list-statement.ts'
import { type StockCover, stockCovers } from '#queries/stock-queries.ts'
import { BUSINESS_SUGGESTIONS } from '#records/company-settings.ts'
import { wholeShape } from '#records/field.ts'
import { ITEM_FIELDS, ITEM_SEARCH, ITEM_STATE } from '#records/items.ts'
import { choiceInput, namedOptions, recordChoiceInput, suggestedInput } from '../forms/input-kinds.ts'
import type { Field, Fields } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageContext, PageReadModel } from '../panel-route.ts'
import { fieldFacts, fieldInput, fieldInputs, fileColumns } from '../record-fields.ts'
import { namesOfSubjects } from '../record-history.tsx'
import { ButtonForm } from '../ui/form-fields.tsx'
import { formPages, offersApproval, runAndRedirect } from '../ui/form-pages.tsx'
import type { OptionalColumn } from '../ui/list-table.tsx'
import { Figure } from '../ui/page-parts.tsx'
import { listFiltered, type QuickFilter, recordsOnPage } from '../ui/panel-list.tsx'
import { loadRecord, recordPages } from '../ui/record-pages.tsx'
import { categoryFilterOptions, categoryOptions } from './category-pages.tsx'
import { loadCompany } from './company-pages.tsx'
import { INVENTORIES_PATH } from './inventory-counts.tsx'
import { LABELS_PATH } from './label-pages.tsx'
import { PRICES_PATH } from './price-change-pages.tsx'
import { MOVEMENTS_PATH, MovementsCard } from './stock-movement-pages.tsx'
import { type Item, RUNNING_OUT_PATH, StockCard, StockInfo } from './stock-pages.tsx'
import {
  marginText,
  PictureCard,
  PriceInfo,
  ProductPicture,
  SmallPicture,
  VariantsCard,
  variantText,
} from './variant-pages.tsx'

/** Items that a search offers. */
const OFFERED = 8

/** Separates an item's name from its code. */
const DOT = ' · '

/** Name of an item with a code that distinguishes it from others of that name. */
export const itemLabel = ({ id, name, barcode, sku, external_id }: Item): string =>
  `${name}${DOT}${barcode ?? sku ?? external_id ?? `nº ${id}`}`

/** Finds an item by its number, as in a label of an item without codes. */
async function findByNumber({ reader }: PageReadModel, text: string): Promise<Item[]> {
  const [, number] = /(?:^| )nº ([1-9]\d{0,14})$/.exec(text) ?? []
  const { record } = number === undefined ? { record: null } : await getAnyItem(reader, Number(number))
  return record ? [JSON.parse(record) as Item] : []
}

/** Finds items by barcode, SKU or external id; only active ones have them. */
async function findByCode({ reader }: PageReadModel, code: string): Promise<Item[]> {
  if (code.length > 60) return []
  const pages = await Promise.all(
    [{ barcode: code }, { sku: code }, { external_id: code }].map((by) => listItems(reader, { ...by, limit: OFFERED })),
  )
  const found = pages.flatMap((page) => recordsOnPage<Item>(page))
  return found.filter(({ id }, at) => found.findIndex((other) => other.id === id) === at)
}

/** Finds items by words of name and codes; deactivated ones if no active one has the words. */
async function findByWords({ reader }: PageReadModel, text: string): Promise<Item[]> {
  const q = text.replaceAll(DOT.trim(), ' ').trim().slice(0, 120)
  if (q === '') return []
  for (const state of ['active', 'inactive'] as const) {
    const page = await searchItems(reader, { q, state, limit: OFFERED })
    const found = isRefusal(page) ? [] : recordsOnPage<Item>(page)
    const named = found.filter(({ name }) => nameKey(name) === nameKey(text))
    if (found.length > 0) return named.length === 1 ? named : found
  }
  return []
}

/** Items that a typed name or code may mean, at most eight; one if it is unambiguous. */
export async function findItemsByText(readModel: PageReadModel, text: string): Promise<readonly Item[]> {
  const numbered = await findByNumber(readModel, text)
  if (numbered.length > 0) return numbered
  const coded = await findByCode(readModel, text.split(DOT).at(-1)?.trim() ?? '')
  return coded.length > 0 ? coded : findByWords(readModel, text)
}

/** Labels in a message, for browsers without a data list. */
const MENTIONED = 5

/** Why a text names no single item; null if it does. */
export function itemProblem(found: readonly Item[]): string | null {
  if (found.length === 1) return null
  if (found.length === 0) return 'não há produto ou serviço com este nome ou código'
  const more = found.length > MENTIONED ? ' …' : ''
  return `há mais de um: ${found.slice(0, MENTIONED).map(itemLabel).join('; ')}${more}`
}

interface ItemFieldOptions extends Pick<Field, 'label' | 'columns' | 'hint'> {
  /** Name and id that the field has before it is changed; null for an unknown item. */
  readonly current: { readonly id: unknown; readonly name: string } | null
  /** Submitted text; empty before. */
  readonly typed: string
}

/** Field for an item by name, barcode, SKU or external id; an ambiguous text offers what it may mean. */
export async function itemField(
  { readModel }: PageContext,
  { current, typed, ...field }: ItemFieldOptions,
): Promise<Field> {
  const isSame = typed === '' || typed === current?.name
  const found = isSame ? [] : await findItemsByText(readModel, typed)
  return {
    ...field,
    kind: {
      ...suggestedInput(found.map(itemLabel)),
      read: () => (isSame ? current?.id : found[0]?.id),
      problem: () => (isSame ? null : itemProblem(found)),
      show: () => current?.name ?? '',
    },
  }
}

const fields = { ...ITEM_FIELDS, ...ITEM_STATE }

/** A variant has a page of its own. */
const { variant: _variant, ...FORM } = ITEM_FIELDS

/** The name is the title, and the stock has a card of its own. */
const { name: _name, min_stock: _stock, ...FACTS } = fields

const TAXES = [
  'gtin',
  'ncm',
  'cest',
  'origin',
  'cfop',
  'csosn',
  'icms_cst',
  'cbenef',
  'pis_cst',
  'cofins_cst',
  'ibs_cbs_cst',
  'ibs_cbs_class',
] as const

const PATH = '/catalogo'

const filters = async (visit: PageContext): Promise<Fields> => ({
  q: fieldInput(ITEM_SEARCH.q, 4),
  category_id: fieldInput(ITEM_SEARCH.category_id, {
    kind: recordChoiceInput(await categoryFilterOptions(visit), 'Todas'),
    columns: 4,
  }),
  type: fieldInput(ITEM_SEARCH.type, { kind: choiceInput(namedOptions(ITEM_SEARCH.type.names), 'Todos'), columns: 4 }),
  out_of_stock: fieldInput(ITEM_SEARCH.out_of_stock, 4),
  low_stock: fieldInput(ITEM_SEARCH.low_stock, 4),
  state: fieldInput(ITEM_SEARCH.state, {
    kind: choiceInput(namedOptions(ITEM_SEARCH.state.names), 'Ativos'),
    columns: 4,
  }),
})

const Search = z.object({ ...wholeShape(ITEM_SEARCH), cursor: z.string().optional() })

const seesCosts = ({ session: { permissions } }: PageContext): boolean => may(permissions, 'see_costs')

/** Margin of the item as it is; scripts keep it up while a price is typed. */
const marginHint = (item: Item | undefined): string => `Margem: ${(item && marginText(item)) ?? '—'}`

/** Folded in the form: most shops leave them to their accountant. */
const taxed = (columns: 3 | 4 | 8) => ({ columns, fold: 'Dados fiscais' })

/** Units of the shop's type. */
async function suggestedUnits(visit: PageContext): Promise<readonly string[]> {
  const type = (await loadCompany(visit))?.business_type
  return type ? BUSINESS_SUGGESTIONS[type].units : []
}

export async function itemFields(visit: PageContext, item?: Item) {
  const { cost, stock, ...inputs } = fieldInputs(FORM, {
    name: 8,
    type: 4,
    price: { label: 'Preço de venda (R$)', columns: 4 },
    cost: { columns: 4, hint: marginHint(item) },
    unit: { kind: suggestedInput(await suggestedUnits(visit)), columns: 4 },
    category_id: { kind: recordChoiceInput(await categoryOptions(visit), 'Sem categoria'), columns: 4 },
    barcode: 4,
    sku: 4,
    external_id: 4,
    gtin: 4,
    ncm: 4,
    cest: 4,
    stock: {
      label: 'Estoque inicial',
      columns: 4,
      hint: 'Deixe em branco para não controlar o estoque. Serviços não têm estoque.',
    },
    min_stock: 4,
    origin: taxed(8),
    cfop: taxed(4),
    csosn: taxed(4),
    icms_cst: taxed(4),
    cbenef: taxed(4),
    pis_cst: taxed(3),
    cofins_cst: taxed(3),
    ibs_cbs_cst: taxed(3),
    ibs_cbs_class: taxed(3),
  })
  const { name, type, price, unit, category_id, barcode, sku, external_id, gtin, ncm, cest, ...others } = inputs
  return {
    ...{ name, type, price },
    ...(seesCosts(visit) && { cost }),
    ...{ unit, category_id, barcode, sku, external_id, gtin, ncm, cest },
    ...(item === undefined && { stock }),
    ...others,
  }
}

const ORDERS: Readonly<Record<string, ListOrder>> = ITEM_ORDERS

/** Deactivated items have no page: the list offers to reactivate them. */
const columnsFor = (visit: PageContext, rows: readonly Item[]): OptionalColumn<Item>[] => {
  const isInactive = visit.query.state === 'inactive'
  const hasPictures = rows.some(({ picture_url }) => picture_url !== null)
  const name = (item: Item) => (
    <>
      {hasPictures && <SmallPicture item={item} />}
      {isInactive ? item.name : <a href={link(`${PATH}/${item.id}`)}>{item.name}</a>}
    </>
  )
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

/** The product of a variant, by its name. */
async function ParentLink({ visit, id }: { readonly visit: PageContext; readonly id: number }) {
  const subject = `catalog_item/${id}`
  const nameOf = await namesOfSubjects(visit.readModel, [{ subject }])
  return <a href={link(`${PATH}/${id}`)}>{nameOf(subject)}</a>
}

export const catalogPages = recordPages<Item>({
  path: PATH,
  section: 'catalog',
  editing: 'edit_catalog',
  subject: 'catalog_item',
  words: {
    all: 'Catálogo',
    create: 'Novo produto ou serviço',
    none: 'Nenhum item encontrado.',
    begin: ['Nenhum item ainda', 'Aqui ficam os produtos e serviços que você vende, com preço e estoque.'],
  },
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
    file: (visit) =>
      fileColumns(fields, visit.readModel.timezone, [
        'name',
        'type',
        ['category_id', ({ category_name }: Item) => category_name],
        'variant.size',
        'variant.color',
        'price',
        ...(seesCosts(visit) ? (['cost'] as const) : []),
        'stock',
        'min_stock',
        'unit',
        'barcode',
        'sku',
        'external_id',
        ...TAXES,
        'created_at',
        'metadata',
      ]),
    more: [
      { label: 'Alterar preços', to: PRICES_PATH },
      { label: 'Etiquetas', to: LABELS_PATH },
      { label: 'Categorias', to: `${PATH}/categorias` },
      { label: 'Reposição', to: RUNNING_OUT_PATH },
      { label: 'Lista de compras', to: '/catalogo/lista-de-compras' },
      { label: 'Inventários', to: INVENTORIES_PATH },
      { label: 'Entrada por NF-e', to: '/catalogo/entradas/nfe' },
      { label: 'Entradas', to: '/catalogo/entradas' },
      { label: 'Movimentação', to: MOVEMENTS_PATH },
      { label: 'Importar', to: `${PATH}/importar` },
    ],
  },
  get: ({ readModel }, id) => getItem(readModel.reader, id),
  nameOf: ({ name }) => name,
  head: ({ id }) => ({
    more: [
      { label: 'Vendas deste item', to: '/vendas', parameters: { item: id } },
      { label: 'Etiquetas', to: LABELS_PATH, parameters: { item: id } },
    ],
  }),
  facts: async (item, visit) =>
    fieldFacts(FACTS, item, visit.readModel.timezone, [
      'type',
      ['price', <PriceInfo key="price" item={item} seesCosts={seesCosts(visit)} />],
      ['cost', seesCosts(visit) && item.cost && formatMoney(item.cost)],
      ['Margem', seesCosts(visit) && marginText(item)],
      ['stock', <StockInfo key="stock" item={item} />],
      ['variant', variantText(item)],
      ['Variação de', item.parent_id && (await ParentLink({ visit, id: item.parent_id }))],
      ['category_id', item.category_name],
      'unit',
      'barcode',
      'sku',
      'external_id',
      ...TAXES,
      'created_at',
      'updated_at',
    ]),
  notice: (item) => <ProductPicture item={item} />,
  more: async (item, visit) => (
    <>
      <StockCard visit={visit} item={item} cover={await coverOf(item, visit)} />
      {await VariantsCard({ visit, item })}
      {await MovementsCard({ visit, item })}
      <PictureCard visit={visit} item={item} />
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
