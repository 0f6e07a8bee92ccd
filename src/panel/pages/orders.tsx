import { z } from 'zod'
import type { NotificationOutcome } from '#domain/orders.ts'
import { hasBeenPaid, ORDER_STATUSES, type OrderStatus } from '#domain/orders.ts'
import type { ORDER_ALARMS } from '#events/orders.ts'
import { isRefusal } from '#ledger/command.ts'
import type { OrderObject } from '#projections/orders.ts'
import type { StoreObject } from '#projections/stores.ts'
import { getOrder, listNotifications, type NotificationObject, orderListing } from '#queries/orders.ts'
import { listInOrder, NEWEST_FIRST } from '#queries/records.ts'
import { dateTime, dateTimeSeconds, decimal, money, percentage, personName, quantity, taxNumber } from '../format.ts'
import type { Fields } from '../forms/form.ts'
import { choice, line, optionsOf } from '../forms/kinds.ts'
import { link } from '../link.ts'
import { PersonFileLinks } from '../person-file/links.tsx'
import type { Page, PanelRoute, Visit } from '../route.ts'
import { AsOfForm, History } from '../ui/history.tsx'
import { type Column, List, listed, recordsIn, searched, Table } from '../ui/list.tsx'
import { Actions, Badge, ButtonLink, Card, Facts, type State, StateBadge } from '../ui/parts.tsx'
import { recordOf } from '../ui/record-pages.tsx'
import { ForgetLink } from './forget-person.tsx'

export const PATH = '/loja/pedidos'
const ORDERS_OF_A_PAGE = 50

/** Of an order, and of each of its payments. */
const STATES: Readonly<Record<OrderStatus, State>> = {
  pending: ['warn', 'Aguardando pagamento'],
  paid: ['good', 'Pago'],
  failed: ['bad', 'Pagamento falhou'],
  cancelled: ['plain', 'Cancelado'],
  refunded: ['plain', 'Reembolsado'],
}

const ALARMS: Readonly<Record<(typeof ORDER_ALARMS)[number], string>> = {
  second_payment: 'O pedido recebeu um segundo pagamento aprovado: um deles deve ser devolvido ao cliente.',
  paid_after_refund: 'O pedido foi pago de novo depois de reembolsado: confira com o cliente.',
  paid_after_cancellation:
    'O pedido foi pago depois de cancelado: entregue a mercadoria, ou devolva o valor ao cliente.',
}

const OUTCOMES: Readonly<Record<NotificationOutcome, State>> = {
  applied: ['good', 'Aplicada'],
  duplicate: ['plain', 'Repetida'],
  stale: ['plain', 'Atrasada'],
  ignored: ['plain', 'Ignorada'],
  refused: ['bad', 'Recusada'],
  failed: ['bad', 'Falhou'],
}

const filtersOf = (stores: readonly StoreObject[]): Fields => ({
  status: {
    label: 'Situação',
    kind: choice(optionsOf(ORDER_STATUSES, (status) => STATES[status][1])),
    columns: 4,
  },
  store_alias: {
    label: 'Loja',
    kind: choice(stores.map(({ alias }) => ({ value: alias, label: alias }))),
    columns: 4,
  },
  external_id: { label: 'Código externo', kind: line, columns: 4 },
})

const Search = z.object({
  status: z.enum(ORDER_STATUSES).optional(),
  store_alias: z.string().optional(),
  external_id: z.string().optional(),
  cursor: z.string().optional(),
})

const columnsOf = (timezone: string): Column<OrderObject>[] => [
  { head: 'Pedido', cell: ({ id }) => <a href={link(`${PATH}/${id}`)}>{id}</a> },
  { head: 'Quando', cell: ({ created_at }) => dateTime(created_at, timezone) },
  { head: 'Cliente', cell: ({ customer }) => personName(customer.name) },
  { head: 'Total', cell: ({ total }) => money(total), isNumber: true },
  { head: 'Situação', cell: (order) => <OrderBadges order={order} /> },
  { head: 'Loja', cell: ({ store_alias }) => store_alias, isExtra: true },
]

