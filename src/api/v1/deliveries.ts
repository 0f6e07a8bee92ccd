import * as z from 'zod'
import { Instant } from '#domain/instant.ts'
import { invalid } from '#domain/refusal.ts'
import { WEBHOOK_EVENTS } from '#events/webhooks.ts'
import { type Params, pathId } from '#http/paths.ts'
import { DELIVERY_STATUSES, getDelivery, getReplay, getWebhook, listDeliveries } from '#queries/webhooks.ts'
import { redeliver, sendTest } from '#webhooks/deliveries.ts'
import { REPLAY_LIMITS, startReplay } from '#webhooks/replays.ts'
import { pageSchemaOf, singleOf } from '../contract/envelopes.ts'
import { ContractRecordId, NullableText, Timestamp } from '../contract/formats.ts'
import { operationRoute, type Route, readRoute } from '../route.ts'
import { answerPage, answerRecord, pageQuery } from './record-routes.ts'

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

/** Delivery of an event to one address (queries/webhooks.ts). */
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

const scope = 'webhooks:manage'

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

/** Deliveries of an address, and their replay (HOOK-27). */
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
    reply: pageSchemaOf(Delivery),
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
    reply: singleOf(Delivery),
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
    reply: singleOf(Delivery),
    refusals: ['webhook_disabled', 'webhook_paused'],
    operate(operating, { params, newId }) {
      const id = pathId(params.id)
      return id === null ? null : sendTest(operating, id, newId)
    },
  }),
  operationRoute({
    path: '/webhooks/:id/deliveries/:delivery_id/redeliver',
    scope,
    operation: 'redeliverWebhook',
    summary: 'Repete uma entrega',
    description: 'Com o mesmo id e a mesma sequência, e de novo com todas as tentativas.',
    reply: singleOf(Delivery),
    refusals: ['webhook_disabled', 'webhook_paused'],
    operate(operating, { params }) {
      const named = pathDelivery(params)
      return named && redeliver(operating, named.webhook, named.id)
    },
  }),
  readRoute({
    path: '/webhooks/:id/replay',
    scope,
    operation: 'getWebhookReplay',
    summary: 'Diz até onde chegou o último reenvio',
    description: '404 se o endereço não teve nenhum nos últimos 30 dias.',
    reply: singleOf(Replay),
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
    reply: singleOf(Replay),
    refusals: ['webhook_disabled', 'webhook_paused', 'replay_running'],
    async resolve({ after, since }, { feed, caller }) {
      if (since == null) return { after }
      if (after != null) return invalid('since', 'não vai junto com after')
      return { after: await feed.revisionBefore(caller.companyId, since) }
    },
    operate(operating, { params, body }) {
      const id = pathId(params.id)
      return id === null ? null : startReplay(operating, { id, after: body.after ?? undefined })
    },
  }),
]
