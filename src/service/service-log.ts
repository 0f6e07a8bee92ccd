import type { Logger } from 'pino'
import { inSource, type LogError } from '#lib/errors.ts'

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
export function limitRepetitions(log: LogError, now_ms: () => number): LogError {
  const known = new Map<string, Known>()
  return (message, error, fields) => {
    if (fields?.request_id !== undefined) return log(message, error, fields)
    const complaint = `${message} ${JSON.stringify(fields ?? {})}: ${(error as { message?: string } | null)?.message ?? ''}`
    const last = known.get(complaint)
    if (last && now_ms() - last.since_ms < QUIET_MS) {
      last.repeated += 1
      return
    }
    if (known.size >= KNOWN_COMPLAINTS) known.clear()
    known.set(complaint, { since_ms: now_ms(), repeated: 0 })
    log(message, error, last && last.repeated > 0 ? { ...fields, repeated: last.repeated } : fields)
  }
}

export const createErrorLog = (logger: Logger): LogError =>
  limitRepetitions(
    (message, error, fields) => logger.error({ err: error, ...fields }, message),
    () => performance.now(),
  )

/** Members of errors that are safe to log. Postgres's `detail`, `where` and `hint` are not: they quote rows. */
const TOLD = ['code', 'errno', 'syscall', 'severity', 'schema', 'table', 'column', 'constraint', 'dataType', 'routine']

/** Logged depth of nested causes. */
const DEPTH = 5

interface ErrorRecord {
  readonly type: string
  readonly message: string
  readonly stack: string
  readonly [member: string]: unknown
}

/**
 * Loggable form of an error: type and origin, without values. Errors of libraries contribute only the members
 * in `TOLD`, and values quoted in their messages are removed.
 */
export function errorRecord(error: unknown, depth = DEPTH): ErrorRecord | { readonly type: string } {
  if (!(error instanceof Error)) return { type: typeof error }
  const members = error as unknown as Record<string, unknown>
  const { cause, errors } = members
  const isPlain = (value: unknown) => typeof value === 'string' || typeof value === 'number'
  return {
    type: error.name === 'Error' ? error.constructor.name : error.name,
    message: withoutValues(error),
    stack: framesOf(error),
    ...Object.fromEntries(TOLD.flatMap((name) => (isPlain(members[name]) ? [[name, members[name]]] : []))),
    ...(cause !== undefined && depth > 0 && { cause: errorRecord(cause, depth - 1) }),
    ...(Array.isArray(errors) &&
      depth > 0 && { errors: errors.slice(0, 10).map((one) => errorRecord(one, depth - 1)) }),
  }
}

/** Messages may quote texts of callers. */
const MAX_MESSAGE = 2_000
const EMAIL = /[^\s<>"'@]+@[^\s<>"'@]+/g
/** V8's message for malformed JSON ends with an excerpt of the text. */
const QUOTED_JSON = /(\.\.\.)?"[\s\S]*"(\.\.\.)? is not valid JSON/
/** Postgres class 22 (data exception): the message quotes the invalid value. */
const DATA_EXCEPTION = /^22/

function withoutValues(error: Error): string {
  const { code } = error as { code?: unknown }
  const message = error.message.slice(0, MAX_MESSAGE).replace(QUOTED_JSON, '… is not valid JSON').replace(EMAIL, '…@…')
  return typeof code === 'string' && DATA_EXCEPTION.test(code) ? message.replace(/"[\s\S]*"/, '"…"') : message
}

/** The stack begins with the message, which may have several lines. */
const framesOf = ({ stack = '' }: Error): string =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .map(inSource)
    .join('\n')
