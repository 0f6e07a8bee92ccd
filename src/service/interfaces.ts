import type { Server } from 'node:http'
import { join } from 'node:path'
import express, { type Request, type RequestHandler, type Router } from 'express'
import { createAccess, createLimits, type Limits } from '#access/access.ts'
import type { QuotaLimits } from '#access/api-authenticator.ts'
import { createMailer } from '#access/email.ts'
import { type AddressLimit, createAddressLimit } from '#access/login-limits.ts'
import { SHARED } from '#access/shared-links.ts'
import { apiV1, serveProofKeys, serveVerifier, V1_ROUTES } from '#api/api-v1.ts'
import { createContract } from '#api/contract/contract-document.ts'
import type { ReferencePage } from '#api/docs/docs-guides.tsx'
import type { PublishedContract } from '#api/docs/docs-page.tsx'
import { serveDocs } from '#api/docs/docs-site.ts'
import { eventReference } from '#api/docs/docs-webhooks.tsx'
import { type Config, createEnvironment, documentedSettings } from '#config/config.ts'
import type { ProcessRole } from '#config/setting-values.ts'
import { CHECKOUT } from '#domain/order-states.ts'
import { EVENT_AREAS } from '#events/catalogue.ts'
import { sendJson } from '#http/answers.ts'
import { serveFavicons } from '#http/assets.ts'
import {
  type AnswerProblem,
  answerCounted,
  answerProblem,
  foldForwardedProto,
  type ObservedRequest,
  observe,
  problemHandler,
  requestId,
  requireHost,
  securityHeaders,
  traceRequest,
} from '#http/edge.ts'
import { createLiveUpdates } from '#http/live-updates.ts'
import { Problem } from '#http/problems.ts'
import { createRequestLog } from '#http/request-log.ts'
import { createAppServer, type ServerLimits, type TlsFiles } from '#http/server.ts'
import { createTraffic } from '#http/traffic.ts'
import type { LedgerReads } from '#integrity/as-of.ts'
import type { Inconsistency } from '#integrity/installation-check.ts'
import { RECEIPT_PAGE } from '#integrity/sale-receipts.ts'
import type { LogError } from '#lib/errors.ts'
import { agentInterface, MCP } from '#mcp/mcp.ts'
import { PANEL } from '#panel/page-context.ts'
import { panel } from '#panel/panel.ts'
import { answerPanelFailure as answerVisitor } from '#panel/panel-answer.tsx'
import { PANEL_ROUTES } from '#panel/routes.ts'
import { sharedPages } from '#panel/shared-pages.tsx'
import { answerCheckoutFailure as answerBuyer, CHECKOUTS_PER_MINUTE, checkout } from '#public/checkout.tsx'
import { FRONT_FILES, serveFrontFiles, serveFrontPage } from '#public/front-page.tsx'
import { NOTIFICATIONS_PER_MINUTE, notificationReceiver } from '#public/payment-notifications.ts'
import { PICTURES, PICTURES_PER_MINUTE, servePictures, serveTillApp, TILL_APP } from '#public/public-files.ts'
import { serveVerificationPage } from '#public/receipt-page.tsx'
import type { Services } from '#services.ts'
import { answerSyncProblem as answerTill } from '#till-sync/till-answers.ts'
import { syncRouter } from '#till-sync/till-routes.ts'
import { createEventFeed } from '#webhooks/event-feed.ts'
import { createTillContract, permissionReference, serveTillContract } from './contracts.ts'
import type { Core } from './core.ts'
import { countedAuthenticator, type Metrics, type MetricsOptions, serveMetrics } from './metrics.ts'
import type { RunningRole, SharedServices } from './process-roles.ts'

/** Health of a process. */
export interface HealthReport {
  /** States of its dependencies, by name: `up`, or why the process cannot serve. */
  readonly parts: Readonly<Record<string, string>>
  /** Ledgers that take no writes. Other processes are affected too, so this does not make the process unready. */
  readonly ledgers_ahead_of_clock?: number
  /** Companies that are read-only because keys of their persons are missing. Other processes are affected too. */
  readonly read_only_without_keys?: number
  /** Connected stores of which the payment provider refused to renew the access token. */
  readonly store_connections_refused?: number
  /**
   * States of the read replicas, by their position in READ_URLS. An unused replica does not make the process unready.
   */
  readonly replicas?: Readonly<Record<string, string>>
  /** Reason for the write block of the installation; reads continue. */
  readonly installation?: Inconsistency
}

