import * as z from 'zod'
import { Instant } from '#domain/instant.ts'
import { formatCount, formatDateTime, formatDateTimeSeconds } from '#domain/person-values.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { WEBHOOK_EVENTS } from '#events/catalogue.ts'
import { revisionBefore } from '#integrity/as-of.ts'
import { isRefusal } from '#ledger/command.ts'
import { type Operation, operate } from '#ledger/write/run.ts'
import { hidesContents } from '#queries/reader.ts'
import {
  DELIVERY_STATUSES,
  type DeliveryObject,
  getDelivery,
  getMessage,
  getReplay,
  type HealthObject,
  type HealthOfSpan,
  listDeliveries,
  type ReplayObject,
} from '#queries/webhook-queries.ts'
import { redeliver, sendTest } from '#webhooks/redelivery.ts'
import { startReplay } from '#webhooks/replays.ts'
import { choiceInput, integerInput, momentInput, toOptions } from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute, Redirect } from '../panel-route.ts'
import { buttonRoute, formPages } from '../ui/form-pages.tsx'
import { type Column, ListTable } from '../ui/list-table.tsx'
import { Card, Facts, ShortId, StateBadge, type StateMark, WithheldContent } from '../ui/page-parts.tsx'
import { List, listFiltered, type QuickFilter, readListPage } from '../ui/panel-list.tsx'
import {
  formatSuccessRate,
  isEndpointOpen,
  loadWebhook,
  type ShownWebhook,
  WEBHOOK_EVENT_NAMES,
  WEBHOOKS_PATH,
  webhookPath,
} from './integration-page.tsx'

interface HealthProps {
  readonly health: HealthObject
  readonly visit: PageContext
}

/** Recent health of an endpoint. */
export const HealthCard = ({ health, visit }: HealthProps) => (
  <Card title="Saúde">
    {health.outage_since && (
      <p class="problem" role="note">
        {`Nenhuma entrega é aceita desde ${formatDateTime(health.outage_since, visit.readModel.timezone)}. Nada se perdeu: cada entrega é tentada de novo e o que faltar pode ser reenviado.`}
      </p>
    )}
    <ListTable
      caption="Tentativas de entrega"
      rows={[
        { name: 'Últimas 24 horas', ...health.last_24_hours },
        { name: 'Últimos 7 dias', ...health.last_7_days },
      ]}
      empty=""
      columns={[
        { head: 'Período', cell: ({ name }) => name },
        { head: 'Sucesso', cell: formatSuccessRate, isNumber: true },
        { head: 'Tentativas', cell: ({ attempts }) => formatCount(attempts), isNumber: true },
        { head: 'Falhas', cell: ({ failures }) => formatCount(failures), isNumber: true },
        {
          head: 'Resposta (p95)',
          cell: ({ p95_ms }) => (p95_ms === null ? '—' : `até ${formatCount(p95_ms)} ms`),
          isNumber: true,
        },
        { head: 'Última falha', cell: ({ last_failure }) => <LastFailure {...{ visit, health, last_failure }} /> },
      ]}
    />
  </Card>
)

const LastFailure = ({ visit, health, last_failure }: HealthProps & Pick<HealthOfSpan, 'last_failure'>) =>
  last_failure ? (
    <a href={link(`${webhookPath({ id: health.webhook_id })}/entregas/${last_failure.delivery_id}`)}>
      {`${formatDateTime(last_failure.at, visit.readModel.timezone)}: ${last_failure.status === null ? last_failure.error : `HTTP ${last_failure.status}`}`}
    </a>
  ) : (
    <>—</>
  )

const STATES: Readonly<Record<DeliveryObject['status'], StateMark>> = {
  pending: ['warn', 'Pendente'],
  delivered: ['good', 'Entregue'],
  failed: ['bad', 'Falhou'],
  cancelled: ['plain', 'Cancelada'],
}

const EVENTS = [...WEBHOOK_EVENTS, 'webhook.test'] as const

const FILTERS: Fields = {
  status: {
    label: 'Situação',
    kind: choiceInput(
      toOptions(DELIVERY_STATUSES, (status) => STATES[status][1]),
      'Todas',
    ),
  },
  event: {
    label: 'Evento',
    kind: choiceInput(
      toOptions(EVENTS, (event) => WEBHOOK_EVENT_NAMES[event]),
      'Todos',
    ),
  },
}

const QUICK: readonly QuickFilter[] = [
  { label: 'Falharam', filters: { status: 'failed' } },
  { label: 'Pendentes', filters: { status: 'pending' } },
]

const Search = z.object({
  status: z.enum(DELIVERY_STATUSES).optional(),
  event: z.enum(EVENTS).optional(),
  cursor: z.string().optional(),
})

