import { access, constants, readFile } from 'node:fs/promises'
import * as z from 'zod'
import { refuseField } from '#domain/refusals.ts'
import { checkRoots } from '#integrity/merkle.ts'
import {
  type Checkpoint,
  openNote,
  parseCheckpoint,
  parseOrigin,
  readPublicKeys,
  verifierKey,
} from '#integrity/note.ts'
import { type ExportVerification, type Verification, verifyExport } from '#integrity/verify.ts'
import { companyIdOfStream as companyOfStream } from '#ledger/command.ts'
import type { ReadingCore } from '#service/command-reader.ts'
import { type Context, countEvents, Refused, readerFrom, type Verb, type Verbs } from './verb.ts'

/** A checkpoint of a company's ledger with a verified signature. */
interface GivenCheckpoint extends Checkpoint {
  readonly company_id: number
}

const Line = z.object({ note: z.string() })

/**
 * Reads checkpoints of ledgers from a file: one note, or JSON Lines of many. Each must be signed by one of the keys.
 * @throws Refused
 */
function readCheckpoints(text: string, publicKeys: readonly string[]): GivenCheckpoint[] {
  const notes = text.startsWith('{') ? notesOf(text) : [text]
  return notes.flatMap((note, place) => {
    const origin = note.slice(0, note.indexOf('\n'))
    const parsedOrigin = parseOrigin(origin)
    if (!parsedOrigin) throw invalidCheckpoint(`line ${place + 1} of the file is no checkpoint`)
    const keys = publicKeys.map((key) => verifierKey(origin, key))
    const checkpoint = parseCheckpoint(openNote(note, keys)?.text ?? '')
    if (!checkpoint) throw invalidCheckpoint(`checkpoint ${origin}: no given key has signed it`)
    // A checkpoint of the installation log contains nothing about a single ledger.
    if (parsedOrigin.companyId === null) return []
    return { ...checkpoint, company_id: parsedOrigin.companyId }
  })
}

function notesOf(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line, place) => {
      const parsed = Line.safeParse(parse(line))
      if (!parsed.success) throw invalidCheckpoint(`line ${place + 1} of the file is no checkpoint`)
      return parsed.data.note
    })
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}

const invalidCheckpoint = (reason: string): Refused => new Refused(refuseField('checkpoint', reason))

/** Result of a verification, with the checkpoints and keys it used. */
interface VerificationResult extends Verification {
  readonly company_id: number | null
  /** Number of given checkpoints that the ledger was compared with. */
  readonly checkpoints: number
  /**
   * Whether a given key signed the checkpoints. Without a given key, the keys come from the checkpoints or the service
   * itself, which proves less.
   */
  readonly trusted_key: boolean | null
}

interface Flags {
  readonly company?: string | undefined
  readonly file?: string | undefined
  readonly checkpoint?: string | undefined
  /** One path per line. */
  readonly 'public-key'?: string | undefined
}

const verifyVerb: Verb<'ledger verify'> = {
  async run(context, flags) {
    const trusted = await trustedKeys(flags)
    const given = await readGivenCheckpoints(context, flags, trusted)
    return flags.file === undefined
      ? verifyStored(context, flags, given)
      : verifyFile(context, flags.file, flags, given)
  },
  isBad: (result) => [result].flat().some((each) => !(each as VerificationResult).valid),
}

/** Null without given keys. */
async function trustedKeys({ 'public-key': paths, checkpoint }: Flags): Promise<readonly string[] | null> {
  if (paths === undefined) return null
  if (checkpoint === undefined) throw new Refused(refuseField('public-key', 'is used with --checkpoint only'))
  const keys = await Promise.all(paths.split('\n').map((path) => withReadErrors('public-key', readPublicKeys(path))))
  return keys.flat()
}

/** Accepts only checkpoints signed by a given key or, without any, by the service's own key ring. @throws Refused */
async function readGivenCheckpoints(
  context: Context,
  { checkpoint: path, file }: Flags,
  trusted: readonly string[] | null,
): Promise<GivenCheckpoint[]> {
  if (path === undefined) return []
  if (!trusted && file !== undefined)
    throw new Refused(refuseField('public-key', 'is required: a checkpoint does not carry its key'))
  const keys = trusted ?? (await ownKeys(context))
  return readCheckpoints(await withReadErrors('checkpoint', readFile(path, 'utf8')), keys)
}

