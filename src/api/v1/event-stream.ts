import { once } from 'node:events'
import type { Response } from 'express'
import * as z from 'zod'
import type { RecordKind } from '#domain/record-kinds.ts'
import type { Scope } from '#domain/scopes.ts'
import { isDeliverable, type WebhookEvent } from '#events/webhooks.ts'
import { asEvents } from '#http/event-stream.ts'
import { Problem } from '#http/problems.ts'
import { QueryFlag, QueryInstant } from '#http/query-values.ts'
import { Unavailable } from '#lib/errors.ts'
import { isLiveKey } from '#queries/api-keys.ts'
import { fullReader } from '#queries/reader.ts'
import { type Caller, CHALLENGE } from '../authenticate.ts'
import { type Route, type StreamContext, streamRoute } from '../route.ts'
import { EventTypeList, LedgerEvent, readerOf } from './events.ts'
import { QueryRevision } from './record-routes.ts'

/** Heartbeat interval; each one also checks the key, so that the stream ends within 5 s of it (ROLE-725). */
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
  return: 'sales:read',
  payment_type: 'sales:read',
  receivable: 'finance:read',
  payable: 'finance:read',
  order: 'orders:read',
  webhook: 'webhooks:manage',
}

/** Returns which events the key may receive. @throws Problem if it may receive none */
function createSubjectFilter({ scopes }: Caller): (subject: string) => boolean {
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
 * invalid, or the process stops. Waits for a slow client, and disconnects one that stalls (FEED-10, FEED-11).
 */
async function send(context: StreamContext<StreamQuery>, response: Response): Promise<void> {
  const { pool, feed, caller, query, after } = context
  const { companyId, keyId, scopes } = caller
  const isReadable = createSubjectFilter(caller)
  const mayRead = readerOf(caller)
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
    asEvents(response).flushHeaders()
    response.write(`retry: ${RETRY_MS}\n\n`)
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
