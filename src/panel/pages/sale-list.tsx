import * as z from 'zod'
import { addDays, CalendarDate } from '#domain/instant.ts'
import { countUnits, fromCents, toCents, toThousandths } from '#domain/money.ts'
import {
  formatCount,
  formatDateTime,
  formatDateTimeSeconds,
  formatDay,
  formatMoney,
  formatPersonName,
  formatUnits,
} from '#domain/person-values.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { pathId } from '#http/paths.ts'
import { ownValue } from '#lib/collections.ts'
import type { ItemObject } from '#projections/catalog.ts'
import type { SaleObject } from '#projections/sales.ts'
import { getAnyItem } from '#queries/item-queries.ts'
import { type ListOrder, reverseListOrder } from '#queries/list-statement.ts'
import { NEWEST_FIRST, ORDER_BY_ID } from '#queries/record-queries.ts'
import {
  LAST_SOLD_FIRST,
  listLatestSales,
  MAX_SCANNED_SALES,
  type SaleSums,
  sumLatestSales,
} from '#queries/sale-queries.ts'
import { wholeShape } from '#records/field.ts'
import { SALE_SEARCH } from '#records/list-filters.ts'
import { amountCell, listFile, metadataCell } from '../csv-files.ts'
import { choiceInput, namedOptions, type Option, toOptions } from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageContext, PageReadModel, PanelPage, PanelRoute } from '../panel-route.ts'
import { fieldInputs } from '../record-fields.ts'
import { actorOptions } from '../record-history.tsx'
import { ReconciliationLine } from '../ui/head.tsx'
import type { Column } from '../ui/list-table.tsx'
import { Chips, Figure, FigureUnits, StateBadge, type StateMark } from '../ui/page-parts.tsx'
import {
  List,
  type ListRequest,
  listFiltered,
  type QuickFilter,
  readFilterValues,
  readListPage,
} from '../ui/panel-list.tsx'
import { CHANNELS } from '../words/event-words.ts'
import { findItemsByText, itemLabel, itemProblem } from './item-pages.tsx'
import { loadPaymentTypes } from './payment-type-pages.tsx'
import { PAYMENT_DETAIL_COLUMNS, sellerOptions } from './sale-parts.tsx'
import { VOUCHER_PATH, VOUCHERS_PATH } from './voucher-pages.tsx'

interface PaymentType {
  readonly id: number
  readonly name: string
}

export const SALE_STATES: Readonly<Record<SaleObject['status'], StateMark>> = {
  completed: ['good', 'Concluída'],
  cancelled: ['bad', 'Cancelada'],
}

export const SaleBadge = ({ status }: Pick<SaleObject, 'status'>) => <StateBadge state={SALE_STATES[status]} />

const statuses = toOptions(SALE_SEARCH.status.answer.options, (status) => SALE_STATES[status][1])

interface FilterOptions {
  readonly types: readonly PaymentType[]
  readonly actors: readonly Option[]
  readonly sellers: readonly Option[]
  readonly items: readonly Option[]
}

const filtersOf = ({ types, actors, sellers, items }: FilterOptions): Fields => {
  const chosen = (options: readonly Option[], none: string) => ({
    kind: choiceInput(options, none),
    columns: 3 as const,
  })
  const inputs = fieldInputs(SALE_SEARCH, {
    customer: 12,
    sold_from: 3,
    sold_to: 3,
    payment_type_id: chosen(
      types.map(({ id, name }) => ({ value: String(id), label: name })),
      'Todas',
    ),
    status: chosen(statuses, 'Todas'),
    seller: chosen(sellers, 'Todos'),
    actor: chosen(actors, 'Todos'),
    product: 3,
    item: chosen(items, 'Todos'),
    id: 3,
    external_id: 3,
    origin: chosen(namedOptions(CHANNELS), 'Todas'),
    fiscal: chosen(namedOptions(SALE_SEARCH.fiscal.names), 'Todos'),
  })
  // Set by links: on the product's page, and to the products that a text may mean.
  return Object.fromEntries(Object.entries(inputs).filter(([name]) => name !== 'item' || items.length > 0))
}

async function filters(visit: PageContext): Promise<Fields> {
  const { readModel, query } = visit
  return filtersOf({
    types: await loadPaymentTypes({ readModel }),
    actors: await actorOptions(readModel),
    sellers: await sellerOptions(visit),
    items: await itemOption(readModel, query.item),
  })
}

/** The product or service in the query string; null if it does not exist. */
async function itemOf({ reader }: PageReadModel, asked = ''): Promise<ItemObject | null> {
  const id = pathId(asked)
  const found = id === null ? null : await getAnyItem(reader, id)
  return found?.record ? (JSON.parse(found.record) as ItemObject) : null
}