async function ownKeys(context: Context): Promise<string[]> {
  const { readKnownRing } = await stored()
  return (await readKnownRing(await context.reader()))?.known.map(({ publicKey }) => publicKey) ?? []
}

/** Loaded on demand: verifying files needs no database. */
const stored = () => import('./verify-stored.ts')

/** Result of reading a file. @throws Refused that names the flag */
async function withReadErrors<T>(flag: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    throw new Refused(refuseField(flag, `the file could not be read: ${(error as Error).message}`))
  }
}

const ofCompany = (given: readonly GivenCheckpoint[], companyId: number | null): readonly GivenCheckpoint[] =>
  given.filter(({ company_id }) => company_id === companyId)

/** @throws Refused if no given checkpoint belongs to the company: the ledger would be compared with nothing. */
function requireOwnCheckpoints(
  given: readonly GivenCheckpoint[],
  companyId: number | null,
): readonly GivenCheckpoint[] {
  const own = ofCompany(given, companyId)
  if (given.length > 0 && own.length === 0)
    throw new Refused(refuseField('checkpoint', `the file has no checkpoint of company ${companyId}`))
  return own
}

const describeComparison = (own: readonly GivenCheckpoint[], { 'public-key': key }: Flags) => ({
  checkpoints: own.length,
  trusted_key: own.length === 0 ? null : key !== undefined,
})

async function verifyStored(
  context: Context,
  flags: Flags,
  given: readonly GivenCheckpoint[],
): Promise<VerificationResult | VerificationResult[]> {
  const { listCompanyIds, readKnownRing, verifySealed } = await stored()
  const onEvent = () => context.progress.add(1)
  const verifyOne = async (
    reader: ReadingCore,
    companyId: number,
    own: readonly GivenCheckpoint[],
  ): Promise<VerificationResult> => ({
    company_id: companyId,
    ...(await verifySealed(reader, await readKnownRing(reader), { companyId, heads: own, onEvent })),
    ...describeComparison(own, flags),
  })
  if (flags.company !== undefined) {
    const { companyId, ...reader } = await readerFrom(context, flags.company)
    context.progress.begin('events', await countEvents(reader, companyId))
    return verifyOne(reader, companyId, requireOwnCheckpoints(given, companyId))
  }
  const reader = await context.reader()
  const companies = new Set([...(await listCompanyIds(reader)), ...given.map(({ company_id }) => company_id)])
  context.progress.begin('events', await countEvents(reader))
  const results: VerificationResult[] = []
  for (const companyId of [...companies].sort((a, b) => a - b))
    results.push(await verifyOne(reader, companyId, ofCompany(given, companyId)))
  return results
}

async function verifyFile(
  { progress }: Context,
  path: string,
  flags: Flags,
  given: readonly GivenCheckpoint[],
): Promise<VerificationResult & Pick<ExportVerification, 'stream' | 'from'>> {
  let own = given
  await withReadErrors('file', access(path, constants.R_OK))
  progress.begin('events', null)
  const found = await verifyExport(path, (stream, from) => {
    own = stream === null ? given : requireOwnCheckpoints(given, companyOfStream(stream))
    if (from > 0 && own.length > 0)
      throw new Refused(
        refuseField('file', 'a checkpoint is compared with a ledger from its first event on; export it whole'),
      )
    return { watch: checkRoots(own), onEvent: () => progress.add(1) }
  })
  const companyId = found.stream === null ? null : companyOfStream(found.stream)
  if (flags.company !== undefined && flags.company !== String(companyId))
    throw new Refused(refuseField('file', `is no ledger of company ${flags.company}`))
  return { company_id: companyId, ...found, ...describeComparison(own, flags) }
}

export const ledgerVerifyVerbs: Verbs<'ledger verify'> = { 'ledger verify': verifyVerb }
