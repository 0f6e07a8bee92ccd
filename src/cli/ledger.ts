import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { Subject } from '#api/v1/events.ts'
import { exportLines } from '#audit/export.ts'
import type { Seal } from '#audit/seal.ts'
import { loadSealKey, pemOf } from '#audit/seal.ts'
import { NotWhole, sealLedger } from '#audit/sealing.ts'
import { invalid, refuse } from '#domain/refusal.ts'
import type { Envelope } from '#ledger/envelope.ts'
import { listHistory } from '#queries/events.ts'
import type { Core } from '#service/core.ts'
import { asOfVerb } from './ledger-as-of.ts'
import { copyVerb } from './ledger-copy.ts'
import { verifyVerb } from './ledger-verify.ts'
import { forPeople } from './output.ts'
import { accepted, type Context, checked, companyOf, optional, Refused, required, toggle, verb } from './verb.ts'

/** Records of one page of a history. */
const PAGE = 200

const SubjectFlag = z.object({ subject: Subject })

const oneLine = (result: object): string => JSON.stringify(result)

const sealVerb = verb({
  summary: 'verifies the ledger of a company, or of all, and prints its head, signed; keep it outside of the service',
  flags: { company: optional('ID'), all: toggle },
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
  show: oneLine,
})

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

const publicKeyVerb = verb({
  summary: 'prints the public key of the seals, for whoever has to trust them',
  flags: {},
  async run({ config }) {
    const { keyId, publicKey } = await loadSealKey(config.SEAL_KEY_FILE)
    return { key_id: keyId, public_key: publicKey, pem: pemOf(publicKey) }
  },
  show: (result) => (result as { pem: string }).pem.trimEnd(),
})

const exportVerb = verb({
  summary: 'prints the events of a company as JSON Lines, each as it was hashed; `ledger verify --file` checks them',
  flags: { company: required('ID'), from: optional('REVISION') },
  async run(context, { company, from = '0' }) {
    if (!/^(0|[1-9]\d{0,14})$/.test(from))
      throw new Refused(invalid('from', 'deve ser um número inteiro a partir de 0'))
    const core = await context.core()
    const lines = exportLines(core.store, await companyOf(core, company), Number(from))
    await pipeline(Readable.from(lines), process.stdout, { end: false }).catch((error: NodeJS.ErrnoException) => {
      // Whoever reads has seen enough, as `head` does.
      if (error.code !== 'EPIPE') throw error
    })
    return undefined
  },
})

const historyVerb = verb({
  summary: 'lists the events of one record, oldest first, also of a deleted one',
  flags: { company: required('ID'), subject: required('sale/9') },
  async run(context, { company, subject }) {
    const named = checked(SubjectFlag, { subject }).subject
    const core = await context.core()
    const companyId = await companyOf(core, company)
    const events: Envelope[] = []
    let cursor: string | null = null
    do {
      const paging = { limit: PAGE, ...(cursor !== null && { cursor }) }
      const page = await listHistory(core, companyId, named, paging)
      if (!page) throw new Refused(refuse('not_found', { subject }))
      const { data, next } = accepted(page)
      events.push(...(JSON.parse(`[${data}]`) as Envelope[]))
      cursor = next
    } while (cursor !== null)
    return events
  },
  show: (result) => forAuditors(result as Envelope[]),
})

/** Without what only the chain needs. */
const forAuditors = (events: readonly Envelope[]): string =>
  forPeople(
    events.map(({ revision, recorded_at, type, origin, actor, data }) => ({
      revision,
      recorded_at,
      type,
      origin,
      actor,
      data,
    })),
  )

export const ledgerVerbs = {
  verify: verifyVerb,
  seal: sealVerb,
  'public-key': publicKeyVerb,
  export: exportVerb,
  history: historyVerb,
  'as-of': asOfVerb,
  copy: copyVerb,
}