async function itemOption(readModel: PageReadModel, asked = ''): Promise<Option[]> {
  if (asked === '') return []
  const item = await itemOf(readModel, asked)
  return [{ value: asked, label: item?.name ?? `Produto ${asked}` }]
}

/** The filtered item: a chosen one, or the one that a text names; a refusal if the text names none or several. */
async function filteredItem(
  readModel: PageReadModel,
  { item, product }: Pick<z.infer<typeof Search>, 'item' | 'product'>,
): Promise<number | undefined | Refusal> {
  if (item !== undefined || product === undefined) return item
  const found = await findItemsByText(readModel, product)
  const problem = itemProblem(found)
  return problem === null ? found[0]?.id : refuseField('product', problem)
}

/** The most frequent periods. */
const periodsOf = (today: string): QuickFilter[] => {
  const from = (label: string, sold_from: string, sold_to = today) => ({ label, filters: { sold_from, sold_to } })
  return [
    from('Hoje', today),
    from('Ontem', addDays(today, -1), addDays(today, -1)),
    from('7 dias', addDays(today, -6)),
    from('30 dias', addDays(today, -29)),
    { label: 'Canceladas', filters: { status: 'cancelled' } },
  ]
}

const Search = z.object({ ...wholeShape(SALE_SEARCH), cursor: z.string().max(2_000).optional() })

const USUAL_ORDER = '-quando'
/** Orders with an index. */
const ORDERS: Readonly<Record<string, ListOrder>> = {
  quando: reverseListOrder(LAST_SOLD_FIRST),
  [USUAL_ORDER]: LAST_SOLD_FIRST,
  numero: ORDER_BY_ID,
  '-numero': NEWEST_FIRST,
}

const paidWith = ({ payments }: SaleObject): string => [...new Set(payments.map(({ name }) => name))].join(', ')

const columnsFor = (timezone: string): Column<SaleObject>[] => [
  { head: 'Nº', cell: ({ id }) => <a href={link(`/vendas/${id}`)}>{id}</a>, order: 'numero' },
  { head: 'Quando', cell: ({ sold_at }) => formatDateTime(sold_at, timezone), order: 'quando' },
  { head: 'Cliente', cell: ({ customer }) => customer && formatPersonName(customer.name) },
  { head: 'Vendedor', cell: ({ seller }) => seller && formatPersonName(seller.name), isExtra: true },
  { head: 'Pagamento', cell: paidWith },
  { head: 'Situação', cell: ({ status }) => <SaleBadge status={status} /> },
  { head: 'Total', cell: ({ total }) => formatMoney(total), isNumber: true },
  { head: 'Origem', cell: ({ origin }) => CHANNELS[origin], isExtra: true },
]

type QueryValues = Readonly<Record<string, string>>

const page = ({ readModel }: PageContext, asked: QueryValues, { limit, order = '', isWhole }: ListRequest) =>
  listFiltered(Search, asked, async ({ product, ...search }) => {
    const { reader, timezone } = readModel
    const item = await filteredItem(readModel, { ...search, product })
    if (typeof item === 'object') return item
    const wanted = { ...search, item, timezone, limit, order: ownValue(ORDERS, order), isWhole }
    return listLatestSales(reader, wanted)
  })

/** Sums of a list that `page` has accepted. */
async function summaryOf({ readModel }: PageContext, asked: QueryValues) {
  const { reader, timezone } = readModel
  const { cursor: _, product, ...search } = Search.parse(asked)
  const id = await filteredItem(readModel, { ...search, product })
  const item = typeof id === 'number' ? id : undefined
  const sums = await sumLatestSales(reader, { ...search, item, timezone })
  const known = item === undefined ? null : await itemOf(readModel, String(item))
  return (
    <Sums
      sums={sums}
      wayId={search.payment_type_id}
      itemId={item}
      name={product === undefined ? null : (known?.name ?? null)}
      unit={known?.unit ?? null}
    />
  )
}

interface SumsProps {
  readonly sums: SaleSums
  /** Of the filters. */
  readonly wayId: number | undefined
  readonly itemId: number | undefined
  /** Of the item that a text named; null without one. */
  readonly name: string | null
  /** Of the filtered item; null without one. */
  readonly unit: string | null
}

