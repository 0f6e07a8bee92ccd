import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { createAddressLimit } from '../../src/access/address-limit.ts'
import { createLogin } from '../../src/access/login.ts'
import { createGate } from '../../src/access/quota.ts'
import { createSessions } from '../../src/access/sessions.ts'
import { createSyncAccess } from '../../src/access/sync-access.ts'
import type { Core } from '../../src/core.ts'
import { type AppOptions, createApp, createBodies } from '../../src/http/app.ts'
import { createPageCache } from '../../src/http/page-cache.ts'
import { Unavailable } from '../../src/ledger/port.ts'
import type { Writer } from '../../src/ledger/writer.ts'
import { createPool } from '../../src/postgres/pool.ts'
import { PUBLIC_URL, testGiven, testKey } from './api.ts'
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
      news: { follow: () => () => {}, close: async () => {} },
      panel: { login, sessions: createSessions(pool, () => {}), newKey: testKey },
      sync: createSyncAccess(pool, login, { tokenDays: null, callsPerMinute: 1_000_000 }),
      provider: noProvider,
      notifiers: createAddressLimit({ perMinute: 1_000_000 }),
      publicUrl: PUBLIC_URL,
      trustProxy: false,
      newId: uuidv7,
      given: testGiven(),
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