export type CheckHealth = () => Promise<HealthReport>

/** A process that only delivers does not depend on the event store. */
export function createHealthCheck(
  roles: readonly ProcessRole[],
  core: Pick<Core, 'health' | 'ledgersAhead' | 'missingKeys'> & Partial<Pick<Core, 'replicas'>>,
  inconsistency: () => Inconsistency | null = () => null,
  refusedConnections: () => Promise<number> = async () => 0,
): CheckHealth {
  const needsStore = roles.some((role) => role !== 'dispatcher')
  return async () => {
    const [{ postgres, ...others }, ahead, withoutKeys, refused] = await Promise.all([
      core.health(),
      core.ledgersAhead().catch(() => 0),
      core.missingKeys().catch(() => []),
      refusedConnections().catch(() => 0),
    ])
    const parts = { postgres: postgres ?? 'down', ...(needsStore && others) }
    const installation = inconsistency()
    const { replicas = [] } = core
    const states = Object.fromEntries(replicas.map(({ name, state }) => [name, state]))
    const read = replicas.length > 0 && { replicas: states }
    return {
      parts,
      ...read,
      ...(ahead > 0 && { ledgers_ahead_of_clock: ahead }),
      ...(withoutKeys.length > 0 && { read_only_without_keys: withoutKeys.length }),
      ...(refused > 0 && { store_connections_refused: refused }),
      ...(installation && { installation }),
    }
  }
}

/** `/health/live`: the process runs. `/health/ready`: it can serve, or the answer names the part that is down. Neither needs a key. */
export function probes(health: CheckHealth, isStopping: () => boolean): Router {
  const router = express.Router()
  router.get('/live', (_request, response) => sendJson(response, 200, '{"status":"live"}'))
  router.get('/ready', async (_request, response) => {
    const { parts, ...rest } = await health()
    const isReady = Object.values(parts).every((state) => state === 'up') && !isStopping()
    const body = {
      status: isReady ? 'ready' : 'not_ready',
      parts: { ...parts, ...(isStopping() ? { service: 'stopping' } : {}) },
      ...rest,
    }
    sendJson(response, isReady ? 200 : 503, JSON.stringify(body))
  })
  return router
}

export interface Interfaces extends RunningRole {
  readonly services: Services
  /**
   * Ends requests that have no natural end, such as streams of open pages. Called before the shutdown waits for
   * requests.
   */
  leave(): Promise<void>
}

type InterfaceFigures = Pick<Metrics, 'onPage' | 'onNotified' | 'onBytes' | 'watchPool' | 'watchShared'>

interface InterfaceDependencies
  extends Pick<SharedServices, 'config' | 'core' | 'databaseUrl' | 'provider' | 'connector' | 'log'> {
  readonly metrics: InterfaceFigures
  /** That of `openAddressLimit`. */
  readonly addresses: AddressLimit
}

/** Limit of clients without a key or login, for all answers of a process. */
export const openAddressLimit = (config: Config): AddressLimit => createAddressLimit(limitsOf(config))

/** Creates what the interfaces are given. Stopped after the last request was answered. */
export function openInterfaces(dependencies: InterfaceDependencies): Interfaces {
  const { config, core, databaseUrl, provider, connector, metrics, addresses, log } = dependencies
  const { pool, vault, writer, requestSecret } = core
  const mailer = config.SMTP_URL === undefined ? null : createMailer(config.SMTP_URL, config.SMTP_FROM)
  const environment = createEnvironment(config)
  const limits = openLimits(config, addresses)
  const access = createAccess({
    ...{ pool, gate: core.gate, writer, vault, mailer, publicUrl: environment.publicUrl, limits, requestSecret, log },
    found: core.found,
    tillRequestsPerMinute: config.SYNC_QUOTA_PER_MINUTE,
    tokenDays: config.SYNC_TOKEN_DAYS ?? null,
  })
  const live = createLiveUpdates({
    databaseUrl,
    pool,
    onError: (error) => log('live: listening for updates failed, will retry', error),
  })
  const feed = createEventFeed({ ...core, live })
  metrics.watchShared('event_streams', feed)
  const calls = createRequestLog({ pool, onError: (error) => log('request log: entries not written', error) })
  const { onPage, onNotified, watchShared } = metrics
  const { publicUrl } = environment
  return {
    services: {
      reads: ledgerReadsOf(core),
      writer,
      proofs: { verifier: core.verifier, prover: core.prover, proof: core.proof },
      installation: { check: core.installationCheck, requestSecret, found: core.found },
      access: { ...access, authenticator: countedAuthenticator(access.authenticator, metrics) },
      payments: { pool, vault, writer, provider, connector, publicUrl, onNotified },
      webhooks: { feed, notifier: core.deliveryNotifier },
      live,
      environment,
      limits,
      traffic: createTraffic({ cacheMebibytes: config.PAGE_CACHE_MIB, onPage, calls, watchShared }),
      log,
    },
    leave: live.close,
    async stop() {
      await calls.stop()
      mailer?.close()
    },
  }
}