/** Number and totals of the listed sales; what of them is of a filtered payment type or item. */
const Sums = ({ sums, wayId, itemId, name, unit }: SumsProps) => {
  const { way, item, scanned } = sums
  return (
    <>
      <p class="sums">
        {scanned > MAX_SCANNED_SALES && `Nas últimas ${formatCount(MAX_SCANNED_SALES)} vendas: `}
        <ReconciliationLine of="total" sales={sums} />
      </p>
      {way && (
        <p class="sums">
          Nesta forma de pagamento: <ReconciliationLine of={`total/forma/${wayId}`} sales={way} />
        </p>
      )}
      {item && (
        <p class="sums">
          {name ?? 'Deste item'}: <FigureUnits of={`item/${itemId}`} quantity={item.net.quantity} unit={unit} />,{' '}
          <strong>
            <Figure name="liquido" of={`item/${itemId}`}>
              {formatMoney(item.net.amount)}
            </Figure>
          </strong>
          {toThousandths(item.cancelled.quantity) > 0 &&
            `, sem as canceladas (${formatUnits(item.cancelled.quantity, unit)}, ${formatMoney(item.cancelled.amount)})`}
          {toThousandths(item.returned.quantity) > 0 &&
            `, menos o devolvido (${formatUnits(item.returned.quantity, unit)}, ${formatMoney(item.returned.amount)})`}
        </p>
      )}
    </>
  )
}

/** The day of the list with those beside it: the filtered day, or today if no days are filtered. */
const DayArrows = ({ visit: { path, query, readModel } }: { readonly visit: PageContext }) => {
  const { sold_from, sold_to, cursor: _, feito: __, ...others } = query
  const isOfOneDay = (sold_from ?? '') === (sold_to ?? '')
  const day = isOfOneDay ? CalendarDate.safeParse(sold_from || readModel.today).data : undefined
  if (day === undefined) return null
  const [before, after] = [addDays(day, -1), addDays(day, 1)]
  const chip = (label: string, of: string) => ({
    label,
    to: path,
    parameters: { ...others, sold_from: of, sold_to: of },
    isCurrent: of === sold_from,
  })
  const chips = [
    chip(`‹ ${formatDay(before)}`, before),
    chip(formatDay(day), day),
    chip(`${formatDay(after)} ›`, after),
  ]
  return <Chips label="Dia" chips={after > readModel.today ? chips.slice(0, 2) : chips} />
}

/** Products that the text of the filter may mean, as links. */
async function Meant({ visit }: { readonly visit: PageContext }) {
  const { path, query, readModel } = visit
  const { product = '', cursor: _, ...others } = query
  const found = await findItemsByText(readModel, product.trim())
  const chips = found.map((item) => ({ label: itemLabel(item), to: path, parameters: { ...others, item: item.id } }))
  return found.length < 2 ? null : <Chips label="Produtos com este nome" chips={chips} />
}

async function show(visit: PageContext): Promise<PanelPage> {
  const { timezone, today } = visit.readModel
  const fields = await filters(visit)
  const found = await readListPage<SaleObject>(visit, fields, page, summaryOf)
  const list = found.filled.errors.product ? { ...found, summary: await Meant({ visit }) } : found
  const body = (
    <List
      visit={visit}
      filters={fields}
      list={list}
      caption="Vendas"
      columns={columnsFor(timezone)}
      empty="Nenhuma venda encontrada."
      begin={{
        title: 'Nenhuma venda ainda',
        text: 'Aqui ficam as vendas dos caixas e da loja online.',
        action: { label: 'Vender em um caixa', to: '/caixas' },
      }}
      quick={periodsOf(today)}
      chips={<DayArrows visit={visit} />}
      order={USUAL_ORDER}
      file="/vendas.csv"
      moreFiles={[{ label: 'Itens (CSV)', to: `${ITEMS_PATH}.csv` }]}
    />
  )
  return {
    title: 'Vendas',
    body,
    more: [
      { label: 'Devoluções', to: '/devolucoes' },
      visit.reaches('GET', VOUCHERS_PATH)
        ? { label: 'Vales-troca', to: VOUCHERS_PATH }
        : { label: 'Conferir vale-troca', to: VOUCHER_PATH },
    ],
  }
}

