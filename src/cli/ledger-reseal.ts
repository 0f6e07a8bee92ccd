import { CannotReseal, isServed } from '#audit/reseal.ts'
import { mappingFileOf, NoMapping, readMapping } from '#audit/reseal-mapping.ts'
import { NotWhole, verifyLedger } from '#audit/verify.ts'
import { invalid } from '#domain/refusal.ts'
import { dropFormerLedgers, hasFormerLedgers } from '#ledger/stores/next-ledgers.ts'
import type { Sealing } from '#proof/checkpoints.ts'
import { knownRing, openKeyRing } from '#proof/key-ring.ts'
import { ownSeals } from '#proof/own-seals.ts'
import { throughRoots } from '#proof/roots-watch.ts'
import { claim, openTarget, refusalOf, tellStream } from './ledger-copy.ts'
import { sealingOf } from './ledger-seal.ts'
import { type Context, Refused, type Verbs } from './verb.ts'

/** What `--to` says for this Postgres. */
const POSTGRES = 'postgres'

export const verbs: Verbs<'ledger reseal'> = {
  'ledger reseal': {
    async run(context, flags) {
      if (context.config.HOMES)
        throw new Refused(
          invalid('to', 'os livros da versão 0.1 se regravam antes de haver outras casas: retire HOMES'),
        )
      if (flags['drop-old'] !== undefined) return dropOld(context)
      const { EVENTSTORE_URL } = context.config
      const to = flags.to ?? (EVENTSTORE_URL === undefined ? POSTGRES : undefined)
      if (to === undefined)
        throw new Refused(invalid('to', 'com EVENTSTORE_URL, informe postgres ou o endereço de outro EventStoreDB'))
      if (to === EVENTSTORE_URL) throw new Refused(invalid('to', 'é onde os livros estão; o destino deve ser outro'))
      return resealTo(context, to)
    },
  },
}

async function resealTo(context: Context, to: string): Promise<object> {
  const target = to === POSTGRES ? null : openTarget(to)
  try {
    await target?.ping()
    const core = await context.core()
    if (await isServed(core.pool)) throw new CannotReseal('the service is running: stop all of its processes first')
    const { event_store } = await core.health()
    if (event_store !== undefined && event_store !== 'up')
      throw new CannotReseal('the EventStoreDB cannot be reached, or has not been caught up with')
    const sealing = sealingOf(core)
    const { directory, now } = sealing
    const ring = await openKeyRing(sealing)
    const sealed = async (companyId: number) => {
      const { anchors, heads } = await ownSeals(sealing, ring, companyId)
      return { anchors, watch: throughRoots(heads) }
    }
    const started_ms = performance.now()
    const { mappings, ...report } = await core.reseal({
      target,
      key: ring.current,
      directory,
      now,
      sealed,
      onStream: tellStream,
    })
    if (target) await claim(target, core.pool)
    const seconds = (performance.now() - started_ms) / 1000
    return { ...report, events_per_second: Math.round(report.events / seconds), mappings }
  } catch (error) {
    throw refusalOf(error) ?? (error instanceof NotWhole ? notWhole(error) : error)
  } finally {
    await target?.close()
  }
}

function notWhole({ companyId, verification }: NotWhole): Refused {
  const { revision, reason } = verification.first_error ?? {}
  const found = `o livro da empresa ${companyId} não está íntegro: ${reason} na revisão ${revision}`
  return new Refused(invalid('company', `${found}; nada foi trocado`))
}

/** Ends the ledgers of before, once those since and their mappings are found to be whole (PRIV-56). */
async function dropOld({ core: open }: Context): Promise<object> {
  const core = await open()
  const { rows } = await core.pool.query<{ company_id: number; revision: number; new_hash: string }>(
    'select company_id, revision, new_hash from resealed_ledgers order by company_id',
  )
  for (const { company_id, revision, new_hash: hash } of rows) {
    const verification = await verifyLedger(core, company_id, { anchors: [{ revision, hash }] })
    if (!verification.valid) throw notWhole(new NotWhole(company_id, verification))
    await assertMapped(sealingOf(core), company_id, hash)
  }
  const was_kept = await hasFormerLedgers(core.pool)
  await core.asOwner(dropFormerLedgers)
  return { verified: rows.length, dropped: was_kept }
}

/** @throws Refused without the signed mapping: it is what seals of before are worth anything by. */
async function assertMapped(sealing: Sealing, companyId: number, newHash: string): Promise<void> {
  const { known } = await knownRing(sealing)
  const path = mappingFileOf(sealing.directory, companyId)
  const trusted = known.map(({ publicKey }) => publicKey)
  const mapping = await readMapping(path, trusted, []).catch((error: unknown) => {
    if (error instanceof NoMapping || (error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  })
  if (mapping?.new_hash === newHash) return
  throw new CannotReseal(`the signed mapping ${path} is missing, or not that of this ledger: nothing was dropped`)
}
