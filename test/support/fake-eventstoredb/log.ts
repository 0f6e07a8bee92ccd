/** Stored event. */
export interface Recorded {
  readonly stream: string
  readonly revision: number
  /** Position among all events; grows with gaps, like byte offsets. */
  readonly position: bigint
  readonly proposed: Proposed
}

/** Event as sent by a client. */
export interface Proposed {
  readonly id: string
  readonly type: string
  readonly contentType: string
  readonly data: Uint8Array
  readonly metadata: Uint8Array
}

/** Number of the last event that a stream must have; -1 if it must not exist. */
export type Expected = number | 'any'

export type Outcome =
  | { readonly kind: 'success'; readonly revision: number; readonly position: bigint }
  | { readonly kind: 'wrong version'; readonly current: number }
  | { readonly kind: 'too large' }

export interface EventLog {
  /** All events in order of their appends, system events included. */
  readonly all: readonly Recorded[]
  of(stream: string): readonly Recorded[]
  /** All or nothing. */
  append(stream: string, expected: Expected, events: readonly Proposed[]): Outcome
  /** Calls back after each append, until the returned function is called. */
  onAppend(listener: () => void): () => void
}

/** Default of the server. */
export const MAX_APPEND_BYTES = 1_048_576
/** Number of appends after which the server writes its own statistics. */
const STATISTICS_EVERY = 3
const RECORD_BYTES = 97n

/** In-memory log with the guarantees of EventStoreDB. */
export function createLog(): EventLog {
  const all: Recorded[] = []
  const streams = new Map<string, Recorded[]>()
  const listeners = new Set<() => void>()
  let appends = 0

  const of = (stream: string): Recorded[] => streams.get(stream) ?? []
  function write(stream: string, events: readonly Proposed[]): void {
    const stored = of(stream)
    for (const proposed of events) {
      const recorded = { stream, revision: stored.length, position: BigInt(all.length + 1) * RECORD_BYTES, proposed }
      stored.push(recorded)
      all.push(recorded)
    }
    streams.set(stream, stored)
  }
  function statistics(): void {
    const id = `00000000-0000-4000-8000-${String(all.length).padStart(12, '0')}`
    const data = Buffer.from('{"proc-cpu":0}')
    const contentType = 'application/json'
    write('$stats-127.0.0.1:2113', [{ id, type: '$statsCollected', contentType, data, metadata: Buffer.alloc(0) }])
  }
  statistics()

  return {
    all,
    of,
    append(stream, expected, events) {
      const bytes = events.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0)
      if (bytes > MAX_APPEND_BYTES) return { kind: 'too large' }
      const stored = of(stream)
      const current = stored.length - 1
      const repeated = repetition(stored, expected, events)
      if (repeated) return { kind: 'success', revision: repeated.revision, position: repeated.position }
      if (expected !== 'any' && expected !== current) return { kind: 'wrong version', current }
      write(stream, events)
      const last = of(stream).at(-1)
      const outcome = { kind: 'success', revision: last?.revision ?? -1, position: last?.position ?? 0n } as const
      appends += 1
      if (appends % STATISTICS_EVERY === 0) statistics()
      for (const listener of [...listeners]) listener()
      return outcome
    },
    onAppend(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/**
 * Last event of an identical earlier append: same ids, directly after the expected revision. Contents are not compared.
 */
function repetition(stored: readonly Recorded[], expected: Expected, events: readonly Proposed[]): Recorded | null {
  if (expected === 'any' || events.length === 0) return null
  const isStored = events.every(({ id }, place) => stored[expected + 1 + place]?.proposed.id === id)
  return isStored ? (stored[expected + events.length] ?? null) : null
}
