import { deleteWebhook } from '../../../../commands/webhooks/delete-webhook.ts'
import { enableWebhook, switchOffWebhook } from '../../../../commands/webhooks/switch-webhook.ts'
import {
  DELIVERY_STATUSES,
  type DeliveryFilters,
  type DeliveryObject,
  listDeliveries,
} from '../../../../queries/webhooks/list-deliveries.ts'
import { WEBHOOK_EVENTS } from '../../../events/webhooks.ts'
import { isRefusal } from '../../../ledger/command.ts'
import { pathId } from '../../route.ts'
import { dateTime, dateTimeSeconds } from '../format.ts'
import { type Fields, type Filled, filledWith } from '../forms/form.ts'
import { choice } from '../forms/kinds.ts'
import { link } from '../link.ts'
import type { Page, PanelRoute, Redirect, Submission, Visit } from '../route.ts'
import { ButtonForm, Filters, Form } from '../ui/form.tsx'
import { History } from '../ui/history.tsx'
import { Actions, Badge, ButtonLink, Card, Facts, Pager } from '../ui/parts.tsx'
import { refusedPage } from '../ui/refused.tsx'
import { Table } from '../ui/table.tsx'
import type { NoticeCode } from '../words/notices.ts'
import { DELIVERY_STATUS, WEBHOOK_EVENT_NAMES } from '../words/webhooks.ts'
import { type ShownWebhook, WebhookBadge } from './integrations.tsx'
import { WEBHOOKS_PATH, withWebhook } from './webhook-forms.tsx'

const DELIVERIES_OF_A_PAGE = 30

const named = <N extends string>(values: readonly N[], name: (value: N) => string) =>
  values.map((value) => ({ value, label: name(value) }))

const FILTERS: Fields = {
  status: { label: 'Situação', kind: choice(named(DELIVERY_STATUSES, (status) => DELIVERY_STATUS[status][1])) },
  event: {
    label: 'Aviso',
    kind: choice(named([...WEBHOOK_EVENTS, 'webhook.test' as const], (event) => WEBHOOK_EVENT_NAMES[event])),
  },
}

/** Only what the lists of choices offer is asked for. */
function filtersOf({ status, event }: Visit['query']): DeliveryFilters {
  const known = DELIVERY_STATUSES.find((one) => one === status)
  return { ...(known && { status: known }), ...(event && Object.hasOwn(WEBHOOK_EVENT_NAMES, event) && { event }) }
}

async function webhookPage(visit: Visit, webhook: ShownWebhook): Promise<Page> {
  const { pool, companyId, timezone } = visit.books
  const here = `${WEBHOOKS_PATH}/${webhook.id}`
  const { cursor } = visit.query
  const page = await listDeliveries(pool, companyId, webhook.id, {
    ...filtersOf(visit.query),
    limit: DELIVERIES_OF_A_PAGE,
    ...(cursor && { cursor }),
  })
  const deliveries = isRefusal(page) ? [] : (JSON.parse(`[${page.data}]`) as DeliveryObject[])
  const filled: Filled = filledWith(FILTERS, visit.query, isRefusal(page) ? page : undefined)
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
        <Filters path={here} fields={FILTERS} filled={filled} target="entregas" />
        <div id="entregas">
          <DeliveryTable deliveries={deliveries} visit={visit} />
          <Pager path={here} query={visit.query} next={isRefusal(page) ? null : page.next} />
        </div>
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

const WebhookActions = ({
  visit,
  webhook: { id, status },
}: {
  readonly visit: Visit
  readonly webhook: ShownWebhook
}) => {
  const here = `${WEBHOOKS_PATH}/${id}`
  const isOff = status === 'disabled'
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

const DeliveryTable = ({
  deliveries,
  visit,
}: {
  readonly deliveries: readonly DeliveryObject[]
  readonly visit: Visit
}) => (
  <Table
    caption="Entregas dos últimos 30 dias"
    rows={deliveries}
    empty="Nenhuma entrega."
    columns={[
      {
        head: 'Quando',
        cell: ({ id, webhook_id, created_at }) => (
          <a href={link(`${WEBHOOKS_PATH}/${webhook_id}/entregas/${id}`)}>
            {dateTimeSeconds(created_at, visit.books.timezone)}
          </a>
        ),
      },
      { head: 'Aviso', cell: ({ event, replay }) => `${WEBHOOK_EVENT_NAMES[event]}${replay ? ' (reenvio)' : ''}` },
      { head: 'Situação', cell: ({ status }) => <DeliveryBadge status={status} /> },
      { head: 'Tentativas', cell: ({ attempts }) => attempts.length, isNumber: true },
      { head: 'Sequência', cell: ({ sequence }) => sequence ?? '—', isNumber: true, isExtra: true },
    ]}
  />
)

export const DeliveryBadge = ({ status }: Pick<DeliveryObject, 'status'>) => {
  const [tone, text] = DELIVERY_STATUS[status]
  return <Badge tone={tone}>{text}</Badge>
}

/** Switching on and off: the page says what became of it. */
const switching =
  (isOn: boolean, notice: NoticeCode) =>
  async (submission: Submission, { id }: ShownWebhook): Promise<Page | Redirect> => {
    const answer = isOn
      ? await submission.run(enableWebhook, { id })
      : await submission.run(switchOffWebhook, { id, reason: 'requested' })
    return isRefusal(answer) ? refusedPage(answer) : { to: `${WEBHOOKS_PATH}/${id}`, notice }
  }

const deletePage = (visit: Visit, { id, url }: ShownWebhook): Page => ({
  title: 'Excluir webhook',
  body: (
    <Form
      visit={visit}
      to={`${WEBHOOKS_PATH}/${id}/excluir`}
      label="Excluir"
      isDangerous
      back={`${WEBHOOKS_PATH}/${id}`}
    >
      <p>{`Nada mais será entregue em ${url}, e o segredo é esquecido. Isso não se desfaz.`}</p>
    </Form>
  ),
})

/** The command is asked first: what is sent twice finds no webhook the second time. */
async function remove(submission: Submission): Promise<Page | Redirect | null> {
  const id = pathId(submission.params.id)
  if (id === null) return null
  const answer = await submission.run(deleteWebhook, { id })
  if (!isRefusal(answer)) return { to: '/integracoes', notice: 'excluido' }
  return answer.refused === 'not_found' ? null : refusedPage(answer)
}

const at = { section: 'integrations', access: 'owner' } as const
const one = `${WEBHOOKS_PATH}/:id`
const [switchOn, switchOff] = [switching(true, 'ligado'), switching(false, 'desligado')]

/** One address: how it answers, what it was sent, and switching it. */
export const webhookPages: readonly PanelRoute[] = [
  { ...at, path: one, show: (visit) => withWebhook(visit, (webhook) => webhookPage(visit, webhook)) },
  { ...at, path: `${one}/ligar`, submit: (sent) => withWebhook(sent, (webhook) => switchOn(sent, webhook)) },
  { ...at, path: `${one}/desligar`, submit: (sent) => withWebhook(sent, (webhook) => switchOff(sent, webhook)) },
  { ...at, path: `${one}/excluir`, show: (visit) => withWebhook(visit, (webhook) => deletePage(visit, webhook)) },
  { ...at, path: `${one}/excluir`, submit: remove },
]
