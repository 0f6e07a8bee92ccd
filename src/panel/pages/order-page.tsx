import QRCode from 'qrcode'
import { acknowledgeAlarm, deliverOrder, dispatchOrder, undoDelivery } from '#commands/order-commands.ts'
import { fromCents } from '#domain/money.ts'
import { canBePaid, hasBeenPaid, stateAfterDispatch } from '#domain/order-states.ts'
import {
  formatDateTime,
  formatMoney,
  formatPercentage,
  formatPersonName,
  formatPhone,
  formatTaxNumber,
  formatUnits,
  formatWhatsAppUrl,
} from '#domain/person-values.ts'
import { may } from '#domain/rights.ts'
import { netOfOrder, sumPaid } from '#projections/order-payments.ts'
import { commissionKept, isUnseen, type OrderObject } from '#projections/orders.ts'
import { findUnits, type UnitsOfItems, unitIn } from '#queries/item-queries.ts'
import { DELIVERY_METHOD_NAMES } from '#records/list-filters.ts'
import { formText } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageAction, PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { dataExportActions } from '../person-file.ts'
import { AsOfForm, History, namesOfActors } from '../record-history.tsx'
import { TimeMachine } from '../time-machine.tsx'
import { ButtonForm } from '../ui/form-fields.tsx'
import { buttonRoute, runAndRedirect } from '../ui/form-pages.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { ButtonLink, Card, type Fact, Facts, Figure, SaleLink, StateBadge } from '../ui/page-parts.tsx'
import { forgetAction, forgetPages } from './erase-person-pages.tsx'
import { ALARMS, Notifications, Timeline } from './order-history.tsx'
import {
  DELIVERIES,
  DISPUTES,
  getPresentTime,
  loadOrder,
  ORDERS_PATH,
  OrderBadges,
  SURPLUS_PATH,
} from './order-lists.tsx'
import { obstacleToRefund, REFUND } from './order-refund-pages.tsx'
import { formatAddress } from './person-pages.tsx'

async function showOrder(visit: PageContext): Promise<PanelPage | null> {
  const { readModel } = visit
  const order = await loadOrder(visit)
  if (!order) return null
  const { id } = order
  const nameOf = await namesOfActors(
    readModel,
    order.alarms.map(({ acknowledged_by }) => ({ actor: acknowledged_by })),
  )
  const body = (
    <>
      {await TimeMachine({ visit, subject: `order/${id}` })}
      <Alarms order={order} visit={visit} />
      {!readModel.moment && order.payment_url !== null && may(visit.session.permissions, 'sell') && (
        <PaymentLink
          order={order}
          url={order.payment_url}
          company={visit.session.companyName}
          svg={await drawn(order.payment_url)}
        />
      )}
      <DeliveryCard order={order} timezone={readModel.timezone} />
      <OrderFacts order={order} timezone={readModel.timezone} now={getPresentTime(visit)} />
      <Items order={order} units={await findUnits(readModel.reader, order.items)} />
      <Timeline order={order} timezone={readModel.timezone} nameOf={nameOf} />
      {/* Notifications are not part of the ledger, so as-of pages lack them. */}
      {!readModel.moment && (await Notifications(visit, id))}
      {await History({ visit, subject: `order/${id}` })}
      <AsOfForm visit={visit} />
    </>
  )
  return {
    title: order.receivable_id === null ? `Pedido ${id}` : `Cobrança ${id}`,
    parent: { label: 'Loja online', to: '/loja' },
    lead: <OrderBadges order={order} now={getPresentTime(visit)} />,
    body,
    ...(!readModel.moment && actionsOf(order, visit)),
  }
}

const drawn = (url: string): Promise<string> =>
  QRCode.toString(url, { type: 'svg', errorCorrectionLevel: 'M', margin: 4 })

interface PaymentLinkProps {
  readonly order: OrderObject
  readonly url: string
  readonly company: string
  readonly svg: string
}