const file = listFile<SaleObject>({
  path: '/vendas',
  section: 'sales',
  asOf: true,
  filters,
  page,
  columns: ({ readModel: { timezone } }) => [
    ['Número', ({ id }) => id],
    ['Código externo', ({ external_id }) => external_id],
    ['Quando', ({ sold_at }) => formatDateTimeSeconds(sold_at, timezone)],
    ['Situação', ({ status }) => SALE_STATES[status][1]],
    ['Cliente', ({ customer }) => customer && formatPersonName(customer.name)],
    ['Vendedor', ({ seller }) => seller && formatPersonName(seller.name)],
    ['Itens', ({ items }) => countUnits(items.map(({ quantity }) => quantity))],
    ['Formas de pagamento', paidWith],
    ...PAYMENT_DETAIL_COLUMNS,
    ['Desconto dos itens', ({ items }) => amountCell(sumOf(items.map(({ discount }) => discount)))],
    ['Subtotal', ({ subtotal }) => amountCell(subtotal)],
    ['Desconto', ({ discount }) => amountCell(discount)],
    ['Entrega', ({ delivery_fee }) => amountCell(delivery_fee)],
    ['Total', ({ total }) => amountCell(total)],
    ['Devolvido', (sale) => amountCell(givenBackOf(sale))],
    ['Líquido', (sale) => amountCell(netOf(sale))],
    ['Acréscimo embutido', ({ payments }) => amountCell(sumOf(payments.map(({ surcharge }) => surcharge)))],
    ['Troco', ({ change }) => amountCell(change)],
    ['Origem', ({ origin }) => CHANNELS[origin]],
    ['Pedido', ({ order_id }) => order_id],
    ['Cancelada em', ({ cancelled_at }) => cancelled_at && formatDateTimeSeconds(cancelled_at, timezone)],
    ['Motivo do cancelamento', ({ cancel_reason }) => cancel_reason],
    ['Dinheiro devolvido em', ({ cancel_refunds }) => cancel_refunds?.map(({ name }) => name).join(', ')],
    ['Chave do documento fiscal', ({ fiscal_document }) => fiscal_document?.access_key],
    ['Metadados', metadataCell],
  ],
})

const ITEMS_PATH = '/vendas/itens'

type SaleLine = SaleObject & { readonly line: SaleObject['items'][number] }

/** A line for each item of the filtered sales, of a filtered product its own lines. */
const itemsFile = listFile<SaleLine>({
  path: ITEMS_PATH,
  section: 'sales',
  asOf: true,
  filters,
  page,
  async complete(visit, sales) {
    const { item, product } = Search.parse(readFilterValues(visit, await filters(visit)))
    const id = await filteredItem(visit.readModel, { item, product })
    const isFiltered = (line: SaleLine['line']) => typeof id !== 'number' || line.catalog_item_id === id
    return sales.flatMap((sale) => sale.items.filter(isFiltered).map((line) => ({ ...sale, line })))
  },
  columns: ({ readModel: { timezone } }) => [
    ['Venda', ({ id }) => id],
    ['Código externo da venda', ({ external_id }) => external_id],
    ['Quando', ({ sold_at }) => formatDateTimeSeconds(sold_at, timezone)],
    ['Situação', ({ status }) => SALE_STATES[status][1]],
    ['Cliente', ({ customer }) => customer && formatPersonName(customer.name)],
    ['Vendedor', ({ seller }) => seller && formatPersonName(seller.name)],
    ['Número do item', ({ line }) => line.catalog_item_id],
    ['Código externo do item', ({ line }) => line.external_id],
    ['Descrição', ({ line }) => line.description],
    ['Quantidade', ({ line }) => amountCell(line.quantity)],
    ['Quantidade devolvida', ({ line }) => amountCell(line.returned)],
    ['Preço unitário', ({ line }) => amountCell(line.unit_price)],
    ['Desconto', ({ line }) => amountCell(line.discount)],
    ['Rateio do desconto', ({ line }) => amountCell(line.discount_share)],
    ['Total', ({ line }) => amountCell(line.total)],
    ['Total com rateio', ({ line }) => amountCell(fromCents(toCents(line.total) - toCents(line.discount_share)))],
    ['NCM', ({ line }) => line.ncm],
    ['CFOP', ({ line }) => line.cfop],
    ['Origem', ({ origin }) => CHANNELS[origin]],
  ],
})

/** Refunds of the sale's order and returned goods; nothing of a cancelled sale. */
const givenBackOf = ({ status, refunded_total, returned_total }: SaleObject): string =>
  status === 'completed' ? sumOf([refunded_total, returned_total]) : '0.00'

/** What stays of a sale; nothing of a cancelled one. */
const netOf = (sale: SaleObject): string =>
  sale.status === 'completed' ? fromCents(toCents(sale.total) - toCents(givenBackOf(sale))) : '0.00'

const sumOf = (amounts: readonly string[]): string =>
  fromCents(amounts.reduce((sum, amount) => sum + toCents(amount), 0))

export const salesPages: readonly PanelRoute[] = [
  { path: '/vendas', section: 'sales', asOf: true, show },
  file,
  itemsFile,
]
