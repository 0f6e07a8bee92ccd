import { access, constants, readFile } from 'node:fs/promises'
import { anchorOfExport, type ExportVerification, verifyExport } from '#audit/export.ts'
import { type Mapping, readMapping } from '#audit/reseal-mapping.ts'
import { isGenuine, parseSeals, type Seal } from '#audit/seal.ts'
import { readPublicKeys } from '#audit/signing-key.ts'
import type { Anchor, Verification } from '#audit/walk.ts'
import { invalid } from '#domain/refusal.ts'
import { companyOf as companyOfStream } from '#ledger/envelope.ts'
import { readRootsOf, throughRoots } from '#proof/roots-watch.ts'
import type { Core } from '#service/core.ts'
import { type GivenCheckpoint, readCheckpoints } from './checkpoint-files.ts'
import { type Context, companyOf, Refused, type Verb, type Verbs } from './verb.ts'

/** What was found, and what it was held against. */
interface Told extends Verification {
  readonly company_id: number | null
  /** Given seals of 0.1 that the ledger was held against, and checkpoints. */
  readonly seals: number
  readonly checkpoints: number
  /** Whether they were made with a key that was given; without one they only name their own, or the service's, which proves less. */
  readonly trusted_key: boolean | null
  /** With a mapping: whether this is the ledger of before it was resealed, or the one since. */
  readonly resealed?: 'before' | 'since'
}

interface Flags {
  readonly company?: string | undefined
  readonly file?: string | undefined
  readonly checkpoint?: string | undefined
  readonly seal?: string | undefined
  readonly mapping?: string | undefined
  /** A path a line. */
  readonly 'public-key'?: string | undefined
}

/** A revision and its hash, as a seal tells them or what takes its place. */
interface SealedHead extends Anchor {
  readonly company_id: number
}

/** What ledgers have to go through. */
interface Given {
  readonly seals: readonly SealedHead[]
  readonly checkpoints: readonly GivenCheckpoint[]
}

const verifyVerb: Verb<'ledger verify'> = {
  async run(context, flags) {
    const trusted = await trustedKeys(flags)
    const given: Given = {
      seals: await readSeals(flags, trusted),
      checkpoints: await readGivenCheckpoints(context, flags, trusted),
    }
    if (flags.file !== undefined) return verifyFile(flags.file, flags, { given, trusted })
    return verifyStored(context, flags, await throughMapping(flags, { given, trusted }))
  },
  isBad: (result) => [result].flat().some((each) => !(each as Told).valid),
}

/** Null where none was given. */
async function trustedKeys({
  'public-key': paths,
  seal,
  checkpoint,
  mapping,
}: Flags): Promise<readonly string[] | null> {
  if (paths === undefined) return null
  if (seal === undefined && checkpoint === undefined && mapping === undefined)
    throw new Refused(invalid('public-key', 'só vale com --checkpoint, --seal ou --mapping'))
  const keys = await Promise.all(paths.split('\n').map((path) => readable('public-key', readPublicKeys(path))))
  return keys.flat()
}

/** Genuine seals only. @throws Refused */
async function readSeals({ seal: path }: Flags, trusted: readonly string[] | null): Promise<Seal[]> {
  if (path === undefined) return []
  const parsed = parseSeals(await readable('seal', readFile(path, 'utf8')))
  if ('line' in parsed) throw new Refused(invalid('seal', `não há um selo na linha ${parsed.line} do arquivo`))
  const { seals } = parsed
  if (seals.length === 0) throw new Refused(invalid('seal', 'não há nenhum selo no arquivo'))
  for (const seal of seals) {
    const isTrusted = trusted?.includes(seal.public_key) ?? true
    if (isTrusted && isGenuine(seal, seal.public_key)) continue
    const which = `selo da empresa ${seal.company_id} na revisão ${seal.revision}`
    throw new Refused(invalid('seal', `${which}: a assinatura não confere${trusted ? ' com a chave informada' : ''}`))
  }
  return seals
}

/** Signed ones only, by a key that was given or, without any, of the service's own ring. @throws Refused */
async function readGivenCheckpoints(
  context: Context,
  { checkpoint: path, file }: Flags,
  trusted: readonly string[] | null,
): Promise<GivenCheckpoint[]> {
  if (path === undefined) return []
  if (!trusted && file !== undefined)
    throw new Refused(invalid('public-key', 'um checkpoint não traz a própria chave: informe-a'))
  const keys = trusted ?? (await ownKeys(context))
  return readCheckpoints(await readable('checkpoint', readFile(path, 'utf8')), keys)
}

async function ownKeys(context: Context): Promise<string[]> {
  const { ringOf } = await stored()
  return (await ringOf(await context.core()))?.known.map(({ publicKey }) => publicKey) ?? []
}

/** What needs a database is loaded for those who have one. */
const stored = () => import('./verify-stored.ts')

/** What could be read of a file. @throws Refused naming the flag */
async function readable<T>(flag: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    throw new Refused(invalid(flag, `o arquivo não pôde ser lido: ${(error as Error).message}`))
  }
}

interface Asked {
  readonly given: Given
  readonly trusted: readonly string[] | null
}

