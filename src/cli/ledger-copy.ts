import type { Pool } from 'pg'
import { invalid } from '#domain/refusal.ts'
import { installationIdOf } from '#integrity/proofs/installation.ts'
import { claimStore } from '#integrity/proofs/store-claim.ts'
import { type OutsideStore, WrongExpectedRevision } from '#ledger/port.ts'
import { CopyDiffers, copyLedgers } from '#ledger/stores/copy.ts'
import { createEventStoreDb } from '#ledger/stores/eventstoredb.ts'
import { newId } from '#lib/ids.ts'
import { countEvents, Refused, type Verbs } from './verb.ts'

export const verbs: Verbs<'ledger copy'> = {
  'ledger copy': {
    async run(context, { to }) {
      const target = openTarget(to)
      try {
        // Checks the address before anything is opened or copied.
        await target.ping()
        const { pool, store } = await context.core()
        context.progress.begin('events', await countEvents({ pool }))
        const report = await copyLedgers(store, target, { onEvents: context.progress.add })
        await claimTarget(target, pool)
        return report
      } catch (error) {
        throw copyRefusalOf(error) ?? error
      } finally {
        await target.close()
      }
    },
  },
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
