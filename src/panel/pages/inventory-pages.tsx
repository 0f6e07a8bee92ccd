import * as z from 'zod'
import { closeInventory, OpenInventoryInput, openInventory } from '#commands/stock-commands.ts'
import { formatCount, formatDateTime, formatMoney, formatSigned } from '#domain/person-values.ts'
import { may } from '#domain/rights.ts'
import type { InventoryObject, InventoryStatus } from '#projections/stock.ts'
import { getInventory, type StockDifference, searchInventories, stockDifferences } from '#queries/stock-queries.ts'
import { wholeShape } from '#records/field.ts'
import { INVENTORY_FILTERS, INVENTORY_STATUS_NAMES } from '#records/list-filters.ts'
import { choiceInput, lineInput, namedOptions } from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelRoute } from '../panel-route.ts'
import { fieldInput } from '../record-fields.ts'
import { formPages, runAndRedirect } from '../ui/form-pages.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Card, PanelBadge, type Tone } from '../ui/page-parts.tsx'
import { listFiltered } from '../ui/panel-list.tsx'
import { recordPages } from '../ui/record-pages.tsx'
import {
  CountingForms,
  CountsCard,
  countList,
  countOne,
  countsFile,
  INVENTORIES_PATH,
  loadInventory,
  takeOut,
} from './inventory-counts.tsx'

const TONES: Readonly<Record<InventoryStatus, Tone>> = { open: 'info', applied: 'good', discarded: 'plain' }

const Status = ({ status }: { readonly status: InventoryStatus }) => (
  <PanelBadge tone={TONES[status]}>{INVENTORY_STATUS_NAMES[status]}</PanelBadge>
)

const filters: Fields = {
  status: fieldInput(INVENTORY_FILTERS.status, {
    kind: choiceInput(namedOptions(INVENTORY_STATUS_NAMES), 'Todas'),
    columns: 6,
  }),
}

const Search = z.object({ ...wholeShape(INVENTORY_FILTERS), cursor: z.string().max(2_000).optional() })

interface DifferencesProps {
  readonly visit: PageContext
  readonly inventory: InventoryObject
}

/** What the inventory changes, and what that is worth. */
async function Differences({ visit: { readModel }, inventory }: DifferencesProps) {
  const { shown, count, value } = await stockDifferences(readModel.reader, inventory.id)
  if (count === 0) return <p>Nenhuma diferença: tudo confere.</p>
  return (
    <Card title="Diferenças">
      <p class="sums">
        {`${formatCount(count)} ${count === 1 ? 'produto' : 'produtos'} com diferença, `}
        <strong>{formatMoney(value)}</strong>
      </p>
      <ListTable<StockDifference>
        caption="Diferenças"
        rows={shown}
        empty=""
        columns={[
          { head: 'Produto', cell: ({ id, name }) => <a href={link(`/catalogo/${id}`)}>{name}</a> },
          {
            head: 'Diferença',
            cell: ({ difference, unit }) => formatSigned(difference, unit),
            isNumber: true,
          },
          {
            head: 'Valor',
            cell: ({ value, is_at_cost }) => `${formatMoney(value)}${is_at_cost ? '' : ' (preço de venda)'}`,
            isNumber: true,
          },
        ]}
      />
      {count > shown.length && <p class="hint">{`As ${shown.length} de maior valor.`}</p>}
    </Card>
  )
}

const closing = (apply: boolean) =>
  formPages<InventoryObject, Record<string, never>>({
    path: `${INVENTORIES_PATH}/:id/${apply ? 'aplicar' : 'descartar'}`,
    section: 'catalog',
    access: 'adjust_stock',
    subject: loadInventory,
    title: ({ name }) => (apply ? `Aplicar ${name} ao estoque` : `Descartar ${name}`),
    obstacle: ({ status }) => (status === 'open' ? null : 'Este inventário já foi encerrado.'),
    before: async (inventory, visit) => (
      <>
        <p>
          {apply
            ? `O estoque de ${formatCount(inventory.counted_items)} produtos contados muda pela diferença entre a contagem e o estoque daquele momento. As vendas feitas depois da contagem continuam valendo. Espere os caixas enviarem as vendas feitas sem internet.`
            : 'As contagens ficam guardadas e o estoque não muda.'}
        </p>
        {apply && may(visit.session.permissions, 'see_all_sales') && (await Differences({ visit, inventory }))}
      </>
    ),
    label: apply ? 'Aplicar ao estoque' : 'Descartar inventário',
    isDangerous: !apply,
    back: ({ id }) => `${INVENTORIES_PATH}/${id}`,
    fields: () => ({}),
    schema: z.object({}),
    act: (submission, { id }) =>
      runAndRedirect(
        submission,
        closeInventory,
        { id, apply },
        { to: `${INVENTORIES_PATH}/${id}`, flash: apply ? 'inventario-aplicado' : 'inventario-descartado' },
      ),
  })

export const inventoryPages: readonly PanelRoute[] = [
  ...recordPages<InventoryObject>({
    path: INVENTORIES_PATH,
    section: 'catalog',
    subject: 'inventory',
    editing: 'adjust_stock',
    words: {
      all: 'Inventários',
      create: 'Novo inventário',
      none: 'Nenhum inventário.',
      begin: ['Nenhum inventário ainda', 'Conte as prateleiras: o estoque só muda quando você aplica as contagens.'],
    },
    list: {
      filters,
      columns: [
        { head: 'Inventário', cell: ({ id, name }) => <a href={link(`${INVENTORIES_PATH}/${id}`)}>{name}</a> },
        { head: 'Situação', cell: ({ status }) => <Status status={status} /> },
        { head: 'Produtos', cell: ({ counted_items }) => formatCount(counted_items), isNumber: true },
      ],
      page: ({ readModel }, asked, { limit }) =>
        listFiltered(Search, asked, (search) => searchInventories(readModel.reader, { ...search, limit })),
      file: ({ readModel }) => [
        ['Inventário', ({ name }) => name],
        ['Situação', ({ status }) => INVENTORY_STATUS_NAMES[status]],
        ['Produtos', ({ counted_items }) => counted_items],
        ['Abertura', ({ created_at }) => formatDateTime(created_at, readModel.timezone)],
      ],
      more: [{ label: 'Catálogo', to: '/catalogo' }],
    },
    get: ({ readModel }, id) => getInventory(readModel.reader, id),
    nameOf: ({ name }) => name,
    facts: ({ status, counted_items, created_at, closed_at }, { readModel }) => [
      ['Situação', <Status key="status" status={status} />],
      ['Produtos contados', formatCount(counted_items)],
      ['Abertura', formatDateTime(created_at, readModel.timezone)],
      ['Encerramento', closed_at && formatDateTime(closed_at, readModel.timezone)],
    ],
    more: async (inventory, visit) =>
      visit.readModel.moment ? null : (
        <>
          {inventory.status === 'open' && (await CountingForms({ visit, inventory }))}
          {await CountsCard({ visit, inventory })}
        </>
      ),
    head: ({ id, status }) =>
      status === 'open'
        ? {
            main: { label: 'Aplicar ao estoque', to: `${INVENTORIES_PATH}/${id}/aplicar` },
            dangers: [{ label: 'Descartar', to: `${INVENTORIES_PATH}/${id}/descartar` }],
          }
        : {},
    fields: () => ({ name: { label: 'Nome', kind: lineInput, isRequired: true, hint: 'Ex.: Mercearia, novembro' } }),
    create: { schema: OpenInventoryInput, command: openInventory },
  }),
  countsFile,
  countOne,
  countList,
  takeOut,
  ...closing(true),
  ...closing(false),
]