function ledgerReadsOf(core: LedgerReads): LedgerReads {
  const { pool, poolOf, readsOf, store, model, keys, vault, asOf, paymentLinks } = core
  return { pool, poolOf, readsOf, store, model, keys, vault, asOf, paymentLinks }
}

const openLimits = (config: Config, addresses: AddressLimit): Limits =>
  createLimits({
    quota: limitsOf(config),
    panel: {
      ofSession: config.PANEL_QUOTA_PER_SESSION,
      ofUser: config.PANEL_QUOTA_PER_USER,
      ofCompany: config.PANEL_QUOTA_PER_COMPANY,
    },
    addresses,
    checkouts: CHECKOUTS_PER_MINUTE,
    pictures: PICTURES_PER_MINUTE,
    notifications: NOTIFICATIONS_PER_MINUTE,
  })

const limitsOf = (config: Config): QuotaLimits => ({
  perMinute: config.QUOTA_PER_MINUTE,
  perDay: config.QUOTA_PER_DAY,
  bytesPerDay: config.QUOTA_BYTES_PER_DAY,
})

/**
 * Creates the demonstration companies if the settings ask for them. Returns the file with their credentials; null if
 * there are none. Runs only after all events of an external event store are applied: existing companies would be
 * created again otherwise.
 */
export async function seed({ core, config, seedDemo, log }: SharedServices): Promise<string | null> {
  if (!config.SEED_DEMO || core.installationCheck.inconsistency()) return null
  const { event_store = 'up' } = await core.health()
  if (event_store !== 'up') {
    log('demo: companies not created, the next start will retry', new Error(`the event store is ${event_store}`))
    return null
  }
  const demoFile = join(config.DATA_DIR, 'demo.json')
  return (await seedDemo(core, { baseUrl: config.PUBLIC_URL, demoFile })) ? demoFile : null
}

const HEADER = `# Settings

Settings are environment variables, read once at the start; the command line reads the same. An empty value counts as absent.
A wrong value is named on standard error without its text, and the process exits with 2.
`

/** Every setting with its default, format and meaning. */
export function settingsReference(): ReferencePage {
  const sections = documentedSettings().map(([section, settings]) => {
    const rows = settings.map(
      ({ name, default: shown, format, about }) =>
        `| \`${name}\` | ${shown === undefined ? '–' : `\`${shown}\``} | ${about}. Format: ${format} |\n`,
    )
    return `## ${section}\n\n| Setting | Default | Meaning |\n|---|---|---|\n${rows.join('')}`
  })
  return { path: '/docs/settings', lang: 'en', text: () => [HEADER, ...sections].join('\n') }
}

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
  app.use(requestId(newId), traceRequest)
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
    server: createAppServer(app, {
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
  { contract: createContract(V1_ROUTES, publicUrl), path: '/api/v1/openapi.json', credential: 'KEY' },
  { contract: createTillContract(publicUrl), path: '/api/openapi.json', credential: 'TOKEN' },
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
  router.use(SHARED, sharedPages(services))
  router.use(PICTURES, servePictures(services))
  router.use(RECEIPT_PAGE, serveVerificationPage(services))
  router.use(TILL_APP, serveTillApp())
  router.use(serveFavicons())
  const { environment, limits, proofs, traffic } = services
  const documents = { addresses: limits.addresses, compress: traffic.compress, publicUrl: environment.publicUrl }
  router.all('/', serveFrontPage(services, { panel: PANEL, till: TILL_APP, receipts: RECEIPT_PAGE }))
  router.use(FRONT_FILES, serveFrontFiles())
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
  router.use(MCP, agentInterface(services))
  return router
}

const OF_API = /^(?:https?:\/\/[^/]*)?\/(?:api\/v1|mcp)(?![^/?])/i

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
