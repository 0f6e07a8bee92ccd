import { once } from 'node:events'
import type { Response } from 'express'
import { z } from 'zod'
import type { RecordKind } from '#domain/record-kinds.ts'
import type { Scope } from '#domain/scopes.ts'
import { isDeliverable, type WebhookEvent } from '#events/webhooks.ts'
import { asEvents } from '#http/event-stream.ts'
import { Problem } from '#http/problems.ts'
import { QueryInstant } from '#http/query-values.ts'
import { Unavailable } from '#lib/errors.ts'
import { isLiveKey } from '#queries/api-keys.ts'
import { type Caller, CHALLENGE } from '../authenticate.ts'
import { type Route, type StreamContext, streamRoute } from '../route.ts'
import { EventTypeList, LedgerEvent, readerOf } from './events.ts'
import { QueryRevision } from './record-routes.ts'

/** Proxies close what is silent for a minute; a key that lives no more is noticed at the next beat. */
const BEAT_MS = 15_000
/** Longest that a reader may take to receive what was sent. */
const STALLED_MS = 30_000
/** How soon a reader that was cut off should come again, in milliseconds. */
const RETRY_MS = 1_000

/** What a key has to be able to read to be told of events about a kind; all others are told to auditors. */
const TOLD_TO: Readonly<Partial<Record<RecordKind, Scope>>> = {
  customer: 'customers:read',
  supplier: 'suppliers:read',
  category: 'catalog:read',
  catalog_item: 'catalog:read',
  sale: 'sales:read',
  payment_type: 'sales:read',
  receivable: 'finance:read',
  payable: 'finance:read',
  order: 'orders:read',
  webhook: 'webhooks:manage',
}

/** Which events a key is told of. @throws Problem for one that is told of none */
function toldTo({ scopes }: Caller): (subject: string) => boolean {
  if (scopes.includes('audit:read')) return () => true
  const kinds = Object.entries(TOLD_TO).flatMap(([kind, scope]) => (scopes.includes(scope) ? [kind] : []))
  if (kinds.length === 0) throw new Problem('insufficient_scope', { missing_scope: 'audit:read' })
  return (subject) => kinds.includes(subject.slice(0, subject.indexOf('/')))
}

/** After such an event a key may live no more. */
const endsKeys = (subject: string, { keyId }: Caller): boolean =>
  subject === `api_key/${keyId}` || subject.startsWith('company/')

const StreamQuery = z.strictObject({
  after: QueryRevision.optional(),
  since: QueryInstant.optional().meta({ description: 'Começa no primeiro evento registrado desde este momento.' }),
  types: EventTypeList.optional(),
  opened: z.enum(['true', 'false']).optional(),
  messages: z.enum(['true', 'false']).optional(),
})
type StreamQuery = z.infer<typeof StreamQuery>

/**
 * Sends events in the order of the ledger, each with its revision as id, until the reader leaves, the key lives no more, or the
 * process stops. A reader that does not keep up is waited for, and cut off when it stands still (FEED-10, FEED-11).
 */
async function send(context: StreamContext<StreamQuery>, response: Response): Promise<void> {
  const { pool, feed, caller, query, after } = context
  const { companyId, keyId, scopes } = caller
  const isTold = toldTo(caller)
  const mayRead = readerOf(caller)
  const by = scopes.join()
  const opened = query.opened === 'true' ? { by, mayRead } : null
  const isMine = (event: WebhookEvent) => isDeliverable(scopes, event)
  const messages = query.messages === 'true' ? { by, mayBeTold: isMine } : null
  // What cannot be asked is refused, rather than a stream that says nothing.
  if (!(await isLiveKey(pool, companyId, keyId))) throw new Problem('invalid_token', undefined, CHALLENGE)
  const begin = query.since === undefined ? -1 : await feed.revisionBefore(companyId, query.since)
  const state = { at: after ?? query.after ?? begin, told: -1, head: -1, isOver: false, wake: () => {} }
  const wake = (change: Partial<typeof state>) => Object.assign(state, change).wake()
  const leave = feed.follow(companyId, { moved: (head) => wake({ head }), ended: () => wake({ isOver: true }) })
  response.on('close', () => wake({ isOver: true }))
  const isLive = () => isLiveKey(pool, companyId, keyId).catch(() => true)
  const beat = setInterval(async () => {
    if (!(await isLive())) return wake({ isOver: true })
    if (response.writableLength > 0 || state.isOver) return
    // What was passed over counts as seen for whoever comes again.
    response.write(state.at > state.told ? `:\nid: ${state.at}\n\n` : ':\n\n')
    state.told = state.at
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
        if (endsKeys(subject, caller) && !(await isLive())) state.isOver = true
        if (!frame || !isTold(subject) || (query.types && !query.types.includes(type))) continue
        frames.push(frame)
        state.told = revision
      }
      state.at = seenTo
      if (frames.length > 0 && !response.write(frames.length === 1 ? frames[0] : Buffer.concat(frames)))
        await drained(response)
    }
  } catch (error) {
    // Whoever is cut off comes again, behind what was sent.
    if (!(error instanceof Unavailable)) throw error
  } finally {
    clearInterval(beat)
    leave()
    response.end()
  }
}

/** Resolves when the reader has what was sent, or has gone; one that stands still is cut off. */
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
    'Server-sent events: cada evento do livro, na ordem em que foi registrado, com a revisão como `id` e o JSON em `data`; os que já existem primeiro. Depois de um corte, `Last-Event-ID` continua de onde parou: nada se perde e nada se repete. Um comentário a cada 15 segundos mantém a conexão.',
    'Com o escopo `audit:read` vêm todos os eventos; sem ele, os dos cadastros, vendas, contas e pedidos que a chave lê. Dados pessoais estão selados; com `opened=true`, cada evento traz também `opened`, como em `GET /events`.',
    'Com `since`, começa no primeiro evento desse momento em diante. Com `messages=true` vêm só os eventos de que webhooks são avisados, cada um com `messages`: o nome e o corpo do aviso, byte por byte como num webhook, dos que a chave pode ler; também os que a própria chave causou.',
    'A chamada conta uma vez na cota, por mais que dure. O fluxo termina quando a chave é revogada ou vence.',
  ].join('\n\n'),
  query: StreamQuery,
  reply: LedgerEvent,
  send,
})
