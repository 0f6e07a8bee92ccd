import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { createLogin } from '#access/login.ts'
import { createAddressLimit } from '#access/minute-limit.ts'
import { createGate } from '#access/quota.ts'
import { createSessions } from '#access/sessions.ts'
import { createSyncAccess } from '#access/sync-access.ts'
import { createPageCache } from '#api/page-cache.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/unavailable.ts'
import { createPool } from '#postgres/pool.ts'
import { type AppOptions, createApp, createBodies } from '#service/app.ts'
import type { Core } from '#service/core.ts'
import { PUBLIC_URL, testDependencies, testKey } from './api.ts'
import { noProvider } from './provider.ts'

/** Addresses of a service whose handlers fail, and of one that fails while it looks the key up. */
interface Faults {
  readonly handlers: string
  readonly gate: string
}

/** Services that fail: for an unforeseen reason, and because the database cannot be reached. */
export interface FaultyApi {
  readonly broken: Faults
  readonly down: Faults
  close(): Promise<void>
}

export async function startFaultyApi(core: Core, databaseUrl: string): Promise<FaultyApi> {
  const gatePool = createPool(databaseUrl, { max: 1 })
  const limits = { perMinute: 1_000_000, perDay: 1_000_000 }
  const gate = createGate(gatePool, limits)
  const servers: Server[] = []

  async function listen(options: Partial<AppOptions>): Promise<string> {
    const pool = options.pool ?? core.pool
    const login = createLogin(pool)
    const app = createApp({
      ...core,
      limits,
      gate,
      pages: createPageCache(0),
      addresses: createAddressLimit(limits),
      bodies: createBodies(),
      live: { subscribe: () => () => {}, close: async () => {} },
      panel: { login, sessions: createSessions(pool, () => {}), newKey: testKey },
      sync: createSyncAccess(pool, login, { tokenDays: null, callsPerMinute: 1_000_000 }),
      provider: noProvider,
      notificationLimit: createAddressLimit({ perMinute: 1_000_000 }),
      publicUrl: PUBLIC_URL,
      trustProxy: false,
      newId: uuidv7,
      dependencies: testDependencies(),
      isStopping: () => false,
      log: () => {},
      ...options,
    })
    const server = await new Promise<Server>((resolve) => {
      const listening = app.listen(0, '127.0.0.1', () => resolve(listening))
    })
    servers.push(server)
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  async function faults(error: Error): Promise<Faults> {
    const fail = () => Promise.reject(error)
    const pool = { query: fail, connect: fail } as unknown as Pool
    const writer = { run: fail } as unknown as Writer
    return { handlers: await listen({ pool, writer }), gate: await listen({ gate: { admit: fail } }) }
  }

  return {
    broken: await faults(new Error('a bug')),
    down: await faults(new Unavailable('the database does not answer')),
    async close() {
      for (const server of servers) {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      }
      await gatePool.end()
    },
  }
}
