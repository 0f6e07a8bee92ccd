import { send } from '../support/api.ts'
import { findEmbedded, serverPid, stopLeftOver } from '../support/find-embedded.ts'
import { type Service, startService } from '../support/process.ts'
import { until } from '../support/wait.ts'

/** A service with a Postgres of its own, both of which can be killed. */
export interface OwnPostgres {
  readonly databaseUrl: string
  readonly url: string
  /** SIGKILL to the server's first process, or to another of its processes. */
  killServer(pid?: number): Promise<void>
  killService(): Promise<void>
  /** Starts it again after it was killed. */
  startAgain(): Promise<void>
  /** Resolves when the service says that it is ready. */
  ready(): Promise<void>
  /** Resolves when it says that it is not, because of Postgres. */
  notReady(): Promise<void>
  /** Ends both in an orderly way; tells the service's exit code. */
  stop(): Promise<number | null>
}

const STARTING = { timeout_ms: 120_000 }

export async function startOwnPostgres(env: Record<string, string>, dataDir: string): Promise<OwnPostgres> {
  const start = (port = ''): Promise<Service> =>
    startService({ ...env, DATA_DIR: dataDir, ...(port && { PORT: port }) }, STARTING)
  let service = await start()
  const { url } = service
  const databaseUrl = await findEmbedded(dataDir)
  if (!databaseUrl) throw new Error('the service has no Postgres of its own')
  return {
    databaseUrl,
    url,
    async killServer(pid) {
      const server = await until(async () => pid ?? (await serverPid(dataDir)))
      process.kill(server, 'SIGKILL')
    },
    killService: () => service.kill(),
    async startAgain() {
      service = await start(new URL(url).port)
    },
    async ready() {
      await until(async () => (await fetch(`${url}/health/ready`)).ok, { timeout_ms: 120_000, what: 'readiness' })
    },
    async notReady() {
      const isDown = async () => (await send(`${url}/health/ready`, 'GET')).body?.parts?.postgres === 'down'
      await until(isDown, { timeout_ms: 120_000, what: 'a service that says that Postgres is down' })
    },
    async stop() {
      const code = await service.stop()
      await stopLeftOver(dataDir)
      return code
    },
  }
}
