import * as z from 'zod'
import { toThousandths } from '#domain/money.ts'
import { formatDateTime, formatDateTimeSeconds, formatMoney, formatSigned, formatUnits } from '#domain/person-values.ts'
import { may } from '#domain/rights.ts'
import { isRefusal } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import { ownValue } from '#lib/collections.ts'
import { findUnits, unitIn } from '#queries/item-queries.ts'
import { listShownMovements, type ShownMovement } from '#queries/stock-queries.ts'
import { wholeShape } from '#records/field.ts'
import { MOVEMENT_FILTERS, MOVEMENT_KIND_NAMES } from '#records/list-filters.ts'
import { amountCell, listFile } from '../csv-files.ts'
import { choiceInput, namedOptions } from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { fieldInput } from '../record-fields.ts'
import { namesOfActors, namesOfSubjects } from '../record-history.tsx'
import { type Column, ListTable, type OptionalColumn } from '../ui/list-table.tsx'
import { Card } from '../ui/page-parts.tsx'
import {
  CardPager,
  FileLink,
  List,
  type ListRequest,
  listFiltered,
  readListPage,
  recordsOnPage,
} from '../ui/panel-list.tsx'
import { subjectPath } from '../words/event-words.ts'
import type { Item } from './stock-pages.tsx'

export const MOVEMENTS_PATH = '/catalogo/movimentacao'

/** An adjustment that takes from the stock is what the form calls an issue; a purchase that does is undone. */
const kindName = ({ kind, quantity }: Pick<ShownMovement, 'kind' | 'quantity'>): string => {
  if (kind === 'purchase' && quantity.startsWith('-')) return 'Entrada desfeita'
  if (kind !== 'adjustment') return MOVEMENT_KIND_NAMES[kind]
  return quantity.startsWith('-') ? 'Saída' : 'Ajuste de entrada'
}

/** Records with a page of their own. */
const RECORD_TEXTS: Readonly<Record<string, string>> = {
  sale: 'da venda',
  order: 'do pedido',
  inventory: 'nº',
  goods_receipt: 'nº',
}

interface CauseProps {
  readonly visit: PageContext
  readonly movement: ShownMovement
}

/** What moved the stock, with a link to its record if the user may open it. */
const Cause = ({ visit, movement }: CauseProps) => {
  const { kind, record } = movement
  if (record === null) return <>{kindName(movement)}</>
  const { type, id } = parseSubject(record)
  const ofRecord = ownValue(RECORD_TEXTS, type)
  if (ofRecord === undefined) return <>{kindName(movement)}</>
  const text = kind === 'sale' ? `Venda ${id}` : `${kindName(movement)} ${ofRecord} ${id}`
  const path = subjectPath(record)
  return visit.reaches('GET', path) ? <a href={link(path)}>{text}</a> : text
}

/** Document and reason that a person or client gave. */
const detailOf = ({ document, record, reason }: ShownMovement): string =>
  [record === null && document, reason].filter(Boolean).join(': ')

const seesCosts = ({ session: { permissions } }: PageContext): boolean => may(permissions, 'see_costs')

async function columnsFor(
  visit: PageContext,
  rows: readonly ShownMovement[],
): Promise<OptionalColumn<ShownMovement>[]> {
  const { readModel } = visit
  const [actors, units] = [await namesOfActors(readModel, rows), await findUnits(readModel.reader, rows)]
  return [
    { head: 'Quando', cell: ({ occurred_at }) => formatDateTime(occurred_at, readModel.timezone) },
    { head: 'Tipo', cell: (movement) => <Cause visit={visit} movement={movement} /> },
    { head: 'Documento', cell: detailOf, isExtra: true },
    { head: 'Quem', cell: ({ actor }) => actors(actor), isExtra: true },
    seesCosts(visit) && {
      head: 'Custo',
      cell: ({ unit_cost }) => unit_cost && formatMoney(unit_cost),
      isNumber: true,
      isExtra: true,
    },
    { head: 'Variação', cell: (row) => formatSigned(row.quantity, unitIn(units, row)), isNumber: true },
    {
      head: 'Saldo',
      cell: (row) => (row.balance === null ? 'Não controla estoque' : formatUnits(row.balance, unitIn(units, row))),
      isNumber: true,
    },
  ]
}

/** Movements on a page of a product. */
const OF_PRODUCT = 6

interface MovementsProps {
  readonly visit: PageContext
  readonly item: Item
}

/** Stock movements of a product, newest first; `estoque` in the query string is the cursor of a page. */
export async function MovementsCard({ visit, item }: MovementsProps) {
  const { readModel } = visit
  if (item.type === 'service') return null
  const { estoque: cursor } = visit.query
  const wanted = { catalog_item_id: item.id, limit: OF_PRODUCT }
  const ask = (more: { cursor?: string }) => listShownMovements(readModel.reader, { ...wanted, ...more })
  const asked = await ask(cursor ? { cursor } : {})
  const page = isRefusal(asked) ? await ask({}) : asked
  const rows = recordsOnPage<ShownMovement>(page)
  if (isRefusal(page) || (rows.length === 0 && !cursor)) return null
  return (
    <Card title="Movimentação do estoque" id="movimentacao">
      <StockLine movements={rows} unit={item.unit} />
      <ListTable
        caption="Movimentação do estoque"
        rows={rows}
        empty="Nada mais."
        columns={await columnsFor(visit, rows)}
      />
      <FileLink to={`${MOVEMENTS_PATH}.csv`} parameters={{ catalog_item_id: String(item.id) }} />
      <CardPager
        visit={visit}
        card="movimentacao"
        parameter="estoque"
        next={page.next}
        words={['Páginas da movimentação', 'Últimas', 'Anteriores']}
      />
    </Card>
  )
}

