import type { Pool } from 'pg'
import { type Addresses, addressesOf, configOf } from '#config/config.ts'
import { DEFAULT_SHARD } from '#config/databases.ts'
import { invalid, refuse } from '#domain/refusal.ts'
import { Unavailable } from '#lib/errors.ts'
import { withPool } from '#postgres/pool.ts'
import type { Core } from '#service/core.ts'
import { rebuildShard } from '#service/rebuild-shard.ts'
import { createDirectoryHooks } from '#sharding/directory-hooks.ts'
import { sweepDirectory } from '#sharding/directory-sweep.ts'
import { createShardsView } from '#sharding/shards.ts'
import { type Context, Refused, type Verbs } from './verb.ts'

/** Data outside the ledgers; docs/operations/sharding.md describes what to do about each. */
const LOSSES = `The shard is rebuilt from the event store. Data that only its own database had is lost:
  - API keys, sessions, tokens of tills, links of invitations; on the default shard also passwords
  - keys of persons, unless ops.person_keys is restored from a backup first: without them names, documents,
    addresses, e-mails and contacts in the ledgers can never be decrypted
  - secrets of webhooks, access tokens and notification secrets of stores
  - pending webhook deliveries and sequence numbers; stored answers of the last 24 hours; refused offline sales; logs`

const CONFIRM = 'confirme com --yes que o que só o banco do shard tinha está perdido'

const printLine = (line: string): void => {
  process.stderr.write(`${line}\n`)
}

export const verbs: Verbs<'shard rebuild'> = {
  'shard rebuild': {
    async run(context, { name, yes, 'without-keys': withoutKeys }) {
      const { SHARDS = [], EVENTSTORE_URL } = context.config
      const named = SHARDS.find((each) => each.name === name)
      if (!named && name !== DEFAULT_SHARD) throw new Refused(refuse('not_found', { shard: name, setting: 'SHARDS' }))
      if (EVENTSTORE_URL === undefined)
        throw new Refused(invalid('name', 'os livros das empresas estão no banco desse shard: restaure um backup'))
      printLine(LOSSES)
      if (yes === undefined) throw new Refused(invalid('yes', CONFIRM))
      const place = named ? addressesOf(context.config, named) : await context.addresses(DEFAULT_SHARD)
      const given = { name, eventStoreUrl: EVENTSTORE_URL, withoutKeys: withoutKeys !== undefined }
      return await rebuild(context, given, place)
    },
  },
}

type RebuildOptions = { readonly name: string; readonly eventStoreUrl: string; readonly withoutKeys: boolean }

async function rebuild(context: Context, given: RebuildOptions, place: Addresses): Promise<object> {
  const { config } = context
  const { SHARDS = [] } = config
  const { databaseUrl, ownerUrl } = place
  const opened = new Map<string, Core>()
  const over =
    SHARDS.length === 0
      ? null
      : {
          directory: await context.directory(),
          shards: createShardsView([DEFAULT_SHARD, ...SHARDS.map((each) => each.name)], (shard) => opened.get(shard)),
          log: () => {},
        }
  return withExistingShard(context, given.name, async (giver) => {
    const hooks = over && createDirectoryHooks(over, given.name, SHARDS)
    const shard = {
      ...given,
      databaseUrl,
      ownerUrl,
      config: configOf(config, given.name),
      giver,
      hooks,
      tell: context.progress.tell,
      onApplied: context.progress.add,
    }
    context.progress.begin('events', null)
    const { core, report } = await rebuildShard(shard)
    try {
      opened.set(given.name, core)
      if (over) await rebuildDirectory(context, over, opened)
      return { shard: given.name, ...report }
    } finally {
      await core.close()
    }
  })
}

/** Installation id, secrets and keys are equal on all shards, so any other shard can provide them. */
async function withExistingShard<T>(
  context: Context,
  name: string,
  work: (giver: Pool | null) => Promise<T>,
): Promise<T> {
  if (name !== DEFAULT_SHARD) return work((await context.core()).pool)
  const [other] = context.config.SHARDS ?? []
  if (!other) return work(null)
  return withPool(other.url, { max: 1, application_name: 'tillbook command' }, async (pool) => {
    await pool.query('select from ops.installation').catch((cause: unknown) => {
      throw new Unavailable(
        `shard ${other.name} is unreachable; it is needed to read the id and secrets of the installation`,
        { cause },
      )
    })
    return await work(pool)
  })
}

type SweepOptions = Parameters<typeof sweepDirectory>[0]

/**
 * Fills a new directory from all shards. An existing directory is complete; entries that the shard no longer has are
 * removed.
 */
async function rebuildDirectory(context: Context, over: SweepOptions, opened: Map<string, Core>): Promise<void> {
  const names = [DEFAULT_SHARD, ...(context.config.SHARDS ?? []).map(({ name }) => name)]
  for (const name of names) await over.directory.addShard(name)
  for (const name of names) if (!opened.has(name)) opened.set(name, await context.core({ shard: name }))
  await sweepDirectory(over)
}
