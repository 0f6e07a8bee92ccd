import * as z from 'zod'
import {
  deleteWebhook,
  enableWebhook,
  handOverWebhook,
  MAX_WEBHOOKS,
  RotationFields,
  registerWebhook,
  rotateSecret,
  switchOffWebhook,
  updateWebhook,
  WebhookChanges,
  WebhookFields,
} from '#commands/webhook-commands.ts'
import { Instant } from '#domain/instant.ts'
import { refuseField } from '#domain/refusals.ts'
import { WEBHOOK_EVENT_GROUPS, WEBHOOK_EVENTS } from '#events/catalogue.ts'
import { type Params, pathId, withId } from '#http/paths.ts'
import {
  DELIVERY_STATUSES,
  getDelivery,
  getHealth,
  getReplay,
  getWebhook,
  listDeliveries,
  listWebhooks,
} from '#queries/webhook-queries.ts'
import { ContractRecordId, NullableText, Timestamp } from '#records/field.ts'
import { redeliver, redeliveryRequest, replayRequests, sendTest, testRequest } from '#webhooks/redelivery.ts'
import { REPLAY_LIMITS, startReplay } from '#webhooks/replays.ts'
import { urlProblem } from '#webhooks/sender.ts'
import { commandRoute, type InputDependencies, operationRoute, type Route, readRoute } from '../api-route.ts'
import { pageSchema, singleSchema } from '../contract/contract-document.ts'
import { answerPage, answerRecord, getRoute, listRoute, pageQuery } from './record-routes.ts'

const webhookExample = {
  id: 3,
  url: 'https://erp.example/tillbook/eventos',
  events: ['sale.completed', 'sale.cancelled'],
  description: 'ERP da matriz',
  created_at: '2026-11-01T10:00:00.000-03:00',
  updated_at: '2026-11-01T10:00:00.000-03:00',
  api_key_id: 7,
  status: 'active',
  pause_reason: null,
  last_success_at: '2026-11-21T08:17:15.123-03:00',
  failing_since: null,
  overlap_ends_at: null,
}

const webhookShape = {
  id: ContractRecordId,
  url: z.string(),
  events: z.array(z.enum([...WEBHOOK_EVENTS, ...WEBHOOK_EVENT_GROUPS])),
  description: NullableText,
  created_at: Timestamp,
  updated_at: Timestamp,
  api_key_id: ContractRecordId.nullable(),
  status: z.enum(['active', 'no_response', 'paused', 'disabled']),
  pause_reason: z.enum(['plan_required', 'key_revoked', 'key_expired']).nullable(),
  last_success_at: Timestamp.nullable(),
  failing_since: Timestamp.nullable(),
  overlap_ends_at: Timestamp.nullable(),
}

/** An address that receives events (projections/webhooks.ts). */
const Webhook = z.strictObject(webhookShape).meta({ id: 'Webhook', examples: [webhookExample] })

/** The secret is shown once: a replayed answer omits it. */
const WebhookWithSecret = z.strictObject({ ...webhookShape, secret: z.string().optional() }).meta({
  id: 'WebhookWithSecret',
  examples: [{ ...webhookExample, secret: 'whsec_bm90IGEgcmVhbCBzZWNyZXQsIGp1c3QgYW4gZXhhbXBsZSE=' }],
})

const spanExample = {
  attempts: 1204,
  failures: 3,
  success_rate: '99.75',
  p95_ms: 184,
  last_failure: {
    at: '2026-11-21T08:17:15.130-03:00',
    status: 503,
    error: 'http_status',
    delivery_id: '019aa5c2-6c1e-7c2f-9d11-3f0c9c6f2a10',
  },
}

const HealthOfSpan = z
  .strictObject({
    attempts: z.int().min(0),
    failures: z.int().min(0),
    success_rate: z.string().nullable(),
    p95_ms: z.int().min(0).nullable(),
    last_failure: z
      .strictObject({ at: Timestamp, status: z.int().nullable(), error: NullableText, delivery_id: z.uuid() })
      .meta({ id: 'WebhookFailure' })
      .nullable(),
  })
  .meta({ id: 'WebhookHealthOfSpan', examples: [spanExample] })

/** Health of an address (queries/webhook-queries.ts). */
const WebhookHealth = z
  .strictObject({
    webhook_id: ContractRecordId,
    outage_since: Timestamp.nullable(),
    last_24_hours: HealthOfSpan,
    last_7_days: HealthOfSpan,
  })
  .meta({
    id: 'WebhookHealth',
    examples: [
      {
        webhook_id: 3,
        outage_since: null,
        last_24_hours: spanExample,
        last_7_days: { ...spanExample, attempts: 9310, failures: 41, success_rate: '99.55' },
      },
    ],
  })

