import { createHash } from 'node:crypto'
import * as z from 'zod'

/** Scope of a cursor. A cursor of another company, list or filters would skip records silently. */
export interface CursorScope {
  readonly companyId: number
  readonly resource: string
  /** Everything that selects the listed records; absent and undefined filters are equal. */
  readonly filters: object
}

/** Raised when the meaning of a key changes; cursors of other versions are refused. */
const VERSION = 1
const DIGEST_BYTES = 12

const content = z.strictObject({ v: z.literal(VERSION), r: z.string(), f: z.string(), k: z.unknown() })

/** An opaque text of the key after which the next page begins. */
export function encodeCursor(scope: CursorScope, key: readonly (string | number)[]): string {
  const text = JSON.stringify({ v: VERSION, r: scope.resource, f: digest(scope), k: key })
  return Buffer.from(text).toString('base64url')
}

/** The key in a cursor; null for a damaged cursor or one of another list. */
export function decodeCursor<K extends readonly (string | number)[]>(
  scope: CursorScope,
  key: z.ZodType<K>,
  cursor: string,
): K | null {
  const parsed = content.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString()))
  if (!parsed.success) return null
  const found = key.safeParse(parsed.data.k)
  // Re-encoding covers resource, digest and stray characters at once.
  return found.success && encodeCursor(scope, found.data) === cursor ? found.data : null
}

function digest({ companyId, resource, filters }: CursorScope): string {
  const present = Object.entries(filters).filter(([, value]) => value !== undefined)
  const text = JSON.stringify([companyId, resource, present.sort(([a], [b]) => (a < b ? -1 : 1))])
  return createHash('sha256').update(text).digest().subarray(0, DIGEST_BYTES).toString('base64url')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
