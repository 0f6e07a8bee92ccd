import { inBatches } from '#lib/batches.ts'
import type { Transaction } from '#postgres/transaction.ts'
import type { Envelope } from '../envelope.ts'
import type { EventStore } from '../port.ts'

/** Events of one append; the adapter splits what is too large for its store. */
const BATCH = 500

export interface CopyReport {
  readonly streams: number
  readonly events: number
  /** How many of the events were there already. */
  readonly known: number
}

/** The target holds something else at a revision, or lost what was appended to it: nothing more is copied. */
export class CopyDiffers extends Error {
  override readonly name = 'CopyDiffers'
  constructor(
    readonly stream: string,
    readonly revision: number,
  ) {
    super(`the target holds another event at revision ${revision} of ${stream}`)
  }
}

/**
 * How events are written to the target, and whether what is there is that. Both get events of one ledger, in order, and the
 * event of the target before them, null at its beginning.
 */
export interface Rewriting {
  write(events: readonly Envelope[], before: Envelope | null): Promise<readonly Envelope[]>
  /** Place of the first event of the target that `write` would not have made of the one beside it; -1 where there is none. */
  differing(events: readonly Envelope[], written: readonly Envelope[], before: Envelope | null): Promise<number>
}

const UNCHANGED: Rewriting = {
  write: async (events) => events,
  differing: async (events, written) =>
    written.findIndex(({ hash, id }, place) => events[place]?.hash !== hash || events[place]?.id !== id),
}

interface CopyOptions {
  readonly onStream?: (stream: string, events: number) => void
  /** By default ids and hashes stay as they are. */
  readonly rewriting?: Rewriting
}

/**
 * Copies all ledgers to a store that takes no part in transactions, by default unchanged. What is there already is compared
 * and left, so that a copy that was interrupted, or has fallen behind, is finished by another run. Each stream is read back
 * in the end: what the report counts is there. @throws CopyDiffers
 */
export async function copyLedgers(
  from: Pick<EventStore, 'streams' | 'read'>,
  to: EventStore,
  { onStream = () => {}, rewriting = UNCHANGED }: CopyOptions = {},
): Promise<CopyReport> {
  const report = { streams: 0, events: 0, known: 0 }
  const streams = new Set<string>()
  for await (const stream of from.streams()) streams.add(stream)
  // Ledgers of another installation would become companies of this one.
  for await (const stream of to.streams()) if (!streams.has(stream)) throw new CopyDiffers(stream, 0)
  for (const stream of streams) {
    const compared = () => compare(stream, from.read(stream, 0), to.read(stream, 0), rewriting)
    const known = await compared()
    await append(stream, from.read(stream, known.events), to, { ...rewriting, before: known.last })
    // To the end of the target: what the source has got meanwhile is the next run's.
    const { events } = await compared()
    report.streams += 1
    report.events += events
    report.known += known.events
    onStream(stream, events)
  }
  return report
}

/** How much the target holds, all of which the source must hold too. */
async function compare(
  stream: string,
  source: AsyncIterable<Envelope>,
  target: AsyncIterable<Envelope>,
  { differing }: Rewriting,
): Promise<{ readonly events: number; readonly last: Envelope | null }> {
  const expected = source[Symbol.asyncIterator]()
  let events = 0
  let last: Envelope | null = null
  try {
    for await (const written of inBatches(target, BATCH)) {
      const originals = await take(expected, written.length)
      const place = await differing(originals, written.slice(0, originals.length), last)
      if (place >= 0) throw new CopyDiffers(stream, events + place)
      events += originals.length
      if (originals.length < written.length) throw new CopyDiffers(stream, events)
      last = written.at(-1) ?? last
    }
    return { events, last }
  } finally {
    await expected.return?.()
  }
}

async function append(
  stream: string,
  events: AsyncIterable<Envelope>,
  to: EventStore,
  { write, before }: Pick<Rewriting, 'write'> & { readonly before: Envelope | null },
): Promise<void> {
  let last = before
  for await (const batch of inBatches(events, BATCH)) {
    const written = await write(batch, last)
    const commands = written.map((event) => [event])
    await to.append([{ stream, expectedRevision: last?.revision ?? -1, commands }], NO_TRANSACTION)
    last = written.at(-1) ?? last
  }
}

/** The next events, fewer at the end. */
async function take(events: AsyncIterator<Envelope>, count: number): Promise<Envelope[]> {
  const taken: Envelope[] = []
  while (taken.length < count) {
    const { value, done } = await events.next()
    if (done) break
    taken.push(value)
  }
  return taken
}

/** A store outside Postgres takes part in none. */
const NO_TRANSACTION: Transaction = {
  query: () => Promise.reject(new Error('ledgers can be copied only to a store outside Postgres')),
}
