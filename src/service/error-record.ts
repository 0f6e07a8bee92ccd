import { inSource } from '#lib/source-frames.ts'

/** Members of errors that say what went wrong, and never with whom: Postgres's `detail`, `where` and `hint` quote rows. */
const TOLD = ['code', 'errno', 'syscall', 'severity', 'schema', 'table', 'column', 'constraint', 'dataType', 'routine']

/** Causes of causes that are told. */
const DEPTH = 5

interface ErrorRecord {
  readonly type: string
  readonly message: string
  readonly stack: string
  readonly [member: string]: unknown
}

/**
 * An error as a log may have it (PRIV-45): where it came from and what kind it is, without values. Nothing but `TOLD` is taken
 * over from errors of others, and what their messages quote is left out.
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

const EMAIL = /[^\s<>"'@]+@[^\s<>"'@]+/g
/** What the engine says of a text that is no JSON ends with a part of it. */
const QUOTED_JSON = /(\.\.\.)?"[\s\S]*"(\.\.\.)? is not valid JSON/
/** Of Postgres: the value that was no number, no time, no text. */
const DATA_EXCEPTION = /^22/

function withoutValues(error: Error): string {
  const { code } = error as { code?: unknown }
  const message = error.message.replace(QUOTED_JSON, '… is not valid JSON').replace(EMAIL, '…@…')
  return typeof code === 'string' && DATA_EXCEPTION.test(code) ? message.replace(/"[\s\S]*"/, '"…"') : message
}

/** The stack begins with the message, which may have several lines. */
const framesOf = ({ stack = '' }: Error): string =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .map(inSource)
    .join('\n')
