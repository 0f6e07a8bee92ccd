import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { v5 as uuidv5 } from 'uuid'
import * as z from 'zod'
import { webAddressSetting } from '#config/setting-values.ts'
import { formatWebhookSecret, SECRET_BYTES } from '#crypto/vault.ts'
import { isSubscribed, WEBHOOK_EVENT_GROUPS, WEBHOOK_EVENTS, type WebhookEvent } from '#events/catalogue.ts'
import { type AttemptResult, createSender, retryDelay_ms, type Sender } from '#webhooks/sender.ts'
import {
  createServiceClient,
  RequestRefused,
  type ServiceClient,
  ServiceUnreachable,
  toServiceRefusal,
} from './service-client.ts'
import { type Verbs, validateInput } from './verb.ts'

/** The fields of a streamed event that a listener uses. */
export interface StreamedEvent {
  readonly id: string
  readonly revision: number
  readonly messages: readonly { readonly event: string; readonly body: string }[]
}

interface EventStreamOptions {
  readonly service: ServiceClient
  /** Start after a revision or at an instant. */
  readonly from: { readonly after: number } | { readonly since: string }
  /** Called once per outage of the service. */
  readonly onAway: (reason: string) => void
  readonly signal: AbortSignal
}

/** The service sends a heartbeat every 4 s: a silent connection is closed after this time. */
const SILENCE_MS = 40_000
/** Reconnection delay until the service has sent its own. */
const RETRY_MS = 1_000

/**
 * Streams outbound events in the order of the ledger, each once, across disconnections. @throws RequestRefused, for
 * example when the key has ended; the signal's reason
 */
export async function* followEventStream({
  service,
  from,
  onAway,
  signal,
}: EventStreamOptions): AsyncGenerator<StreamedEvent> {
  const state = { last: 'after' in from && from.after >= 0 ? from.after : null, retryMs: RETRY_MS, isAway: false }
  const query = new URLSearchParams({ messages: 'true', ...('since' in from && { since: from.since }) })
  for (;;) {
    const cut = new AbortController()
    let wait: number | null = null
    try {
      const ended = AbortSignal.any([cut.signal, signal])
      const headers = {
        Accept: 'text/event-stream',
        ...(state.last !== null && { 'Last-Event-ID': String(state.last) }),
      }
      const response = await service.open(`/events/stream?${query}`, headers, ended)
      if (!response.ok || !response.body) throw await toServiceRefusal(response)
      state.isAway = false
      for await (const { id, data, retry } of messagesOf(response.body, () => cut.abort())) {
        if (retry !== undefined) state.retryMs = Number(retry)
        if (id !== undefined) state.last = Number(id)
        if (data !== undefined) yield JSON.parse(data) as StreamedEvent
      }
    } catch (error) {
      if (error instanceof RequestRefused || signal.aborted) throw error
      if (error instanceof ServiceUnreachable) wait = error.retryAfterMs
      if (!state.isAway) onAway(error instanceof ServiceUnreachable ? error.reason : 'the stream was cut')
      state.isAway = true
    } finally {
      cut.abort()
    }
    await pause(wait ?? state.retryMs, undefined, { signal })
  }
}

interface Fields {
  readonly id?: string
  readonly data?: string
  readonly retry?: string
}

/** Parses an event stream. `onSilence` must close it; a slow consumer does not count as silence. */
async function* messagesOf(body: ReadableStream<Uint8Array>, onSilence: () => void): AsyncGenerator<Fields> {
  const decoder = new TextDecoder()
  const chunks = body.getReader()
  let rest = ''
  for (;;) {
    const silence = setTimeout(onSilence, SILENCE_MS)
    const { done, value } = await chunks.read().finally(() => clearTimeout(silence))
    if (done) return
    const blocks = `${rest}${decoder.decode(value, { stream: true })}`.split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = block.split('\n').map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon), line.slice(colon + 1).trim()]
      })
      yield Object.fromEntries(fields) as Fields
    }
  }
}

/** A delivery attempt of the listener. */
export interface ListenerAttempt extends Pick<AttemptResult, 'status' | 'duration_ms' | 'error'> {
  /** Equal in all attempts and repeated deliveries of an event. */
  readonly delivery: string
  readonly event: string
  readonly revision: number
  /** Number of the delivery within this listener. */
  readonly sequence: number
  readonly attempt: number
  /** Time until the next attempt; null if there is none. */
  readonly again_in_ms: number | null
}

interface ListenerRun extends EventStreamOptions {
  readonly forwardTo: string
  /** `whsec_…` */
  readonly secret: string
  /** Names of outbound events, `basic` for the basic ones; null for all. */
  readonly events: readonly string[] | null
  readonly sender: Sender
  readonly onTried: (tried: ListenerAttempt) => void
  /** Milliseconds before each retry. */
  readonly pausesMs?: readonly number[]
}

/** As many attempts as an endpoint gets, compressed to the time of a person watching. */
const PAUSES_MS = [1_000, 2_000, 5_000, 10_000, 30_000]

/**
 * Delivers a company's events as an endpoint would get them, one after another: a failing delivery holds up
 * the next. Runs until its signal aborts. @throws RequestRefused
 */
