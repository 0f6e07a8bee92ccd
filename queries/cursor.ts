import { createHash } from 'node:crypto'
import { z } from 'zod'

/** What a cursor belongs to. One of another list, or of the same list with other filters, would skip records silently. */
export interface CursorScope {
  readonly resource: string
  /** Everything that decides which records are listed; absent and undefined filters are the same. */
  readonly filters: object
}

/** Raised when the meaning of a key changes; cursors of another version are refused like broken ones. */
const VERSION = 1
const DIGEST_BYTES = 12

const content = z.strictObject({ v: z.literal(VERSION), r: z.string(), f: z.string(), k: z.unknown() })

/** An opaque text for where the next page begins: after the record with this key. */
export function encodeCursor(scope: CursorScope, key: readonly (string | number)[]): string {
  const text = JSON.stringify({ v: VERSION, r: scope.resource, f: digest(scope), k: key })
  return Buffer.from(text).toString('base64url')
}

/** The key in a cursor, or null when it is broken or belongs to another list. */
export function decodeCursor<K extends readonly (string | number)[]>(
  scope: CursorScope,
  key: z.ZodType<K>,
  cursor: string,
): K | null {
  const parsed = content.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString()))
  if (!parsed.success) return null
  const found = key.safeParse(parsed.data.k)
  // Covers resource, digest and stray characters at once: only what was handed out is taken back.
  return found.success && encodeCursor(scope, found.data) === cursor ? found.data : null
}

function digest({ resource, filters }: CursorScope): string {
  const present = Object.entries(filters).filter(([, value]) => value !== undefined)
  const text = JSON.stringify([resource, present.sort(([a], [b]) => (a < b ? -1 : 1))])
  return createHash('sha256').update(text).digest().subarray(0, DIGEST_BYTES).toString('base64url')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
