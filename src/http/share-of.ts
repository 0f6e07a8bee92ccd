import type { Response } from 'express'
import type { ShareKey } from '#lib/fair-share-limiter.ts'

/** Of whoever calls, once that is known. */
interface Caller {
  readonly companyId: number
}

/** Of all callers whom nobody knows yet. */
const STRANGERS = 0

/** Whose share a call takes of what is scarce: that of its company. */
export function shareOf({ locals }: Pick<Response, 'locals'>): ShareKey {
  const { caller, session } = locals as Partial<Record<'caller' | 'session', Caller>>
  return (caller ?? session)?.companyId ?? STRANGERS
}
