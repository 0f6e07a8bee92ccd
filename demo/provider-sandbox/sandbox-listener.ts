import express, { type ErrorRequestHandler } from 'express'
import { serveLocally } from '#demo/serve-locally.ts'
import { type Faults, failing, providerApi } from './sandbox-api.ts'
import { type Book, createBook } from './sandbox-book.ts'
import { sandboxConsole } from './sandbox-console.tsx'
import { type Connections, newConnections } from './sandbox-methods.ts'
import { createNotifier, type Notifier } from './sandbox-notifications.ts'
import { oauth } from './sandbox-oauth.tsx'
import { control, Refusal } from './sandbox-server.ts'

/** Simulated payment provider: the real endpoints, plus control over payments and failures. */
export interface Sandbox {
  readonly url: string
  readonly book: Book
  readonly notifier: Notifier
  readonly faults: Faults
  readonly connections: Connections
  close(): Promise<void>
}

interface SandboxOptions {
  /** 0: any free port. */
  readonly port: number
  /** Signs notifications of stores without a secret of their own; null: unsigned. */
  readonly secret: string | null
  /** Secrets of stores, by alias. */
  readonly storeSecrets?: Readonly<Record<string, string>>
  readonly liveMode?: boolean
  readonly now?: () => Date
  readonly log?: (line: string) => void
}

/** Without authentication: listens on the loopback interface only. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { port, liveMode = false, now = () => new Date(), log = () => {} } = options
  const provider = { book: createBook({ now, liveMode }), notifier: createNotifier({ ...options, now, log }), now }
  const faults: Faults = { mode: 'none', delay_ms: 0, calls: 0 }
  const connections = newConnections()
  const app = express()
  app.disable('x-powered-by')
  app.use(express.json())
  app.use('/v1', failing(faults), providerApi(provider))
  app.use(oauth(connections, now))
  app.use('/sandbox', control(provider, faults, connections))
  app.use(sandboxConsole(provider))
  app.use((_request, _response, next) => next(new Refusal(404, 'not found')))
  app.use(failures)
  const served = await serveLocally(app, port)
  return {
    url: served.url,
    ...provider,
    faults,
    connections,
    async close() {
      await provider.notifier.idle()
      await served.close()
    },
  }
}

const failures: ErrorRequestHandler = (error: Error & { status?: number }, _request, response, _next) => {
  response.status(error.status ?? 500).json({ message: error.message })
}
