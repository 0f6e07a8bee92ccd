import * as z from 'zod'
import {
  formatCount,
  formatDateTime,
  formatDateTimeSeconds,
  formatMoney,
  formatPersonName,
} from '#domain/brazilian-format.ts'
import { fromCents } from '#domain/money.ts'
import { type DisputeStatus, hasBeenPaid, ORDER_STATUSES, type OrderStatus } from '#domain/orders.ts'
import { commissionKept } from '#projections/order-payment-summary.ts'
import { netOfOrder, paidOfOrder } from '#projections/order-payments.ts'
import { isUnseen, type OrderObject } from '#projections/orders.ts'
import type { StoreObject } from '#projections/stores.ts'
import { checkoutStateOf, ENDED_PAYMENTS, endedPaymentOf } from '#queries/checkout-state.ts'
import { getOrder, MAX_SUMMED_ORDERS, orderListing, type ShownOrder, sumOrders } from '#queries/orders.ts'
import { listInOrder, NEWEST_FIRST } from '#queries/records.ts'
import type { Fields } from '../forms/form.ts'
import { choiceInput, lineInput, optionsOf } from '../forms/kinds.ts'
import { link } from '../link.ts'
import type { PageContext } from '../route.ts'
import { amountCell, listFile, metadataCell } from '../ui/csv-file.ts'
import { Figure } from '../ui/figure.tsx'
import { List, type ListRequest, listFiltered, type QuickFilter, readListPage } from '../ui/list.tsx'
import type { Column } from '../ui/list-table.tsx'
import { PanelBadge, StateBadge, type StateMark } from '../ui/parts.tsx'
import { loadRecord } from '../ui/record-pages.tsx'

export const ORDERS_PATH = '/loja/pedidos'

/** Of an order, and of each of its payments. */
export const ORDER_STATES: Readonly<Record<OrderStatus, StateMark>> = {
  pending: ['warn', 'Aguardando pagamento'],
  paid: ['good', 'Pago'],
  failed: ['bad', ENDED_PAYMENTS.failed],
  cancelled: ['plain', 'Cancelado'],
  refunded: ['plain', 'Estornado'],
}

/** Tones of an order after its last payment has ended. */
const ENDED_TONES = { expired: 'warn', cancelled: 'plain', failed: 'bad' } as const

/** State of an order at an instant, in the words that its buyer reads; null on pages of the past, which ends with the order's last change. */
function orderStateOf(order: OrderObject, now: string | null): StateMark {
  const ended = endedPaymentOf(checkoutStateOf(order, now ?? order.updated_at))
  return ended === null ? ORDER_STATES[order.status] : [ENDED_TONES[ended], ENDED_PAYMENTS[ended]]
}

/** The company's time; null on pages of the past. */
export const presentOf = ({ readModel, session }: PageContext): string | null =>
  readModel.moment ? null : session.companysTime

/** States of a buyer's dispute. */
export const DISPUTES: Readonly<Record<DisputeStatus, StateMark>> = {
  open: ['bad', 'Contestação aberta'],
  lost: ['plain', 'Contestação perdida'],
  won: ['good', 'Contestação ganha'],
}

const filtersOf = (stores: readonly StoreObject[]): Fields => ({
  status: {
    label: 'Situação',
    kind: choiceInput(
      optionsOf(ORDER_STATUSES, (status) => ORDER_STATES[status][1]),
      'Todas',
    ),
    columns: 4,
  },
  store_alias: {
    label: 'Loja',
    kind: choiceInput(
      stores.map(({ alias }) => ({ value: alias, label: alias })),
      'Todas',
    ),
    columns: 4,
  },
  external_id: { label: 'Código externo', kind: lineInput, columns: 4 },
  alarm: {
    label: 'Alertas',
    kind: choiceInput([{ value: 'open', label: 'Alertas não lidos' }], 'Todos'),
    columns: 4,
  },
})

const Search = z.object({
  status: z.enum(ORDER_STATUSES).optional(),
  store_alias: z.string().optional(),
  external_id: z.string().optional(),
  alarm: z.enum(['open']).optional(),
  cursor: z.string().optional(),
})

const columnsOf = (timezone: string, now: string | null): Column<OrderObject>[] => [
  { head: 'Pedido', cell: ({ id }) => <a href={link(`${ORDERS_PATH}/${id}`)}>{id}</a> },
  { head: 'Quando', cell: ({ created_at }) => formatDateTime(created_at, timezone) },
  { head: 'Cliente', cell: ({ customer }) => formatPersonName(customer.name) },
  {
    head: 'Total',
    cell: ({ id, total }) => (
      <Figure name="total" of={`pedido/${id}`}>
        {formatMoney(total)}
      </Figure>
    ),
    isNumber: true,
  },
  {
    head: 'Você recebe',
    cell: ({ id, store_net }) =>
      store_net !== null && (
        <Figure name="recebe" of={`pedido/${id}`}>
          {formatMoney(store_net)}
        </Figure>
      ),
    isNumber: true,
    isExtra: true,
  },
  { head: 'Situação', cell: (order) => <OrderBadges order={order} now={now} /> },
  { head: 'Loja', cell: ({ store_alias }) => store_alias, isExtra: true },
]