const columnsOf = (timezone: string): Column<DeliveryObject>[] => [
  {
    head: 'Quando',
    cell: ({ id, webhook_id, created_at }) => (
      <a href={link(`${WEBHOOKS_PATH}/${webhook_id}/entregas/${id}`)}>{formatDateTimeSeconds(created_at, timezone)}</a>
    ),
  },
  { head: 'Evento', cell: ({ event, replay }) => `${WEBHOOK_EVENT_NAMES[event]}${replay ? ' (reenvio)' : ''}` },
  { head: 'Situação', cell: ({ status }) => <DeliveryBadge status={status} /> },
  { head: 'Tentativas', cell: ({ attempts }) => attempts.length, isNumber: true },
  { head: 'Sequência', cell: ({ sequence }) => sequence ?? '—', isNumber: true, isExtra: true },
]

const DeliveryBadge = ({ status }: Pick<DeliveryObject, 'status'>) => <StateBadge state={STATES[status]} />

/** Deliveries to an endpoint, newest first. */
export async function DeliveryList({
  visit,
  webhook,
}: {
  readonly visit: PageContext
  readonly webhook: ShownWebhook
}) {
  const { reader, timezone } = visit.readModel
  const deliveries = await readListPage<DeliveryObject>(visit, FILTERS, (_visit, asked, { limit }) =>
    listFiltered(Search, asked, (search) => listDeliveries(reader, webhook.id, { ...search, limit })),
  )
  const { record } = await getReplay(reader, webhook.id)
  return (
    <>
      {record && <LastReplay replay={JSON.parse(record) as ReplayObject} timezone={timezone} />}
      <List
        visit={visit}
        id="entregas"
        filters={FILTERS}
        list={deliveries}
        caption="Entregas dos últimos 30 dias"
        columns={columnsOf(timezone)}
        empty="Nenhuma entrega encontrada."
        begin={{
          title: 'Nenhuma entrega ainda',
          text: 'Aqui fica cada aviso enviado a este endereço, com a resposta.',
        }}
        quick={QUICK}
      />
    </>
  )
}

const REPLAY_STATES: Readonly<Record<ReplayObject['status'], StateMark>> = {
  running: ['warn', 'Em andamento'],
  finished: ['good', 'Terminado'],
  cancelled: ['plain', 'Cancelado'],
}

const LastReplay = ({ replay, timezone }: { readonly replay: ReplayObject; readonly timezone: string }) => (
  <Card title="Último reenvio">
    <Facts
      facts={[
        ['Situação', <StateBadge state={REPLAY_STATES[replay.status]} />],
        ['Entregas criadas', formatCount(replay.deliveries)],
        ['Até o evento nº', `${Math.max(0, replay.last_revision)} de ${replay.until_revision}`],
        ['Pedido em', formatDateTimeSeconds(replay.requested_at, timezone)],
        ['Terminado em', replay.finished_at && formatDateTimeSeconds(replay.finished_at, timezone)],
      ]}
    />
  </Card>
)

const REPLAY: Fields = {
  since: {
    label: 'Desde',
    kind: momentInput,
    hint: 'Se vazio, reenvia todos os eventos guardados (últimos 30 dias).',
  },
  after: { label: 'Ou depois do evento nº', kind: integerInput },
}

const ReplayForm = z.object({
  since: Instant.nullish(),
  after: z.int('deve ser o número de um evento').min(0).nullish(),
})

const deliveryId = ({ params }: PageContext): string | null => z.uuid().safeParse(params.delivery).data ?? null

async function deliveryPage(visit: PageContext): Promise<PanelPage | null> {
  const { reader, timezone } = visit.readModel
  const [webhook, id] = [await loadWebhook(visit), deliveryId(visit)]
  if (webhook === null || id === null) return null
  const [{ record }, sent] = await Promise.all([
    getDelivery(reader, webhook.id, id),
    getMessage(reader, webhook.id, id),
  ])
  if (record === null) return null
  const delivery = JSON.parse(record) as DeliveryObject
  const here = webhookPath(webhook)
  const body = (
    <>
      <Card title="Entrega">
        <Facts
          facts={[
            ['Situação', <DeliveryBadge status={delivery.status} />],
            ['Evento', WEBHOOK_EVENT_NAMES[delivery.event]],
            ['Identificação', <ShortId id={delivery.id} />],
            ['Sequência', delivery.sequence],
            ['Evento nº', delivery.revision],
            ['Reenvio', delivery.replay ? 'Sim' : 'Não'],
            [
              'Próxima tentativa',
              delivery.next_attempt_at && formatDateTimeSeconds(delivery.next_attempt_at, timezone),
            ],
          ]}
        />
      </Card>
      <Attempts delivery={delivery} visit={visit} />
      <Card title="Conteúdo enviado">
        <p>
          <code>{`POST ${webhook.url}`}</code>
        </p>
        {hidesContents(visit.primary.sight) ? (
          <WithheldContent />
        ) : sent === null ? (
          <p class="empty">O conteúdo não é mais guardado.</p>
        ) : (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
          <pre tabIndex={0}>{JSON.stringify(JSON.parse(sent), null, 2)}</pre>
        )}
      </Card>
    </>
  )
  return {
    title: 'Entrega de webhook',
    parent: { label: 'Webhook', to: here },
    main: isEndpointOpen(webhook) && { label: 'Reenviar', to: `${here}/entregas/${id}/reenviar`, values: {} },
    body,
  }
}