/** Orders of the company's stores, the newest first. */
export async function OrderList({ visit, stores }: { readonly visit: Visit; readonly stores: readonly StoreObject[] }) {
  const { pool, companyId, timezone } = visit.readModel
  const filters = filtersOf(stores)
  const orders = await listed<OrderObject>(visit, filters, (asked) =>
    searched(Search, asked, (search) =>
      listInOrder(pool, orderListing, NEWEST_FIRST, companyId, { ...search, limit: ORDERS_OF_A_PAGE }),
    ),
  )
  return (
    <List
      visit={visit}
      filters={filters}
      list={orders}
      caption="Pedidos"
      columns={columnsOf(timezone)}
      empty="Nenhum pedido encontrado."
    />
  )
}

const OrderBadges = ({ order: { status, alarms } }: { readonly order: OrderObject }) => (
  <>
    <StateBadge state={STATES[status]} /> {alarms.length > 0 && <Badge tone="bad">Alarme</Badge>}
  </>
)

/** The latest of a flood are no more telling than the first. */
const NOTIFICATIONS = 100

/** The order that a path names; null where there is none. */
export const orderOf = (visit: Visit): Promise<OrderObject | null> =>
  recordOf(visit, ({ readModel }, id) => getOrder(readModel.pool, readModel.companyId, id))

/** Whether it can be cancelled: no money has come in, and it is not cancelled yet (ORDER-9). */
export const isOpen = ({ payments, cancelled_at }: OrderObject): boolean =>
  !hasBeenPaid(payments) && cancelled_at === null

async function showOrder(visit: Visit): Promise<Page | null> {
  const { readModel } = visit
  const order = await orderOf(visit)
  if (!order) return null
  const { id } = order
  const body = (
    <>
      {order.alarms.map(({ code, provider_payment_id, raised_at }) => (
        <p key={provider_payment_id} class="problem" role="note">
          <strong>Alarme de {dateTime(raised_at, readModel.timezone)}</strong> (pagamento {provider_payment_id}):{' '}
          {ALARMS[code]}
        </p>
      ))}
      {!readModel.moment && (
        <Actions>
          {isOpen(order) && <ButtonLink to={`${PATH}/${id}/cancelar`}>Cancelar pedido</ButtonLink>}
          <PersonFileLinks person={{ kind: 'order', id }} visit={visit} />
          <ForgetLink visit={visit} record={order} to={`${PATH}/${id}`} />
        </Actions>
      )}
      <OrderFacts order={order} timezone={readModel.timezone} />
      <Items order={order} />
      <Payments order={order} timezone={readModel.timezone} />
      {/* What arrived is no part of the ledger: of the past nobody can tell. */}
      {!readModel.moment && (await Notifications(visit, id))}
      {await History({ visit, subject: `order/${id}` })}
      <AsOfForm visit={visit} />
    </>
  )
  return { title: `Pedido ${id}`, body }
}

interface OrderProps {
  readonly order: OrderObject
  readonly timezone: string
}

const OrderFacts = ({ order, timezone }: OrderProps) => {
  const { customer, commission } = order
  const time = (at: string | null) => at && dateTime(at, timezone)
  return (
    <>
      <Card title="Dados">
        <Facts
          facts={[
            ['Situação', <StateBadge state={STATES[order.status]} />],
            ['Loja', order.store_alias],
            ['Código externo', order.external_id],
            ['Feito em', time(order.created_at)],
            ['Liberado em', time(order.released_at)],
            ['Reembolsado em', time(order.refunded_at)],
            ...(order.cancelled_at === null
              ? []
              : ([
                  ['Cancelado em', time(order.cancelled_at)],
                  ['Motivo do cancelamento', order.cancel_reason],
                ] as const)),
            [
              'Cliente',
              customer.id === null ? (
                personName(customer.name)
              ) : (
                <a href={link(`/clientes/${customer.id}`)}>{personName(customer.name)}</a>
              ),
            ],
            ['E-mail', customer.email],
            ['CPF ou CNPJ', customer.document && taxNumber(customer.document)],
            ...(order.forgotten_at === null
              ? []
              : ([['Dados pessoais esquecidos', time(order.forgotten_at)]] as const)),
          ]}
        />
      </Card>
      {commission && (
        <Card title="Comissão">
          <Facts
            facts={[
              ['Percentual', percentage(commission.percentage)],
              ['Comissão do serviço', money(commission.amount)],
              ['Parte da loja', money(commission.store_amount)],
              ['Estornada em', time(commission.reversed_at)],
            ]}
          />
        </Card>
      )}
    </>
  )
}

