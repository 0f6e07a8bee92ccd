import type { Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { invalid } from '#domain/refusal.ts'
import { type OutsideStore, WrongExpectedRevision } from '#ledger/port.ts'
import { CopyDiffers, copyLedgers } from '#ledger/stores/copy.ts'
import { createEventStoreDb } from '#ledger/stores/eventstoredb.ts'
import { installationIdOf } from '#proof/installation.ts'
import { claimStore } from '#proof/store-claim.ts'
import { inEachHome, Refused, type Verbs } from './verb.ts'

export const verbs: Verbs<'ledger copy'> = {
  'ledger copy': {
    async run(context, { to }) {
      const target = openTarget(to)
      try {
        // Before anything is opened or copied: a mistyped address should not cost a start.
        await target.ping()
        const homes = await context.homes()
        const report = await inEachHome(homes, ({ store }) => copyLedgers(store, target, { onStream: tellStream }))
        await claim(target, (await context.core()).pool)
        return report
      } catch (error) {
        throw refusalOf(error) ?? error
      } finally {
        await target.close()
      }
    },
  },
}

/** The target is this installation's from now on: its database takes no other (OPS-83). */
export const claim = async (target: OutsideStore, pool: Pool): Promise<void> =>
  claimStore({ newId: uuidv7, now: () => new Date().toISOString() }, target, await installationIdOf(pool))

/** How far it is, for whoever waits. */
export const tellStream = (stream: string, events: number): void => {
  process.stderr.write(`${stream}: ${events} events\n`)
}

/** @throws Refused */
export function openTarget(address: string): OutsideStore {
  try {
    return createEventStoreDb(address)
  } catch {
    // What the client says of it may quote a password.
    throw new Refused(invalid('to', 'deve ser um endereço como esdb://host:2113?tls=false'))
  }
}

/** What a copy says of a target that it leaves as it is. */
export function refusalOf(error: unknown): Refused | null {
  if (error instanceof CopyDiffers) return new Refused(invalid('to', differs(error)))
  if (error instanceof WrongExpectedRevision)
    return new Refused(invalid('to', `mais alguém está gravando no livro ${error.stream} do destino`))
  return null
}

const differs = ({ stream, revision }: CopyDiffers): string =>
  `o destino tem outro evento na revisão ${revision} do livro ${stream}; nada mais foi copiado`
