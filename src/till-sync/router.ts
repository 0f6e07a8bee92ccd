import express, { type RequestHandler, type Response, type Router } from 'express'
import type { ApiAuthenticator } from '#access/api-authenticator.ts'
import { type ChargeBytes, chargeOrRefuse, chargeRead, declaredBytes } from '#http/middleware/body-bytes.ts'
import {
  type BodyBudget,
  companyBodyBudget,
  jsonBodyUpTo,
  unauthenticatedBodyBudget,
} from '#http/middleware/json-body.ts'
import { limitLargeRequests } from '#http/middleware/large-requests.ts'
import { routed } from '#http/middleware/observe.ts'
import { problemHandler } from '#http/middleware/problem-handler.ts'
import { requireHttps } from '#http/middleware/transport.ts'
import { limitUnauthenticatedBy } from '#http/middleware/unauthenticated-clients.ts'
import { Problem } from '#http/problems.ts'
import type { Services } from '#services.ts'
import { answerSyncProblem } from './answer.ts'
import { authRoutes, requireToken, requireTokenStill, tillSessionOf } from './auth.ts'
import { cashRoute } from './cash.ts'
import { productRoutes } from './products.ts'
import { returnsRoute } from './returns.ts'
import type { SyncRoute } from './route.ts'
import { configRoute, statusRoute } from './till.ts'
import { uploadRoute } from './upload.ts'

/**
 * The sync interface of tills: all of /api except API v1, so unknown paths get its error shape too. It serves every
 * company, with or without the API add-on.
 */
/** What the sync interface is given. */
type SyncServices = Pick<Services, 'reads' | 'writer' | 'access' | 'environment' | 'limits' | 'traffic' | 'log'>

export function syncRouter(services: SyncServices): Router {
  const { access, limits, traffic } = services
  const router = express.Router({ caseSensitive: true, strict: true })
  const limitAnonymous = limitUnauthenticatedBy(limits.addresses)
  // An unknown route answers without authentication, so the request counts as unauthenticated.
  const refuse =
    (problem: Problem): RequestHandler =>
    async (request, response) => {
      await limitAnonymous(request, response)
      throw problem
    }
  const authenticated = requireToken({ ...access, addresses: limits.addresses })
  router.use(forbidCaching, requireHttps(limitAnonymous))
  const limitLarge = limitLargeRequests(traffic.largeCalls)
  const [companyBudget, loginBudget] = [
    companyBodyBudget(traffic.bodies),
    unauthenticatedBodyBudget(traffic.unauthenticatedBodies.tillLogins),
  ]
  const bodyReaders = (isOpen: true | undefined, limit: number): RequestHandler[] =>
    isOpen ? jsonBodyUpTo(limit, loginBudget) : countBodyBytes(limit, companyBudget, access.authenticator)
  for (const route of routesOf(services)) {
    const readBody = route.bodyBytes ? bodyReaders(route.isOpen, route.bodyBytes) : []
    const recheckToken = route.bodyBytes ? [requireTokenStill(access.tokens)] : []
    const middleware = route.isOpen ? readBody : [authenticated, limitLarge, ...readBody, ...recheckToken]
    const handlers = router.route(route.path).all(routed(`/api${route.path}`))
    handlers[route.method](...middleware, (request, response) => route.handle(request, response))
    const Allow = route.method === 'get' ? 'GET, HEAD' : 'POST'
    handlers.all(refuse(new Problem('method_not_allowed', undefined, { Allow })))
  }
  router.use(refuse(new Problem('not_found')))
  router.use(problemHandler(services.log, answerSyncProblem))
  return router
}

/** Counts a body against its company before it is read, or afterwards if its size is unknown before. */
function countBodyBytes(limit: number, room: BodyBudget, authenticator: ApiAuthenticator): RequestHandler[] {
  const charge: ChargeBytes = (companyId, bytes) => authenticator.charge(companyId, bytes)
  const companyOf = (response: Response) => tillSessionOf(response).companyId
  const chargeDeclared: RequestHandler = async (request, response, next) => {
    const bytes = declaredBytes(request, limit)
    if (bytes !== null) await chargeOrRefuse(charge, response, companyOf(response), bytes)
    next()
  }
  return [chargeDeclared, ...jsonBodyUpTo(limit, room, chargeRead(charge, companyOf, limit))]
}

const routesOf = ({ access, reads: { poolOf }, environment, traffic, writer, log }: SyncServices): SyncRoute[] => [
  ...authRoutes(access),
  statusRoute,
  configRoute(poolOf, environment.publicUrl),
  ...productRoutes(poolOf, traffic.outgoing),
  uploadRoute({ poolOf, writer, log }),
  returnsRoute({ writer, log }),
  cashRoute({ writer, log }),
]

/** Answers contain tokens and personal data. */
const forbidCaching: RequestHandler = (_request, response, next) => {
  response.setHeader('Cache-Control', 'no-store')
  next()
}
