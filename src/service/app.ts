import type { Server } from 'node:http'
import express, { type Request, type RequestHandler, type Router } from 'express'
import type { AddressLimit } from '#access/minute-limit.ts'
import { apiV1, V1_ROUTES } from '#api/api-v1.ts'
import { contractOf } from '#api/contract/document.ts'
import { eventReference } from '#api/docs/event-reference.ts'
import type { ReferencePage } from '#api/docs/guide-pages.tsx'
import { serveDocs, serveHome } from '#api/docs/serve.ts'
import type { PublishedContract } from '#api/docs/site.ts'
import { serveProofKeys } from '#api/proof-keys.ts'
import { serveVerifier } from '#api/verifier-file.ts'
import { CHECKOUT } from '#domain/payment-link.ts'
import { EVENT_AREAS } from '#events/catalogue.ts'
import { serveFavicons } from '#http/favicon.ts'
import { type ObservedRequest, observe, requestId, traced } from '#http/middleware/observe.ts'
import { type AnswerProblem, answerProblem, type LogError, problemHandler } from '#http/middleware/problem-handler.ts'
import { securityHeaders } from '#http/middleware/security-headers.ts'
import { foldForwardedProto, requireHost } from '#http/middleware/transport.ts'
import { answerCounted } from '#http/middleware/unauthenticated-clients.ts'
import { Problem } from '#http/problems.ts'
import { type ServerLimits, serverOf } from '#http/server.ts'
import type { TlsFiles } from '#http/tls.ts'
import { RECEIPT_PAGE } from '#integrity/proofs/receipt.ts'
import { answerPanelFailure as answerVisitor } from '#panel/answer.tsx'
import { PANEL } from '#panel/link.ts'
import { panel } from '#panel/panel.ts'
import { PANEL_ROUTES } from '#panel/routes.ts'
import { notificationReceiver } from '#payment-notifications/receiver.ts'
import { answerCheckoutFailure as answerBuyer } from '#public-pages/checkout/answer.tsx'
import { checkout } from '#public-pages/checkout/checkout.ts'
import { PICTURES, servePictures } from '#public-pages/pictures.ts'
import { serveVerificationPage } from '#public-pages/receipt/receipt-page.ts'
import { type MetricsOptions, serveMetrics } from '#service/metrics/serve.ts'
import type { Services } from '#services.ts'
import { answerSyncProblem as answerTill } from '#till-sync/answer.ts'
import { syncRouter } from '#till-sync/router.ts'
import { permissionReference } from './contracts/permission-reference.ts'
import { settingsReference } from './contracts/settings-reference.ts'
import { serveTillContract, tillContractOf } from './contracts/till-contract.ts'
import { type CheckHealth, probes } from './health.ts'

export interface AppOptions {
  /** Express's `trust proxy`: the proxies trusted for X-Forwarded-*. */
  readonly trustProxy: string | boolean | number
  /** Limit of clients without a key or login, shown by answers of API v1 to requests that were not counted before. */
  readonly addresses: AddressLimit
  /** Generates the UUID of a request. */
  readonly newId: () => string
  readonly isStopping: () => boolean
  /** Whether a newer version has replaced this process. */
  readonly isOver?: () => boolean
  /** Called after each request has ended. */
  readonly onAnswered?: (call: ObservedRequest) => void
  /** Without it there is no /metrics. */
  readonly figures?: MetricsOptions
  /** Production limits by default. */
  readonly limits?: ServerLimits
  /** Certificate and key, if the service terminates HTTPS itself. */
  readonly tls?: TlsFiles | null
  /** Called when a renewed certificate is unusable. */
  readonly onTlsError?: (error: unknown) => void
  readonly log: LogError
}

/** HTTP server of a process, independent of its roles. */
export interface App {
  /** Before `open`, it answers health probes and metrics, and 503 to everything else. */
  readonly server: Server
  /** Starts serving the interfaces, if the process has any, and reporting its health. */
  open(health: CheckHealth, interfaces?: RequestHandler): void
}

const RETRY_AFTER_SECONDS = '5'

