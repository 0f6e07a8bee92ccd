import type { Response } from 'express'
import type { SyncSession } from '#access/sync-access.ts'
import { printable } from '#domain/validation.ts'
import { type Actor, asUser } from '#ledger/write/run.ts'
import { type ByteRange, toByteRange, toBytes } from '#lib/bytes.ts'
import { liveUser } from '#projections/users.ts'

/** Actor of the commands of an upload. */
export function uploaderOf(session: SyncSession, response: Response): Actor {
  const { requestId, traceparent } = response.locals as { requestId: string; traceparent?: string }
  return { ...asUser(session, 'pdv', requestId), guard: liveUser(session), traceparent }
}

/** Identifier that the till gave, as a text; null if it is neither a text nor an integer. */
export const sentId = (id: unknown): string | null =>
  typeof id === 'string' || Number.isSafeInteger(id) ? printable(String(id)) : null

/**
 * JSON text of the answer to an upload in UTF-8, composed in slices: 1,000 results may have 100,000 errors and warnings.
 */
export async function composeListAnswer(
  results: readonly { readonly status: string }[],
  message: string,
  slices: () => Promise<void>,
): Promise<Buffer> {
  const pieces: ByteRange[] = []
  let error_count = 0
  for (const [position, result] of results.entries()) {
    await slices()
    if (result.status === 'error' || result.status === 'refused') error_count += 1
    pieces.push(toByteRange(`${position > 0 ? ',' : ''}${JSON.stringify(result)}`))
  }
  const total_processed = results.length
  const summary = { total_processed, success_count: total_processed - error_count, error_count }
  const head = JSON.stringify({ success: true, message, summary })
  return toBytes(`${head.slice(0, -1)},"results":[`, pieces, ']}')
}
