import { formatCount, formatDateTime, formatMebibytes, formatPercentage } from '#domain/person-values.ts'
import type { WebhookEvent } from '#events/catalogue.ts'
import type { WebhookObject, webhookState } from '#projections/webhooks.ts'
import { getCalls, listApiKeys } from '#queries/api-key-queries.ts'
import {
  getWebhook,
  type HealthObject,
  type HealthOfSpan,
  type ListedNotification,
  listHealth,
  listWebhookNotifications,
  listWebhooks,
} from '#queries/webhook-queries.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { ListTable } from '../ui/list-table.tsx'
import { ButtonLink, Card, Facts, StateBadge, type StateMark } from '../ui/page-parts.tsx'
import { recordsOnPage } from '../ui/panel-list.tsx'
import { loadRecord } from '../ui/record-pages.tsx'
import { AGENTS_PATH, KeyTable, MOST_KEYS, REQUESTS_PATH } from './api-key-pages.tsx'

export const WEBHOOKS_PATH = '/integracoes/webhooks'

/** A webhook endpoint as its pages show it. */
export type ShownWebhook = WebhookObject & ReturnType<typeof webhookState>

/** Whether it gets deliveries. */
export const isEndpointOpen = ({ status }: Pick<ShownWebhook, 'status'>): boolean =>
  status !== 'disabled' && status !== 'paused'

/** Path of a webhook's page. */
export const webhookPath = ({ id }: Pick<ShownWebhook, 'id'>): string => `${WEBHOOKS_PATH}/${id}`

/** The endpoint of a path; null if it does not exist. */
export const loadWebhook = (visit: PageContext): Promise<ShownWebhook | null> =>
  loadRecord(visit, ({ readModel }, id) => getWebhook(readModel.reader, id))

const STATES: Readonly<Record<ShownWebhook['status'], StateMark>> = {
  active: ['good', 'Ativo'],
  no_response: ['bad', 'Sem resposta'],
  paused: ['bad', 'Pausado'],
  disabled: ['plain', 'Desligado'],
}

export const PAUSED_BECAUSE: Readonly<Record<NonNullable<ShownWebhook['pause_reason']>, string>> = {
  plan_required: 'A conta não tem o adicional de API.',
  key_revoked: 'A chave do webhook foi revogada: transfira-o para outra chave ou para a empresa.',
  key_expired: 'A chave do webhook venceu: transfira-o para outra chave ou para a empresa.',
}

export const WEBHOOK_EVENT_NAMES: Readonly<Record<WebhookEvent | 'webhook.test', string>> = {
  'customer.created': 'Cliente criado',
  'customer.updated': 'Cliente alterado',
  'customer.deleted': 'Cliente excluído',
  'customer.forgotten': 'Cliente anonimizado',
  'supplier.created': 'Fornecedor criado',
  'supplier.updated': 'Fornecedor alterado',
  'supplier.deleted': 'Fornecedor excluído',
  'supplier.forgotten': 'Fornecedor anonimizado',
  'category.created': 'Categoria criada',
  'category.updated': 'Categoria alterada',
  'category.deleted': 'Categoria excluída',
  'catalog_item.created': 'Item do catálogo criado',
  'catalog_item.updated': 'Item do catálogo alterado',
  'catalog_item.stock_changed': 'Estoque de um item movimentado',
  'catalog_item.deleted': 'Item do catálogo desativado',
  'receivable.created': 'Conta a receber criada',
  'receivable.updated': 'Conta a receber alterada',
  'receivable.deleted': 'Conta a receber excluída',
  'receivable.payment_received': 'Conta a receber: recebimento',
  'receivable.payment_reversed': 'Conta a receber: recebimento estornado',
  'receivable.settled': 'Conta a receber quitada',
  'payable.created': 'Conta a pagar criada',
  'payable.updated': 'Conta a pagar alterada',
  'payable.deleted': 'Conta a pagar excluída',
  'payable.payment_received': 'Conta a pagar: pagamento',
  'payable.payment_reversed': 'Conta a pagar: pagamento estornado',
  'payable.settled': 'Conta a pagar quitada',
  'sale.completed': 'Venda concluída',
  'sale.cancelled': 'Venda cancelada',
  'sale.returned': 'Mercadoria devolvida',
  'sale.return_reversed': 'Devolução desfeita',
  'order.created': 'Pedido registrado',
  'order.paid': 'Pedido pago',
  'order.dispatched': 'Pedido saiu ou está pronto',
  'order.delivered': 'Pedido entregue',
  'order.delivery_undone': 'Entrega do pedido desfeita',
  'order.refunded': 'Pedido devolvido',
  'order.cancelled': 'Pedido cancelado',
  'order.expired': 'Pedido expirado',
  'cash_session.closed': 'Gaveta fechada',
  'cash_session.explained': 'Diferença da gaveta explicada',
  'till.gap_detected': 'Vendas de um caixa faltando',
  'webhook.test': 'Teste',
}

interface WebhookTableProps {
  readonly webhooks: readonly ShownWebhook[]
  readonly health: ReadonlyMap<number, HealthObject>
  readonly timezone: string
}

