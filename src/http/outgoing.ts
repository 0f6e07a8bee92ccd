import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'
import { JSON_TYPE } from '#http/answer.ts'
import { type EncodedText, toBytes } from '#lib/bytes.ts'
import type { LimiterFigures } from '#lib/fair-share-limiter.ts'
import { createKeyedSemaphore } from '#lib/keyed-semaphore.ts'
import { createMemoryBudget, type MemoryLimits } from '#lib/memory-budget.ts'

/**
 * Concurrent reads of answers, in total and per company, bounded by the connections for queries. Reading 50,000
 * products takes about half a second, reading changes a few milliseconds. All tills of a chain send their requests in
 * the same minute of the morning, so many may wait.
 */
const READERS = { running: 3, runningOfKey: 2, waiting: 2_000 }
/** Long enough for a catalog of 50,000 products over a bad line. */
const LONGEST_SENDING_MS = 5 * 60_000

/** Memory for answers that clients have not taken yet, and for the bodies of their requests. */
const LIMITS: MemoryLimits = { allBytes: 256 * 1_048_576, companyBytes: 64 * 1_048_576 }

/** Accepts the next piece of an answer. Returns false if the client has disconnected. */
export type StreamWrite = (...texts: readonly EncodedText[]) => boolean

/** Sends answers that may be large. */
export interface Outgoing {
  /**
   * Waits for a turn, calls `read`, and sends what it has written once it is done. @throws Unavailable if too many wait
   * already, and errors of `read`; nothing is sent then.
   */
  send(response: Response, companyId: number, read: (write: StreamWrite) => Promise<void>): Promise<void>
  /** Answers that wait to be read. */
  readonly waiting: LimiterFigures
  /** Bytes that were read but not taken yet. */
  readonly bytes: LimiterFigures
}

/**
 * An answer is buffered until the till has taken it: a slow line must not hold a connection or snapshot of Postgres,
 * and a failed read can still be answered with an error. Answers beyond the memory limit are refused.
 */
export function createOutgoing(limits: MemoryLimits = LIMITS): Outgoing {
  const semaphore = createKeyedSemaphore(READERS)
  const budget = createMemoryBudget(limits)

  return {
    waiting: semaphore,
    bytes: budget,
    async send(response, companyId, read) {
      const chunks: Buffer[] = []
      const held = budget.open(companyId)
      try {
        held.add(bodyBytesOf(response))
        const write: StreamWrite = (...texts) => {
          const chunk = toBytes(...texts)
          held.add(chunk.length)
          chunks.push(chunk)
          return !response.closed
        }
        // Requests whose client disconnected while waiting give up their turn.
        await semaphore.run(companyId, async () => {
          if (!response.closed) await read(write)
        })
        await transmit(response, chunks)
      } finally {
        held.release()
      }
    },
  }
}

/** The parsed body of a request stays in memory as long as the request. */
function bodyBytesOf(response: Response): number {
  return (response.locals.rawBody as Buffer | undefined)?.length ?? 0
}

async function transmit(response: Response, chunks: readonly Buffer[]): Promise<void> {
  response.setHeader('Content-Type', JSON_TYPE)
  response.setHeader(
    'Content-Length',
    chunks.reduce((sum, chunk) => sum + chunk.length, 0),
  )
  if (response.req.method === 'HEAD') {
    response.end()
    return
  }
  const signal = AbortSignal.timeout(LONGEST_SENDING_MS)
  // Disconnects a till that has gone or takes too long. Content-Length tells it that the answer is incomplete.
  await pipeline(chunks, response, { signal }).catch(() => response.destroy())
}