const { url, events, description } = webhookExample

const scope = 'webhooks:manage'

/** Checks the URL against the service's settings before it is stored. DNS results are checked at each delivery. */
function checkUrl(url: string | undefined, { allowPrivateTargets }: InputDependencies) {
  const problem = url === undefined ? null : urlProblem(url, allowPrivateTargets)
  return problem === null ? null : refuseField('url', problem)
}

/** Addresses of webhooks (HTTP-15). */
export const webhookRoutes: readonly Route[] = [
  listRoute({
    outlastsReset: true,
    path: '/webhooks',
    scope,
    operation: 'listWebhooks',
    summary: 'Lista os endereços de webhook',
    // Health is stored outside the ledger.
    ofLedger: false,
    record: Webhook,
    filters: {},
    list: (reader, query) => listWebhooks(reader, query),
  }),
  commandRoute({
    method: 'post',
    path: '/webhooks',
    scope,
    operation: 'registerWebhook',
    summary: 'Registra um endereço de webhook',
    description: `O \`secret\`, com o qual as entregas são assinadas, aparece somente nesta resposta. No máximo ${MAX_WEBHOOKS} endereços por empresa. O endereço pertence à chave que o registra e só recebe eventos cujo escopo de leitura ela tem: \`*\` são todos os que ela pode ler, \`basic\` os básicos entre eles.`,
    body: WebhookFields,
    example: { url, events, description },
    reply: singleSchema(WebhookWithSecret),
    refusals: ['webhook_limit_reached'],
    command: registerWebhook,
    input: (_params, body, dependencies) =>
      checkUrl(body.url, dependencies) ?? { ...body, secret: dependencies.newSecret() },
    reveal: ({ secret }) => ({ secret }),
  }),
  getRoute({
    path: '/webhooks/:id',
    scope,
    operation: 'getWebhook',
    summary: 'Consulta um endereço de webhook',
    record: Webhook,
    get: getWebhook,
  }),
  getRoute({
    path: '/webhooks/:id/health',
    scope,
    operation: 'getWebhookHealth',
    summary: 'Mostra a saúde de um endereço de webhook',
    description:
      'Das tentativas das últimas 24 horas e dos últimos 7 dias, contadas por hora (a hora de agora e as anteriores); testes não contam.',
    record: WebhookHealth,
    get: getHealth,
  }),
  commandRoute({
    method: 'patch',
    path: '/webhooks/:id',
    scope,
    operation: 'updateWebhook',
    summary: 'Altera um endereço de webhook',
    description: 'A URL e os eventos só são alterados por uma chave que pode ler tudo o que o endereço recebe.',
    body: WebhookChanges,
    example: { events: ['*'] },
    reply: singleSchema(Webhook),
    command: updateWebhook,
    target: { kind: 'webhook' },
    input: (params, body, dependencies) => checkUrl(body.url, dependencies) ?? withId(params, body),
  }),
  commandRoute({
    method: 'delete',
    path: '/webhooks/:id',
    scope,
    operation: 'deleteWebhook',
    summary: 'Exclui um endereço de webhook',
    command: deleteWebhook,
    target: { kind: 'webhook' },
    input: (params) => withId(params, {}),
  }),
  commandRoute({
    method: 'post',
    path: '/webhooks/:id/enable',
    scope,
    operation: 'enableWebhook',
    summary: 'Liga um endereço de webhook',
    description: 'O que ele perdeu enquanto estava desligado pode ser pedido de novo com `replay`.',
    reply: singleSchema(Webhook),
    status: 200,
    command: enableWebhook,
    input: (params) => withId(params, {}),
  }),
  commandRoute({
    method: 'post',
    path: '/webhooks/:id/disable',
    scope,
    operation: 'disableWebhook',
    summary: 'Desliga um endereço de webhook',
    description: 'As entregas que esperam são canceladas.',
    reply: singleSchema(Webhook),
    status: 200,
    command: switchOffWebhook,
    input: (params) => withId(params, { reason: 'requested' as const }),
  }),
  commandRoute({
    method: 'post',
    path: '/webhooks/:id/take-over',
    scope,
    operation: 'takeOverWebhook',
    summary: 'Assume um endereço de webhook',
    description:
      'O endereço passa a pertencer à chave desta chamada, que precisa poder ler tudo o que ele recebe. Se estava pausado, continua de onde parou.',
    reply: singleSchema(Webhook),
    status: 200,
    command: handOverWebhook,
    input: (params) => withId(params, {}),
  }),
  commandRoute({
    method: 'post',
    path: '/webhooks/:id/rotate-secret',
    scope,
    operation: 'rotateWebhookSecret',
    summary: 'Troca o segredo de um endereço de webhook',
    description:
      'O novo `secret` aparece somente nesta resposta. Durante `overlap_hours` (24 por padrão) o antigo ainda assina `X-Service-Signature`, e o novo assina `X-Service-Signature-Next`; depois o novo toma o lugar. Enquanto isso outra troca é 409 `rotation_running`, com `details.until`; `overlap_hours` 0 é sempre aceito e encerra já todos os outros segredos, como quando um vazou.',
    body: RotationFields,
    example: { overlap_hours: 24 },
    reply: singleSchema(WebhookWithSecret),
    status: 200,
    refusals: ['rotation_running'],
    command: rotateSecret,
    input(params, body, { newSecret }) {
      const id = pathId(params.id)
      return id === null ? null : { ...body, id, secret: newSecret() }
    },
    reveal: ({ secret }) => ({ secret }),
  }),
]

