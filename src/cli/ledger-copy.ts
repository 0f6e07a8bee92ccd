import type { Pool } from 'pg'
import { invalid } from '#domain/refusal.ts'
import { installationIdOf } from '#integrity/proofs/installation.ts'
import { claimStore } from '#integrity/proofs/store-claim.ts'
import { ownStreams } from '#ledger/follow/placement.ts'
import { type EventStore, type OutsideStore, WrongExpectedRevision } from '#ledger/port.ts'
import { CopyDiffers, copyLedgers } from '#ledger/stores/copy.ts'
import { createEventStoreDb } from '#ledger/stores/eventstoredb.ts'
import { newId } from '#lib/ids.ts'
import { countEvents, type NamedShard, Refused, type Verbs } from './verb.ts'

export const verbs: Verbs<'ledger copy'> = {
  'ledger copy': {
    async run(context, { to }) {
      const target = openTarget(to)
      try {
        // Checks the address before anything is opened or copied.
        await target.ping()
        const shards = await context.shards()
        context.progress.begin('events', await countEvents(shards.map(({ core }) => core)))
        const report = await copyLedgers(ledgersOf(shards), target, { onEvents: context.progress.add })
        await claimTarget(target, (await context.core()).pool)
        return report
      } catch (error) {
        throw copyRefusalOf(error) ?? error
      } finally {
        await target.close()
      }
    },
  },
}

/** All ledgers, each read from the shard of its company (SHARD-93). */
function ledgersOf(shards: readonly NamedShard[]): Pick<EventStore, 'streams' | 'read'> {
  const [{ core } = { core: null }, ...further] = shards
  if (core && further.length === 0) return core.store
  const found = new Map<string, EventStore>()
  return {
    async *streams() {
      for (const { core } of shards) {
        for await (const stream of ownStreams(core.store, core.pool).streams()) {
          found.set(stream, core.store)
          yield stream
        }
      }
    },
    read(stream, fromRevision) {
      const store = found.get(stream)
      if (!store) throw new Error(`event store: stream ${stream} belongs to no shard`)
      return store.read(stream, fromRevision)
    },
  }
}

/** Claims the target for this installation: its database accepts no other store (OPS-83). */
const claimTarget = async (target: OutsideStore, pool: Pool): Promise<void> =>
  claimStore({ newId, now: () => new Date().toISOString() }, target, await installationIdOf(pool))

/** @throws Refused */
function openTarget(address: string): OutsideStore {
  try {
    return createEventStoreDb(address)
  } catch {
    // The client's message may contain a password.
    throw new Refused(invalid('to', 'deve ser um endereço como esdb://host:2113?tls=false'))
  }
}

/** Refusal of a target that the copy leaves unchanged. */
function copyRefusalOf(error: unknown): Refused | null {
  if (error instanceof CopyDiffers) return new Refused(invalid('to', differs(error)))
  if (error instanceof WrongExpectedRevision)
    return new Refused(invalid('to', `mais alguém está gravando no livro ${error.stream} do destino`))
  return null
}

const differs = ({ stream, revision }: CopyDiffers): string =>
  `o destino tem outro evento na revisão ${revision} do livro ${stream}; nada mais foi copiado`