const QUICK: readonly QuickFilter[] = [
  { label: 'Pagos', filters: { status: 'paid' } },
  { label: 'Aguardando pagamento', filters: { status: 'pending' } },
  { label: 'Com alerta', filters: { alarm: 'open' } },
]

const pageOf = ({ readModel }: PageContext, asked: Readonly<Record<string, string>>, { limit }: ListRequest) =>
  listFiltered(Search, asked, (search) =>
    listInOrder(readModel.reader, orderListing, NEWEST_FIRST, { ...search, limit }),
  )

async function summaryOf({ readModel: { reader } }: PageContext, asked: Readonly<Record<string, string>>) {
  const { cursor: _, ...search } = Search.parse(asked)
  const { count, amount } = await sumOrders(reader, search)
  if (count > MAX_SUMMED_ORDERS) return <p class="sums">{`Mais de ${formatCount(MAX_SUMMED_ORDERS)} pedidos`}</p>
  return (
    <p class="sums">
      <Figure name="pedidos">{formatCount(count)}</Figure>
      {count === 1 ? ' pedido, ' : ' pedidos, '}
      <strong>
        <Figure name="total" of="pedidos">
          {formatMoney(amount)}
        </Figure>
      </strong>
    </p>
  )
}

/** The file's store filter accepts any id: it needs no store names. */
export const orderFile = listFile<OrderObject>({
  path: ORDERS_PATH,
  section: 'store',
  asOf: true,
  filters: filtersOf([]),
  page: pageOf,
  columns: (visit) => [
    ['Pedido', ({ id }) => id],
    ['Código externo', ({ external_id }) => external_id],
    ['Quando', ({ created_at }) => formatDateTimeSeconds(created_at, visit.readModel.timezone)],
    ['Loja', ({ store_alias }) => store_alias],
    ['Cliente', ({ customer }) => formatPersonName(customer.name)],
    ['Situação', (order) => orderStateOf(order, presentOf(visit))[1]],
    ['Total', ({ total }) => amountCell(total)],
    ['Pago', (order) => amountCell(hasBeenPaid(order.payments) ? paidOfOrder(order) : null)],
    ['Estornado', (order) => amountCell(hasBeenPaid(order.payments) ? order.refunded_total : null)],
    ['Líquido', (order) => amountCell(hasBeenPaid(order.payments) ? netOfOrder(order) : null)],
    [
      'Comissão',
      ({ payments, commission }) => amountCell(hasBeenPaid(payments) ? fromCents(commissionKept(commission)) : null),
    ],
    ['Você recebe', ({ store_net }) => amountCell(store_net)],
    [
      'Entregue em',
      ({ delivered_at }) => delivered_at && formatDateTimeSeconds(delivered_at, visit.readModel.timezone),
    ],
    ['Metadados', metadataCell],
  ],
})

/** Orders of the company's stores, newest first. */
export async function OrderList({
  visit,
  stores,
}: {
  readonly visit: PageContext
  readonly stores: readonly StoreObject[]
}) {
  const { timezone } = visit.readModel
  const filters = filtersOf(stores)
  const orders = await readListPage<OrderObject>(visit, filters, pageOf, summaryOf)
  return (
    <List
      visit={visit}
      filters={filters}
      list={orders}
      caption="Pedidos"
      columns={columnsOf(timezone, presentOf(visit))}
      empty="Nenhum pedido encontrado."
      quick={QUICK}
      file={`${ORDERS_PATH}.csv`}
    />
  )
}

/** Status of an order, and what needs attention. */
export const OrderBadges = ({ order, now }: { readonly order: OrderObject; readonly now: string | null }) => {
  const { alarms, dispute, partially_refunded, delivered_at } = order
  return (
    <>
      <StateBadge state={orderStateOf(order, now)} />{' '}
      {partially_refunded && <StateBadge state={['plain', 'Estorno parcial']} />}{' '}
      {delivered_at !== null && <StateBadge state={['plain', 'Entregue']} />}{' '}
      {dispute?.status === 'open' && <StateBadge state={DISPUTES.open} />}{' '}
      {alarms.some(isUnseen) && <PanelBadge tone="bad">Alerta</PanelBadge>}
    </>
  )
}

/** The order of a path; null if it does not exist. */
export const orderOf = (visit: PageContext): Promise<ShownOrder | null> =>
  loadRecord(visit, ({ readModel, context }, id) => getOrder(readModel.reader, id, context.reads))
