import express, { type Router } from 'express'
import { chargeRead } from '#http/middleware/body-bytes.ts'
import { companyBodyBudget, jsonBodyUpTo } from '#http/middleware/json-body.ts'
import { limitLargeRequests } from '#http/middleware/large-requests.ts'
import { routed } from '#http/middleware/observe.ts'
import { forbidCaching } from '#http/middleware/security-headers.ts'
import { requireHttps } from '#http/middleware/transport.ts'
import { limitUnauthenticatedBy } from '#http/middleware/unauthenticated-clients.ts'
import { routeSpecificity } from '#http/paths.ts'
import { Problem, problemOfReason } from '#http/problems.ts'
import { groupBy } from '#lib/group-by.ts'
import { authenticate, callerOf, requireScope } from './authenticate.ts'
import { serveContract } from './contract/document.ts'
import { handlerOf } from './handlers.ts'
import { logRequests } from './request-logging.ts'
import { type ApiServices, MAX_BODY_BYTES, type Route } from './route.ts'
import { cashSessionRoutes } from './v1/cash-sessions.ts'
import { catalogRoutes } from './v1/catalog.ts'
import { deliveryRoutes } from './v1/deliveries.ts'
import { eventStreamRoute } from './v1/event-stream.ts'
import { eventRoutes } from './v1/events.ts'
import { financeRoutes } from './v1/finance.ts'
import { meRoute } from './v1/me.ts'
import { orderRoutes } from './v1/orders.ts'
import { customerRoutes, supplierRoutes } from './v1/people.ts'
import { proofRoutes } from './v1/proofs.ts'
import { requestRoutes } from './v1/requests.ts'
import { returnRoutes } from './v1/returns.ts'
import { saleRoutes } from './v1/sales.ts'
import { stockRoutes } from './v1/stock.ts'
import { storeRoutes } from './v1/stores.ts'
import { testCompanyRoutes } from './v1/test-companies.ts'
import { webhookRoutes } from './v1/webhooks.ts'

/** All resources of API v1. */
export const V1_ROUTES: readonly Route[] = [
  meRoute,
  ...catalogRoutes,
  ...stockRoutes,
  ...customerRoutes,
  ...supplierRoutes,
  ...financeRoutes,
  ...saleRoutes,
  ...cashSessionRoutes,
  ...returnRoutes,
  ...orderRoutes,
  ...storeRoutes,
  ...webhookRoutes,
  ...deliveryRoutes,
  ...eventRoutes,
  eventStreamRoute,
  ...proofRoutes,
  ...requestRoutes,
  ...testCompanyRoutes,
]

/** Takes a picture itself instead of JSON. */
const PICTURE_PATH = /\/catalog\/items\/[^/]+\/picture(?:\?|$)/

const EXACT = { caseSensitive: true, strict: true }

/** API v1. Transport check, authentication and quota come before routing. */
export function apiV1(services: ApiServices): Router {
  const { access, limits, traffic, environment } = services
  const router = express.Router(EXACT)
  const limitAnonymous = limitUnauthenticatedBy(limits.addresses)
  router.use(forbidCaching)
  router.use(requireHttps(limitAnonymous))
  router.all('/openapi.json', serveContract(V1_ROUTES, environment.publicUrl, limitAnonymous, traffic.compress))
  router.use(logRequests(traffic.calls))
  router.use(authenticate(access.authenticator, limitAnonymous, MAX_BODY_BYTES))
  const readBody = [
    limitLargeRequests(traffic.largeCalls),
    ...jsonBodyUpTo(
      MAX_BODY_BYTES,
      companyBodyBudget(traffic.bodies),
      chargeRead(access.authenticator.charge, (response) => callerOf(response).companyId, MAX_BODY_BYTES),
      PICTURE_PATH,
    ),
  ]
  const areas = new Map<string, Router>()
  for (const [path, routes] of routesByPath()) {
    const area = areas.get(areaOf(path)) ?? express.Router(EXACT)
    areas.set(areaOf(path), area)
    const one = area.route(path).all(routed(`/api/v1${path}`))
    for (const route of routes) one[route.method](requireScope(route.scope), ...readBody, handlerOf(route, services))
    const Allow = routes.flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : method.toUpperCase())).join(', ')
    one.all((_request, _response, next) => next(new Problem('method_not_allowed', undefined, { Allow })))
  }
  router.use((request, response, next) => {
    const area = areas.get(areaOf(request.path))
    if (area) area(request, response, next)
    else next()
  })
  router.use((_request, _response, next) => next(problemOfReason('route_not_found')))
  return router
}

/**
 * First segment of a path. A request is matched only against the patterns of its segment; sales would be the 59th of
 * all patterns.
 */
const areaOf = (path: string): string => path.split('/', 2)[1] ?? ''

/**
 * Fixed paths precede those with an id in the same position: `/customers/batch` is not the customer with the id
 * `batch`.
 */
function routesByPath(): [path: string, routes: Route[]][] {
  const routes = groupBy(V1_ROUTES, ({ path }) => path)
  return [...routes].sort(([a], [b]) => (routeSpecificity(a) < routeSpecificity(b) ? -1 : 1))
}
