import { type Service, startService } from '../support/process.ts'

type RoleName = 'api' | 'projector' | 'dispatcher'

/** Processes of the service on one database, each with the roles it was given. */
export interface Fleet {
  /** Starts one and waits until it is ready. */
  start(roles: RoleName, env?: Record<string, string>): Promise<Service>
  /** Starts several at once. */
  startAll(...roles: readonly RoleName[]): Promise<Service[]>
  /** Ends all that still run. */
  close(): Promise<void>
}

const STARTING = { timeout_ms: 120_000 }

/** A fleet whose webhooks may call this machine, and whose quotas are out of the way. */
export function createFleet(databaseUrl: string): Fleet {
  const started: Promise<Service>[] = []
  const plain = {
    DATABASE_URL: databaseUrl,
    WEBHOOK_ALLOW_PRIVATE: 'true',
    QUOTA_PER_MINUTE: '1000000',
    QUOTA_PER_DAY: '1000000',
    QUOTA_BYTES_PER_DAY: '1000000000000',
    LOG_LEVEL: 'warn',
  }
  const start: Fleet['start'] = (roles, env) => {
    const starting = startService({ ...plain, ROLES: roles, ...env }, STARTING)
    started.push(starting)
    return starting
  }
  return {
    start,
    startAll: (...roles) => Promise.all(roles.map((role) => start(role))),
    async close() {
      const services = await Promise.allSettled(started)
      await Promise.all(services.map((service) => service.status === 'fulfilled' && service.value.kill()))
    },
  }
}

/** `n` values made from 0, 1, 2 … */
export const times = <T>(n: number, make: (n: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i))
