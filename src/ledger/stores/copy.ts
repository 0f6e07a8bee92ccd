import type { Envelope } from '../envelope.ts'
import type { EventStore } from '../port.ts'
import type { Transaction } from '../transaction.ts'

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
 * Copies all ledgers to a store outside Postgres, revisions, ids and hashes unchanged. What is there already is compared and
 * left, so that a copy that was interrupted, or has fallen behind, is finished by another run. Each stream is read back in
 * the end: what the report counts is there. @throws CopyDiffers
 */
export async function copyLedgers(
  from: EventStore,
  to: EventStore,
  onStream: (stream: string, events: number) => void = () => {},
): Promise<CopyReport> {
  const report = { streams: 0, events: 0, known: 0 }
  const streams = new Set<string>()
  for await (const stream of from.streams()) streams.add(stream)
  // Ledgers of another installation would become companies of this one.
  for await (const stream of to.streams()) if (!streams.has(stream)) throw new CopyDiffers(stream, 0)
  for (const stream of streams) {
    const known = await compare(stream, from.read(stream, 0), to.read(stream, 0))
    await append(stream, from.read(stream, known), to)
    // To the end of the target: what the source has got meanwhile is the next run's.
    const events = await compare(stream, from.read(stream, 0), to.read(stream, 0))
    report.streams += 1
    report.events += events
    report.known += known
    onStream(stream, events)
  }
  return report
}

/** The length of the target, all of which the source must hold too. */
async function compare(
  stream: string,
  source: AsyncIterable<Envelope>,
  target: AsyncIterable<Envelope>,
): Promise<number> {
  const expected = source[Symbol.asyncIterator]()
  let revision = 0
  try {
    for await (const event of target) {
      const { value, done } = await expected.next()
      if (done || value.hash !== event.hash || value.id !== event.id) throw new CopyDiffers(stream, revision)
      revision += 1
    }
    return revision
  } finally {
    await expected.return?.()
  }
}

async function append(stream: string, events: AsyncIterable<Envelope>, to: EventStore): Promise<void> {
  let batch: Envelope[] = []
  const flush = async () => {
    const [first] = batch
    if (!first) return
    const commands = batch.map((event) => [event])
    await to.append([{ stream, expectedRevision: first.revision - 1, commands }], NO_TRANSACTION)
    batch = []
  }
  for await (const event of events) {
    batch.push(event)
    if (batch.length === BATCH) await flush()
  }
  await flush()
}

/** A store outside Postgres takes part in none. */
const NO_TRANSACTION: Transaction = {
  query: () => Promise.reject(new Error('ledgers can be copied only to a store outside Postgres')),
}
