import { refuseField } from '#domain/refusals.ts'
import type { AttestationStatus } from '#integrity/attestations.ts'
import {
  adoptKey,
  knownRing,
  openKeyRing,
  parseStatement,
  type RingEntry,
  ringEntries,
  rotateKey,
  WrongSealKey,
} from '#integrity/checkpoint-keys.ts'
import type { SignedCheckpoint } from '#integrity/checkpoint-log.ts'
import { knownCompanies, readOwnCheckpoints, runCheckpointRound } from '#integrity/checkpoint-schedule.ts'
import { makeCheckpoint, type Sealing } from '#integrity/checkpoints.ts'
import { checkRoots } from '#integrity/merkle.ts'
import { CheckpointAltered, hashPublicKey, toPem } from '#integrity/note.ts'
import { LedgerNotIntact, verifyLedger } from '#integrity/verify.ts'
import type { Core } from '#service/core.ts'
import { type Context, companyIdFrom, countEvents, formatAsText, Refused, type Verb, type Verbs } from './verb.ts'

/** A printed checkpoint. */
interface PrintedCheckpoint {
  readonly origin: string
  readonly size: number
  /** Base64. */
  readonly root: string
  readonly made_at: string
  readonly note: string
}

const toPrintedCheckpoint = ({ origin, size, root, made_at, note }: SignedCheckpoint): PrintedCheckpoint => ({
  origin,
  size,
  root: root.toString('base64'),
  made_at,
  note,
})

export function requireSealing({ sealing }: Pick<Core, 'sealing'>): Sealing {
  if (!sealing) throw new Error('checkpoints: the ledger was opened without a checkpoint directory')
  return sealing
}

const sealVerb: Verb<'ledger seal'> = {
  async run(context, { company, all }) {
    if ((company === undefined) === (all === undefined))
      throw new Refused(refuseField('company', 'give either --company or --all'))
    if (company !== undefined) {
      const { core, companyId } = await companyIdFrom(context, company)
      return withRefusals(async () => {
        context.progress.begin('events', await countEvents(core, companyId))
        return toPrintedCheckpoint(await verifyAndSeal(context, requireSealing(core), companyId))
      })
    }
    const core = await context.core()
    context.progress.begin('events', await countEvents(core))
    return withRefusals(() => sealAllLedgers(context, core))
  },
  // Prints the complete signed documents, to be archived.
  show: (found) =>
    Array.isArray(found)
      ? (found as PrintedCheckpoint[]).map(({ note, made_at }) => JSON.stringify({ note, made_at })).join('\n')
      : (found as PrintedCheckpoint).note.slice(0, -1),
}

/** Seals all ledgers, then the installation log. */
async function sealAllLedgers(context: Context, core: Core): Promise<PrintedCheckpoint[]> {
  const sealing = requireSealing(core)
  const made: PrintedCheckpoint[] = []
  for (const companyId of await knownCompanies(core, sealing.directory))
    made.push(toPrintedCheckpoint(await verifyAndSeal(context, sealing, companyId)))
  const installation = await sealInstallation(sealing)
  return installation ? [...made, toPrintedCheckpoint(installation)] : made
}

/** Reads the ledger from its first event: a manual checkpoint includes a full check. */
async function verifyAndSeal({ progress }: Context, sealing: Sealing, companyId: number): Promise<SignedCheckpoint> {
  await openKeyRing(sealing)
  const { anchors, heads } = await readOwnCheckpoints(sealing, await knownRing(sealing), companyId)
  const onEvent = () => progress.add(1)
  const found = await verifyLedger(sealing, companyId, { anchors, watch: checkRoots(heads), onEvent })
  if (!found.valid) throw new LedgerNotIntact(companyId, found)
  const made = await makeCheckpoint(sealing, companyId)
  if (!made) throw new Error(`company ${companyId}: the ledger is empty, there is nothing to seal`)
  return made
}

async function sealInstallation(sealing: Sealing): Promise<SignedCheckpoint | null> {
  const errors: unknown[] = []
  const made = await runCheckpointRound(sealing, {
    onSealed: () => {},
    onError: (error) => errors.push(error),
  })
  if (errors.length > 0) throw errors[0]
  return made
}

/** Converts refusals to sign to Refused. @throws Refused */
async function withRefusals<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof LedgerNotIntact) throw notIntactRefusal(error)
    if (error instanceof CheckpointAltered)
      throw new Refused(refuseField('company', `the last checkpoint was changed: ${error.message}`))
    if (error instanceof WrongSealKey) throw new Refused(refuseField('seal-key', error.message))
    throw error
  }
}

function notIntactRefusal({ companyId, verification }: LedgerNotIntact): Refused {
  const { revision, reason } = verification.first_error ?? {}
  const found = `the ledger of company ${companyId} is not intact: ${reason} at revision ${revision}`
  return new Refused(refuseField('company', `${found}; a checkpoint would vouch for the change`))
}

const publicKeyVerb: Verb<'ledger public-key'> = {
  async run(context) {
    const { pool, proofs } = await context.reader()
    const sealing = requireSealing(await proofs())
    await withRefusals(() => openKeyRing(sealing))
    return (await ringEntries(pool)).map(toPrintedKey)
  },
  show: (keys) => (keys as ReturnType<typeof toPrintedKey>[]).map(({ pem }) => pem.trimEnd()).join('\n'),
}

function toPrintedKey({ vkey, public_key, since, signed_by, note }: RingEntry) {
  const { succession, reason } = parseStatement(note) ?? {}
  return {
    key_id: hashPublicKey(public_key),
    since,
    succession,
    reason,
    signed_by,
    public_key,
    vkey,
    pem: toPem(public_key),
  }
}

async function changeKey(context: Context, change: (sealing: Sealing) => Promise<RingEntry>) {
  const sealing = requireSealing(await context.core())
  return withRefusals(async () => toPrintedKey(await change(sealing)))
}

const LINE = /^[^\p{Cc}]{1,500}$/u

export const ledgerSealVerbs: Verbs<'ledger seal' | 'ledger public-key' | 'seal-key'> = {
  'ledger seal': sealVerb,
  'ledger public-key': publicKeyVerb,
  'seal-key rotate': {
    run: async (context) => changeKey(context, (sealing) => rotateKey(sealing)),
  },
  'seal-key adopt': {
    async run(context, { reason }) {
      if (!LINE.test(reason)) throw new Refused(refuseField('reason', 'must be one line of at most 500 characters'))
      return changeKey(context, (sealing) => adoptKey(sealing, reason))
    },
  },
}

export const attestorVerbs: Verbs<'ledger attestors'> = {
  'ledger attestors': {
    async run(context) {
      const { proof } = await (await context.reader()).proofs()
      return proof.attestors()
    },
    show: (states) =>
      formatAsText(
        (states as AttestationStatus[]).map(
          ({ source, kind, size, obtained_at, waiting, failures, failing_since, problem, detail }) => ({
            source,
            kind,
            size,
            obtained_at,
            waiting,
            failures,
            failing_since,
            problem,
            detail,
          }),
        ),
      ),
    isBad: (states) => (states as AttestationStatus[]).some(({ problem }) => problem !== null),
  },
}
