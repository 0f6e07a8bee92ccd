import { once } from 'node:events'
import type { Response } from 'express'
import * as z from 'zod'
import { type RecordKind, Subject } from '#domain/record-values.ts'
import type { Scope } from '#domain/rights.ts'
import { limitedText } from '#domain/text.ts'
import { EVENT_TYPES, isDeliverable, WEBHOOK_EVENTS, type WebhookEvent } from '#events/catalogue.ts'
import { openEventStream } from '#http/live-updates.ts'
import { pathId } from '#http/paths.ts'
import { Problem } from '#http/problems.ts'
import { GENESIS_HASH } from '#ledger/command.ts'
import { Unavailable } from '#lib/errors.ts'
import { isLiveKey } from '#queries/api-key-queries.ts'
import { listEvents, listHistory, listOpenedEvents } from '#queries/event-queries.ts'
import { fullReader } from '#queries/reader.ts'
import { NullableText, QueryFlag, QueryInstant } from '#records/field.ts'
import {
  type Caller,
  CHALLENGE,
  type Route,
  readRoute,
  type StreamContext,
  single,
  streamRoute,
  toFieldReader,
} from '../api-route.ts'
import { pageSchema, singleSchema } from '../contract/contract-document.ts'
import { TreeHash } from './proof-routes.ts'
import { answerPage, pageQuery, QueryRevision } from './record-routes.ts'

const Hash = limitedText(64).regex(/^[0-9a-f]{64}$/)

const eventExample = {
  id: '019aa5c2-6c1e-7c2f-9d11-3f0c9c6f2a10',
  type: 'CategoryCreated',
  version: 1,
  stream: 'company-1',
  revision: 1204,
  recorded_at: '2026-11-21T11:17:15.123Z',
  subject: 'category/31',
  origin: 'api',
  actor: 'api_key/4',
  request_id: '019aa5c2-6c1d-7a31-8a55-0f2f2b7c9d10',
  idempotency: {
    key: 'cat-31',
    request_hash: 'b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c',
    status: 201,
  },
  previous_hash: '7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730',
  hash: '9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab',
  data: { id: 31, external_id: 'CAT-1', name: 'Bebidas' },
}

const sealedExample = {
  ...eventExample,
  type: 'UserUpdated',
  subject: 'user/3',
  data: {
    id: 3,
    changes: {
      name: {
        sealed: 'AQGaxTfk1nv2n38zTz4fbFfXV0AfgTJnTLKqhc5HAHpMKj2_0J1cdXwA0xYVYNOjNLR1FEC4YAbB',
      },
    },
  },
}

/** An event in the form that was hashed (src/ledger/command.ts). */
export const LedgerEvent = z
  .strictObject({
    id: z.uuid(),
    type: z.string(),
    version: z.int().min(1),
    stream: z.string(),
    revision: z.int().min(0),
    recorded_at: z.iso.datetime({ precision: 3 }),
    subject: z.string(),
    origin: z.enum(['api', 'pdv', 'panel', 'system']),
    actor: NullableText,
    via: z.string().optional(),
    request_id: NullableText,
    idempotency: z
      .strictObject({ key: z.string(), request_hash: z.string(), status: z.int() })
      .meta({ id: 'LedgerIdempotency' })
      .nullable(),
    previous_hash: Hash,
    hash: Hash,
    data: z.record(z.string(), z.unknown()),
    opened: z.record(z.string(), z.unknown()).optional(),
    messages: z
      .array(z.strictObject({ event: z.enum(WEBHOOK_EVENTS), body: z.string() }).meta({ id: 'EventNotice' }))
      .optional(),
  })
  .meta({ id: 'LedgerEvent', examples: [eventExample, sealedExample] })

const verificationExample = {
  valid: true,
  checked: 1205,
  revision: 1204,
  hash: eventExample.hash,
  root: 'XcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg=',
  first_error: null,
}