const Items = ({ order }: Pick<OrderProps, 'order'>) => (
  <Card title="Itens">
    <Table
      caption="Itens"
      rows={order.items}
      empty="Nenhum item."
      columns={[
        { head: 'Item', cell: ({ description }) => description },
        { head: 'Quantidade', cell: (item) => quantity(item.quantity), isNumber: true },
        { head: 'Preço', cell: ({ unit_price }) => money(unit_price), isNumber: true },
        { head: 'Total', cell: ({ total }) => money(total), isNumber: true },
      ]}
    />
    <Facts
      facts={[
        ['Subtotal', money(order.subtotal)],
        ['Entrega', money(order.delivery_fee)],
        ['Total', <strong>{money(order.total)}</strong>],
      ]}
    />
  </Card>
)

const Payments = ({ order, timezone }: OrderProps) => (
  <Card title="Pagamentos">
    <Table
      caption="Pagamentos"
      rows={order.payments}
      empty="Nenhuma tentativa de pagamento."
      columns={[
        { head: 'Quando', cell: ({ started_at }) => dateTime(started_at, timezone) },
        { head: 'Situação', cell: ({ status }) => <StateBadge state={STATES[status]} /> },
        { head: 'Valor', cell: ({ amount }) => money(amount), isNumber: true },
        { head: 'Meio', cell: ({ payment_method_id }) => payment_method_id ?? '—' },
        {
          head: 'No provedor',
          cell: ({ provider_payment_id, provider_status, status_detail, refusal }) =>
            [provider_payment_id, provider_status, status_detail, refusal].filter(Boolean).join(' · ') || '—',
        },
      ]}
    />
  </Card>
)

async function Notifications({ readModel }: Visit, orderId: number) {
  const page = await listNotifications(readModel.pool, readModel.companyId, orderId, { limit: NOTIFICATIONS })
  const notifications = recordsIn<NotificationObject>(page)
  return (
    <Card title="Notificações recebidas">
      <Table
        caption="Notificações recebidas"
        rows={notifications}
        empty="Nenhuma notificação recebida."
        columns={[
          { head: 'Recebida', cell: ({ received_at }) => dateTimeSeconds(received_at, readModel.timezone) },
          { head: 'Resultado', cell: ({ outcome }) => <OutcomeBadge outcome={outcome} /> },
          { head: 'Resposta', cell: ({ http_status }) => (http_status === null ? '—' : `HTTP ${http_status}`) },
          {
            head: 'Demorou',
            cell: ({ duration_ms }) => (duration_ms === null ? '—' : `${decimal(String(duration_ms))} ms`),
            isNumber: true,
          },
          { head: 'Conteúdo', cell: (one) => <Content notification={one} /> },
        ]}
      />
      {!isRefusal(page) && page.has_more && (
        <p class="hint">Só as primeiras {NOTIFICATIONS} são mostradas; a API lista todas.</p>
      )}
    </Card>
  )
}

const OutcomeBadge = ({ outcome }: Pick<NotificationObject, 'outcome'>) => (
  <StateBadge state={outcome === null ? ['warn', 'Em andamento'] : OUTCOMES[outcome]} />
)

const Content = ({ notification: { payload, response } }: { readonly notification: NotificationObject }) => (
  <details>
    <summary>Ver</summary>
    <p>Recebido</p>
    <pre>{JSON.stringify(payload, null, 2)}</pre>
    <p>Respondido</p>
    <pre>{JSON.stringify(response, null, 2)}</pre>
  </details>
)

export const orderPage: PanelRoute = { path: `${PATH}/:id`, section: 'store', asOf: true, show: showOrder }
