import * as z from 'zod'
import { fromCents } from '#domain/money.ts'
import {
  type DeliveryState,
  type DisputeStatus,
  hasBeenPaid,
  ORDER_STATUSES,
  type OrderStatus,
} from '#domain/order-states.ts'
import {
  formatCount,
  formatDateTime,
  formatDateTimeSeconds,
  formatMoney,
  formatPersonName,
} from '#domain/person-values.ts'
import { netOfOrder, sumPaid } from '#projections/order-payments.ts'
import { commissionKept, isUnseen, type OrderObject } from '#projections/orders.ts'
import type { StoreObject } from '#projections/stores.ts'
import {
  ENDED_PAYMENTS,
  findEndedPayment,
  getOrder,
  MAX_SUMMED_ORDERS,
  orderListing,
  type ShownOrder,
  sumOrders,
  toCheckoutState,
} from '#queries/order-queries.ts'
import { listInOrder, NEWEST_FIRST } from '#queries/record-queries.ts'
import { wholeShape } from '#records/field.ts'
import { DELIVERY_METHOD_NAMES, ORDER_FILTERS } from '#records/list-filters.ts'
import { amountCell, listFile, metadataCell } from '../csv-files.ts'
import { choiceInput, namedOptions, toOptions } from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageContext } from '../panel-route.ts'
import { fieldInput } from '../record-fields.ts'
import type { Column } from '../ui/list-table.tsx'
import { Figure, PanelBadge, StateBadge, type StateMark } from '../ui/page-parts.tsx'
import { List, type ListRequest, listFiltered, type QuickFilter, readListPage } from '../ui/panel-list.tsx'
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
  const ended = findEndedPayment(toCheckoutState(order, now ?? order.updated_at))
  return ended === null ? ORDER_STATES[order.status] : [ENDED_TONES[ended], ENDED_PAYMENTS[ended]]
}

/** The company's time; null on pages of the past. */
export const getPresentTime = ({ readModel, session }: PageContext): string | null =>
  readModel.moment ? null : session.companysTime

/** What is to be done with the goods; shown of paid orders. */
export const DELIVERIES: Readonly<Record<DeliveryState, StateMark>> = {
  to_do: ['warn', ORDER_FILTERS.delivery_state.names.to_do],
  out_for_delivery: ['info', ORDER_FILTERS.delivery_state.names.out_for_delivery],
  ready_for_pickup: ['info', ORDER_FILTERS.delivery_state.names.ready_for_pickup],
  delivered: ['plain', ORDER_FILTERS.delivery_state.names.delivered],
}

/** States of a buyer's dispute. */
export const DISPUTES: Readonly<Record<DisputeStatus, StateMark>> = {
  open: ['bad', 'Contestação aberta'],
  lost: ['plain', 'Contestação perdida'],
  won: ['good', 'Contestação ganha'],
}

const filtersOf = (stores: readonly StoreObject[]): Fields => ({
  status: fieldInput(ORDER_FILTERS.status, {
    kind: choiceInput(
      toOptions(ORDER_STATUSES, (status) => ORDER_STATES[status][1]),
      'Todas',
    ),
    columns: 4,
  }),
  store_alias: fieldInput(ORDER_FILTERS.store_alias, {
    kind: choiceInput(
      stores.map(({ alias }) => ({ value: alias, label: alias })),
      'Todas',
    ),
    columns: 4,
  }),
  delivery_state: fieldInput(ORDER_FILTERS.delivery_state, {
    kind: choiceInput(namedOptions(ORDER_FILTERS.delivery_state.names), 'Todos'),
    columns: 4,
  }),
  external_id: fieldInput(ORDER_FILTERS.external_id, 4),
  receivable_id: fieldInput(ORDER_FILTERS.receivable_id, 4),
  alarm: fieldInput(ORDER_FILTERS.alarm, {
    kind: choiceInput(namedOptions(ORDER_FILTERS.alarm.names), 'Todos'),
    columns: 4,
  }),
})

const Search = z.object({ ...wholeShape(ORDER_FILTERS), cursor: z.string().optional() })

/** Of the list of orders to deliver. */
export const TO_DELIVER = { status: 'paid', delivery_state: 'open' } as const

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
  {
    head: 'Para quando',
    cell: ({ delivery }) => delivery?.due_at && formatDateTime(delivery.due_at, timezone),
    isExtra: true,
  },
  { head: 'Loja', cell: ({ store_alias }) => store_alias, isExtra: true },
]

const QUICK: readonly QuickFilter[] = [
  { label: 'A entregar', filters: TO_DELIVER },
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
    ['Situação', (order) => orderStateOf(order, getPresentTime(visit))[1]],
    ['Total', ({ total }) => amountCell(total)],
    ['Pago', (order) => amountCell(hasBeenPaid(order.payments) ? sumPaid(order) : null)],
    ['Estornado', (order) => amountCell(hasBeenPaid(order.payments) ? order.refunded_total : null)],
    ['Líquido', (order) => amountCell(hasBeenPaid(order.payments) ? netOfOrder(order) : null)],
    [
      'Comissão',
      ({ payments, commission }) => amountCell(hasBeenPaid(payments) ? fromCents(commissionKept(commission)) : null),
    ],
    ['Você recebe', ({ store_net }) => amountCell(store_net)],
    ['Entrega', ({ delivery }) => delivery && DELIVERY_METHOD_NAMES[delivery.method]],
    [
      'Para quando',
      ({ delivery }) => delivery?.due_at && formatDateTimeSeconds(delivery.due_at, visit.readModel.timezone),
    ],
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
      columns={columnsOf(timezone, getPresentTime(visit))}
      empty="Nenhum pedido encontrado."
      begin={{
        title: 'Nenhum pedido ainda',
        text: 'Aqui ficam os pedidos da loja online e os links de pagamento, do pagamento à entrega.',
        action: { label: 'Novo pedido', to: `${ORDERS_PATH}/novo` },
      }}
      quick={QUICK}
      file={`${ORDERS_PATH}.csv`}
    />
  )
}

/** Status of an order, and what needs attention. */
export const OrderBadges = ({ order, now }: { readonly order: OrderObject; readonly now: string | null }) => {
  const { alarms, dispute, partially_refunded, delivery_state, status } = order
  return (
    <>
      <StateBadge state={orderStateOf(order, now)} />{' '}
      {partially_refunded && <StateBadge state={['plain', 'Estorno parcial']} />}{' '}
      {delivery_state !== null && (status === 'paid' || delivery_state !== 'to_do') && (
        <StateBadge state={DELIVERIES[delivery_state]} />
      )}{' '}
      {dispute?.status === 'open' && <StateBadge state={DISPUTES.open} />}{' '}
      {alarms.some(isUnseen) && <PanelBadge tone="bad">Alerta</PanelBadge>}
    </>
  )
}

/** The order of a path; null if it does not exist. */
export const loadOrder = (visit: PageContext): Promise<ShownOrder | null> =>
  loadRecord(visit, ({ readModel, context }, id) => getOrder(readModel.reader, id, context.reads))

/** Where what a charge brought too much becomes store credit. */
export const SURPLUS_PATH = `${ORDERS_PATH}/:id/credito`