const filters: Fields = {
  kind: fieldInput(MOVEMENT_FILTERS.kind, {
    kind: choiceInput(namedOptions(MOVEMENT_KIND_NAMES), 'Todos'),
    columns: 4,
  }),
  catalog_item_id: fieldInput(MOVEMENT_FILTERS.catalog_item_id, 4),
}

const Search = z.object({ ...wholeShape(MOVEMENT_FILTERS), cursor: z.string().max(2_000).optional() })

const pageOf = ({ readModel }: PageContext, asked: Readonly<Record<string, string>>, { limit }: ListRequest) =>
  listFiltered(Search, asked, (search) => listShownMovements(readModel.reader, { ...search, limit }))

const itemOf = ({ catalog_item_id }: ShownMovement): string => `catalog_item/${catalog_item_id}`

/** Names of the items of movements. */
const itemNames = ({ readModel }: PageContext, rows: readonly ShownMovement[]) =>
  namesOfSubjects(
    readModel,
    rows.map((movement) => ({ subject: itemOf(movement) })),
  )

/** All movements of the company, newest first. */
async function show(visit: PageContext): Promise<PanelPage> {
  const list = await readListPage<ShownMovement>(visit, filters, pageOf)
  const names = await itemNames(visit, list.rows)
  const item: Column<ShownMovement> = {
    head: 'Item',
    cell: (movement) => <a href={link(subjectPath(itemOf(movement)))}>{names(itemOf(movement))}</a>,
  }
  const body = (
    <List
      visit={visit}
      filters={filters}
      list={list}
      caption="Movimentação do estoque"
      columns={[item, ...(await columnsFor(visit, list.rows))]}
      empty="Nenhuma movimentação encontrada."
      begin={{
        title: 'Nenhuma movimentação ainda',
        text: 'Vendas, entradas, perdas e contagens aparecem aqui.',
        action: { label: 'Nova entrada', to: '/catalogo/entradas/novo' },
      }}
      file={`${MOVEMENTS_PATH}.csv`}
    />
  )
  return { title: 'Movimentação do estoque', body, parent: { label: 'Catálogo', to: '/catalogo' } }
}

type NamedMovement = ShownMovement & { readonly item: string }

const file = listFile<NamedMovement>({
  path: MOVEMENTS_PATH,
  section: 'catalog',
  asOf: true,
  filters,
  page: pageOf,
  async complete(visit, rows) {
    const names = await itemNames(visit, rows)
    return rows.map((movement) => ({ ...movement, item: names(itemOf(movement)) }))
  },
  columns: (visit) => [
    ['Número', ({ id }) => String(id)],
    ['Quando', ({ occurred_at }) => formatDateTimeSeconds(occurred_at, visit.readModel.timezone)],
    ['Item', ({ item }) => item],
    ['Número do item', ({ catalog_item_id }) => String(catalog_item_id)],
    ['Tipo', kindName],
    ['Variação', ({ quantity }) => amountCell(quantity)],
    ['Saldo', ({ balance }) => amountCell(balance)],
    ...(seesCosts(visit) ? [['Custo', ({ unit_cost }: NamedMovement) => amountCell(unit_cost)] as const] : []),
    ['Documento', ({ document }) => document],
    ['Motivo', ({ reason }) => reason],
  ],
})

export const movementPages: readonly PanelRoute[] = [
  { path: MOVEMENTS_PATH, section: 'catalog', asOf: true, show },
  file,
]

const [WIDTH, HEIGHT] = [600, 80]

/** Chart of the stock after each movement, oldest first; the axis includes zero. */
const StockLine = ({
  movements,
  unit,
}: {
  readonly movements: readonly ShownMovement[]
  readonly unit: Item['unit']
}) => {
  const kept = movements.flatMap(({ balance }) => balance ?? []).reverse()
  if (kept.length < 2) return null
  const levels = kept.map(toThousandths)
  const [least, most] = [Math.min(0, ...levels), Math.max(0, ...levels)]
  const heightOf = (level: number) => Math.round(((most - level) / Math.max(1, most - least)) * HEIGHT)
  const step = WIDTH / (levels.length - 1)
  const points = levels.map((level, at) => `${Math.round(at * step)},${heightOf(level)}`).join(' ')
  const [first, last] = [kept[0] ?? '', kept.at(-1) ?? ''].map((level) => formatUnits(level, unit))
  return (
    <svg
      class="stock-line"
      viewBox={`0 -4 ${WIDTH} ${HEIGHT + 8}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Estoque nas ${kept.length} movimentações abaixo: de ${first} a ${last}`}
    >
      <line x1="0" x2={WIDTH} y1={heightOf(0)} y2={heightOf(0)} />
      <polyline points={points} />
    </svg>
  )
}
