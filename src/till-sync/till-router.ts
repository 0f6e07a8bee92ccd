import type { Request, RequestHandler, Response } from 'express'
import type { Access } from '#access/access.ts'
import type { CompanyUser, Membership } from '#access/company-users.ts'
import type { AddressLimit } from '#access/login-limits.ts'
import type { IssuedToken, SyncSession } from '#access/till-access.ts'
import { getTraits } from '#domain/rights.ts'
import { sendJson } from '#http/answers.ts'
import { bearer, limitUnauthenticatedBy, rateLimitProblem } from '#http/edge.ts'
import { Problem, parseInput } from '#http/problems.ts'
import type { PoolOf } from '#postgres/pool.ts'
import { getConfig } from '#queries/company-queries.ts'
import { fullReader } from '#queries/reader.ts'
import {
  Credentials,
  LOGGED_IN,
  LOGGED_OUT,
  type SyncRoute,
  sendFailure,
  sendSuccess,
  TOKEN_RENEWED,
} from './till-answers.ts'
import { SYNC_OPERATIONS, SYNC_VERSION } from './till-operations.ts'

interface Options extends Pick<Access, 'tokens' | 'tillRequests'> {
  readonly addresses: AddressLimit
}

/**
 * Authenticates a request by its token and counts it; a request without a valid token is limited by address. An ended one
 * passes where that is taken: what tills have signed is decided later.
 */
export function requireToken({ tokens, tillRequests, addresses }: Options, takesEnded: boolean): RequestHandler {
  const limitAnonymous = limitUnauthenticatedBy(addresses)
  return async (request, response, next) => {
    const token = bearer(request)
    const live = token ? await tokens.find(token, versionOf(request)) : null
    const session = live ?? (token && takesEnded ? await tokens.findEnded(token) : null)
    if (session?.ended) await limitAnonymous(request, response)
    if (!session) {
      await limitAnonymous(request, response)
      throw new Problem(token === null ? 'missing_token' : 'invalid_token')
    }
    const counted = await tillRequests.consume(session.tokenHash.toString('base64'))
    if (counted.limited) throw rateLimitProblem(counted)
    response.locals.session = session
    const till = TILL_HEADER.exec(request.get('till') ?? '')
    if (till && live) response.locals.till = await tokens.noteTill(session, Number(till[1]), Number(till[2]))
    next()
  }
}

/** `Till: {id}/{last number}` */
const TILL_HEADER = /^([1-9]\d{0,14})\/(\d{1,15})$/

/** The till's version in `Till-Version`; null if the value is malformed. */
const versionOf = (request: Request): string | null =>
  /^[\w.+ -]{1,40}$/.exec(request.get('till-version') ?? '')?.[0].trim() || null

/**
 * Checks the token again after the body has arrived, which may take half a minute: it may have expired meanwhile.
 */
export const requireTokenStill =
  (tokens: Access['tokens']): RequestHandler =>
  async (request, response, next) => {
    if (!getTillSession(response).ended && !(await tokens.find(bearer(request) ?? '')))
      throw new Problem('invalid_token')
    next()
  }

/** Set by requireToken, which runs before the handler of every route that is not open. */
export const getTillSession = (response: Response): SyncSession => response.locals.session as SyncSession

/** Login, refresh, logout, user (TOKEN-3, TOKEN-5). */
export function authRoutes({ login, tokens }: Pick<Access, 'login' | 'tokens'>): SyncRoute[] {
  return [
    {
      ...SYNC_OPERATIONS.login,
      async handle(request, response) {
        const { company_id, ...credentials } = parseInput(Credentials, request.body)
        const from = { address: request.ip ?? '', keeps: 'token', kept: bearer(request) } as const
        const outcome = await login.logIn(credentials, from)
        if (outcome.kind === 'wrong') return sendFailure(response, 'wrong_credentials')
        if (outcome.kind === 'limited') return sendTooMany(response, outcome)
        // A user without access to tills gets the same answer as an unknown one.
        const memberships = outcome.memberships.filter(({ role }) => getTraits(role).usesTills)
        if (memberships.length === 0) return sendFailure(response, 'wrong_credentials')
        const chosen = chooseFrom(memberships, company_id ?? null)
        if (!chosen) return sendCompanies(response, memberships)
        const refused = await login.admit(chosen)
        if (refused) return sendTooMany(response, refused)
        sendToken(response, LOGGED_IN, await tokens.issue(chosen.holder), chosen.user)
      },
    },
    {
      ...SYNC_OPERATIONS.refresh,
      async handle(request, response) {
        const session = getTillSession(response)
        const granted = await login.grants.consume(`${session.companyId}/${session.userId}`)
        if (granted.limited) throw rateLimitProblem(granted)
        const token = await tokens.renew(session, bearer(request) ?? '')
        if (!token) throw new Problem('invalid_token')
        sendToken(response, TOKEN_RENEWED, token, userOf(session))
      },
    },
    {
      ...SYNC_OPERATIONS.logout,
      async handle(_request, response) {
        await tokens.revoke(getTillSession(response))
        sendSuccess(response, { message: LOGGED_OUT })
      },
    },
    {
      ...SYNC_OPERATIONS.user,
      handle: async (_request, response) => sendSuccess(response, { data: userOf(getTillSession(response)) }),
    },
  ]
}

function sendTooMany(response: Response, { retryAfter }: { readonly retryAfter: number }): void {
  sendFailure(response, 'too_many_logins', { headers: { 'Retry-After': String(retryAfter) } })
}

/** The company of a login: the named one, or the only one. */
const chooseFrom = (memberships: readonly Membership[], companyId: number | null): Membership | undefined =>
  companyId === null
    ? memberships.find(() => memberships.length === 1)
    : memberships.find(({ user }) => user.company_id === companyId)

/** Lists the companies to choose from, after the password was verified. */
function sendCompanies(response: Response, memberships: readonly Membership[]): void {
  const companies = memberships.map(({ user, companyName }) => ({ id: user.company_id, name: companyName }))
  sendFailure(response, 'company_required', { data: { companies } })
}

/** The answer of a login (TOKEN-3). */
function sendToken(response: Response, message: string, { token, expiresAt }: IssuedToken, user: CompanyUser): void {
  sendSuccess(response, { message, data: { token, user, expires_at: expiresAt } })
}

function userOf({ userId, userName, email, companyId }: SyncSession): CompanyUser {
  return { id: userId, name: userName, email, company_id: companyId }
}

/** Connection check of a till: user and server time. */
export const statusRoute: SyncRoute = {
  ...SYNC_OPERATIONS.status,
  async handle(_request, response) {
    const { now, companyId, userId, userName } = getTillSession(response)
    sendSuccess(response, {
      server_time: now,
      company_id: companyId,
      user_id: userId,
      user_name: userName,
      version: SYNC_VERSION,
      till: response.locals.till ?? null,
    })
  },
}

/** The company, its payment types and the logged-in user. */
export const configRoute = (poolOf: PoolOf, publicUrl: string): SyncRoute => ({
  ...SYNC_OPERATIONS.config,
  async handle(_request, response) {
    const { companyId, userId } = getTillSession(response)
    const config = await getConfig(fullReader(poolOf(companyId), companyId), userId, publicUrl)
    sendJson(response, 200, `{"success":true,"data":${config}}`)
  },
})
