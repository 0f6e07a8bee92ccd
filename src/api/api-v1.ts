import express, { type RequestHandler, type Router } from 'express'
import type { AddressLimit } from '#access/minute-limit.ts'
import type { Admitted, Gate } from '#access/quota.ts'
import { authenticate, limitStrangers } from '#http/middleware/authenticate.ts'
import { jsonBodyUpTo, MAX_BODY_BYTES } from '#http/middleware/json-body.ts'
import { requireHttps } from '#http/middleware/require-https.ts'
import { routed } from '#http/middleware/routed.ts'
import { placeOf } from '#http/paths.ts'
import { Problem } from '#http/problems.ts'
import type { MemoryBudget } from '#lib/memory-budget.ts'
import { serveContract } from './contract/serve.ts'
import { handlerOf, type RouteContext } from './handlers.ts'
import type { Route } from './route.ts'
import { catalogRoutes } from './v1/catalog.ts'
import { customerRoutes } from './v1/customers.ts'
import { deliveryRoutes } from './v1/deliveries.ts'
import { eventRoutes } from './v1/events.ts'
import { financeRoutes } from './v1/finance.ts'
import { historyRoutes } from './v1/history.ts'
import { meRoute } from './v1/me.ts'
import { orderNotificationsRoute } from './v1/order-notifications.ts'
import { orderRoutes } from './v1/orders.ts'
import { saleRoutes } from './v1/sales.ts'
import { supplierRoutes } from './v1/suppliers.ts'
import { webhookRoutes } from './v1/webhooks.ts'

/** All resources of API v1. */
export const V1_ROUTES: readonly Route[] = [
  meRoute,
  ...catalogRoutes,
  ...customerRoutes,
  ...supplierRoutes,
  ...financeRoutes,
  ...saleRoutes,
  ...orderRoutes,
  orderNotificationsRoute,
  ...webhookRoutes,
  ...deliveryRoutes,
  ...historyRoutes,
  ...eventRoutes,
]

export interface ApiOptions extends RouteContext {
  readonly gate: Gate
  readonly addresses: AddressLimit
  /** Room for the bodies of calls. */
  readonly bodies: MemoryBudget
}

/** API v1: every call is secured, admitted and counted before its path is even looked at. */
export function apiV1(options: ApiOptions): Router {
  const router = express.Router({ caseSensitive: true, strict: true })
  const limitStranger = limitStrangers(options.addresses)
  router.use(requireHttps(limitStranger))
  router.all('/openapi.json', serveContract(V1_ROUTES, limitStranger))
  router.use(authenticate(options.gate, options.addresses))
  const jsonBody = jsonBodyUpTo(MAX_BODY_BYTES, options.bodies)
  for (const [path, routes] of routesByPath()) {
    const one = router.route(path).all(routed(`/api/v1${path}`))
    for (const route of routes) one[route.method](requireScope(route), jsonBody, handlerOf(route, options))
    const Allow = routes.flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : method.toUpperCase())).join(', ')
    one.all((_request, _response, next) => next(new Problem('method_not_allowed', undefined, { Allow })))
  }
  router.use((_request, _response, next) => next(new Problem('not_found')))
  return router
}

/** Fixed paths before those with an id in the same place: `/customers/batch` is never the customer with the id `batch`. */
function routesByPath(): [path: string, routes: Route[]][] {
  const routes = new Map<string, Route[]>()
  for (const route of V1_ROUTES) routes.set(route.path, [...(routes.get(route.path) ?? []), route])
  return [...routes].sort(([a], [b]) => (placeOf(a) < placeOf(b) ? -1 : 1))
}

function requireScope({ scope }: Route): RequestHandler {
  return (_request, response, next) => {
    const { scopes } = response.locals.admission as Admitted
    if (scope === null || scopes.includes(scope)) next()
    else next(new Problem('insufficient_scope', { missing_scope: scope }))
  }
}