export function createApp(options: AppOptions): App {
  const {
    trustProxy,
    addresses,
    newId,
    isStopping,
    isOver = () => false,
    onAnswered,
    figures,
    limits,
    tls = null,
    onTlsError,
    log,
  } = options
  let health: CheckHealth | null = null
  const answerInShape = createAnswers(addresses)
  const app = express()
  app.set('trust proxy', trustProxy)
  app.set('etag', false)
  app.disable('x-powered-by')
  if (onAnswered) app.use(observe(onAnswered))
  app.use(requestId(newId), traced)
  app.use(securityHeaders, foldForwardedProto, requireHost)
  app.use(
    '/health',
    probes(
      async () => (health ? health() : { parts: { service: 'starting' } }),
      () => isStopping() || isOver(),
    ),
  )
  if (figures) app.all('/metrics', serveMetrics(figures))
  const unavailableUnlessOpen: RequestHandler = (_request, response, next) => {
    if (health && !isOver()) next()
    else answerInShape(response, new Problem('unavailable', undefined, { 'Retry-After': RETRY_AFTER_SECONDS }))
  }
  app.use(unavailableUnlessOpen)
  return {
    server: serverOf(app, {
      newId,
      answer: answerInShape,
      addresses,
      tls,
      ...(onTlsError && { onTlsError }),
      ...(limits && { limits }),
    }),
    open(found, interfaces) {
      if (interfaces) app.use(interfaces)
      app.use((_request, _response, next) => next(new Problem('not_found')))
      app.use(problemHandler(log, answerInShape))
      health = found
    },
  }
}

/** The contracts that /docs shows. */
export const publishedContracts = (publicUrl: string): PublishedContract[] => [
  { contract: contractOf(V1_ROUTES, publicUrl), path: '/api/v1/openapi.json', credential: 'KEY' },
  { contract: tillContractOf(publicUrl), path: '/api/openapi.json', credential: 'TOKEN' },
]

/** The references that /docs shows. */
export const publishedReferences = (): ReferencePage[] => [
  ...eventReference(EVENT_AREAS),
  ...permissionReference(PANEL_ROUTES),
  settingsReference(),
]

/** Router of all interfaces for clients. */
export function interfaceRouter(services: Services): Router {
  const router = express.Router()
  router.use(PANEL, panel(services))
  router.use(CHECKOUT, checkout(services))
  router.use(PICTURES, servePictures(services))
  router.use(RECEIPT_PAGE, serveVerificationPage(services))
  router.use(serveFavicons())
  const { environment, limits, proofs, traffic } = services
  const documents = { addresses: limits.addresses, compress: traffic.compress, publicUrl: environment.publicUrl }
  router.all('/', serveHome({ panel: PANEL, receipts: RECEIPT_PAGE }, documents))
  router.use(
    '/docs',
    serveDocs(
      { contracts: () => publishedContracts(environment.publicUrl), references: publishedReferences() },
      documents,
    ),
  )
  router.all('/proof/keys', serveProofKeys({ proof: proofs.proof, addresses: limits.addresses }))
  router.all('/tillbook-verify.mjs', serveVerifier(documents))
  router.use('/api/v1', apiV1(services))
  router.all('/api/openapi.json', serveTillContract(documents))
  router.use('/api', syncRouter(services))
  router.use('/webhook', notificationReceiver(services))
  return router
}

const OF_API = /^(?:https?:\/\/[^/]*)?\/api\/v1(?![^/?])/i

/** Paths below /api outside API v1 belong to tills and get their error shape. A request line may hold a whole URL. */
const OF_TILLS = /^(?:https?:\/\/[^/]*)?\/api(?!\/v1(?![^/?]))(?![^/?])/i

const OF_VISITORS = new RegExp(`^${PANEL}(?![^/?])`)
const OF_BUYERS = new RegExp(`^${CHECKOUT}(?![^/?])`)

/** A browser that opens an address; programs accept anything, or JSON. */
const isOfPerson = (request: Request): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') && request.accepts(['json', 'html']) === 'html'

/** Answers a request that reached no interface, in the error shape of the one it addressed. */
function createAnswers(addresses: AddressLimit): AnswerProblem {
  const answerIntegrator = answerCounted(addresses, answerProblem)
  return (response, problem) => {
    const { originalUrl } = response.req
    if (OF_API.test(originalUrl)) answerIntegrator(response, problem)
    else if (OF_TILLS.test(originalUrl)) answerTill(response, problem)
    else if (OF_VISITORS.test(originalUrl)) answerVisitor(response, problem)
    else if (OF_BUYERS.test(originalUrl)) answerBuyer(response, problem)
    else if (isOfPerson(response.req)) answerVisitor(response, problem)
    else answerProblem(response, problem)
  }
}
