import { companyIdOfStream, type Envelope } from '#ledger/command.ts'
import { type Append, type Note, type OutsideStore, splitChunks, WrongExpectedRevision } from '#ledger/port.ts'
import { Unavailable } from '#lib/errors.ts'

/**
 * Fault of the next append. `late` fails now and takes effect when `release` is called, like a request that hung in the
 * network.
 */
export type Fault = 'none' | 'before' | 'after' | 'late' | 'half'

export interface FaultyStore extends OutsideStore {
  /** Faults of the next appends, in order. */
  readonly faults: Fault[]
  /** While true, nothing can be read or appended. */
  down: boolean
  /** Executes the delayed appends; returns how many were accepted. */
  release(): number
  events(stream: string): readonly Envelope[]
}

const MAX_APPEND_BYTES = 1_048_576
const bytesOf = (event: Envelope): number => Buffer.byteLength(JSON.stringify(event))

/**
 * An event store outside the Postgres transaction that behaves like EventStoreDB: compares ids only, refuses a wrong
 * revision, limits the size of an append, and fails on command. It outlives its writers, like a server.
 */
export function createOutsideStore({ maxAppendBytes = MAX_APPEND_BYTES } = {}): FaultyStore {
  const streams = new Map<string, Envelope[]>()
  const hung: Append[] = []
  /** All events of the store in order of arrival. */
  const log: Note[] = []
  const waiting = new Set<() => void>()
  const eventsOf = (stream: string) => streams.get(stream) ?? []

  const noteAt = (place: number): Note => ({ ...(log[place] as Note), position: String(place) })
  /** Resolves at the next append, or when aborted. */
  const landing = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const wake = () => {
        waiting.delete(wake)
        resolve()
      }
      waiting.add(wake)
      signal.addEventListener('abort', wake, { once: true })
    })

  const land = ({ stream, expectedRevision, commands }: Append): void => {
    const stored = eventsOf(stream)
    let expected = expectedRevision
    for (const chunk of splitChunks(commands, maxAppendBytes, bytesOf)) {
      if (chunk.reduce((sum, event) => sum + bytesOf(event), 0) > maxAppendBytes)
        throw new Error('maximum append size exceeded')
      const again = chunk.every((event, position) => stored[expected + 1 + position]?.id === event.id)
      if (!again) {
        if (stored.length - 1 !== expected) throw new WrongExpectedRevision(stream, expected)
        stored.push(...chunk.map((event) => structuredClone(event)))
        log.push(...chunk.map(({ revision }) => ({ stream, revision, position: '' })))
      }
      expected += chunk.length
    }
    streams.set(stream, stored)
    for (const wake of waiting) wake()
  }

  const store: FaultyStore = {
    transactional: false,
    faults: [],
    down: false,
    async append(appends) {
      if (store.down) throw new Error('14 UNAVAILABLE')
      const fault = store.faults.shift() ?? 'none'
      if (fault === 'before') throw new Error('14 UNAVAILABLE: before the append')
      if (fault === 'late') {
        hung.push(...appends)
        throw new Error('4 DEADLINE_EXCEEDED')
      }
      const landing = fault === 'half' ? appends.slice(0, Math.ceil(appends.length / 2)) : appends
      const outcomes = await Promise.allSettled(landing.map(async (append) => land(append)))
      const failed = outcomes.find((outcome) => outcome.status === 'rejected')
      if (failed) throw failed.reason
      if (fault !== 'none') throw new Error('14 UNAVAILABLE: after the append')
    },
    async *pick(stream, revisions) {
      if (store.down) throw new Error('14 UNAVAILABLE')
      for (const revision of revisions) {
        const event = eventsOf(stream)[revision]
        if (event) yield structuredClone(event)
      }
    },
    async *read(stream, fromRevision) {
      if (store.down) throw new Error('14 UNAVAILABLE')
      for (const event of eventsOf(stream).slice(fromRevision)) yield structuredClone(event)
    },
    async *streams() {
      for (const stream of streams.keys()) if (companyIdOfStream(stream) !== null) yield stream
    },
    async *notes(after) {
      if (store.down) throw new Unavailable('14 UNAVAILABLE')
      const end = log.length
      for (let place = after === null ? 0 : Number(after) + 1; place < end; place++) yield noteAt(place)
    },
    async *subscribe(after, signal) {
      for (let place = after === null ? 0 : Number(after) + 1; !signal.aborted; ) {
        if (store.down) throw new Unavailable('14 UNAVAILABLE')
        if (place < log.length) yield noteAt(place++)
        else await landing(signal)
      }
    },
    async ping() {
      if (store.down) throw new Unavailable('14 UNAVAILABLE')
    },
    async close() {},
    release() {
      let accepted = 0
      for (const append of hung.splice(0)) {
        try {
          land(append)
          accepted += 1
        } catch (error) {
          if (!(error instanceof WrongExpectedRevision)) throw error
        }
      }
      return accepted
    },
    events: eventsOf,
  }
  return store
}