const attemptExample = {
  at: '2026-11-21T08:17:15.130-03:00',
  status: 204,
  duration_ms: 41,
  error: null,
  response: null,
}

const DeliveryAttempt = z
  .strictObject({
    at: Timestamp,
    status: z.int().nullable(),
    duration_ms: z.int().min(0),
    error: NullableText,
    response: NullableText,
  })
  .meta({ id: 'WebhookDeliveryAttempt', examples: [attemptExample] })

/** Delivery of an event to one address (queries/webhook-queries.ts). */
const Delivery = z
  .strictObject({
    id: z.uuid(),
    webhook_id: ContractRecordId,
    event: z.enum([...WEBHOOK_EVENTS, 'webhook.test']),
    revision: z.int().min(0).nullable(),
    sequence: z.int().min(1).nullable(),
    replay: z.boolean(),
    status: z.enum(DELIVERY_STATUSES),
    attempts: z.array(DeliveryAttempt),
    next_attempt_at: Timestamp.nullable(),
    created_at: Timestamp,
  })
  .meta({
    id: 'WebhookDelivery',
    examples: [
      {
        id: '019aa5c2-6c1e-7c2f-9d11-3f0c9c6f2a10',
        webhook_id: 3,
        event: 'sale.completed',
        revision: 1205,
        sequence: 87,
        replay: false,
        status: 'delivered',
        attempts: [attemptExample],
        next_attempt_at: null,
        created_at: '2026-11-21T08:17:15.123-03:00',
      },
    ],
  })

/** Progress of a replay (src/webhooks/replays.ts). */
const Replay = z
  .strictObject({
    status: z.enum(['running', 'finished', 'cancelled']),
    after: z.int().min(-1),
    until_revision: z.int().min(0),
    last_revision: z.int().min(-1),
    deliveries: z.int().min(0),
    requested_at: Timestamp,
    finished_at: Timestamp.nullable(),
  })
  .meta({
    id: 'WebhookReplay',
    examples: [
      {
        status: 'running',
        after: 1204,
        until_revision: 98_310,
        last_revision: 41_002,
        deliveries: 3_500,
        requested_at: '2026-11-21T08:17:15.123-03:00',
        finished_at: null,
      },
    ],
  })

const { pendingOfEndpoint, pendingOfCompany, perDay } = REPLAY_LIMITS

const isUuid = (text: string | undefined): text is string => z.uuid().safeParse(text).success

/** Address and delivery in a path; null if either is malformed. */
function pathDelivery(params: Params): { webhook: number; id: string } | null {
  const webhook = pathId(params.id)
  return webhook !== null && isUuid(params.delivery_id) ? { webhook, id: params.delivery_id } : null
}

/** First event of the replay: after a revision, or since a moment; by default of the ledger. */
const ReplayFields = z.strictObject({
  after: z.int().min(-1).nullish(),
  since: Instant.nullish().meta({
    description: 'Momento desde o qual os eventos são entregues de novo, no lugar de `after`.',
  }),
})

