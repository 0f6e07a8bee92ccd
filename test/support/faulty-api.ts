import type { Pool } from 'pg'
import type { ApiAuthenticator } from '#access/api-authenticator.ts'
import { Unavailable } from '#lib/errors.ts'
import type { Core } from '#service/core.ts'
import type { Services } from '#services.ts'
import { serve } from './api.ts'

/** URLs of a service with failing handlers, of one that fails during key lookup, and of one in which all statements fail. */
interface Faults {
  readonly handlers: string
  readonly gate: string
  readonly all: string
}

/** Services with unexpected errors, and with an unreachable database. */
export interface FaultyApi {
  readonly broken: Faults
  readonly down: Faults
  close(): Promise<void>
}

export async function startFaultyApi(core: Core, databaseUrl: string): Promise<FaultyApi> {
  const closing: (() => Promise<void>)[] = []

  async function listen(served: Core, authenticator?: ApiAuthenticator): Promise<string> {
    const instead = ({ access }: Services) => (authenticator ? { access: { ...access, authenticator } } : {})
    const { url, close } = await serve(served, databaseUrl, {}, instead)
    closing.push(close)
    return url
  }

  async function faults(error: Error): Promise<Faults> {
    const fail = () => Promise.reject(error)
    const pool = { query: fail, connect: fail } as unknown as Pool
    const writer = { ...core.writer, around: fail }
    const failing = { ...core, pool, poolOf: () => pool, writer }
    return {
      handlers: await listen(failing),
      all: await listen({ ...failing, gate: pool }),
      gate: await listen(core, { admit: fail, charge: fail }),
    }
  }

  return {
    broken: await faults(new Error('a bug')),
    down: await faults(new Unavailable('the database does not answer')),
    async close() {
      for (const close of closing) await close()
    },
  }
}