function textOf(order: OrderObject, url: string, company: string): string {
  const { id, external_id, receivable_id, items, total, customer } = order
  const what = receivable_id === null ? `Seu pedido ${external_id ?? id}` : items[0]?.description
  return `Olá${customer.name ? `, ${customer.name}` : ''}! ${what} em ${company}: ${formatMoney(total)}. Pague por este link: ${url}`
}

/** Link for sales by phone or messages. */
const PaymentLink = ({ order, url, company, svg }: PaymentLinkProps) => (
  <Card title="Link de pagamento">
    {/* SVG paths from the library; they contain none of the text. */}
    <div class="qr" role="img" aria-label="QR Code do link" dangerouslySetInnerHTML={{ __html: svg }} />
    <p>
      <a href={url} rel="noreferrer">
        {url}
      </a>
    </p>
    <div class="actions">
      <button type="button" data-copy={url}>
        Copiar link
      </button>
      <a class="button" href={formatWhatsAppUrl(order.customer.phone, textOf(order, url, company))} rel="noreferrer">
        Enviar por WhatsApp
      </a>
    </div>
    <p class="hint">Envie ao cliente. Quem tiver o link pode ver e pagar o pedido.</p>
  </Card>
)

interface VisitedProps {
  readonly order: OrderObject
  readonly visit: PageContext
}

/** Hidden field with the payment that raised an alarm. */
const PAYMENT = 'pagamento'

/** Unacknowledged alarms. */
const Alarms = ({ order, visit }: VisitedProps) => {
  const { moment, timezone } = visit.readModel
  return (
    <>
      {order.alarms.filter(isUnseen).map(({ code, provider_payment_id, raised_at }) => (
        <div key={`${code} ${provider_payment_id}`} class="problem" role="note">
          <p>
            <strong>Alerta de {formatDateTime(raised_at, timezone)}</strong> (pagamento {provider_payment_id}):{' '}
            {ALARMS[code]}
          </p>
          {!moment && code === 'account_overpaid' && (
            <ButtonLink to={SURPLUS_PATH.replace(':id', String(order.id))}>Guardar como crédito do cliente</ButtonLink>
          )}
          {!moment && (
            <ButtonForm
              visit={visit}
              to={`${ORDERS_PATH}/${order.id}/alarme-visto`}
              values={{ [PAYMENT]: provider_payment_id }}
              label={`Marcar como lido (pagamento ${provider_payment_id})`}
            />
          )}
        </div>
      ))}
    </>
  )
}

/** Actions available for the order. */
function actionsOf(order: OrderObject, visit: PageContext): Pick<PanelPage, 'main' | 'more' | 'dangers'> {
  const here = `${ORDERS_PATH}/${order.id}`
  const [main = null, ...marks] = deliveryActions(order, here)
  const pending = order.refunds.filter(({ status }) => status === 'pending')
  return {
    main,
    more: [
      ...marks,
      ...pending.map(({ refund_id, amount }) => ({
        label: `Repetir o estorno de ${formatMoney(amount)}`,
        to: `${here}/pedir-devolucao`,
        values: { [REFUND]: refund_id },
      })),
      ...dataExportActions('order', order, visit),
    ],
    dangers: [
      obstacleToRefund(order) === null && { label: 'Estornar pagamento', to: `${here}/devolver` },
      canBePaid(order) && { label: 'Cancelar pedido', to: `${here}/cancelar` },
      forgetAction(visit, order, here),
    ],
  }
}

/** The next mark of the goods first. */
function deliveryActions({ status, delivery, delivery_state }: OrderObject, here: string): PageAction[] {
  if (delivery_state === null) return []
  const [undo, sent, done] = [
    { label: 'Desfazer entrega', to: `${here}/desfazer-entrega`, values: {} },
    { label: DELIVERIES[stateAfterDispatch(delivery)][1], to: `${here}/saida`, values: {} },
    { label: DELIVERIES.delivered[1], to: `${here}/entregar`, values: {} },
  ]
  if (delivery_state !== 'to_do') return status === 'paid' && delivery_state !== 'delivered' ? [done, undo] : [undo]
  if (status !== 'paid') return []
  return delivery === null ? [done, sent] : [sent, done]
}

