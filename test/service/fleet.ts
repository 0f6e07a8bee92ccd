import { type Service, startService } from '../support/process.ts'

type RoleName = 'api' | 'projector' | 'dispatcher'

/** Processes of the service on one database, each with its own roles. */
export interface Fleet {
  /** Starts a process and waits until it is ready. */
  start(roles: RoleName, env?: Record<string, string>): Promise<Service>
  /** Starts several at once. */
  startAll(...roles: readonly RoleName[]): Promise<Service[]>
  /** Stops all running processes. */
  close(): Promise<void>
}

const STARTING = { timeout_ms: 120_000 }

/** Fleet with webhooks to this machine allowed, and large quotas. */
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

/** Array of `n` values, made from 0, 1, 2 … */
export const times = <T>(n: number, make: (n: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i))
