import { addressesOf } from '#config/config.ts'
import { loadMasterKeys } from '#crypto/master-keys.ts'
import { refuse } from '#domain/refusal.ts'
import { openKeyRing } from '#integrity/proofs/key-ring.ts'
import type { ShardFigures } from '#sharding/directory.ts'
import { sweepDirectory } from '#sharding/directory-sweep.ts'
import { prepareShard } from '#sharding/prepare-shard.ts'
import { createShardsView } from '#sharding/shards.ts'
import { sealingOf } from './ledger-seal.ts'
import { type Context, Refused, type Verbs } from './verb.ts'

/** Looks up a shard by name. @throws Refused */
export async function shardNamed(context: Context, name: string): Promise<ShardFigures> {
  const directory = await context.directory()
  const home = (await directory.homes()).find((each) => each.name === name)
  if (!home) throw new Refused(refuse('not_found', { home: name }))
  return home
}

/** Emptiest shard that accepts new companies; null if none does. */
export async function emptiestShard(context: Context): Promise<string | null> {
  const homes = await (await context.directory()).homes()
  const [emptiest] = homes.filter(({ draining }) => !draining).sort((a, b) => a.companies - b.companies)
  return emptiest?.name ?? null
}

export const verbs: Verbs<'home add' | 'home list'> = {
  'home add': {
    async run(context, { name }) {
      const { config } = context
      const named = config.SHARDS?.find((each) => each.name === name)
      if (!named) throw new Refused(refuse('not_found', { home: name, setting: 'SHARDS' }))
      const [main, directory] = [await context.core(), await context.directory()]
      // All shards sign with one key. Creates the first key if there is none yet.
      await openKeyRing(sealingOf(main))
      let excess: readonly string[] = []
      const onExcess = (found: readonly string[]) => {
        excess = found
      }
      await prepareShard({
        name,
        giver: main.pool,
        ...addressesOf(config, named),
        masterKeys: loadMasterKeys(config),
        onExcess,
      })
      await directory.addHome(name)
      const added = new Map((await context.homes()).map((home) => [home.name, home.core]))
      const homes = createShardsView([...added.keys()], (home) => added.get(home))
      // Adds existing records to the directory.
      await sweepDirectory({ directory, homes, log: () => {} })
      return { ...(await shardNamed(context, name)), excess: excess.join(', ') }
    },
    isBad: (result) => (result as { excess: string }).excess !== '',
  },
  'home list': {
    async run(context) {
      const homes = await (await context.directory()).homes()
      return Promise.all(
        homes.map(async ({ name, ...figures }) => ({ name, ...figures, reachable: await isReachable(context, name) })),
      )
    },
  },
}

const isReachable = (context: Context, home: string): Promise<boolean> =>
  context.core({ home }).then(
    () => true,
    () => false,
  )
