import { access, constants, readFile } from 'node:fs/promises'
import { anchorOfExport, type ExportVerification, verifyExport } from '#audit/export.ts'
import { type Mapping, readMapping } from '#audit/reseal-mapping.ts'
import { isGenuine, loadSealKey, parseSeals, pemOf, readPublicKey, type Seal } from '#audit/seal.ts'
import { NotWhole, sealLedger } from '#audit/sealing.ts'
import { verifyLedger } from '#audit/verify.ts'
import type { Anchor, Verification } from '#audit/walk.ts'
import { invalid } from '#domain/refusal.ts'
import { companyOf as companyOfStream } from '#ledger/envelope.ts'
import type { Core } from '#service/core.ts'
import { type Context, companyOf, Refused, type Verb, type Verbs } from './verb.ts'

/** What was found, and what it was held against. */
interface Told extends Verification {
  readonly company_id: number | null
  /** Seals that the ledger was held against. */
  readonly seals: number
  /** Whether they were made with the key that was given; without one they only name their own, which proves less. */
  readonly trusted_key: boolean | null
  /** With a mapping: whether this is the ledger of before it was resealed, or the one since. */
  readonly resealed?: 'before' | 'since'
}

interface Flags {
  readonly company?: string | undefined
  readonly file?: string | undefined
  readonly seal?: string | undefined
  readonly mapping?: string | undefined
  readonly 'public-key'?: string | undefined
}

const verifyVerb: Verb<'ledger verify'> = {
  async run(context, flags) {
    const seals = await readSeals(flags)
    if (flags.file !== undefined) return verifyFile(flags.file, flags, seals)
    return verifyStored(context, flags, await throughMapping(flags, seals))
  },
  isBad: (result) => [result].flat().some((each) => !(each as Told).valid),
}

/** Genuine seals only. @throws Refused */
async function readSeals(flags: Flags): Promise<Seal[]> {
  const { seal: path } = flags
  if (path === undefined) {
    if (flags['public-key'] !== undefined && flags.mapping === undefined)
      throw new Refused(invalid('public-key', 'só vale com --seal ou --mapping'))
    return []
  }
  const parsed = parseSeals(await readable('seal', readFile(path, 'utf8')))
  if ('line' in parsed) throw new Refused(invalid('seal', `não há um selo na linha ${parsed.line} do arquivo`))
  const { seals } = parsed
  if (seals.length === 0) throw new Refused(invalid('seal', 'não há nenhum selo no arquivo'))
  const trusted = await trustedKey(flags)
  for (const seal of seals) {
    if (isGenuine(seal, trusted ?? seal.public_key)) continue
    const which = `selo da empresa ${seal.company_id} na revisão ${seal.revision}`
    throw new Refused(invalid('seal', `${which}: a assinatura não confere${trusted ? ' com a chave informada' : ''}`))
  }
  return seals
}

const trustedKey = async ({ 'public-key': path }: Flags): Promise<string | null> =>
  path === undefined ? null : readable('public-key', readPublicKey(path))

/** What could be read of a file. @throws Refused naming the flag */
async function readable<T>(flag: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    throw new Refused(invalid(flag, `o arquivo não pôde ser lido: ${(error as Error).message}`))
  }
}

/** Where a ledger has to come through, in the place of a seal. */
interface Held extends Anchor {
  readonly company_id: number
}

const readMappingOf = async (flags: Flags, path: string, asked: readonly Anchor[]): Promise<Mapping> =>
  readable('mapping', readMapping(path, await trustedKey(flags), asked))

/** Seals of a ledger as it was before it was resealed bind the one since through the signed mapping (PRIV-55). */
async function throughMapping(flags: Flags, seals: readonly Seal[]): Promise<readonly Held[]> {
  if (flags.mapping === undefined) return seals
  const mapping = await readMappingOf(flags, flags.mapping, seals)
  return [...seals.map((seal) => mapped(mapping, seal)), sinceOf(mapping)]
}

const sinceOf = ({ company_id, revision, new_hash: hash }: Mapping): Held => ({ company_id, revision, hash })

const isOfBefore = ({ company_id, known }: Mapping, held: Held): boolean =>
  held.company_id === company_id && known.some(({ revision, hash }) => revision === held.revision && hash === held.hash)

const mapped = (mapping: Mapping, held: Held): Held => (isOfBefore(mapping, held) ? sinceOf(mapping) : held)

const sealsOf = (seals: readonly Held[], companyId: number | null) =>
  seals.filter(({ company_id }) => company_id === companyId)

/** @throws Refused where seals were given, but none of this company: nothing would be held against anything. */
function needSeals(seals: readonly Held[], companyId: number | null): readonly Held[] {
  const own = sealsOf(seals, companyId)
  if (seals.length > 0 && own.length === 0)
    throw new Refused(invalid('seal', `não há selo da empresa ${companyId} no arquivo`))
  return own
}

const heldAgainst = ({ length }: readonly Held[], { 'public-key': key, mapping }: Flags) => ({
  seals: length,
  trusted_key: length === 0 ? null : key !== undefined,
  ...(mapping !== undefined && { resealed: 'since' as const }),
})

