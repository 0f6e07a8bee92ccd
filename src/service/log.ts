import type { Logger } from 'pino'

/** Tells the operator what went wrong; `requestId` where it went wrong with a request. */
export type Log = (message: string, error: unknown, requestId?: string) => void

/** The same complaint again is only counted for so long. */
const QUIET_MS = 30_000
/** Complaints remembered at a time. */
const KNOWN_COMPLAINTS = 200

interface Known {
  since_ms: number
  repeated: number
}

/**
 * What is tried again and again fails again and again while Postgres is away: each complaint is written once in a while, with
 * the number of times that it was left out meanwhile. What went wrong with a request is always written.
 */
export function sparing(log: Log, now_ms: () => number): Log {
  const known = new Map<string, Known>()
  return (message, error, requestId) => {
    if (requestId !== undefined) return log(message, error, requestId)
    const complaint = `${message}: ${(error as { message?: string } | null)?.message ?? ''}`
    const last = known.get(complaint)
    if (last && now_ms() - last.since_ms < QUIET_MS) {
      last.repeated += 1
      return
    }
    if (known.size >= KNOWN_COMPLAINTS) known.clear()
    known.set(complaint, { since_ms: now_ms(), repeated: 0 })
    log(last && last.repeated > 0 ? `${message} (and ${last.repeated} times before)` : message, error)
  }
}

export const logOf = (logger: Logger): Log =>
  sparing(
    (message, error, request_id) => logger.error({ err: error, request_id }, message),
    () => performance.now(),
  )