interface OrderProps {
  readonly order: OrderObject
  readonly timezone: string
}

/** Where and when the goods are expected; nothing if that was left open. */
const DeliveryCard = ({
  order: { delivery, delivery_state, dispatched_at, delivered_at, customer },
  timezone,
}: OrderProps) => {
  if (delivery === null || delivery_state === null) return null
  const time = (at: string | null) => at && formatDateTime(at, timezone)
  return (
    <Card title="Entrega">
      <Facts
        facts={[
          ['Como', DELIVERY_METHOD_NAMES[delivery.method]],
          ['Andamento', <StateBadge state={DELIVERIES[delivery_state]} />],
          ['Para quando', time(delivery.due_at)],
          ['Endereço', formatAddress(delivery.address)],
          ['Telefone', customer.phone && formatPhone(customer.phone)],
          [DELIVERIES[stateAfterDispatch(delivery)][1], time(dispatched_at)],
          ['Entregue em', time(delivered_at)],
        ]}
      />
    </Card>
  )
}

const OrderFacts = ({ order, timezone, now }: OrderProps & { readonly now: string | null }) => {
  const { customer, commission } = order
  const time = (at: string | null) => at && formatDateTime(at, timezone)
  return (
    <>
      <Card title="Dados">
        <Facts
          facts={[
            ['Situação', <OrderBadges order={order} now={now} />],
            ['Loja', order.store_alias],
            ['Código externo', order.external_id],
            ['Criado em', time(order.created_at)],
            ['Liberado em', time(order.released_at)],
            ['Saiu em', order.delivery === null && time(order.dispatched_at)],
            ['Entregue em', order.delivery === null && time(order.delivered_at)],
            ['Você recebe', order.store_net !== null && <StoreNet order={order} net={order.store_net} />],
            ...returnedFacts(order, time),
            [
              'Conta a receber',
              order.receivable_id && (
                <a href={link(`/contas-a-receber/${order.receivable_id}`)}>{`Conta ${order.receivable_id}`}</a>
              ),
            ],
            [
              'Virou crédito de troca',
              order.surplus_credit && (
                <>
                  {formatMoney(order.surplus_credit.amount)} de{' '}
                  <a href={link(`/clientes/${order.surplus_credit.customer_id}`)}>
                    {`Cliente ${order.surplus_credit.customer_id}`}
                  </a>
                </>
              ),
            ],
            ['Venda', order.sale_id && <SaleLink id={order.sale_id} />],
            ['Cancelado em', time(order.cancelled_at)],
            ['Motivo do cancelamento', order.cancel_reason],
            [
              'Cliente',
              customer.id === null ? (
                formatPersonName(customer.name)
              ) : (
                <a href={link(`/clientes/${customer.id}`)}>{formatPersonName(customer.name)}</a>
              ),
            ],
            ['E-mail', customer.email],
            ['Telefone', order.delivery === null && customer.phone && formatPhone(customer.phone)],
            ['CPF ou CNPJ', customer.document && formatTaxNumber(customer.document)],
            ['Dados pessoais excluídos (LGPD) em', time(order.forgotten_at)],
          ]}
        />
      </Card>
      {commission && (
        <Card title="Comissão">
          <Facts
            facts={[
              ['Percentual', formatPercentage(commission.percentage)],
              ['Comissão do serviço', formatMoney(commission.amount)],
              ['Comissão devolvida', formatMoney(commission.refunded)],
              ['Estornado em', time(commission.reversed_at)],
            ]}
          />
        </Card>
      )}
    </>
  )
}

/** `Pago − estornado − comissão = você recebe` (FIG-801). */
const StoreNet = ({ order, net }: { readonly order: OrderObject; readonly net: string }) => {
  const of = `pedido/${order.id}`
  const amount = (name: string, text: string) => (
    <Figure name={name} of={of}>
      {formatMoney(text)}
    </Figure>
  )
  const { refunded_total, commission } = order
  return (
    <>
      pago {amount('pago', sumPaid(order))} − estornado {amount('estornado', refunded_total)} − comissão{' '}
      {amount('comissao', fromCents(commissionKept(commission)))} = <strong>você recebe {amount('recebe', net)}</strong>
    </>
  )
}