async function verifyStored(context: Context, flags: Flags, seals: readonly Held[]): Promise<Told | Told[]> {
  const { company } = flags
  const core = await context.core()
  const verifyOne = async (companyId: number, anchors: readonly Held[]): Promise<Told> => ({
    company_id: companyId,
    ...(await verifyLedger(core, companyId, { anchors })),
    ...heldAgainst(anchors, flags),
  })
  if (company !== undefined) {
    const companyId = await companyOf(core, company)
    return verifyOne(companyId, needSeals(seals, companyId))
  }
  const told: Told[] = []
  for (const companyId of await companiesOf(core, seals))
    told.push(await verifyOne(companyId, sealsOf(seals, companyId)))
  return told
}

/** Of the read model, of the store and of the seals: a ledger that is gone from one of them is not to be forgotten. */
async function companiesOf({ pool, store }: Core, seals: readonly Held[]): Promise<number[]> {
  const { rows } = await pool.query<{ company_id: number }>('select company_id from ledgers where revision >= 0')
  const ids = new Set([...rows, ...seals].map(({ company_id }) => company_id))
  for await (const stream of store.streams()) {
    const companyId = companyOfStream(stream)
    if (companyId !== null) ids.add(companyId)
  }
  return [...ids].sort((a, b) => a - b)
}

async function verifyFile(
  path: string,
  flags: Flags,
  seals: readonly Seal[],
): Promise<Told & Pick<ExportVerification, 'stream' | 'from'>> {
  let own: readonly Held[] = []
  await readable('file', access(path, constants.R_OK))
  const { held, ...which } = await heldByExport(path, flags, seals)
  const found = await verifyExport(path, (stream) => {
    own = stream === null ? held : needSeals(held, companyOfStream(stream))
    return own
  })
  const companyId = found.stream === null ? null : companyOfStream(found.stream)
  if (flags.company !== undefined && flags.company !== String(companyId))
    throw new Refused(invalid('file', `não é um livro da empresa ${flags.company}`))
  return { company_id: companyId, ...found, ...heldAgainst(own, flags), ...which }
}

/** An export of before a resealing is held against what the mapping says of then, one of since against its seals through it. */
async function heldByExport(path: string, flags: Flags, seals: readonly Seal[]) {
  if (flags.mapping === undefined) return { held: seals }
  const { revision, company_id } = await readMappingOf(flags, flags.mapping, [])
  const last = await anchorOfExport(path, revision)
  const mapping = await readMappingOf(flags, flags.mapping, last ? [...seals, last] : seals)
  const before = last && isOfBefore(mapping, { company_id, ...last }) ? { company_id, ...last } : null
  if (before && before.hash !== mapping.new_hash) return { held: [...seals, before], resealed: 'before' as const }
  return { held: [...seals.map((seal) => mapped(mapping, seal)), sinceOf(mapping)], resealed: 'since' as const }
}

const sealVerb: Verb<'ledger seal'> = {
  async run(context, { company, all }) {
    if ((company === undefined) === (all === undefined))
      throw new Refused(invalid('company', 'informe --company ou --all, um só'))
    const core = await context.core()
    if (company !== undefined) return sealOne(context, core, await companyOf(core, company))
    const { rows } = await core.pool.query<{ company_id: number }>(
      'select company_id from ledgers where revision >= 0 order by company_id',
    )
    const seals: Seal[] = []
    for (const { company_id } of rows) seals.push(await sealOne(context, core, company_id))
    return seals
  },
  // A document to be kept, whoever asks for it.
  show: (seals) => JSON.stringify(seals),
}

async function sealOne({ config }: Context, { pool, store }: Core, companyId: number): Promise<Seal> {
  const now = () => new Date().toISOString()
  const sealing = { pool, store, key: await loadSealKey(config.SEAL_KEY_FILE), now }
  const seal = await sealLedger(sealing, companyId, null).catch((error: unknown) => {
    if (!(error instanceof NotWhole)) throw error
    const { revision, reason } = error.verification.first_error ?? {}
    const found = `o livro da empresa ${companyId} não está íntegro: ${reason} na revisão ${revision}`
    throw new Refused(invalid('company', `${found}; um selo faria valer o que foi alterado`))
  })
  if (!seal) throw new Error(`the ledger of company ${companyId} is empty`)
  return seal
}

const publicKeyVerb: Verb<'ledger public-key'> = {
  async run({ config }) {
    const { keyId, publicKey } = await loadSealKey(config.SEAL_KEY_FILE)
    return { key_id: keyId, public_key: publicKey, pem: pemOf(publicKey) }
  },
  show: (result) => (result as { pem: string }).pem.trimEnd(),
}

export const verbs: Verbs<'ledger verify' | 'ledger seal' | 'ledger public-key'> = {
  'ledger verify': verifyVerb,
  'ledger seal': sealVerb,
  'ledger public-key': publicKeyVerb,
}
