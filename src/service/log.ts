import type { Logger } from 'pino'

/** Logs an error for the operator; `requestId` and its W3C trace context if a request failed. */
export type Log = (message: string, error: unknown, requestId?: string, traceparent?: string) => void

/** Within this time a repeated error is only counted. */
const QUIET_MS = 30_000
/** Maximum of remembered errors. */
const KNOWN_COMPLAINTS = 200

interface Known {
  since_ms: number
  repeated: number
}

/**
 * Rate-limits repeated errors: retries keep failing while Postgres is down. Each distinct error is logged once per
 * interval, with the number of suppressed repetitions. Errors of requests are always logged.
 */
export function sparing(log: Log, now_ms: () => number): Log {
  const known = new Map<string, Known>()
  return (message, error, requestId, traceparent) => {
    if (requestId !== undefined) return log(message, error, requestId, traceparent)
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
    (message, error, request_id, traceparent) => logger.error({ err: error, request_id, traceparent }, message),
    () => performance.now(),
  )
