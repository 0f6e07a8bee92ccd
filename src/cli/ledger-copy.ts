import type { Pool } from 'pg'
import { invalid } from '#domain/refusal.ts'
import { installationIdOf } from '#integrity/proofs/installation.ts'
import { claimStore } from '#integrity/proofs/store-claim.ts'
import { ownStreams } from '#ledger/follow/placement.ts'
import { type EventStore, type OutsideStore, WrongExpectedRevision } from '#ledger/port.ts'
import { CopyDiffers, copyLedgers } from '#ledger/stores/copy.ts'
import { createEventStoreDb } from '#ledger/stores/eventstoredb.ts'
import { newId } from '#lib/ids.ts'
import { type NamedShard, Refused, type Verbs } from './verb.ts'

export const verbs: Verbs<'ledger copy'> = {
  'ledger copy': {
    async run(context, { to }) {
      const target = openTarget(to)
      try {
        // Before anything is opened or copied: a mistyped address should not cost a start.
        await target.ping()
        const homes = await context.homes()
        const report = await copyLedgers(ledgersOf(homes), target, { onStream: tellStream })
        await claim(target, (await context.core()).pool)
        return report
      } catch (error) {
        throw copyRefusalOf(error) ?? error
      } finally {
        await target.close()
      }
    },
  },
}

/** All ledgers, each as the home has it that its company lives in (HOME-93). */
function ledgersOf(homes: readonly NamedShard[]): Pick<EventStore, 'streams' | 'read'> {
  const [{ core } = { core: null }, ...further] = homes
  if (core && further.length === 0) return core.store
  const found = new Map<string, EventStore>()
  return {
    async *streams() {
      for (const { core } of homes) {
        for await (const stream of ownStreams(core.store, core.pool).streams()) {
          found.set(stream, core.store)
          yield stream
        }
      }
    },
    read(stream, fromRevision) {
      const store = found.get(stream)
      if (!store) throw new Error(`no home has ${stream}`)
      return store.read(stream, fromRevision)
    },
  }
}

/** The target is this installation's from now on: its database takes no other (OPS-83). */
const claim = async (target: OutsideStore, pool: Pool): Promise<void> =>
  claimStore({ newId, now: () => new Date().toISOString() }, target, await installationIdOf(pool))

/** How far it is, for whoever waits. */
const tellStream = (stream: string, events: number): void => {
  process.stderr.write(`${stream}: ${events} events\n`)
}

/** @throws Refused */
function openTarget(address: string): OutsideStore {
  try {
    return createEventStoreDb(address)
  } catch {
    // What the client says of it may quote a password.
    throw new Refused(invalid('to', 'deve ser um endereço como esdb://host:2113?tls=false'))
  }
}

/** What a copy says of a target that it leaves as it is. */
function copyRefusalOf(error: unknown): Refused | null {
  if (error instanceof CopyDiffers) return new Refused(invalid('to', differs(error)))
  if (error instanceof WrongExpectedRevision)
    return new Refused(invalid('to', `mais alguém está gravando no livro ${error.stream} do destino`))
  return null
}

const differs = ({ stream, revision }: CopyDiffers): string =>
  `o destino tem outro evento na revisão ${revision} do livro ${stream}; nada mais foi copiado`
