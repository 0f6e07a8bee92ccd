import * as z from 'zod'
import { fromCents } from '#domain/money.ts'
import {
  type DeliveryState,
  type DisputeStatus,
  hasBeenPaid,
  type NotificationOutcome,
  ORDER_STATUSES,
  type OrderStatus,
} from '#domain/order-states.ts'
import {
  formatCount,
  formatDateTime,
  formatDateTimeSeconds,
  formatMoney,
  formatPersonName,
  formatQuantity,
} from '#domain/person-values.ts'
import type { ORDER_ALARMS } from '#events/order-events.ts'
import { isRefusal } from '#ledger/command.ts'
import { netOfOrder, type PaymentObject, type RefundObject, sumPaid } from '#projections/order-payments.ts'
import { type AlarmObject, commissionKept, isUnseen, type OrderObject } from '#projections/orders.ts'
import type { StoreObject } from '#projections/stores.ts'
import {
  ENDED_PAYMENTS,
  findEndedPayment,
  getOrder,
  listNotifications,
  MAX_SUMMED_ORDERS,
  type NotificationObject,
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
import { type Column, ListTable } from '../ui/list-table.tsx'
import { Card, Figure, FoldedCard, PanelBadge, StateBadge, type StateMark, WithheldContent } from '../ui/page-parts.tsx'
import {
  List,
  type ListRequest,
  listFiltered,
  type QuickFilter,
  readListPage,
  recordsOnPage,
} from '../ui/panel-list.tsx'
import { loadRecord } from '../ui/record-pages.tsx'

/** In a flood the first notifications tell as much as the last. */
const NOTIFICATIONS = 100

const OUTCOMES: Readonly<Record<NotificationOutcome, StateMark>> = {
  applied: ['good', 'Aplicada'],
  duplicate: ['plain', 'Repetida'],
  stale: ['plain', 'Atrasada'],
  ignored: ['plain', 'Ignorada'],
  refused: ['bad', 'Recusada'],
  failed: ['bad', 'Falhou'],
}

/** Notifications of the payment provider about an order. */
export async function Notifications({ readModel, session }: PageContext, orderId: number) {
  const page = await listNotifications(readModel.reader, orderId, { limit: NOTIFICATIONS })
  const notifications = recordsOnPage<NotificationObject>(page)
  return (
    <FoldedCard title="Notificações recebidas">
      <ListTable
        caption="Notificações recebidas"
        rows={notifications}
        empty="Nenhuma notificação recebida."
        columns={[
          { head: 'Recebida', cell: ({ received_at }) => formatDateTimeSeconds(received_at, readModel.timezone) },
          { head: 'Resultado', cell: ({ outcome }) => <OutcomeBadge outcome={outcome} /> },
          {
            head: 'Detalhes técnicos',
            cell: (one) => (session.seesPersonalData ? <Content notification={one} /> : <WithheldContent />),
          },
        ]}
      />
      {!isRefusal(page) && page.has_more && (
        <p class="hint">Só as primeiras {NOTIFICATIONS} são mostradas; a API lista todas.</p>
      )}
    </FoldedCard>
  )
}

const OutcomeBadge = ({ outcome }: Pick<NotificationObject, 'outcome'>) => (
  <StateBadge state={outcome === null ? ['warn', 'Em andamento'] : OUTCOMES[outcome]} />
)

const Content = ({
  notification: { payload, response, http_status, duration_ms },
}: {
  readonly notification: NotificationObject
}) => (
  <details>
    <summary>Ver</summary>
    <p>Recebido</p>
    <pre>{JSON.stringify(payload, null, 2)}</pre>
    <p>{`Respondido${http_status === null ? '' : `: HTTP ${http_status}`}${duration_ms === null ? '' : ` em ${formatCount(duration_ms)} ms`}`}</p>
    <pre>{JSON.stringify(response, null, 2)}</pre>
  </details>
)

export const ORDERS_PATH = '/loja/pedidos'

/** Of an order, and of each of its payments. */
const ORDER_STATES: Readonly<Record<OrderStatus, StateMark>> = {
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

export const ALARMS: Readonly<Record<(typeof ORDER_ALARMS)[number], string>> = {
  second_payment: 'O pedido recebeu um segundo pagamento aprovado: um deles deve ser devolvido ao cliente.',
  paid_after_refund: 'O pedido foi pago de novo depois de estornado: confira com o cliente.',
  paid_after_cancellation:
    'O pedido foi pago depois de cancelado: entregue a mercadoria ou estorne o valor ao cliente.',
  refund_after_refusal:
    'O provedor fez um estorno que tinha recusado: confira o valor estornado antes de estornar de novo.',
  account_overpaid:
    'O link trouxe mais do que a conta ainda devia: estorne o que sobrou, ou guarde como crédito do cliente.',
  stock_short: 'O estoque não bastava para o pedido pago e ficou negativo: confira antes de entregar.',
  fiscal_document_issued:
    'O pagamento foi estornado e a venda foi cancelada, mas o documento fiscal dela continua em vigor: cancele-o.',
}

const REFUNDS: Readonly<Record<RefundObject['status'], StateMark>> = {
  pending: ['warn', 'Aguardando o provedor'],
  completed: ['good', 'Feito'],
  refused: ['bad', 'Recusado'],
}

/** The provider has taken the refund and has not decided yet. */
const IN_PROCESS: StateMark = ['warn', 'Em processamento no provedor']

/** A step in an order's payment history. */
interface Step {
  readonly at: string
  readonly what: string
  readonly amount: string | null
  readonly state: StateMark
  /** Sentences and facts; null ones are omitted. */
  readonly details: readonly (string | null)[]
  /** Numbers at the provider. */
  readonly technical?: readonly (string | null)[]
}

interface TimelineProps {
  readonly order: OrderObject
  readonly timezone: string
  readonly nameOf: (actor: string | null) => string
}

/** Payment history of an order, oldest first: attempts, refunds, disputes, alarms. */
export const Timeline = ({ order, timezone, nameOf }: TimelineProps) => (
  <Card title="Pagamentos e estornos">
    <ListTable
      caption="Pagamentos e estornos"
      rows={stepsOf(order, timezone, nameOf)}
      empty="Nenhuma tentativa de pagamento."
      columns={[
        { head: 'Quando', cell: ({ at }) => formatDateTime(at, timezone) },
        { head: 'Operação', cell: ({ what }) => what },
        { head: 'Valor', cell: ({ amount }) => (amount === null ? '—' : formatMoney(amount)), isNumber: true },
        { head: 'Situação', cell: ({ state }) => <StateBadge state={state} /> },
        { head: 'Detalhes', cell: (step) => <StepDetails step={step} /> },
      ]}
    />
  </Card>
)

const StepDetails = ({ step: { details, technical = [] } }: { readonly step: Step }) => {
  const [told, ids] = [details, technical].map((texts) => texts.filter(Boolean).join(' · '))
  return (
    <>
      {told || (ids ? '' : '—')}
      {ids && (
        <details>
          <summary>Detalhes técnicos</summary>
          {ids}
        </details>
      )}
    </>
  )
}

function stepsOf(order: OrderObject, timezone: string, nameOf: TimelineProps['nameOf']): Step[] {
  const steps = [
    ...order.payments.flatMap((payment) => [attempt(payment, timezone), ...dispute(payment)]),
    ...order.refunds.map((refund) => giving(refund, order, timezone)),
    ...order.alarms.map((alarm) => alarming(alarm, timezone, nameOf)),
  ]
  return steps.sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
}

const atProvider = (id: string | null): string | null => id && `no provedor: ${id}`

function attempt(payment: PaymentObject, timezone: string): Step {
  const { started_at, amount, status_detail, refusal, expires_at, refunded, provider_payment_id } = payment
  return {
    at: started_at,
    what: methodOf(payment),
    amount,
    state: stateOf(payment),
    details: [
      refusal === null ? status_detail : `O provedor recusou: ${refusal}`,
      expires_at && `prazo: ${formatDateTime(expires_at, timezone)}`,
      /[1-9]/.test(refunded) ? `estornado: ${formatMoney(refunded)}` : null,
    ],
    technical: [atProvider(provider_payment_id)],
  }
}

function methodOf({ method, card }: PaymentObject): string {
  if (method === null) return 'Pagamento não iniciado pelo Tillbook'
  if (method !== 'card') return method === 'pix' ? 'Pix' : 'Boleto'
  const installments = card?.installments ? ` em ${card.installments}×` : ''
  return `Cartão ${card?.brand ?? ''}${card?.last_four ? ` final ${card.last_four}` : ''}${installments}`
}

function stateOf({ status, refusal, provider_payment_id }: PaymentObject): StateMark {
  if (refusal !== null) return ['bad', 'Recusado']
  return provider_payment_id === null && status === 'pending'
    ? ['warn', 'Sem resposta do provedor']
    : ORDER_STATES[status]
}

const dispute = ({ dispute, amount, provider_payment_id }: PaymentObject): Step[] =>
  dispute === null
    ? []
    : [
        {
          at: dispute.since,
          what: 'Contestação do comprador',
          amount,
          state: DISPUTES[dispute.status],
          details: [],
          technical: [atProvider(provider_payment_id)],
        },
      ]

function giving(refund: RefundObject, { items }: OrderObject, timezone: string): Step {
  const { requested_at, amount, status, refusal, restock, completed_at, provider_refund_id } = refund
  const nameOf = (id: number) => items.find(({ catalog_item_id }) => catalog_item_id === id)?.description ?? id
  const goods = restock.map(
    ({ catalog_item_id, quantity: back }) => `${formatQuantity(back)} × ${nameOf(catalog_item_id)}`,
  )
  return {
    at: requested_at,
    what: 'Estorno',
    amount,
    state: status === 'pending' && provider_refund_id !== null ? IN_PROCESS : REFUNDS[status],
    details: [
      refusal && `O provedor recusou: ${refusal}`,
      completed_at && `feito em ${formatDateTime(completed_at, timezone)}`,
      goods.length > 0 ? `de volta ao estoque: ${goods.join(', ')}` : null,
    ],
    technical: [`do pagamento ${refund.provider_payment_id}`, atProvider(provider_refund_id)],
  }
}

function alarming(alarm: AlarmObject, timezone: string, nameOf: TimelineProps['nameOf']): Step {
  const { raised_at, code, provider_payment_id, acknowledged_at, acknowledged_by } = alarm
  const seen = acknowledged_at && `lido por ${nameOf(acknowledged_by)} em ${formatDateTime(acknowledged_at, timezone)}`
  return {
    at: raised_at,
    what: 'Alerta',
    amount: null,
    state: acknowledged_at === null ? ['bad', 'Não lido'] : ['plain', 'Lido'],
    details: [ALARMS[code], seen, atProvider(provider_payment_id)],
  }
}
