import express, { type Express } from 'express'
import helmet from 'helmet'
import type { Core } from '../core.ts'
import { type ApiOptions, apiV1, V1_ROUTES } from './api-v1.ts'
import { serveDocs } from './docs/serve.ts'
import { health } from './health.ts'
import { failures, type LogFailure } from './middleware/failures.ts'
import { requestId } from './middleware/request-id.ts'
import { type NotificationOptions, notificationReceiver } from './notifications/receiver.ts'
import { Problem } from './problems.ts'
import { type SyncOptions, syncRouter } from './sync/router.ts'

export interface AppOptions extends ApiOptions, SyncOptions, NotificationOptions {
  /** Express's setting: whom to believe X-Forwarded-* from. */
  readonly trustProxy: string | boolean | number
  readonly isStopping: () => boolean
  readonly health: Core['health']
  readonly log: LogFailure
}

/** The HTTP interface as a function of what it depends on. */
export function createApp(options: AppOptions): Express {
  const app = express()
  app.set('trust proxy', options.trustProxy)
  app.set('etag', false)
  app.disable('x-powered-by')
  app.use(requestId(options.newId))
  app.use('/health', health(options.health, options.isStopping))
  app.use(helmet())
  app.use('/docs', serveDocs(V1_ROUTES))
  app.use('/api/v1', apiV1(options))
  app.use('/api', syncRouter(options))
  app.use('/webhook', notificationReceiver(options))
  app.use((_request, _response, next) => next(new Problem('not_found')))
  app.use(failures(options.log))
  return app
}
