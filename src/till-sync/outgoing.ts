import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'
import { JSON_TYPE } from '#http/answer.ts'
import { type EncodedText, toBytes } from '#lib/bytes.ts'
import type { LimiterFigures } from '#lib/fair-share-limiter.ts'
import { createKeyedSemaphore } from '#lib/keyed-semaphore.ts'
import { createMemoryBudget, type MemoryLimits } from '#lib/memory-budget.ts'

/**
 * Answers that are read at a time, of all companies and of one, of the connections for queries; reading 50,000 products takes about half a second, what
 * changed a few milliseconds. All tills of a chain come in the same minute of the morning, so many may wait.
 */
const READERS = { running: 3, runningOfKey: 2, waiting: 2_000 }
/** A catalog of 50,000 products must come through a bad line. */
const LONGEST_SENDING_MS = 5 * 60_000

/** Of answers that were read and not yet taken, and of what was asked with. */
const LIMITS: MemoryLimits = { allBytes: 256 * 1_048_576, companyBytes: 64 * 1_048_576 }

/** Takes the next piece of an answer; false when there is nobody left to send it to. */
export type StreamWrite = (...texts: readonly EncodedText[]) => boolean

/** Sends answers that may be large. */
export interface Outgoing {
  /**
   * Calls `read` when it is its turn, and sends what it has written once it is done.
   * @throws Unavailable when too much is waiting already, and what `read` throws; nothing is sent then.
   */
  send(response: Response, companyId: number, read: (write: StreamWrite) => Promise<void>): Promise<void>
  /** Answers that wait to be read. */
  readonly waiting: LimiterFigures
  /** What was read and not yet taken. */
  readonly bytes: LimiterFigures
}

/**
 * What is read is kept in memory until the till has taken it: a slow line must hold neither a connection nor a snapshot of
 * Postgres, and an answer whose reading fails can still be an error. Memory is bounded by refusing what would exceed it.
 */
export function createOutgoing(limits: MemoryLimits = LIMITS): Outgoing {
  const turns = createKeyedSemaphore(READERS)
  const budget = createMemoryBudget(limits)

  return {
    waiting: turns,
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
        // Whoever has gone while waiting leaves the turn to the next.
        await turns.run(companyId, async () => {
          if (!response.closed) await read(write)
        })
        await transmit(response, chunks)
      } finally {
        held.release()
      }
    },
  }
}

/** A body that was read is kept as long as its request, waiting or not. */
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
  // A till that went away, or takes too long, is cut off: by Content-Length it knows that something is missing.
  await pipeline(Readable.from(chunks), response, { signal }).catch(() => response.destroy())
}
