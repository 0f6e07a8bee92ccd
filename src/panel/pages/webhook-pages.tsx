import * as z from 'zod'
import {
  deleteWebhook,
  enableWebhook,
  HandOverFields,
  handOverWebhook,
  RotationFields,
  registerWebhook,
  rotateSecret,
  switchOffWebhook,
  updateWebhook,
  WebhookChanges,
  WebhookFields,
} from '#commands/webhook-commands.ts'
import { formatDateTime } from '#domain/person-values.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { BASIC_WEBHOOK_EVENTS, isBasicEvent, WEBHOOK_EVENTS, type WebhookEvent } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import { getApiKey, type ListedApiKey, listApiKeys } from '#queries/api-key-queries.ts'
import { getHealth, type HealthObject } from '#queries/webhook-queries.ts'
import { urlProblem } from '#webhooks/sender.ts'
import {
  choicesInput,
  integerInput,
  lineInput,
  recordChoiceInput,
  toOptions,
  webAddressInput,
} from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import type { PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { History } from '../record-history.tsx'
import { buttonRoute, formPages, removalPages, runAndRedirect } from '../ui/form-pages.tsx'
import { ButtonLink, Card, Facts, Secret } from '../ui/page-parts.tsx'
import { keyStatus, MOST_KEYS } from './api-key-pages.tsx'
import { DeliveryList, HealthCard } from './delivery-pages.tsx'
import {
  isEndpointOpen,
  isFailing,
  loadWebhook,
  PAUSED_BECAUSE,
  type ShownWebhook,
  WEBHOOK_EVENT_NAMES,
  WEBHOOKS_PATH,
  WebhookBadge,
  webhookPath,
} from './integration-page.tsx'

const HOME = '/integracoes'
const at = { section: 'integrations', access: 'see_company' } as const
const changing = { ...at, access: 'manage_integrations' } as const
const one = `${WEBHOOKS_PATH}/:id`

async function webhookPage(visit: PageContext): Promise<PanelPage | null> {
  const webhook = await loadWebhook(visit)
  if (!webhook) return null
  const { reader } = visit.readModel
  const { record } = await getHealth(reader, webhook.id)
  const health = record ? (JSON.parse(record) as HealthObject) : undefined
  const time = (at: string | null) => at && formatDateTime(at, visit.readModel.timezone)
  const body = (
    <>
      <Card title="Dados">
        <Facts
          facts={[
            ['Endereço', webhook.url],
            [
              'Situação',
              <WebhookBadge status={webhook.status} isFailing={isFailing(health) || webhook.failing_since !== null} />,
            ],
            ['Motivo da pausa', webhook.pause_reason && PAUSED_BECAUSE[webhook.pause_reason]],
            ['Vinculado a', await ownerName(webhook, visit)],
            ['Descrição', webhook.description],
            ['Eventos', eventNames(webhook.events)],
            ['Último sucesso', time(webhook.last_success_at) ?? 'Nunca'],
            ['Com falhas desde', time(webhook.failing_since)],
            ['Segredo anterior vale até', time(webhook.overlap_ends_at)],
          ]}
        />
      </Card>
      {health && <HealthCard health={health} visit={visit} />}
      <Card title="Entregas">{await DeliveryList({ visit, webhook })}</Card>
      {await History({ visit, subject: `webhook/${webhook.id}`, isNowOnly: true })}
    </>
  )
  return { title: 'Webhook', parent: { label: 'Integrações', to: HOME }, ...headOf(webhook), body }
}

const COMPANY = 'A empresa'

/** The owner: the company, or a key whose scopes limit the events. */
async function ownerName({ api_key_id }: ShownWebhook, { readModel: { reader } }: PageContext): Promise<string> {
  const key = api_key_id === null ? null : await getApiKey(reader, api_key_id)
  return key ? `Chave ${keyName(key)}` : COMPANY
}

const keyName = ({ name, prefix }: ListedApiKey): string => `${name} (${prefix}…)`

/** Keys to which an endpoint can be handed over; empty for the company. */
async function ownerFields(visit: PageContext): Promise<Fields> {
  const { readModel, session } = visit
  const keys = await listApiKeys(readModel.reader, MOST_KEYS)
  const active = keys.filter((key) => keyStatus(key, session.now) === 'active')
  const options = active.map((key) => ({ value: String(key.id), label: `Chave ${keyName(key)}` }))
  return { api_key_id: { label: 'Vinculado a', kind: recordChoiceInput(options, COMPANY), columns: 12 } }
}

const GROUP_NAMES: Readonly<Record<string, string>> = { '*': 'Todos', basic: 'Principais eventos' }

const eventNames = (events: readonly string[]): string =>
  events.map((event) => GROUP_NAMES[event] ?? WEBHOOK_EVENT_NAMES[event as WebhookEvent]).join(' · ')

/** Available actions. */
function headOf(webhook: ShownWebhook): Pick<PanelPage, 'main' | 'more' | 'dangers'> {
  const here = webhookPath(webhook)
  const isOff = webhook.status === 'disabled'
  const test = { label: 'Enviar teste', to: `${here}/testar`, values: {} }
  return {
    main: isOff ? { label: 'Ligar', to: `${here}/ligar`, values: {} } : isEndpointOpen(webhook) && test,
    more: [
      { label: 'Editar', to: `${here}/editar` },
      isEndpointOpen(webhook) && { label: 'Reenviar eventos', to: `${here}/reenviar` },
      { label: 'Transferir', to: `${here}/passar` },
      { label: 'Trocar segredo', to: `${here}/trocar-segredo` },
    ],
    dangers: [
      !isOff && { label: 'Desligar', to: `${here}/desligar`, values: {} },
      { label: 'Excluir', to: `${here}/excluir` },
    ],
  }
}

const [ALL, BASIC] = ['*', 'basic']

/** The choice of all events, or of all basic ones, replaces single ones. */
const events = [
  { value: ALL, label: 'Todos, inclusive os futuros' },
  { value: BASIC, label: `Principais eventos (${BASIC_WEBHOOK_EVENTS.length})`, within: ALL },
  ...toOptions(WEBHOOK_EVENTS, (event) => WEBHOOK_EVENT_NAMES[event]).map((option) => ({
    ...option,
    within: isBasicEvent(option.value) ? `${ALL} ${BASIC}` : ALL,
  })),
]

function withoutIncluded(events: readonly string[]): readonly string[] {
  if (events.includes(ALL)) return [ALL]
  return events.includes(BASIC) ? events.filter((event) => !isBasicEvent(event)) : events
}

/** Removes events that the choice of all, or of all basic ones, includes. */
const withoutIncludedEvents = <T extends z.ZodType>(schema: T) =>
  z.preprocess((input) => {
    const { events } = input as { events?: readonly string[] }
    return events === undefined ? input : { ...(input as object), events: withoutIncluded(events) }
  }, schema)

const FIELDS: Fields = {
  url: { label: 'Endereço (URL)', kind: webAddressInput, isRequired: true, columns: 12 },
  description: { label: 'Descrição', kind: lineInput, columns: 12 },
  events: { label: 'Eventos', kind: choicesInput(events), isRequired: true, columns: 12 },
}

const ROTATION: Fields = {
  overlap_hours: {
    label: 'Manter o segredo antigo por (horas)',
    kind: integerInput,
    isRequired: true,
    hint: 'De 0 a 168. Enquanto isso, as entregas levam as duas assinaturas. Com 0, o segredo antigo deixa de valer já.',
  },
}

/** A forbidden URL is refused before the command runs, as in the API. */
function refusedUrl(visit: PageContext, url: string | undefined): Refusal | null {
  const problem = url === undefined ? null : urlProblem(url, visit.context.environment.allowPrivateTargets)
  return problem === null ? null : refuseField('url', problem)
}

/** `secret` is null when the form is sent again: a secret is shown once. */
const secretPage = (title: string, webhook: Pick<ShownWebhook, 'id'>, secret: string | null): PanelPage => ({
  title,
  body: [
    secret === null ? (
      <p>O segredo já foi mostrado uma única vez. Se não foi copiado, troque-o.</p>
    ) : (
      <Secret title="Segredo das assinaturas" secret={secret}>
        <p class="hint">O sistema que recebe usa este segredo para conferir a origem das entregas.</p>
      </Secret>
    ),
    <ButtonLink to={webhookPath(webhook)}>Ir para o webhook</ButtonLink>,
  ],
})

/** An endpoint: register, change, switch, delete, rotate its secret, and see deliveries. */
export const webhookPages: readonly PanelRoute[] = [
  { ...at, path: one, show: webhookPage },
  ...formPages({
    ...changing,
    path: `${WEBHOOKS_PATH}/novo`,
    to: WEBHOOKS_PATH,
    subject: () => ({}),
    title: () => 'Novo webhook',
    label: 'Cadastrar',
    back: () => HOME,
    fields: () => FIELDS,
    initial: () => ({ events: [BASIC] }),
    schema: withoutIncludedEvents(WebhookFields),
    async act(submission, _, input) {
      const secret = submission.context.environment.newSecret()
      const answer = refusedUrl(submission, input.url) ?? (await submission.run(registerWebhook, { ...input, secret }))
      if (isRefusal(answer)) return answer
      return secretPage('Webhook cadastrado', answer.record as ShownWebhook, answer.replayed ? null : secret)
    },
  }),
  ...formPages({
    ...changing,
    path: `${one}/editar`,
    subject: loadWebhook,
    title: () => 'Editar webhook',
    label: 'Salvar',
    back: webhookPath,
    fields: () => FIELDS,
    initial: (webhook) => webhook,
    schema: withoutIncludedEvents(WebhookChanges),
    async act(submission, { id }, changes) {
      const answer = refusedUrl(submission, changes.url) ?? (await submission.run(updateWebhook, { id, ...changes }))
      return isRefusal(answer) ? answer : { to: webhookPath({ id }), flash: 'alterado' }
    },
  }),
  ...formPages({
    ...changing,
    path: `${one}/passar`,
    subject: loadWebhook,
    title: () => 'Transferir webhook',
    intro: () => (
      <p>
        O webhook da empresa recebe todos os eventos escolhidos. O de uma chave recebe só o que ela pode ler e fica
        pausado enquanto ela não é válida. Se estava pausado, continua de onde parou.
      </p>
    ),
    label: 'Transferir',
    back: webhookPath,
    fields: (_webhook, visit) => ownerFields(visit),
    initial: (webhook) => webhook,
    schema: HandOverFields,
    act: (submission, { id }, { api_key_id = null }) =>
      runAndRedirect(
        submission,
        handOverWebhook,
        { id, api_key_id },
        { to: webhookPath({ id }), flash: 'webhook-passado' },
      ),
  }),
  ...formPages({
    ...changing,
    path: `${one}/trocar-segredo`,
    subject: loadWebhook,
    title: () => 'Trocar segredo',
    label: 'Trocar segredo',
    back: webhookPath,
    fields: () => ROTATION,
    initial: () => ({ overlap_hours: 24 }),
    schema: RotationFields,
    async act(submission, { id }, input) {
      const secret = submission.context.environment.newSecret()
      const answer = await submission.run(rotateSecret, { id, ...input, secret })
      return isRefusal(answer) ? answer : secretPage('Segredo trocado', { id }, answer.replayed ? null : secret)
    },
  }),
  buttonRoute({
    ...changing,
    path: `${one}/ligar`,
    subject: loadWebhook,
    act: (submission, { id }) =>
      runAndRedirect(submission, enableWebhook, { id }, { to: webhookPath({ id }), flash: 'ligado' }),
  }),
  buttonRoute({
    ...changing,
    path: `${one}/desligar`,
    subject: loadWebhook,
    act: (submission, { id }) =>
      runAndRedirect(
        submission,
        switchOffWebhook,
        { id, reason: 'requested' },
        { to: webhookPath({ id }), flash: 'desligado' },
      ),
  }),
  ...removalPages({
    ...changing,
    path: `${one}/excluir`,
    subject: loadWebhook,
    title: () => 'Excluir webhook',
    intro: ({ url }) => (
      <p>{`Nenhum evento será mais entregue em ${url} e o segredo será apagado. Esta ação não pode ser desfeita.`}</p>
    ),
    label: 'Excluir',
    back: webhookPath,
    command: deleteWebhook,
    done: { to: HOME, flash: 'excluido' },
  }),
]
