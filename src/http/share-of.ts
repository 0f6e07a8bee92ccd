import type { Response } from 'express'
import type { ShareKey } from '#lib/fair-share-limiter.ts'

/** The authenticated client of a request. */
interface Caller {
  readonly companyId: number
}

/** Key shared by all unauthenticated clients. */
const STRANGERS = 0

/** Limiter key of a request: its company. */
export function shareOf({ locals }: Pick<Response, 'locals'>): ShareKey {
  const { caller, session } = locals as Partial<Record<'caller' | 'session', Caller>>
  return (caller ?? session)?.companyId ?? STRANGERS
}
