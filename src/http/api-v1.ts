import express, { type RequestHandler, type Router } from 'express'
import type { AddressLimit } from '../access/address-limit.ts'
import type { Admitted, Gate } from '../access/quota.ts'
import { handlerOf, type RouteContext } from './handlers.ts'
import { authenticate, limitStrangers } from './middleware/authenticate.ts'
import { jsonBody } from './middleware/json-body.ts'
import { requireHttps } from './middleware/require-https.ts'
import { Problem } from './problems.ts'
import type { Route } from './route.ts'
import { catalogRoutes } from './v1/catalog.ts'
import { customerRoutes } from './v1/customers.ts'
import { meRoute } from './v1/me.ts'
import { saleRoutes } from './v1/sales.ts'

/** All resources of API v1. Fixed paths stand before those with an id. */
export const V1_ROUTES: readonly Route[] = [meRoute, ...catalogRoutes, ...customerRoutes, ...saleRoutes]

export interface ApiOptions extends RouteContext {
  readonly gate: Gate
  readonly addresses: AddressLimit
}

/** API v1: every call is secured, admitted and counted before its path is even looked at. */
export function apiV1(options: ApiOptions): Router {
  const router = express.Router({ caseSensitive: true, strict: true })
  router.use(requireHttps(limitStrangers(options.addresses)), authenticate(options.gate, options.addresses))
  for (const route of V1_ROUTES) {
    router[route.method](route.path, requireScope(route), jsonBody, handlerOf(route, options))
  }
  for (const [path, methods] of methodsByPath()) {
    router.all(path, (_request, _response, next) =>
      next(new Problem('method_not_allowed', undefined, { Allow: methods.join(', ') })),
    )
  }
  router.use((_request, _response, next) => next(new Problem('not_found')))
  return router
}

function methodsByPath(): Map<string, string[]> {
  const methods = new Map<string, string[]>()
  for (const { path, method } of V1_ROUTES) {
    const known = methods.get(path) ?? []
    methods.set(path, [...known, ...(method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()])])
  }
  return methods
}

function requireScope({ scope }: Route): RequestHandler {
  return (_request, response, next) => {
    const { scopes } = response.locals.admission as Admitted
    if (scope === null || scopes.includes(scope)) next()
    else next(new Problem('insufficient_scope', { missing_scope: scope }))
  }
}