/** What was sealed of a ledger before it was resealed binds the one since through the signed mapping (PRIV-55). */
async function throughMapping({ mapping: path }: Flags, { given, trusted }: Asked): Promise<Given> {
  if (path === undefined) return given
  const { seals, checkpoints } = given
  const former = checkpoints.filter(({ generation }) => generation === 1)
  const roots = readRootsOf(former)
  const mapping = await readable('mapping', readMapping(path, trusted, seals, roots.see))
  const old = former.filter(({ company_id }) => company_id === mapping.company_id)
  for (const { size, root } of old) {
    if (roots.at(size)?.equals(root)) continue
    throw new Refused(invalid('mapping', `o livro de antes não é o do checkpoint de tamanho ${size}`))
  }
  return {
    seals: [...seals.map((seal) => mapped(mapping, seal)), sinceOf(mapping)],
    checkpoints: checkpoints.filter((each) => !old.includes(each)),
  }
}

const sinceOf = ({ company_id, revision, new_hash: hash }: Mapping): SealedHead => ({ company_id, revision, hash })

const isOfBefore = ({ company_id, known }: Mapping, held: SealedHead): boolean =>
  held.company_id === company_id && known.some(({ revision, hash }) => revision === held.revision && hash === held.hash)

const mapped = (mapping: Mapping, held: SealedHead): SealedHead => (isOfBefore(mapping, held) ? sinceOf(mapping) : held)

const ofCompany = ({ seals, checkpoints }: Given, companyId: number | null): Given => ({
  seals: seals.filter(({ company_id }) => company_id === companyId),
  checkpoints: checkpoints.filter(({ company_id }) => company_id === companyId),
})

const countOf = ({ seals, checkpoints }: Given): number => seals.length + checkpoints.length

/** @throws Refused where something was given, but nothing of this company: nothing would be held against anything. */
function needOwn(given: Given, companyId: number | null): Given {
  const own = ofCompany(given, companyId)
  const flag = given.checkpoints.length > 0 ? 'checkpoint' : 'seal'
  if (countOf(given) > 0 && countOf(own) === 0)
    throw new Refused(invalid(flag, `não há selo da empresa ${companyId} no arquivo`))
  return own
}

const heldAgainst = (own: Given, { 'public-key': key, mapping }: Flags) => ({
  seals: own.seals.length,
  checkpoints: own.checkpoints.length,
  trusted_key: countOf(own) === 0 ? null : key !== undefined,
  ...(mapping !== undefined && { resealed: 'since' as const }),
})

async function verifyStored(context: Context, flags: Flags, given: Given): Promise<Told | Told[]> {
  const { companiesOf, ringOf, verifySealed } = await stored()
  const verifyOne = async (core: Core, companyId: number, own: Given): Promise<Told> => ({
    company_id: companyId,
    ...(await verifySealed(core, await ringOf(core), { companyId, anchors: own.seals, heads: own.checkpoints })),
    ...heldAgainst(own, flags),
  })
  if (flags.company !== undefined) {
    const { core, companyId } = await companyOf(context, flags.company)
    return verifyOne(core, companyId, needOwn(given, companyId))
  }
  const companies = new Map<number, Core>()
  for (const { core } of await context.homes())
    for (const companyId of await companiesOf(core)) companies.set(companyId, core)
  for (const { company_id } of [...given.seals, ...given.checkpoints])
    if (!companies.has(company_id)) companies.set(company_id, await context.coreOf(company_id))
  const told: Told[] = []
  for (const [companyId, core] of [...companies].sort(([a], [b]) => a - b))
    told.push(await verifyOne(core, companyId, ofCompany(given, companyId)))
  return told
}

async function verifyFile(
  path: string,
  flags: Flags,
  asked: Asked,
): Promise<Told & Pick<ExportVerification, 'stream' | 'from'>> {
  let own: Given = asked.given
  await readable('file', access(path, constants.R_OK))
  const { held, ...which } = await heldByExport(path, flags, asked)
  const found = await verifyExport(path, (stream, from) => {
    own = stream === null ? held : needOwn(held, companyOfStream(stream))
    if (from > 0 && own.checkpoints.length > 0)
      throw new Refused(invalid('file', 'um checkpoint só se confere com o livro desde o primeiro evento'))
    return { anchors: own.seals, watch: throughRoots(own.checkpoints) }
  })
  const companyId = found.stream === null ? null : companyOfStream(found.stream)
  if (flags.company !== undefined && flags.company !== String(companyId))
    throw new Refused(invalid('file', `não é um livro da empresa ${flags.company}`))
  return { company_id: companyId, ...found, ...heldAgainst(own, flags), ...which }
}

/** An export of before a resealing is held against what the mapping says of then, one of since against its seals through it. */
async function heldByExport(path: string, flags: Flags, asked: Asked) {
  const { given, trusted } = asked
  if (flags.mapping === undefined) return { held: given }
  const read = (anchors: readonly Anchor[]) => readable('mapping', readMapping(flags.mapping ?? '', trusted, anchors))
  const { revision, company_id } = await read([])
  const last = await anchorOfExport(path, revision)
  const mapping = await read(last ? [...given.seals, last] : given.seals)
  const before = last && isOfBefore(mapping, { company_id, ...last }) ? { company_id, ...last } : null
  if (before && before.hash !== mapping.new_hash)
    return { held: { ...given, seals: [...given.seals, before] }, resealed: 'before' as const }
  return { held: await throughMapping(flags, asked), resealed: 'since' as const }
}

export const verbs: Verbs<'ledger verify'> = { 'ledger verify': verifyVerb }
