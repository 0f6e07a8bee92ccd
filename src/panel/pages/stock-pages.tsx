import * as z from 'zod'
import { updateItem } from '#commands/item-commands.ts'
import { recordStockMovement, type StockMovementInput } from '#commands/stock-commands.ts'
import { isBrokenPiece, Money, StockQuantity, toThousandths } from '#domain/money.ts'
import * as format from '#domain/person-values.ts'
import { formatCount } from '#domain/person-values.ts'
import { type Refusal, refuse } from '#domain/refusals.ts'
import { may } from '#domain/rights.ts'
import { optionalText, REQUIRED_FIELD } from '#domain/text.ts'
import { toHttpStatus } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import type { ItemObject } from '#projections/catalog.ts'
import { countItems, getItem } from '#queries/item-queries.ts'
import { type LowStockObject, type StockCover, searchLowStock } from '#queries/stock-queries.ts'
import { wholeShape } from '#records/field.ts'
import { LOW_STOCK_SEARCH } from '#records/list-filters.ts'
import { amountCell, type FileColumn, listFile } from '../csv-files.ts'
import {
  amountInput,
  choiceInput,
  lineInput,
  quantityInput,
  recordChoiceInput,
  suggestedInput,
  toOptions,
} from '../forms/input-kinds.ts'
import { type Fields, type FilledForm, fillFromBody, fillFromRecord } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { fieldInput } from '../record-fields.ts'
import { Form } from '../ui/form-fields.tsx'
import { formRoute } from '../ui/form-pages.tsx'
import type { Column } from '../ui/list-table.tsx'
import { Card, Facts, Figure, FigureUnits, PanelBadge } from '../ui/page-parts.tsx'
import { List, type ListRequest, listFiltered, readListPage } from '../ui/panel-list.tsx'
import { loadRecord } from '../ui/record-pages.tsx'
import { refusalMessage } from '../words/message-words.ts'
import { categoryFilterOptions } from './category-pages.tsx'

/** A catalog item in the API's form. */
export type Item = ItemObject & { readonly category_name: string | null }

/** Stock of an item; an empty stock is marked. */
export const StockInfo = ({ item, of }: { readonly item: Pick<Item, 'stock' | 'unit'>; readonly of?: string }) => {
  const { stock, unit } = item
  if (stock === null) return <>Não controla estoque</>
  const thousandths = toThousandths(stock)
  if (thousandths === 0) return <PanelBadge tone="warn">Sem estoque</PanelBadge>
  const amount = of ? (
    <FigureUnits name="estoque" of={of} quantity={stock} unit={unit} />
  ) : (
    format.formatUnits(stock, unit)
  )
  if (thousandths < 0) return <PanelBadge tone="bad">Negativo: {amount}</PanelBadge>
  return isBrokenPiece(unit, stock) ? <PanelBadge tone="warn">{amount} (não inteira)</PanelBadge> : amount
}

/** How long a stock lasts, for people. */
export function coverText({ days_of_stock: days, sold_30_days }: StockCover): string | null {
  if (days === null) return toThousandths(sold_30_days) === 0 ? 'Sem vendas em 30 dias' : null
  if (days === 0) return 'Menos de um dia'
  return days === 1 ? '1 dia' : `${format.formatCount(days)} dias`
}

/** Movements by the typed operation. */
const MOVEMENTS = {
  in: 'Entrada',
  out: 'Saída',
  loss: 'Perda',
  count: 'Inventário (definir quantidade)',
  untrack: 'Deixar de controlar o estoque',
} as const

type Movement = keyof typeof MOVEMENTS

const KINDS = { in: 'purchase', out: 'adjustment', loss: 'loss', count: 'count' } as const

/** Tracking of an untracked item starts with a count. */
const movementsOf = ({ stock }: Item): Movement[] =>
  stock === null ? ['count'] : ['in', 'out', 'loss', 'count', 'untrack']

const LOSS_REASONS = ['Quebra', 'Vencimento', 'Furto', 'Consumo próprio', 'Doação']

const fieldsOf = (item: Item, { session: { permissions } }: PageContext): Fields => ({
  movement: {
    label: 'Movimentação',
    kind: choiceInput(toOptions(movementsOf(item), (movement) => MOVEMENTS[movement])),
    isRequired: true,
    columns: 6,
  },
  quantity: {
    label: item.unit ? `Quantidade (${item.unit})` : 'Quantidade',
    kind: quantityInput,
    columns: 3,
  },
  ...(may(permissions, 'see_costs') &&
    item.stock !== null && {
      unit_cost: {
        label: 'Custo unitário (R$)',
        kind: amountInput,
        columns: 3,
        hint: 'Só para entradas. Passa a ser o custo do item.',
      },
    }),
  document: { label: 'Documento', kind: lineInput, columns: 4, hint: 'Ex.: número da nota de compra.' },
  reason: { label: 'Motivo', kind: suggestedInput(LOSS_REASONS), columns: 8, hint: 'Obrigatório em uma perda.' },
})

type MovementForm = Omit<StockMovementInput, 'catalog_item_id'> | 'untrack'

