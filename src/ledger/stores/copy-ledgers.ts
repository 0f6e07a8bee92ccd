import { inBatches } from '#lib/collections.ts'
import type { Transaction } from '#postgres/transaction.ts'
import type { Envelope } from '../command.ts'
import type { EventStore } from '../port.ts'

/** Events per append; the adapter splits appends that are too large for its store. */
const BATCH = 500

export interface CopyReport {
  readonly streams: number
  readonly events: number
  /** Number of events that the target had already. */
  readonly known: number
}

/** The target has a different event at a revision, or lost an appended one. The copy stops. */
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
  /** Called with the number of events that the target has from now on, or had already. */
  readonly onEvents?: (events: number) => void
}

/**
 * Copies all ledgers unchanged to an external store. Existing events are compared and kept, so another run completes a
 * copy that was interrupted or has fallen behind. Each stream is read back at the end: all reported events are stored.
 * @throws CopyDiffers
 */
export async function copyLedgers(
  from: Pick<EventStore, 'streams' | 'read'>,
  to: EventStore,
  { onEvents = () => {} }: CopyOptions = {},
): Promise<CopyReport> {
  const report = { streams: 0, events: 0, known: 0 }
  const streams = new Set<string>()
  for await (const stream of from.streams()) streams.add(stream)
  // Ledgers of another installation would become companies of this one.
  for await (const stream of to.streams()) if (!streams.has(stream)) throw new CopyDiffers(stream, 0)
  for (const stream of streams) {
    const { events, known } = await copyStream(stream, from, to, { onEvents })
    report.streams += 1
    report.events += events
    report.known += known
  }
  return report
}

/** As copyLedgers, for one ledger. @throws CopyDiffers */
export async function copyStream(
  stream: string,
  from: Pick<EventStore, 'read'>,
  to: EventStore,
  { onEvents = () => {} }: CopyOptions = {},
): Promise<Pick<CopyReport, 'events' | 'known'>> {
  const compared = () => compare(stream, from.read(stream, 0), to.read(stream, 0))
  const known = await compared()
  onEvents(known)
  await append(stream, from.read(stream, known), { to, known, onEvents })
  // Reads to the end of the target; newer events of the source are left to the next run.
  return { events: await compared(), known }
}

/** Number of events in the target; the source must have all of them. */
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

interface AppendOptions extends Required<CopyOptions> {
  readonly to: EventStore
  readonly known: number
}

async function append(
  stream: string,
  events: AsyncIterable<Envelope>,
  { to, known, onEvents }: AppendOptions,
): Promise<void> {
  let expectedRevision = known - 1
  for await (const batch of inBatches(events, BATCH)) {
    const commands = batch.map((event) => [event])
    await to.append([{ stream, expectedRevision, commands }], NO_TRANSACTION)
    expectedRevision += batch.length
    onEvents(batch.length)
  }
}

/** The next events; fewer at the end. */
async function take(events: AsyncIterator<Envelope>, count: number): Promise<Envelope[]> {
  const taken: Envelope[] = []
  while (taken.length < count) {
    const { value, done } = await events.next()
    if (done) break
    taken.push(value)
  }
  return taken
}

/** An external store ignores the transaction. */
const NO_TRANSACTION: Transaction = {
  query: () => Promise.reject(new Error('ledgers can be copied only to a store outside Postgres')),
}