/** Result of a verification (src/integrity/verify.ts). */
const LedgerVerification = z
  .strictObject({
    valid: z.boolean(),
    checked: z.int().min(0),
    revision: z.int().min(-1),
    hash: Hash,
    root: TreeHash.nullable(),
    first_error: z
      .strictObject({ revision: z.int().min(0), reason: z.string() })
      .meta({ id: 'LedgerError' })
      .nullable(),
  })
  .meta({
    id: 'LedgerVerification',
    examples: [
      verificationExample,
      {
        valid: false,
        checked: 0,
        revision: -1,
        hash: GENESIS_HASH,
        root: null,
        first_error: { revision: 0, reason: 'wrong_hash' },
      },
    ],
  })

const scope = 'audit:read'

const isEventType = (name: string): boolean => Object.hasOwn(EVENT_TYPES, name)

/** Comma-separated names, in any order. */
const EventTypeList = limitedText(2_000)
  .refine((text) => text.split(',').every(isEventType), 'há um tipo de evento desconhecido')
  .transform((text) => [...new Set(text.split(','))].sort())
  .meta({ examples: ['SaleCompleted,SaleCancelled'] })

const EventHash = limitedText(100).regex(
  /^[0-9a-f]{64}$/,
  'deve ser o hash de um evento: 64 dígitos hexadecimais minúsculos',
)

/** Position at which a verification continues: both or neither, because the chain needs a previous hash. */
const VerifyQuery = z
  .strictObject({ after: QueryRevision.optional(), hash: EventHash.optional() })
  .refine(({ after, hash }) => (after === undefined) === (hash === undefined), {
    path: ['hash'],
    message: 'after e hash são informados juntos',
  })

/** Kinds of records with an event history: path and names. */
const RECORDS: readonly (readonly [path: string, kind: RecordKind, name: string, one: string])[] = [
  ['/customers', 'customer', 'Customer', 'um cliente'],
  ['/suppliers', 'supplier', 'Supplier', 'um fornecedor'],
  ['/catalog/items', 'catalog_item', 'CatalogItem', 'um produto ou serviço'],
  ['/catalog/categories', 'category', 'Category', 'uma categoria'],
  ['/finance/receivables', 'receivable', 'Receivable', 'uma conta a receber'],
  ['/finance/payables', 'payable', 'Payable', 'uma conta a pagar'],
  ['/sales', 'sale', 'Sale', 'uma venda'],
  ['/orders', 'order', 'Order', 'um pedido'],
  ['/webhooks', 'webhook', 'Webhook', 'um endereço de webhook'],
]

const historyRoute = (path: string, kind: RecordKind, name: string, one: string): Route =>
  readRoute({
    path: `${path}/:id/history`,
    scope,
    operation: `get${name}History`,
    summary: `Lista os eventos de ${one}`,
    description:
      'Do mais antigo ao mais novo; também de um registro excluído. `data` vem na versão mais nova do tipo do evento; a que foi gravada, à qual pertence o `hash`, está em `GET /events`. Dados pessoais vêm abertos; `null`, quando foram excluídos ou a chave não lê esse tipo de cadastro.',
    query: pageQuery({}),
    reply: pageSchema(LedgerEvent),
    fromReplica: true,
    async read({ reader, store, keys, caller, params, query }) {
      const id = pathId(params.id)
      if (id === null) return null
      const page = await listHistory({ reader, store, keys }, `${kind}/${id}`, query, toFieldReader(caller))
      if (!page) return null
      return answerPage(page, query.limit)
    },
  })