export async function runListener(listening: ListenerRun): Promise<void> {
  const { events, signal, onTried } = listening
  let sequence = 0
  try {
    for await (const { id, revision, messages } of followEventStream(listening)) {
      for (const { event, body } of messages) {
        if (events && !isSubscribed(events, event as WebhookEvent)) continue
        sequence += 1
        const delivery = { id: uuidv5(event, id), event, revision, sequence, body }
        const isGone = await deliver(delivery, listening, onTried)
        if (isGone)
          throw new RequestRefused('gone', 'The address answered 410: a webhook endpoint would be disabled now.')
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

type Delivery = Omit<Parameters<Sender['send']>[0], 'url' | 'secret' | 'next_secret' | 'switch_at'>

/** Returns whether the address answered 410. */
async function deliver(delivery: Delivery, listening: ListenerRun, onTried: ListenerRun['onTried']): Promise<boolean> {
  const { forwardTo: url, secret, sender, signal, pausesMs = PAUSES_MS } = listening
  const retrySeconds = pausesMs.map((ms) => ms / 1000)
  for (let attempt = 1; ; attempt++) {
    const made = await sender.send({ ...delivery, url, secret, next_secret: null, switch_at: null })
    const { status, duration_ms, error, retry_after_ms } = made
    const isGone = error === 'gone'
    const again_in_ms = error === null || isGone ? null : retryDelay_ms(retrySeconds, attempt, 0, retry_after_ms)
    const { id, event, revision, sequence } = delivery as Delivery & { revision: number; sequence: number }
    onTried({ delivery: id, event, revision, sequence, attempt, status, duration_ms, error, again_in_ms })
    if (again_in_ms === null) return isGone
    await pause(again_in_ms, undefined, { signal })
  }
}

/** The timeout of real deliveries (HOOK-17). */
const TIMEOUT_MS = 10_000

const Plan = z.strictObject({
  'forward-to': webAddressSetting,
  url: webAddressSetting,
  secret: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/, 'must be "whsec_" and at least 24 bytes in base64')
    .optional(),
  events: z
    .string()
    .transform((names) => names.split(','))
    .pipe(z.array(z.enum([...WEBHOOK_EVENTS, ...WEBHOOK_EVENT_GROUPS])))
    .optional(),
  'replay-from': z.union([z.string().regex(/^\d{1,15}$/), z.iso.date(), z.iso.datetime({ offset: true })]).optional(),
})

/** Delivers webhooks to a local address. Uses only HTTP, so it may run on any machine. */
export const listenVerbs: Verbs<'listen'> = {
  listen: {
    async run({ config, json }, { key, url = config.PUBLIC_URL, 'forward-to': target, 'replay-from': from, ...given }) {
      const plan = validateInput(Plan, { url, ...given, 'forward-to': target, 'replay-from': from })
      const service = createServiceClient(plan.url, key, randomUUID)
      const { company, after, since } = await resolveStart(service, plan['replay-from'])
      const secret = plan.secret ?? formatWebhookSecret(randomBytes(SECRET_BYTES))
      const forwardTo = plan['forward-to']
      const say = (line: object, text: string) => process.stdout.write(`${json ? JSON.stringify(line) : text}\n`)
      const shown = plan.secret === undefined ? secret : null
      say(
        { listening: { company, url: plan.url, forward_to: forwardTo, after, since, secret: shown } },
        `Listening to ${company.name} (${plan.url}) for ${forwardTo}, ${since === null ? `after revision ${after}` : `from ${since} on`}${shown === null ? '' : `\nSigning secret: ${shown}`}`,
      )
      const stop = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
      const sender = createSender({ timeout_ms: TIMEOUT_MS, allowPrivate: true, clock: Date.now })
      const listening: ListenerRun = {
        service,
        from: since === null ? { after: after ?? -1 } : { since },
        forwardTo,
        secret,
        events: plan.events ?? null,
        sender,
        signal: stop.signal,
        onAway: (reason) => say({ away: reason }, `The service is away (${reason}): asking again`),
        onTried: (tried) => say(tried, textOf(tried)),
      }
      try {
        await runListener(listening)
      } finally {
        await sender.close()
      }
      return undefined
    },
  },
}

interface StreamStart {
  readonly company: { readonly id: number; readonly name: string }
  readonly after: number | null
  readonly since: string | null
}

/** Start of the stream: now, a revision, a day of the company, or an instant. @throws Ended */
async function resolveStart(service: ServiceClient, from: string | undefined): Promise<StreamStart> {
  const { data, revision } = await service.call('GET', '/me')
  const { id, name } = data.company
  const company = { id, name }
  if (from === undefined) return { company, after: revision, since: null }
  if (/^\d+$/.test(from)) return { company, after: Number(from) - 1, since: null }
  const offset = /[+-]\d\d:\d\d$/.exec(data.server_time)?.[0] ?? 'Z'
  return { company, after: null, since: from.includes('T') ? from : `${from}T00:00:00${offset}` }
}

function textOf({ event, revision, status, duration_ms, error, again_in_ms }: ListenerAttempt): string {
  const attempt = `${event} #${revision} -> ${status ?? error} (${duration_ms} ms)`
  if (error === null) return attempt
  return again_in_ms === null ? `${attempt}, given up` : `${attempt}, again in ${again_in_ms / 1000} s`
}
