import { isRefusal } from '#ledger/command.ts'
import type { OrderObject } from '#projections/orders.ts'
import { getOrder, listNotifications, type NotificationObject } from '#queries/orders.ts'
import { dateTime, dateTimeSeconds, decimal, money, percentage, quantity, taxNumber } from '../format.ts'
import type { Page, PanelRoute, Visit } from '../route.ts'
import { AsOfForm } from '../ui/as-of.tsx'
import { History } from '../ui/history.tsx'
import { recordsIn } from '../ui/list.tsx'
import { Badge, Card, Facts } from '../ui/parts.tsx'
import { Table } from '../ui/table.tsx'
import { ALARMS, OUTCOMES } from '../words/orders.ts'
import { recordOf } from './record-pages.ts'
import { StatusBadge } from './store.tsx'

/** The latest of a flood are no more telling than the first. */
const NOTIFICATIONS = 100

async function showOrder(visit: Visit): Promise<Page | null> {
  const { books } = visit
  const order = await recordOf<OrderObject>(visit, (_, id) => getOrder(books.pool, books.companyId, id))
  if (!order) return null
  const { id } = order
  const body = (
    <>
      {order.alarms.map(({ code, provider_payment_id, raised_at }) => (
        <p key={provider_payment_id} class="problem" role="note">
          <strong>Alarme de {dateTime(raised_at, books.timezone)}</strong> (pagamento {provider_payment_id}):{' '}
          {ALARMS[code]}
        </p>
      ))}
      <OrderFacts order={order} timezone={books.timezone} />
      <Items order={order} />
      <Payments order={order} timezone={books.timezone} />
      {/* What arrived is no part of the ledger: of the past nobody can tell. */}
      {!books.moment && (await Notifications(visit, id))}
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
            ['Situação', <StatusBadge status={order.status} />],
            ['Loja', order.store_alias],
            ['Código externo', order.external_id],
            ['Feito em', time(order.created_at)],
            ['Liberado em', time(order.released_at)],
            ['Reembolsado em', time(order.refunded_at)],
            ['Cliente', customer.name],
            ['E-mail', customer.email],
            ['CPF ou CNPJ', customer.document && taxNumber(customer.document)],
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
        { head: 'Situação', cell: ({ status }) => <StatusBadge status={status} /> },
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

async function Notifications({ books }: Visit, orderId: number) {
  const page = await listNotifications(books.pool, books.companyId, orderId, { limit: NOTIFICATIONS })
  const notifications = recordsIn<NotificationObject>(page)
  return (
    <Card title="Notificações recebidas">
      <Table
        caption="Notificações recebidas"
        rows={notifications}
        empty="Nenhuma notificação recebida."
        columns={[
          { head: 'Recebida', cell: ({ received_at }) => dateTimeSeconds(received_at, books.timezone) },
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

const OutcomeBadge = ({ outcome }: Pick<NotificationObject, 'outcome'>) => {
  if (outcome === null) return <Badge tone="warn">Em andamento</Badge>
  const [tone, text] = OUTCOMES[outcome]
  return <Badge tone={tone}>{text}</Badge>
}

const Content = ({ notification: { payload, response } }: { readonly notification: NotificationObject }) => (
  <details>
    <summary>Ver</summary>
    <p>Recebido</p>
    <pre>{JSON.stringify(payload, null, 2)}</pre>
    <p>Respondido</p>
    <pre>{JSON.stringify(response, null, 2)}</pre>
  </details>
)

export const orderPage: PanelRoute = { path: '/loja/pedidos/:id', section: 'store', asOf: true, show: showOrder }
