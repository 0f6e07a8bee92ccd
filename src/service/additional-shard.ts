import type { Router } from 'express'
import type { Addresses } from '#config/config.ts'
import { newId } from '#lib/ids.ts'
import { retry } from '#lib/retry.ts'
import type { PaymentProvider } from '#payments/provider-port.ts'
import { assertSupported } from '#postgres/requirements.ts'
import { accessOnShard } from '#sharding/cross-shard-access.ts'
import type { Directory } from '#sharding/directory.ts'
import { copySealKeys } from '#sharding/seal-keys.ts'
import { assertShard, readShardIdentity, shardNotAdded } from '#sharding/shard-identity.ts'
import type { CommonServices, InterfaceAccess } from './api.ts'
import type { Core } from './core.ts'
import { createShard, quietlyTo, type ShardOptions, type ShardProcess } from './shard.ts'

/** Services of the default shard that an additional shard needs. The default shard is always open first. */
export interface DefaultShardServices {
  readonly main: Core
  readonly directory: Directory
  readonly provider: PaymentProvider
  /** Null if the process serves no HTTP interfaces. */
  readonly interfaces: { readonly common: CommonServices; readonly access: InterfaceAccess } | null
}

export interface OpenShard {
  readonly core: Core
  /** Null if the process serves no HTTP interfaces. */
  readonly router: Router | null
}

/** A shard besides the default one. It opens as soon as its database is reachable, and then stays open (SHARD-5). */
export interface AdditionalShard {
  readonly name: string
  present(): OpenShard | null
  /** `away`: not opened yet. */
  state(): Promise<'up' | 'down' | 'away'>
  isOver(): boolean
  /** Resolves after the first attempt. Retries until the shard is open or the process stops. */
  start(founding: DefaultShardServices): Promise<void>
  quiet(): Promise<void>
  close(): Promise<void>
}

export function createAdditionalShard(name: string, addresses: Addresses, options: ShardOptions): AdditionalShard {
  const { log } = options
  const quietly = quietlyTo(log)
  const stopping = new AbortController()
  let opened: { readonly shard: ShardProcess; readonly router: Router | null } | null = null
  let trying: Promise<void> = Promise.resolve()

  async function open({ main, directory, provider, interfaces }: DefaultShardServices): Promise<void> {
    if (!(await directory.shards()).some((shard) => shard.name === name)) throw shardNotAdded(name)
    await assertShard(addresses.databaseUrl, { ...(await readShardIdentity(main.pool)), name })
    await assertSupported(addresses.databaseUrl, { undurable: options.config.ALLOW_UNDURABLE_POSTGRES, newId })
    const shard = createShard(options)
    try {
      const { core } = await shard.open(addresses, provider)
      await copySealKeys(main.pool, core.pool)
      await shard.begin()
      const router = interfaces && shard.serve(interfaces.common, accessOnShard(name, interfaces.access, directory))
      if (interfaces) shard.succeed()
      opened = { shard, router }
    } catch (error) {
      await shard.quiet()
      await shard.close()
      throw error
    }
  }

  return {
    name,
    present: () => opened && { core: opened.shard.core(), router: opened.router },
    async state() {
      if (!opened) return 'away'
      const { parts } = await opened.shard.health()
      return Object.values(parts).every((state) => state === 'up') ? 'up' : 'down'
    },
    isOver: () => opened?.shard.isOver() ?? false,
    start(founding) {
      return new Promise((resolve) => {
        const attempt = async () => {
          try {
            await open(founding)
            return 'done' as const
          } finally {
            resolve()
          }
        }
        trying = retry(stopping.signal, attempt, (error) => log('a shard cannot be served yet', error))
      })
    },
    async quiet() {
      stopping.abort()
      await trying
      await quietly(async () => opened?.shard.quiet())
    },
    close: () => quietly(async () => opened?.shard.close()),
  }
}
