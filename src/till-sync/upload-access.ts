import type { RequestHandler, Response } from 'express'
import type { EndedAccess, SigningTill, SyncSession, Tokens } from '#access/till-access.ts'
import { type ChainedAt, isSignedBy, parseTillPlace } from '#commands/till-commands.ts'
import { Instant } from '#domain/instant.ts'
import { type ChargeBytes, chargeOrRefuse } from '#http/bodies.ts'
import { Problem } from '#http/problems.ts'
import { type Actor, asUser } from '#ledger/write/run.ts'
import type { Guard } from '#ledger/write/unit-of-work.ts'
import { createTimeSlicer } from '#lib/fair-sharing.ts'
import { ownCompany } from '#projections/companies.ts'
import { tillById } from '#projections/tills.ts'
import { limitUsesByUser, liveUser, permitOfRole, userById } from '#projections/users.ts'
import { MAX_SALES, type SyncOperation } from './till-answers.ts'
import { getTillSession } from './till-router.ts'

interface Signed {
  readonly element: unknown
  readonly place: ChainedAt
}

/** Elements with their places in chains of tills; null if one has none. */
function listPlaces(elements: unknown): readonly Signed[] | null {
  if (!Array.isArray(elements) || elements.length === 0 || elements.length > MAX_SALES) return null
  const signed: Signed[] = []
  for (const element of elements) {
    const place = typeof element === 'object' && element !== null ? parseTillPlace(element) : null
    if (place === null || place === 'till_signature') return null
    signed.push({ element, place })
  }
  return signed
}

interface Times {
  readonly status?: unknown
  readonly created_at?: unknown
  readonly cancelled_at?: unknown
  readonly returned_at?: unknown
  readonly at?: unknown
}

/**
 * When an element was made, in ms: what it says, but not before its till named a lower last number, whatever the till's
 * clock says. Infinity if unknown.
 */
function readTime({ element, place }: Signed, { last_number, last_seen_at }: SigningTill): number {
  const { status, created_at, cancelled_at, returned_at, at } = element as Times
  const sold = status === 'cancelled' ? (cancelled_at ?? created_at) : created_at
  const stated = Instant.safeParse(sold ?? returned_at ?? at).data
  if (stated === undefined) return Number.POSITIVE_INFINITY
  const known = place.number > last_number && last_seen_at !== null ? Date.parse(last_seen_at) : 0
  return Math.max(Date.parse(stated), known)
}

/** What tills have signed, and what of it was made after the end; null if a till of the company has not signed all of it. */
async function verify(
  tokens: Pick<Tokens, 'listSigningTills'>,
  { companyId }: SyncSession,
  { at }: EndedAccess,
  elements: unknown,
): Promise<EndedAccess | null> {
  const signed = listPlaces(elements)
  if (!signed) return null
  const tillIds = [...new Set(signed.map(({ place }) => place.id))]
  const tills = new Map((await tokens.listSigningTills(companyId, tillIds)).map((till) => [till.id, till]))
  const slices = createTimeSlicer(companyId)
  const late = new Set<unknown>()
  for (const each of signed) {
    await slices()
    const { id, signed: text, signature } = each.place
    const till = tills.get(id)
    if (!till || !isSignedBy(till, Buffer.from(text), Buffer.from(signature, 'base64url'))) return null
    if (readTime(each, till) > Date.parse(at)) late.add(each.element)
  }
  return { at, tillIds, late }
}

/**
 * Admits an upload under an ended token if tills of the company have signed all of it; others pass. Only then its bytes
 * count.
 */
export const admitEnded =
  (
    tokens: Pick<Tokens, 'listSigningTills'>,
    list: NonNullable<SyncOperation['takesEnded']>,
    charge: ChargeBytes,
  ): RequestHandler =>
  async (request, response, next) => {
    const session = getTillSession(response)
    if (!session.ended) return next()
    const elements = (request.body as Readonly<Record<string, unknown>>)[list]
    const ended = await verify(tokens, session, session.ended, elements)
    if (!ended) throw new Problem('invalid_token')
    const body = response.locals.rawBody as Buffer | undefined
    await chargeOrRefuse(charge, response, session.companyId, body?.length ?? 0)
    response.locals.session = { ...session, ended }
    next()
  }

/** None of the tills that signed an upload has ended; its user had the permissions of the token's role. */
function signedByTills({ userId, role }: SyncSession, { tillIds }: EndedAccess): Guard {
  return {
    needs: [ownCompany, userById(userId), limitUsesByUser(userId), ...tillIds.map(tillById)],
    holds: (rows) => tillIds.every((id) => rows.get(tillById(id))?.ended_at === null),
    permitsOf: (rows, now) => permitOfRole(rows, userId, role, now),
  }
}

/** Actor of the commands of an upload. */
export function toUploader(session: SyncSession, response: Response): Actor {
  const { requestId, traceparent } = response.locals as { requestId: string; traceparent?: string }
  return {
    ...asUser(session, 'pdv', requestId),
    guard: session.ended ? signedByTills(session, session.ended) : liveUser(session),
    traceparent,
  }
}
