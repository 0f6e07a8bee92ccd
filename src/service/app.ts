import express, { type Express } from 'express'
import helmet from 'helmet'
import { type ApiOptions, apiV1, V1_ROUTES } from '#api/api-v1.ts'
import { serveDocs } from '#api/docs/serve.ts'
import { health, type ProbeOptions } from '#http/health.ts'
import { failures, type LogFailure } from '#http/middleware/failures.ts'
import { type Call, observe } from '#http/middleware/observe.ts'
import { requestId } from '#http/middleware/request-id.ts'
import { requireHost } from '#http/middleware/require-host.ts'
import { Problem } from '#http/problems.ts'
import { createMemoryBudget, type MemoryLimits } from '#lib/memory-budget.ts'
import { type MetricsOptions, serveMetrics } from '#metrics/serve.ts'
import { PANEL } from '#panel/link.ts'
import { panel } from '#panel/panel.ts'
import type { PanelContext } from '#panel/route.ts'
import { type NotificationOptions, notificationReceiver } from '#payment-notifications/receiver.ts'
import { type SyncOptions, syncRouter } from '#sync/router.ts'
import { answerInShape } from './shapes.ts'

/** What every process answers with, whatever its roles. */
export interface BaseOptions extends ProbeOptions {
  /** Express's setting: whom to believe X-Forwarded-* from. */
  readonly trustProxy: string | boolean | number
  /** A uuid for each request. */
  readonly newId: () => string
  /** Hears of each call that has ended. */
  readonly onAnswered?: (call: Call) => void
  /** Without it there is no /metrics. */
  readonly figures?: MetricsOptions
}

export interface InterfaceOptions extends ApiOptions, SyncOptions, NotificationOptions, PanelContext {}

/** What callers' bodies may take in memory, until they are answered. A body has 1 MB, a till's list 5. */
const BODIES: MemoryLimits = { allBytes: 64 * 1_048_576, companyBytes: 32 * 1_048_576 }

export const createBodies = () => createMemoryBudget(BODIES)

export interface AppOptions extends BaseOptions, InterfaceOptions {
  readonly newId: () => string
  readonly log: LogFailure
}

/** The HTTP interface as a function of what it depends on. */
export function createApp(options: AppOptions): Express {
  const app = createBase(options)
  addInterfaces(app, options)
  completeApp(app, options.log)
  return app
}

/** An app with an id for each request, and the probes. */
export function createBase({ trustProxy, newId, onAnswered, figures, ...probing }: BaseOptions): Express {
  const app = express()
  app.set('trust proxy', trustProxy)
  app.set('etag', false)
  app.disable('x-powered-by')
  if (onAnswered) app.use(observe(onAnswered))
  app.use(requestId(newId))
  app.use(requireHost)
  app.use('/health', health(probing))
  if (figures) app.all('/metrics', serveMetrics(figures))
  return app
}

/** Adds the interfaces to a base: everything that is for callers. */
export function addInterfaces(app: Express, options: InterfaceOptions): void {
  app.use(helmet())
  app.use(PANEL, panel(options))
  app.get('/', (_request, response) => response.redirect(302, PANEL))
  app.use('/docs', serveDocs(V1_ROUTES))
  app.use('/api/v1', apiV1(options))
  app.use('/api', syncRouter(options))
  app.use('/webhook', notificationReceiver(options))
}

/** Comes last: what nobody has answered, and what went wrong. */
export function completeApp(app: Express, log: LogFailure): void {
  app.use((_request, _response, next) => next(new Problem('not_found')))
  app.use(failures(log, answerInShape))
}