/** Refunds to the buyer, and disputes. */
const returnedFacts = (order: OrderObject, time: (at: string | null) => string | null): Fact[] => [
  [
    'Líquido',
    hasBeenPaid(order.payments) && (
      <Figure name="liquido" of={`pedido/${order.id}`}>
        {formatMoney(netOfOrder(order))}
      </Figure>
    ),
  ],
  ['Estornado em', time(order.refunded_at)],
  [
    'Contestação',
    order.dispute && (
      <>
        <StateBadge state={DISPUTES[order.dispute.status]} /> desde {time(order.dispute.since)}
      </>
    ),
  ],
]

interface ItemsProps extends Pick<OrderProps, 'order'> {
  readonly units: UnitsOfItems
}

const Items = ({ order, units }: ItemsProps) => (
  <Card title="Itens">
    <ListTable
      caption="Itens"
      rows={order.items}
      empty="Nenhum item."
      columns={[
        { head: 'Item', cell: ({ description }) => description },
        { head: 'Quantidade', cell: (item) => formatUnits(item.quantity, unitIn(units, item)), isNumber: true },
        { head: 'Preço', cell: ({ unit_price }) => formatMoney(unit_price), isNumber: true },
        { head: 'Total', cell: ({ total }) => formatMoney(total), isNumber: true },
      ]}
    />
    <Facts
      facts={[
        ['Subtotal', formatMoney(order.subtotal)],
        ['Entrega', formatMoney(order.delivery_fee)],
        [
          'Total',
          <strong key="total">
            <Figure name="total" of={`pedido/${order.id}`}>
              {formatMoney(order.total)}
            </Figure>
          </strong>,
        ],
      ]}
    />
  </Card>
)

/** An order's page; marking it as delivered, and acknowledging its alarms, which only owners may do. */
export const orderPages: readonly PanelRoute[] = [
  { path: `${ORDERS_PATH}/:id`, section: 'store', asOf: true, show: showOrder },
  buttonRoute({
    path: `${ORDERS_PATH}/:id/saida`,
    access: 'sell',
    section: 'store',
    subject: loadOrder,
    act: (submission, { id }) =>
      runAndRedirect(submission, dispatchOrder, { id }, { to: `${ORDERS_PATH}/${id}`, flash: 'pedido-saiu' }),
  }),
  buttonRoute({
    path: `${ORDERS_PATH}/:id/entregar`,
    access: 'sell',
    section: 'store',
    subject: loadOrder,
    act: (submission, { id }) =>
      runAndRedirect(submission, deliverOrder, { id }, { to: `${ORDERS_PATH}/${id}`, flash: 'pedido-entregue' }),
  }),
  buttonRoute({
    path: `${ORDERS_PATH}/:id/desfazer-entrega`,
    access: 'sell',
    section: 'store',
    subject: loadOrder,
    act: (submission, { id }) =>
      runAndRedirect(submission, undoDelivery, { id }, { to: `${ORDERS_PATH}/${id}`, flash: 'entrega-desfeita' }),
  }),
  buttonRoute({
    path: `${ORDERS_PATH}/:id/alarme-visto`,
    section: 'store',
    access: 'refund_orders',
    subject: loadOrder,
    act: (submission, { id }) =>
      runAndRedirect(
        submission,
        acknowledgeAlarm,
        { id, provider_payment_id: formText(submission.form, PAYMENT) },
        { to: `${ORDERS_PATH}/${id}`, flash: 'alarme-visto' },
      ),
  }),
  ...forgetPages({
    path: `${ORDERS_PATH}/:id`,
    section: 'store',
    kind: 'order',
    goes: 'Serão apagados nome, contatos, documento e endereço de entrega de quem comprou e os dados de quem pagou.',
    stays: 'Ficam os itens, os pagamentos e os valores.',
    canWait: false,
    recordOf: loadOrder,
    personOf: ({ customer: { name, document } }) => ({ name, document }),
  }),
]
