import type { NotificationOutcome } from '#domain/order-states.ts'
import {
  formatCount,
  formatDateTime,
  formatDateTimeSeconds,
  formatMoney,
  formatQuantity,
} from '#domain/person-values.ts'
import type { ORDER_ALARMS } from '#events/order-events.ts'
import { isRefusal } from '#ledger/command.ts'
import type { PaymentObject, RefundObject } from '#projections/order-payments.ts'
import type { AlarmObject, OrderObject } from '#projections/orders.ts'
import { listNotifications, type NotificationObject } from '#queries/order-queries.ts'
import type { PageContext } from '../panel-route.ts'
import { ListTable } from '../ui/list-table.tsx'
import { Card, FoldedCard, StateBadge, type StateMark, WithheldContent } from '../ui/page-parts.tsx'
import { recordsOnPage } from '../ui/panel-list.tsx'
import { DISPUTES, ORDER_STATES } from './order-lists.tsx'

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
