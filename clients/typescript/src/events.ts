import { TillbookError } from './problem.ts'
import { PASSING, pause, type Retries } from './retry.ts'
import type { components } from './schema.ts'

/** An event of the company's ledger. */
export type LedgerEvent = components['schemas']['LedgerEvent']

export interface EventsOptions {
  /** Returns events after this revision; by default all. */
  readonly after?: number | undefined
  /** Event types; by default all. */
  readonly types?: readonly string[]
  readonly signal?: AbortSignal
}

/** Opens a stream; `signal` ends it. */
type Open = (path: string, signal: AbortSignal, headers: Readonly<Record<string, string>>) => Promise<Response>

/** The service sends at least one message every 4 seconds; a connection silent for this long is closed. */
const SILENCE_MS = 40_000

/**
 * Yields events in ledger order, each once, until the caller stops: an interrupted stream is reopened after the last
 * event.
 * @throws TillbookError if it is refused
 */
export async function* eventsOf(
  open: Open,
  { firstPauseMs, longestPauseMs }: Retries,
  { after, types, signal }: EventsOptions = {},
): AsyncGenerator<LedgerEvent> {
  const query = new URLSearchParams(types && { types: types.join(',') })
  let last = after
  for (let failures = 0; ; failures++) {
    if (failures > 0) await pause(Math.min(longestPauseMs, firstPauseMs * 2 ** failures) * Math.random(), signal)
    const cut = new AbortController()
    const ended = AbortSignal.any([cut.signal, ...(signal ? [signal] : [])])
    try {
      const headers = { Accept: 'text/event-stream', ...(last !== undefined && { 'Last-Event-ID': String(last) }) }
      const response = await open(`/events/stream?${query}`, ended, headers)
      if (!response.ok || !response.body) {
        if (PASSING.has(response.status)) throw new Error(`answered ${response.status}`)
        throw new TillbookError(response, await response.json().catch(() => null))
      }
      for await (const { id, data } of messagesOf(response.body, () => cut.abort())) {
        failures = 0
        last = Number(id)
        yield JSON.parse(data)
      }
    } catch (error) {
      if (error instanceof TillbookError || signal?.aborted) throw error
    } finally {
      cut.abort()
    }
  }
}

interface Message {
  readonly id: string
  readonly data: string
}

/** Messages of an event stream with id and data; comments and others are skipped. `onSilence` must end the stream. */
async function* messagesOf(body: ReadableStream<Uint8Array>, onSilence: () => void): AsyncGenerator<Message> {
  const decoder = new TextDecoder()
  let rest = ''
  let silence = setTimeout(onSilence, SILENCE_MS)
  try {
    for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
      clearTimeout(silence)
      silence = setTimeout(onSilence, SILENCE_MS)
      const blocks = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const fields = new Map(
          block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
        )
        const [id, data] = [fields.get('id'), fields.get('data')]
        if (id !== undefined && data !== undefined) yield { id, data }
      }
    }
  } finally {
    clearTimeout(silence)
  }
}
