import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import express, { type RequestHandler, type Router } from 'express'
import type { AddressLimit } from '#access/login-limits.ts'
import { sendJson } from '#http/answers.ts'
import { projectFile } from '#http/assets.ts'
import { chargeRead, companyBodyBudget, jsonBodyUpTo, limitLargeRequests } from '#http/bodies.ts'
import { forbidCaching, limitUnauthenticatedBy, mountRoutes, publicDocument, requireHttps } from '#http/edge.ts'
import { problemOfReason } from '#http/problems.ts'
import { formatVkey, verifierKey } from '#integrity/note.ts'
import type { ProofServices } from '#integrity/sale-receipts.ts'
import { groupBy } from '#lib/collections.ts'
import { type ApiServices, authenticate, getCaller, MAX_BODY_BYTES, type Route, requireScope } from './api-route.ts'
import { serveContract } from './contract/contract-document.ts'
import { createHandler } from './handlers.ts'
import { logRequests } from './request.ts'
import { financeRoutes } from './v1/account-routes.ts'
import { meRoute, requestRoutes, testCompanyRoutes } from './v1/company-routes.ts'
import { eventRoutes, eventStreamRoute } from './v1/event-routes.ts'
import { cashSessionRoutes } from './v1/finance-routes.ts'
import { goodsReceiptRoutes } from './v1/goods-receipt-routes.ts'
import { catalogRoutes } from './v1/item-routes.ts'
import { orderRoutes } from './v1/order-routes.ts'
import { customerRoutes, supplierRoutes } from './v1/person-routes.ts'
import { priceChangeRoutes } from './v1/price-change-routes.ts'
import { proofRoutes } from './v1/proof-routes.ts'
import { returnRoutes } from './v1/return-routes.ts'
import { saleRoutes } from './v1/sale-routes.ts'
import { stockRoutes } from './v1/stock-routes.ts'
import { storeRoutes, tillRoutes } from './v1/store-routes.ts'
import { deliveryRoutes, webhookRoutes } from './v1/webhook-routes.ts'

interface KeysOptions {
  readonly proof: Pick<ProofServices, 'keys' | 'log'>
  readonly addresses: AddressLimit
}

/** `GET /proof/keys`: the key ring for verifiers, without authentication, limited by address. */
export function serveProofKeys({ proof, addresses }: KeysOptions): RequestHandler {
  return publicDocument(limitUnauthenticatedBy(addresses), async (_request, response) => {
    const [entries, name] = await Promise.all([proof.keys(), proof.log()])
    const log = entries.length > 0 ? name : null
    const keys = entries.map((entry) => ({ ...entry, log_vkey: formatVkey(verifierKey(name, entry.public_key)) }))
    response.setHeader('Cache-Control', 'no-store')
    sendJson(response, 200, JSON.stringify({ log, keys }))
  })
}

const HOUR_SECONDS = 3_600

/**
 * `GET /tillbook-verify.mjs`: the verifier's source with its SHA-256 (RFC 9530), without authentication, limited by
 * address.
 */
export function serveVerifier({ addresses }: { readonly addresses: AddressLimit }): RequestHandler {
  const bytes = readFileSync(projectFile('verifier/tillbook-verify.mjs'))
  const digest = createHash('sha256').update(bytes).digest('base64')
  return publicDocument(limitUnauthenticatedBy(addresses), (_request, response) => {
    response.setHeader('Content-Type', 'text/javascript; charset=utf-8')
    response.setHeader('Content-Disposition', 'attachment; filename="tillbook-verify.mjs"')
    response.setHeader('Cache-Control', `public, max-age=${HOUR_SECONDS}`)
    response.setHeader('Repr-Digest', `sha-256=:${digest}:`)
    response.send(bytes)
  })
}

/** All resources of API v1. */
export const V1_ROUTES: readonly Route[] = [
  meRoute,
  ...catalogRoutes,
  ...stockRoutes,
  ...goodsReceiptRoutes,
  ...priceChangeRoutes,
  ...customerRoutes,
  ...supplierRoutes,
  ...financeRoutes,
  ...saleRoutes,
  ...cashSessionRoutes,
  ...returnRoutes,
  ...orderRoutes,
  ...storeRoutes,
  ...tillRoutes,
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
  router.use(authenticatedRoutes(services))
  return router
}

/** The routes for requests that were authenticated: scope, body, and the handler of each. */
export function authenticatedRoutes(services: ApiServices): Router {
  const { access, traffic } = services
  const router = express.Router(EXACT)
  const readBody = [
    limitLargeRequests(traffic.largeCalls),
    ...jsonBodyUpTo(
      MAX_BODY_BYTES,
      companyBodyBudget(traffic.bodies),
      chargeRead(access.authenticator.charge, (response) => getCaller(response).companyId, MAX_BODY_BYTES),
      PICTURE_PATH,
    ),
  ]
  const routes = V1_ROUTES.map((route) => {
    const { method, path, scope, alsoScope = null } = route
    return {
      method,
      path,
      handlers: [requireScope(scope), requireScope(alsoScope), ...readBody, createHandler(route, services)],
    }
  })
  const areas = new Map<string, Router>()
  for (const [area, ofArea] of groupBy(routes, ({ path }) => areaOf(path)))
    areas.set(area, mountRoutes(express.Router(EXACT), '/api/v1', ofArea))
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
