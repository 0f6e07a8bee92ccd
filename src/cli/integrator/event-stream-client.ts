import { setTimeout as pause } from 'node:timers/promises'
import { RequestRefused, type ServiceClient, ServiceUnreachable, serviceRefusalOf } from './service-client.ts'

/** The fields of a streamed event that a listener uses. */
export interface StreamedEvent {
  readonly id: string
  readonly revision: number
  readonly messages: readonly { readonly event: string; readonly body: string }[]
}

export interface EventStreamOptions {
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
      if (!response.ok || !response.body) throw await serviceRefusalOf(response)
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