const Attempts = ({ delivery, visit }: { readonly delivery: DeliveryObject; readonly visit: PageContext }) => (
  <Card title="Tentativas">
    <ListTable
      isList
      caption="Tentativas"
      rows={delivery.attempts}
      empty="Nenhuma ainda."
      columns={[
        { head: 'Quando', cell: ({ at }) => formatDateTimeSeconds(at, visit.readModel.timezone) },
        { head: 'Resposta', cell: ({ status, error }) => (status === null ? error : `HTTP ${status}`) },
        { head: 'Demorou', cell: ({ duration_ms }) => `${formatCount(duration_ms)} ms`, isNumber: true },
        {
          head: 'Início da resposta',
          cell: ({ response }) =>
            hidesContents(visit.primary.sight) ? <WithheldContent /> : <code>{response ?? '—'}</code>,
        },
      ]}
    />
  </Card>
)

/** Runs an operation on deliveries once, however often the form is sent, and wakes the dispatchers. */
async function operated(submission: FormSubmission, operation: Operation) {
  const { context, acting } = submission
  const asked = { ...acting, idempotency: submission.idempotency() }
  const answer = await operate(context.reads.poolOf(acting.companyId), asked, operation)
  context.webhooks.notifier.notify()
  return answer
}

/** Queues one delivery and redirects to it. */
async function queue(
  submission: FormSubmission,
  webhook: ShownWebhook,
  operation: Operation,
  flash: 'enviada' | 'teste-enviado',
): Promise<Redirect | Refusal> {
  const answer = await operated(submission, operation)
  if (isRefusal(answer)) return answer
  const delivery = answer.record as DeliveryObject
  return { to: `${webhookPath(webhook)}/entregas/${delivery.id}`, flash }
}

const at = { section: 'integrations', access: 'see_company' } as const
const changing = { ...at, access: 'manage_integrations' } as const
const one = `${WEBHOOKS_PATH}/:id`

/** Deliveries of an endpoint with request and response, and redelivery. */
export const deliveryPages: readonly PanelRoute[] = [
  { ...at, path: `${one}/entregas/:delivery`, show: deliveryPage },
  buttonRoute({
    ...changing,
    path: `${one}/entregas/:delivery/reenviar`,
    subject: loadWebhook,
    async act(submission, webhook) {
      const id = deliveryId(submission)
      return id === null
        ? null
        : queue(submission, webhook, (operating) => redeliver(operating, webhook.id, id), 'enviada')
    },
  }),
  buttonRoute({
    ...changing,
    path: `${one}/testar`,
    subject: loadWebhook,
    act: (submission, webhook) =>
      queue(
        submission,
        webhook,
        (operating) => sendTest(operating, webhook.id, submission.context.environment.newId),
        'teste-enviado',
      ),
  }),
  ...formPages({
    ...changing,
    path: `${one}/reenviar`,
    subject: loadWebhook,
    title: () => 'Reenviar eventos',
    intro: () => (
      <p>
        Reenvia aos poucos os eventos deste webhook, inclusive os perdidos enquanto estava desligado e os anteriores a
        ele.
      </p>
    ),
    label: 'Reenviar',
    back: webhookPath,
    fields: () => REPLAY,
    schema: ReplayForm,
    async act(submission, webhook, { after, since }) {
      if (after != null && since != null) return refuseField('since', 'informe só a data ou só o número')
      const { context, session } = submission
      const begin = since == null ? (after ?? undefined) : await revisionBefore(context.reads, session.companyId, since)
      const answer = await operated(submission, (operating) => startReplay(operating, { id: webhook.id, after: begin }))
      return isRefusal(answer) ? answer : { to: webhookPath(webhook), flash: 'reenvio' }
    },
  }),
]
