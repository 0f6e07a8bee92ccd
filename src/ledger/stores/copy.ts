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

interface CopyOptions {
  readonly onStream?: (stream: string, events: number) => void
}

/**
 * Copies all ledgers, unchanged, to a store that takes no part in transactions. What is there already is compared
 * and left, so that a copy that was interrupted, or has fallen behind, is finished by another run. Each stream is read back
 * in the end: what the report counts is there. @throws CopyDiffers
 */
export async function copyLedgers(
  from: Pick<EventStore, 'streams' | 'read'>,
  to: EventStore,
  { onStream = () => {} }: CopyOptions = {},
): Promise<CopyReport> {
  const report = { streams: 0, events: 0, known: 0 }
  const streams = new Set<string>()
  for await (const stream of from.streams()) streams.add(stream)
  // Ledgers of another installation would become companies of this one.
  for await (const stream of to.streams()) if (!streams.has(stream)) throw new CopyDiffers(stream, 0)
  for (const stream of streams) {
    const compared = () => compare(stream, from.read(stream, 0), to.read(stream, 0))
    const known = await compared()
    await append(stream, from.read(stream, known), to, known)
    // To the end of the target: what the source has got meanwhile is the next run's.
    const events = await compared()
    report.streams += 1
    report.events += events
    report.known += known
    onStream(stream, events)
  }
  return report
}

/** How much the target holds, all of which the source must hold too. */
async function compare(
  stream: string,
  source: AsyncIterable<Envelope>,
  target: AsyncIterable<Envelope>,
): Promise<number> {
  const expected = source[Symbol.asyncIterator]()
  let events = 0
  try {
    for await (const written of inBatches(target, BATCH)) {
      const originals = await take(expected, written.length)
      const place = written.findIndex(({ hash, id }, at) => originals[at]?.hash !== hash || originals[at]?.id !== id)
      if (place >= 0) throw new CopyDiffers(stream, events + place)
      events += written.length
    }
    return events
  } finally {
    await expected.return?.()
  }
}

async function append(stream: string, events: AsyncIterable<Envelope>, to: EventStore, known: number): Promise<void> {
  let expectedRevision = known - 1
  for await (const batch of inBatches(events, BATCH)) {
    const commands = batch.map((event) => [event])
    await to.append([{ stream, expectedRevision, commands }], NO_TRANSACTION)
    expectedRevision += batch.length
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