/** A quantity is required except to end tracking; zero is no movement. */
const StockForm = z
  .object({
    movement: z.enum(Object.keys(MOVEMENTS) as Movement[]),
    quantity: StockQuantity.nullable(),
    unit_cost: Money.nullish(),
    document: optionalText(100),
    reason: optionalText(500),
  })
  .superRefine(({ movement, quantity: amount, unit_cost, reason }, context) => {
    const problem = (message: string, field = 'quantity') =>
      context.addIssue({ code: 'custom', path: [field], message })
    if (movement === 'untrack') return
    if (amount === null) problem(REQUIRED_FIELD)
    else if (movement !== 'count' && !/[1-9]/.test(amount)) problem('deve ser maior que zero')
    if (movement === 'loss' && (reason ?? null) === null) problem('informe o motivo da perda', 'reason')
    if (movement !== 'in' && typeof unit_cost === 'string') problem('só vale para uma entrada', 'unit_cost')
  })
  .transform(({ movement, quantity: amount, ...details }): MovementForm => {
    if (movement === 'untrack') return 'untrack'
    const quantity = `${movement === 'out' ? '-' : ''}${amount}`
    return { ...details, kind: KINDS[movement], quantity }
  })

interface StockProps {
  readonly visit: PageContext
  readonly item: Item
  readonly filled?: FilledForm
  /** Absent if the form is shown again. */
  readonly cover?: StockCover | undefined
}

/** Stock of a product with the form that changes it. Services have none, and as-of pages have no form. */
export const StockCard = ({ visit, item, filled, cover }: StockProps) =>
  item.type === 'service' || visit.readModel.moment ? null : (
    <Card title="Estoque">
      <Facts
        facts={[
          ['Quantidade', <StockInfo key="stock" item={item} of={`item/${item.id}`} />],
          ['Estoque mínimo', item.min_stock && format.formatUnits(item.min_stock, item.unit)],
          [
            'Vendido em 30 dias',
            cover && (
              <FigureUnits
                name="vendido-30-dias"
                of={`item/${item.id}`}
                quantity={cover.sold_30_days}
                unit={item.unit}
              />
            ),
          ],
          ['O estoque dura', cover && coverText(cover)],
          [
            'Última movimentação',
            item.stock_updated_at && format.formatDateTime(item.stock_updated_at, visit.readModel.timezone),
          ],
        ]}
      />
      <Form
        visit={visit}
        to={`/catalogo/${item.id}/estoque`}
        label="Alterar estoque"
        isFolded
        fields={fieldsOf(item, visit)}
        filled={filled ?? fillFromRecord(fieldsOf(item, visit), {}, visit.readModel.timezone)}
      />
    </Card>
  )

/** Moves a refusal about other fields to the quantity. */
function ofQuantity(refusal: Refusal): Refusal {
  const messages = Object.values((refusal.details?.fields ?? {}) as Record<string, string[]>).flat()
  return messages.length === 0 ? refusal : refuse(refusal.refused, { fields: { quantity: messages } })
}

/** The refused form; for insufficient stock with the available quantity. */
function again(submission: FormSubmission, item: Item, refusal: Refusal): FilledForm {
  const filled = fillFromBody(fieldsOf(item, submission), submission.form, refusal)
  const available = refusal.details?.available
  if (typeof available !== 'string') return filled
  return { ...filled, problem: `${refusalMessage(refusal)} Há ${format.formatUnits(available, item.unit)}.` }
}

/** Handles the stock form of an item's page. */
export const stockForm = formRoute<Item, MovementForm>({
  path: '/catalogo/:id/estoque',
  section: 'catalog',
  access: 'adjust_stock',
  subject: (visit) => loadRecord<Item>(visit, ({ readModel }, id) => getItem(readModel.reader, id)),
  fields: fieldsOf,
  schema: StockForm,
  async act(submission, { id }, movement) {
    const answer =
      movement === 'untrack'
        ? await submission.run(updateItem, { id, changes: { stock: null } })
        : await submission.run(recordStockMovement, { ...movement, catalog_item_id: id })
    return isRefusal(answer) ? ofQuantity(answer) : { to: `/catalogo/${id}`, flash: 'estoque' }
  },
  again: (submission, item, refusal) => ({
    title: `Estoque de ${item.name}`,
    body: <StockCard visit={submission} item={item} filled={again(submission, item, refusal)} />,
    status: toHttpStatus(refusal.refused),
  }),
})

export const RUNNING_OUT_PATH = '/catalogo/reposicao'

const filters = async (visit: PageContext): Promise<Fields> => ({
  q: fieldInput(LOW_STOCK_SEARCH.q, 6),
  category_id: fieldInput(LOW_STOCK_SEARCH.category_id, {
    kind: recordChoiceInput(await categoryFilterOptions(visit), 'Todas'),
    columns: 6,
  }),
})

const Search = z.object({ ...wholeShape(LOW_STOCK_SEARCH), cursor: z.string().max(2_000).optional() })

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

/** Sales of others count in what was sold, and in how long the stock lasts. */
const showsSold = ({ session }: PageContext): boolean => may(session.permissions, 'see_all_sales')

const SOLD: readonly Column<LowStockObject>[] = [
  {
    head: 'Vendido em 30 dias',
    cell: ({ catalog_item_id, sold_30_days, unit }) => (
      <FigureUnits name="vendido-30-dias" of={`item/${catalog_item_id}`} quantity={sold_30_days} unit={unit} />
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
    cell: ({ min_stock, unit }) => min_stock && format.formatUnits(min_stock, unit),
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
      begin={{
        title: 'Nenhum produto acabando',
        text: 'Aqui ficam os produtos que chegam ao estoque mínimo.',
        action: { label: 'Ver o catálogo', to: '/catalogo' },
      }}
      file={`${RUNNING_OUT_PATH}.csv`}
    />
  )
  return {
    title: 'Reposição',
    body,
    parent: { label: 'Catálogo', to: '/catalogo' },
    more: [{ label: 'Lista de compras', to: '/catalogo/lista-de-compras' }],
  }
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