const WebhookTable = ({ webhooks, health, timezone }: WebhookTableProps) => (
  <ListTable
    isList
    caption="Webhooks"
    rows={webhooks}
    empty="Nenhum webhook ainda. Ele avisa outro sistema do que acontece aqui."
    columns={[
      { head: 'Endereço', cell: ({ id, url }) => <a href={link(webhookPath({ id }))}>{url}</a> },
      {
        head: 'Situação',
        cell: ({ id, status, failing_since }) => (
          <WebhookBadge status={status} isFailing={isFailing(health.get(id)) || failing_since !== null} />
        ),
      },
      { head: 'Sucesso em 24 h', cell: ({ id }) => formatSuccessRate(health.get(id)?.last_24_hours), isNumber: true },
      {
        head: 'Último sucesso',
        cell: ({ last_success_at }) => (last_success_at ? formatDateTime(last_success_at, timezone) : 'Nunca'),
      },
      { head: 'Descrição', cell: ({ description }) => description, isExtra: true },
    ]}
  />
)

interface BadgeProps extends Pick<ShownWebhook, 'status'> {
  /** Whether no delivery has been accepted since the first failure, also before the company is notified. */
  readonly isFailing: boolean
}

export const WebhookBadge = ({ status, isFailing }: BadgeProps) => (
  <StateBadge state={isFailing && status === 'active' ? ['bad', 'Com falhas'] : STATES[status]} />
)

export const isFailing = (health: HealthObject | undefined): boolean => health?.outage_since != null

/** Success rate in percent. */
export const formatSuccessRate = (span: HealthOfSpan | undefined): string =>
  span?.success_rate ? formatPercentage(span.success_rate) : '—'

function newsOf({ kind, data: { reason } }: ListedNotification): string {
  if (kind === 'webhook_failing') return 'começou a falhar'
  if (kind === 'webhook_well') return 'voltou a aceitar entregas'
  return `foi desligado porque ${reason === 'gone' ? 'respondeu que não existe mais (410)' : 'não respondeu por tempo demais'}`
}

/** Whether the notification still needs attention. */
const isOpen = ({ kind }: ListedNotification, health: HealthObject | undefined): boolean =>
  kind === 'webhook_switched_off' || (kind === 'webhook_failing' && isFailing(health))

const PATH = '/integracoes'
/** Covers all: a company has at most 50. */
const WEBHOOKS = 200

async function showIntegrations(visit: PageContext): Promise<PanelPage> {
  const { reader } = visit.readModel
  const [keys, calls, page, notices, health] = await Promise.all([
    listApiKeys(reader, MOST_KEYS),
    getCalls(reader),
    listWebhooks(reader, { limit: WEBHOOKS }),
    listWebhookNotifications(reader),
    listHealth(reader),
  ])
  const webhooks = recordsOnPage<ShownWebhook>(page)
  const { perMinute, perDay, bytesPerDay } = visit.context.limits.quota
  const body = (
    <>
      {visit.session.plan !== 'api' && (
        <p class="past" role="note">
          A conta não tem o adicional de API: as chamadas com estas chaves são recusadas até que seja contratado.
        </p>
      )}
      {notices.map((notice) => (
        <p
          key={notice.created_at}
          class={isOpen(notice, health.get(notice.data.webhook_id)) ? 'problem' : 'hint'}
          role="note"
        >
          {`${formatDateTime(notice.created_at, visit.readModel.timezone)}: o webhook `}
          {webhooks.some(({ id }) => id === notice.data.webhook_id) ? (
            <a href={link(webhookPath({ id: notice.data.webhook_id }))}>{notice.data.url}</a>
          ) : (
            notice.data.url
          )}
          {` ${newsOf(notice)}.`}
        </p>
      ))}
      <Card title="Chaves de API" aside={<ButtonLink to={`${PATH}/chaves/nova`}>Nova chave</ButtonLink>}>
        <KeyTable keys={keys} visit={visit} />
      </Card>
      <Card title="Webhooks" aside={<ButtonLink to={`${PATH}/webhooks/novo`}>Novo webhook</ButtonLink>}>
        <WebhookTable webhooks={webhooks} health={health} timezone={visit.readModel.timezone} />
      </Card>
      <Card title="Uso da API" aside={<a href="/docs">Documentação da API</a>}>
        <Facts
          facts={[
            ['Chamadas hoje', `${formatCount(calls.day)} de ${formatCount(perDay)}`],
            ['Dados enviados hoje', `${formatMebibytes(calls.bytes)} de ${formatMebibytes(bytesPerDay)} MiB`],
            ['Chamadas neste minuto', `${formatCount(calls.minute)} de ${formatCount(perMinute)}`],
          ]}
        />
      </Card>
    </>
  )
  return {
    title: 'Integrações',
    main: webhooks.length + keys.length === 0 && { label: 'Nova chave', to: `${PATH}/chaves/nova` },
    more: [
      { label: 'Chaves para agentes', to: AGENTS_PATH },
      { label: 'Chamadas da API', to: REQUESTS_PATH },
    ],
    body,
  }
}

export const integrationsPage: PanelRoute = {
  path: PATH,
  section: 'integrations',
  access: 'see_company',
  show: showIntegrations,
}
