import { send } from '../support/api.ts'
import { findEmbedded, serverPid, stopLeftOver } from '../support/find-embedded.ts'
import { type Service, startService } from '../support/process.ts'
import { until } from '../support/wait.ts'

/** A service and its own Postgres; both can be killed. */
export interface OwnPostgres {
  readonly databaseUrl: string
  readonly url: string
  /** Sends SIGKILL to the postmaster, or to another of its processes. */
  killServer(pid?: number): Promise<void>
  killService(): Promise<void>
  /** Restarts it after a kill. */
  startAgain(): Promise<void>
  /** Resolves once the service reports readiness. */
  ready(): Promise<void>
  /** Resolves once it reports that it is not ready because of Postgres. */
  notReady(): Promise<void>
  /** Stops both cleanly and returns the exit code of the service. */
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