/** The ledger, and the history of each record, for auditors (FEED-1). */
export const eventRoutes: readonly Route[] = [
  ...RECORDS.map((record) => historyRoute(...record)),
  readRoute({
    path: '/events',
    scope,
    operation: 'listEvents',
    summary: 'Lista os eventos do livro da empresa',
    description:
      'Na ordem em que foram registrados, tal como foram encadeados por hash, até a revisão em X-Ledger-Revision. Com filtros, uma página pode vir curta, ou vazia, antes da última: o que conta é `has_more`. Dados pessoais estão selados: no lugar do valor há `{"sealed": "…"}`, e é sobre isso que o hash é calculado. Com `opened=true`, cada evento traz também `opened`, os mesmos dados com os campos pessoais abertos; `null`, quando foram excluídos ou a chave não lê esse tipo de cadastro.',
    query: pageQuery({
      after: QueryRevision.optional(),
      types: EventTypeList.optional(),
      subject: Subject.optional(),
      opened: QueryFlag,
    }),
    reply: pageSchema(LedgerEvent),
    fromReplica: true,
    async read({ reader, store, keys, caller, query: { opened, ...query } }) {
      const page = opened
        ? await listOpenedEvents({ reader, store, keys }, query, toFieldReader(caller))
        : await listEvents({ reader, store }, query)
      return answerPage(page, query.limit)
    },
  }),
  readRoute({
    path: '/events/verify',
    scope,
    operation: 'verifyEvents',
    summary: 'Confere o livro da empresa',
    description:
      'Recalcula o hash de cada evento e segue o encadeamento. A conferência está completa quando `revision` alcança X-Ledger-Revision; um livro longo leva mais de uma chamada: continue com `after` e `hash` iguais a `revision` e `hash` da resposta. Enquanto uma corre, outra da mesma empresa recebe 503. Do primeiro evento em diante, o livro é conferido também contra o último checkpoint, e `root` é a raiz da sua árvore. O que um checkpoint guardado fora do serviço prova a mais está no guia do auditor.',
    query: VerifyQuery,
    reply: singleSchema(LedgerVerification),
    async read({ verifier, caller, query: { after, hash } }) {
      const start = after === undefined || hash === undefined ? null : { revision: after, hash }
      const { verification, head, root } = await verifier.verify(caller.companyId, start)
      return { body: single(JSON.stringify({ ...verification, root })), revision: head }
    },
  }),
]

/** Heartbeat interval; each one also checks the key, so that the stream ends within 5 s of it. */
const BEAT_MS = 4_000
/** Time limit for a client to receive sent data. */
const STALLED_MS = 30_000
/** Reconnection delay for clients, in milliseconds. */
const RETRY_MS = 1_000

/** Scope that a key needs for events about each kind of record; all other kinds require `audit:read`. */
const READ_SCOPES: Readonly<Partial<Record<RecordKind, Scope>>> = {
  customer: 'customers:read',
  supplier: 'suppliers:read',
  category: 'catalog:read',
  catalog_item: 'catalog:read',
  stock_movement: 'catalog:read',
  sale: 'sales:read',
  cash_session: 'sales:read',
  till: 'sales:read',
  return: 'sales:read',
  payment_type: 'sales:read',
  receivable: 'finance:read',
  payable: 'finance:read',
  order: 'orders:read',
  webhook: 'webhooks:manage',
}

/** Returns which events the key may receive. @throws Problem if it may receive none */
export function createSubjectFilter({ scopes }: Caller): (subject: string) => boolean {
  if (scopes.includes('audit:read')) return () => true
  const kinds = Object.entries(READ_SCOPES).flatMap(([kind, scope]) => (scopes.includes(scope) ? [kind] : []))
  if (kinds.length === 0) throw new Problem('insufficient_scope', { missing_scope: 'audit:read' })
  return (subject) => kinds.includes(subject.slice(0, subject.indexOf('/')))
}

/** Whether the key may be invalid after the event. */
const mayEndKey = (subject: string, { keyId }: Caller): boolean =>
  subject === `api_key/${keyId}` || subject.startsWith('company/')

const StreamQuery = z.strictObject({
  after: QueryRevision.optional(),
  since: QueryInstant.optional().meta({ description: 'Começa no primeiro evento registrado desde este momento.' }),
  types: EventTypeList.optional(),
  opened: QueryFlag,
  messages: QueryFlag,
})
type StreamQuery = z.infer<typeof StreamQuery>

/**
 * Sends events in the order of the ledger, each with its revision as id, until the client disconnects, the key becomes
 * invalid, or the process stops. Waits for a slow client, and disconnects one that stalls.
 */
