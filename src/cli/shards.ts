import { addressesOf } from '#config/config.ts'
import { loadMasterKeys } from '#crypto/master-keys.ts'
import { refuse } from '#domain/refusal.ts'
import { openKeyRing } from '#integrity/proofs/key-ring.ts'
import type { ShardFigures } from '#sharding/directory.ts'
import { createShardsView } from '#sharding/shards.ts'
import { sealingOf } from './ledger-seal.ts'
import { type Context, Refused, type Verbs } from './verb.ts'

/** Looks up a shard by name. @throws Refused */
export async function shardNamed(context: Context, name: string): Promise<ShardFigures> {
  const directory = await context.directory()
  const shard = (await directory.shards()).find((each) => each.name === name)
  if (!shard) throw new Refused(refuse('not_found', { shard: name }))
  return shard
}

/** Emptiest shard that accepts new companies; null if none does. */
export async function emptiestShard(context: Context): Promise<string | null> {
  const shards = await (await context.directory()).shards()
  const [emptiest] = shards.filter(({ draining }) => !draining).sort((a, b) => a.companies - b.companies)
  return emptiest?.name ?? null
}

export const verbs: Verbs<'shard add'> = {
  'shard add': {
    async run(context, { name }) {
      const { config } = context
      const named = config.SHARDS?.find((each) => each.name === name)
      if (!named) throw new Refused(refuse('not_found', { shard: name, setting: 'SHARDS' }))
      const [{ sweepDirectory }, { prepareShard }] = await Promise.all([
        import('#sharding/directory-sweep.ts'),
        import('#sharding/prepare-shard.ts'),
      ])
      const [main, directory] = [await context.core(), await context.directory()]
      // All shards sign with one key. Creates the first key if there is none yet.
      await openKeyRing(sealingOf(main))
      let excess: readonly string[] = []
      const onExcess = (found: readonly string[]) => {
        excess = found
      }
      await prepareShard({
        name,
        existingShard: main.pool,
        ...addressesOf(config, named),
        masterKeys: loadMasterKeys(config),
        onExcess,
      })
      await directory.addShard(name)
      const added = new Map((await context.shards()).map((shard) => [shard.name, shard.core]))
      const shards = createShardsView([...added.keys()], (shard) => added.get(shard))
      // Adds existing records to the directory.
      await sweepDirectory({ directory, shards, log: () => {} })
      return { ...(await shardNamed(context, name)), excess: excess.join(', ') }
    },
    isBad: (result) => (result as { excess: string }).excess !== '',
  },
}
