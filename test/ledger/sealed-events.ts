import { v7 } from 'uuid'
import { type Envelope, GENESIS_HASH, hashEnvelope, type NewEvent } from '#ledger/command.ts'

/** Fields relevant to a test; the rest has defaults. */
export type Sketch = Partial<Omit<NewEvent, 'version'> & Pick<Envelope, 'actor' | 'request_id' | 'idempotency' | 'id'>>

const START_MS = Date.parse('2026-03-10T15:00:00.000Z')

/** Envelopes that continue a stream after `last`, a millisecond apart, sealed like those of the writer. */
export function sealedAfter(
  stream: string,
  last: Envelope | null,
  sketches: readonly Sketch[],
  startMs = START_MS,
): Envelope[] {
  let previous = last
  return sketches.map((sketch) => {
    const revision = (previous?.revision ?? -1) + 1
    const unhashed = {
      id: sketch.id ?? v7(),
      type: sketch.type ?? 'CounterAdded',
      version: 1,
      stream,
      revision,
      recorded_at: new Date(startMs + revision).toISOString(),
      subject: sketch.subject ?? 'counter/1',
      origin: 'api' as const,
      actor: sketch.actor ?? null,
      request_id: sketch.request_id ?? null,
      idempotency: sketch.idempotency ?? null,
      previous_hash: previous?.hash ?? GENESIS_HASH,
      data: sketch.data ?? { id: 1, by: 1 },
    }
    const { data, ...head } = unhashed
    previous = { ...head, hash: hashEnvelope(unhashed), data }
    return previous
  })
}

/** `count` ordinary events. */
export const ordinary = (count: number): Sketch[] => Array.from({ length: count }, () => ({}))
