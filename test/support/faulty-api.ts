import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { createAddressLimit } from '../../src/access/address-limit.ts'
import { createGate } from '../../src/access/quota.ts'
import type { Core } from '../../src/core.ts'
import { createApp } from '../../src/http/app.ts'
import { Unavailable } from '../../src/ledger/port.ts'
import type { Writer } from '../../src/ledger/writer.ts'
import { createPool } from '../../src/postgres/pool.ts'

/** Two services that let calls in and then fail: for an unforeseen reason, and because the database cannot be reached. */
export interface FaultyApi {
  readonly brokenUrl: string
  readonly downUrl: string
  close(): Promise<void>
}

export async function startFaultyApi(core: Core, databaseUrl: string): Promise<FaultyApi> {
  const gatePool = createPool(databaseUrl, { max: 1 })
  const limits = { perMinute: 1_000_000, perDay: 1_000_000 }
  const listen = (error: Error): Promise<Server> => {
    const fail = () => Promise.reject(error)
    const app = createApp({
      ...core,
      pool: { query: fail } as unknown as Pool,
      writer: { run: fail } as unknown as Writer,
      limits,
      gate: createGate(gatePool, limits),
      addresses: createAddressLimit(limits),
      trustProxy: false,
      newRequestId: uuidv7,
      isStopping: () => false,
      log: () => {},
    })
    return new Promise((resolve) => {
      const server = app.listen(0, '127.0.0.1', () => resolve(server))
    })
  }
  const broken = await listen(new Error('a bug'))
  const down = await listen(new Unavailable('the database does not answer'))
  const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    brokenUrl: urlOf(broken),
    downUrl: urlOf(down),
    async close() {
      for (const server of [broken, down]) {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      }
      await gatePool.end()
    },
  }
}