/** Deliveries of an address, and their replay (HTTP-15). */
export const deliveryRoutes: readonly Route[] = [
  readRoute({
    path: '/webhooks/:id/deliveries',
    scope,
    operation: 'listWebhookDeliveries',
    summary: 'Lista as entregas de um endereço, da mais nova à mais antiga',
    description: 'As entregas são guardadas por 30 dias.',
    query: pageQuery({
      status: z.enum(DELIVERY_STATUSES).optional(),
      event: z.enum([...WEBHOOK_EVENTS, 'webhook.test']).optional(),
    }),
    reply: pageSchema(Delivery),
    async read({ reader, params, query }) {
      const webhook = pathId(params.id)
      if (webhook === null || !(await getWebhook(reader, webhook)).record) return null
      const page = await listDeliveries(reader, webhook, query)
      return answerPage(page, query.limit)
    },
  }),
  readRoute({
    path: '/webhooks/:id/deliveries/:delivery_id',
    scope,
    operation: 'getWebhookDelivery',
    summary: 'Consulta uma entrega',
    reply: singleSchema(Delivery),
    async read({ reader, params }) {
      const named = pathDelivery(params)
      return named && answerRecord(await getDelivery(reader, named.webhook, named.id))
    },
  }),
  operationRoute({
    path: '/webhooks/:id/test',
    scope,
    operation: 'testWebhook',
    summary: 'Envia uma entrega de teste',
    description:
      'O evento é `webhook.test`. A entrega é tentada uma vez, não conta na sequência do endereço nem na sua saúde. A resposta é a entrega ainda pendente; o resultado aparece em `GET /webhooks/{id}/deliveries/{delivery_id}`.',
    reply: singleSchema(Delivery),
    refusals: ['webhook_disabled', 'webhook_paused'],
    operate(operating, { params, newId }) {
      const id = pathId(params.id)
      return id === null ? null : sendTest(operating, id, newId)
    },
    requests: ({ reader }, delivery) => testRequest(reader, delivery),
  }),
  operationRoute({
    path: '/webhooks/:id/deliveries/:delivery_id/redeliver',
    scope,
    operation: 'redeliverWebhook',
    summary: 'Repete uma entrega',
    description: 'Com o mesmo id e a mesma sequência, e de novo com todas as tentativas.',
    reply: singleSchema(Delivery),
    refusals: ['webhook_disabled', 'webhook_paused'],
    operate(operating, { params }) {
      const named = pathDelivery(params)
      return named && redeliver(operating, named.webhook, named.id)
    },
    requests: ({ reader }, delivery) => redeliveryRequest(reader, delivery),
  }),
  readRoute({
    path: '/webhooks/:id/replay',
    scope,
    operation: 'getWebhookReplay',
    summary: 'Diz até onde chegou o último reenvio',
    description: '404 se o endereço não teve nenhum nos últimos 30 dias.',
    reply: singleSchema(Replay),
    async read({ reader, params }) {
      const id = pathId(params.id)
      return id === null ? null : answerRecord(await getReplay(reader, id))
    },
  }),
  operationRoute<z.infer<typeof ReplayFields>>({
    path: '/webhooks/:id/replay',
    scope,
    operation: 'replayWebhook',
    summary: 'Entrega de novo todos os eventos depois de uma revisão, ou desde um momento',
    description: `Cria aos poucos novas entregas (\`replay: true\`) dos eventos que o endereço assina e cuja revisão é maior que \`after\`, ou que foram registrados desde \`since\` (sem nenhum dos dois, de todos), até a revisão de agora: também dos que ele perdeu enquanto estava desligado e dos de antes de a empresa ter um endereço. Os avisos são os do livro, como em \`GET /events/stream\`. A resposta é o reenvio, que continua em segundo plano: \`GET /webhooks/{id}/replay\` diz até onde chegou. Um por vez por endereço. Espera enquanto houver ${pendingOfEndpoint} entregas pendentes para o endereço ou ${pendingOfCompany} para a empresa; cada empresa tem ${perDay} entregas reenviadas por dia, e o que passar disso continua no dia seguinte. Desligar o endereço cancela o reenvio.`,
    body: ReplayFields,
    example: { after: 1204 },
    reply: singleSchema(Replay),
    refusals: ['webhook_disabled', 'webhook_paused', 'replay_running'],
    async resolve({ after, since }, { feed, caller }) {
      if (since == null) return { after }
      if (after != null) return refuseField('since', 'não vai junto com after')
      return { after: await feed.revisionBefore(caller.companyId, since) }
    },
    operate(operating, { params, body }) {
      const id = pathId(params.id)
      return id === null ? null : startReplay(operating, { id, after: body.after ?? undefined })
    },
    requests: ({ reader, feed, params }, replay) => replayRequests(reader, feed, pathId(params.id) ?? 0, replay),
  }),
]