async function send(context: StreamContext<StreamQuery>, response: Response): Promise<void> {
  const { pool, feed, caller, query, after } = context
  const { companyId, keyId, scopes } = caller
  const isReadable = createSubjectFilter(caller)
  const mayRead = toFieldReader(caller)
  const by = scopes.join()
  const opened = query.opened ? { by, mayRead } : null
  const isAllowed = (event: WebhookEvent) => isDeliverable(scopes, event)
  const messages = query.messages ? { by, isAllowed } : null
  // Refuses an invalid key with an error instead of an empty stream.
  if (!(await isLiveKey(fullReader(pool, companyId), keyId))) throw new Problem('invalid_token', undefined, CHALLENGE)
  const begin = query.since === undefined ? -1 : await feed.revisionBefore(companyId, query.since)
  const state = { at: after ?? query.after ?? begin, sentTo: -1, head: -1, isOver: false, wake: () => {} }
  const wake = (change: Partial<typeof state>) => Object.assign(state, change).wake()
  const leave = feed.follow(companyId, { moved: (head) => wake({ head }), ended: () => wake({ isOver: true }) })
  response.on('close', () => wake({ isOver: true }))
  const isLive = () => isLiveKey(fullReader(pool, companyId), keyId).catch(() => true)
  const beat = setInterval(async () => {
    if (!(await isLive())) return wake({ isOver: true })
    // The stream may have ended meanwhile.
    if (response.writableLength > 0 || state.isOver || response.writableEnded) return
    // Advances the client's last id over skipped events, for its next connection.
    response.write(state.at > state.sentTo ? `:\nid: ${state.at}\n\n` : ':\n\n')
    state.sentTo = state.at
  }, BEAT_MS)
  try {
    openEventStream(response, RETRY_MS)
    while (!state.isOver) {
      if (state.head <= state.at) {
        await new Promise<void>((resolve) => {
          state.wake = resolve
        })
        continue
      }
      const { events, seenTo } = await feed.read({ companyId, after: state.at, head: state.head, opened, messages })
      const frames: Buffer[] = []
      for (const { revision, frame, subject, type } of events) {
        if (mayEndKey(subject, caller) && !(await isLive())) state.isOver = true
        if (!frame || !isReadable(subject) || (query.types && !query.types.includes(type))) continue
        frames.push(frame)
        state.sentTo = revision
      }
      state.at = seenTo
      if (frames.length > 0 && !response.write(frames.length === 1 ? frames[0] : Buffer.concat(frames)))
        await drained(response)
    }
  } catch (error) {
    // The client reconnects after the last event sent.
    if (!(error instanceof Unavailable)) throw error
  } finally {
    clearInterval(beat)
    leave()
    response.end()
  }
}

/** Resolves when the client has received the data or disconnected; disconnects a stalled one. */
async function drained(response: Response): Promise<void> {
  const stalled = setTimeout(() => response.destroy(), STALLED_MS)
  const done = new AbortController()
  const events = ['drain', 'close'].map((event) => once(response, event, { signal: done.signal }).catch(() => {}))
  await Promise.race(events)
  done.abort()
  clearTimeout(stalled)
}

export const eventStreamRoute: Route = streamRoute({
  path: '/events/stream',
  scope: null,
  operation: 'streamEvents',
  summary: 'Acompanha o livro da empresa, evento por evento',
  description: [
    'Server-sent events: cada evento do livro, na ordem em que foi registrado, com a revisão como `id` e o JSON em `data`; os que já existem primeiro. Depois de um corte, `Last-Event-ID` continua de onde parou: nada se perde e nada se repete. Um comentário a cada 4 segundos mantém a conexão.',
    'Com o escopo `audit:read` vêm todos os eventos; sem ele, os dos cadastros, vendas, contas e pedidos que a chave lê. Dados pessoais estão selados; com `opened=true`, cada evento traz também `opened`, como em `GET /events`.',
    'Com `since`, começa no primeiro evento desse momento em diante. Com `messages=true` vêm só os eventos de que webhooks são avisados, cada um com `messages`: o nome e o corpo do aviso, byte por byte como num webhook, dos que a chave pode ler; também os que a própria chave causou.',
    'A chamada conta uma vez na cota, por mais que dure. O fluxo termina quando a chave é revogada ou vence.',
  ].join('\n\n'),
  query: StreamQuery,
  reply: LedgerEvent,
  send,
})
