import { randomUUID } from 'node:crypto'
import { RestoreInput } from '#commands/companies.ts'
import { invalid } from '#domain/refusal.ts'
import { CheckpointAltered } from '#integrity/proofs/checkpoint-files.ts'
import { WrongSealKey } from '#integrity/proofs/key-ring.ts'
import { CannotRestore, restore } from '#integrity/proofs/restore.ts'
import { newId } from '#lib/ids.ts'
import { sealingOf } from './ledger-seal.ts'
import { accepted, Refused, type Verbs, validateInput } from './verb.ts'

const RestoreReason = RestoreInput.pick({ reason: true })

export const verbs: Verbs<'restored'> = {
  restored: {
    async run(context, flags) {
      const { reason } = validateInput(RestoreReason, { reason: flags.reason })
      const statement = { lost_after: parsePastInstant(flags['lost-after']), reason, copy: flags.copy !== undefined }
      const core = await context.core()
      const { event_store } = await core.health()
      if (event_store !== undefined && event_store !== 'up')
        throw new CannotRestore('EventStoreDB is unreachable or the service has not caught up with it; retry later')
      const { DATA_DIR: dataDir, EVENTSTORE_URL: eventStoreUrl = null } = context.config
      const place = {
        ...sealingOf(core),
        dataDir,
        eventStoreUrl,
        writer: core.writerAfterRestore,
        asOwner: core.asOwner,
      }
      try {
        return accepted(await restore({ ...place, newId, newInstallationId: randomUUID }, statement))
      } catch (error) {
        if (error instanceof CheckpointAltered || error instanceof WrongSealKey)
          throw new Refused(invalid('seal-key', error.message))
        throw error
      }
    },
  },
}

/** @throws Refused */
function parsePastInstant(text: string): string {
  const ms = Date.parse(text)
  if (!/[Zz]|[+-]\d\d:\d\d$/.test(text) || Number.isNaN(ms))
    throw new Refused(invalid('lost-after', 'deve ser um instante com fuso, como 2026-03-10T12:00:00Z'))
  if (ms > Date.now()) throw new Refused(invalid('lost-after', 'não pode estar no futuro'))
  return new Date(ms).toISOString()
}
