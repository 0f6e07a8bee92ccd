import { formatCount, formatDateTime, formatMebibytes } from '#domain/person-values.ts'
import { getCalls, listApiKeys } from '#queries/api-key-queries.ts'
import {
  type HealthObject,
  type ListedNotification,
  listHealth,
  listWebhookNotifications,
  listWebhooks,
} from '#queries/webhook-queries.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { ButtonLink, Card, Facts } from '../ui/page-parts.tsx'
import { recordsOnPage } from '../ui/panel-list.tsx'
import { KeyTable, MOST_KEYS, REQUESTS_PATH } from './api-key-pages.tsx'
import { isFailing, type ShownWebhook, WebhookTable, webhookPath } from './webhook-list.tsx'

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
    more: [{ label: 'Chamadas da API', to: REQUESTS_PATH }],
    body,
  }
}

export const integrationsPage: PanelRoute = {
  path: PATH,
  section: 'integrations',
  access: 'see_company',
  show: showIntegrations,
}
