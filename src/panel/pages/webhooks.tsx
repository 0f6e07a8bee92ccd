import { z } from 'zod'
import { deleteWebhook, enableWebhook, switchOffWebhook } from '#commands/webhooks.ts'
import { WEBHOOK_EVENTS } from '#events/webhooks.ts'
import { isRefusal } from '#ledger/command.ts'
import { DELIVERY_STATUSES, type DeliveryObject, listDeliveries } from '#queries/webhooks.ts'
import { dateTime, dateTimeSeconds } from '../format.ts'
import type { Fields } from '../forms/form.ts'
import { choice, optionsOf } from '../forms/kinds.ts'
import { searched } from '../forms/searched.ts'
import { link } from '../link.ts'
import type { Page, PanelRoute, Visit } from '../route.ts'
import { ButtonForm } from '../ui/form.tsx'
import { History } from '../ui/history.tsx'
import { List, listed } from '../ui/list.tsx'
import { Actions, Badge, ButtonLink, Card, Facts } from '../ui/parts.tsx'
import type { Column } from '../ui/table.tsx'
import { DELIVERY_STATUS, WEBHOOK_EVENT_NAMES } from '../words/webhooks.ts'
import { buttonRoute, removalPages } from './form-pages.ts'
import { type ShownWebhook, WebhookBadge } from './integrations.tsx'
import { WEBHOOKS_PATH, webhookOf, webhookPath } from './webhook-forms.tsx'

const DELIVERIES_OF_A_PAGE = 30

const EVENTS = [...WEBHOOK_EVENTS, 'webhook.test'] as const

const FILTERS: Fields = {
  status: { label: 'Situação', kind: choice(optionsOf(DELIVERY_STATUSES, (status) => DELIVERY_STATUS[status][1])) },
  event: { label: 'Aviso', kind: choice(optionsOf(EVENTS, (event) => WEBHOOK_EVENT_NAMES[event])) },
}

const Search = z.object({
  status: z.enum(DELIVERY_STATUSES).optional(),
  event: z.enum(EVENTS).optional(),
  cursor: z.string().optional(),
})

async function webhookPage(visit: Visit): Promise<Page | null> {
  const webhook = await webhookOf(visit)
  if (!webhook) return null
  const { pool, companyId, timezone } = visit.books
  const deliveries = await listed<DeliveryObject>(visit, FILTERS, (asked) =>
    searched(Search, asked, (search) =>
      listDeliveries(pool, companyId, webhook.id, { ...search, limit: DELIVERIES_OF_A_PAGE }),
    ),
  )
  const time = (at: string | null) => at && dateTime(at, timezone)
  const body = (
    <>
      <WebhookActions visit={visit} webhook={webhook} />
      <Card title="Dados">
        <Facts
          facts={[
            ['Endereço', webhook.url],
            ['Situação', <WebhookBadge status={webhook.status} />],
            ['Descrição', webhook.description],
            ['Avisos', eventNames(webhook.events)],
            ['Último sucesso', time(webhook.last_success_at) ?? 'Nunca'],
            ['Falhando desde', time(webhook.failing_since)],
          ]}
        />
      </Card>
      <Card title="Entregas">
        <List
          visit={visit}
          id="entregas"
          filters={FILTERS}
          list={deliveries}
          caption="Entregas dos últimos 30 dias"
          columns={deliveryColumns(timezone)}
          empty="Nenhuma entrega."
        />
      </Card>
      {await History({ visit, subject: `webhook/${webhook.id}` })}
    </>
  )
  return { title: 'Webhook', body }
}

const eventNames = (events: readonly string[]): string =>
  events.includes('*')
    ? 'Todos'
    : events.map((event) => WEBHOOK_EVENT_NAMES[event as keyof typeof WEBHOOK_EVENT_NAMES]).join(' · ')

interface WebhookProps {
  readonly visit: Visit
  readonly webhook: ShownWebhook
}

const WebhookActions = ({ visit, webhook }: WebhookProps) => {
  const here = webhookPath(webhook)
  const isOff = webhook.status === 'disabled'
  return (
    <Actions>
      {!isOff && <ButtonForm visit={visit} to={`${here}/testar`} label="Enviar teste" />}
      {!isOff && <ButtonLink to={`${here}/reenviar`}>Reenviar eventos</ButtonLink>}
      <ButtonForm visit={visit} to={`${here}/${isOff ? 'ligar' : 'desligar'}`} label={isOff ? 'Ligar' : 'Desligar'} />
      <ButtonLink to={`${here}/editar`}>Editar</ButtonLink>
      <ButtonLink to={`${here}/trocar-segredo`}>Trocar segredo</ButtonLink>
      <ButtonLink to={`${here}/excluir`}>Excluir</ButtonLink>
    </Actions>
  )
}

const deliveryColumns = (timezone: string): Column<DeliveryObject>[] => [
  {
    head: 'Quando',
    cell: ({ id, webhook_id, created_at }) => (
      <a href={link(`${WEBHOOKS_PATH}/${webhook_id}/entregas/${id}`)}>{dateTimeSeconds(created_at, timezone)}</a>
    ),
  },
  { head: 'Aviso', cell: ({ event, replay }) => `${WEBHOOK_EVENT_NAMES[event]}${replay ? ' (reenvio)' : ''}` },
  { head: 'Situação', cell: ({ status }) => <DeliveryBadge status={status} /> },
  { head: 'Tentativas', cell: ({ attempts }) => attempts.length, isNumber: true },
  { head: 'Sequência', cell: ({ sequence }) => sequence ?? '—', isNumber: true, isExtra: true },
]

export const DeliveryBadge = ({ status }: Pick<DeliveryObject, 'status'>) => {
  const [tone, text] = DELIVERY_STATUS[status]
  return <Badge tone={tone}>{text}</Badge>
}

const at = { section: 'integrations', access: 'owner' } as const
const one = `${WEBHOOKS_PATH}/:id`

/** One address: how it answers, what it was sent, switching it and giving it up. */
export const webhookPages: readonly PanelRoute[] = [
  { ...at, path: one, show: webhookPage },
  buttonRoute({
    ...at,
    path: `${one}/ligar`,
    subject: webhookOf,
    async act(submission, { id }) {
      const answer = await submission.run(enableWebhook, { id })
      return isRefusal(answer) ? answer : { to: webhookPath({ id }), notice: 'ligado' }
    },
  }),
  buttonRoute({
    ...at,
    path: `${one}/desligar`,
    subject: webhookOf,
    async act(submission, { id }) {
      const answer = await submission.run(switchOffWebhook, { id, reason: 'requested' })
      return isRefusal(answer) ? answer : { to: webhookPath({ id }), notice: 'desligado' }
    },
  }),
  ...removalPages({
    ...at,
    path: `${one}/excluir`,
    subject: webhookOf,
    title: () => 'Excluir webhook',
    intro: ({ url }) => <p>{`Nada mais será entregue em ${url}, e o segredo é esquecido. Isso não se desfaz.`}</p>,
    label: 'Excluir',
    back: webhookPath,
    command: deleteWebhook,
    done: { to: '/integracoes', notice: 'excluido' },
  }),
]
