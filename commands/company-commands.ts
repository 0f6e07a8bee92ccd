import { createHash } from 'node:crypto'
import * as z from 'zod'
import { pictureProblem } from '#domain/images.ts'
import { Instant } from '#domain/instant.ts'
import { refuse, refuseField } from '#domain/refusals.ts'
import { Id, limitedText } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { companyLogos } from '#projections/catalog.ts'
import { companyRef, ownCompany } from '#projections/companies.ts'
import { COMPANY_FIELDS } from '#records/company-settings.ts'
import { changesShape, wholeShape } from '#records/field.ts'
import { isEmpty, pickChanges } from './record-commands.ts'

/** The id is part of the input: a company needs an id and a ledger before its first event. */
export const RegisterCompanyInput = z.strictObject({
  id: Id,
  ...wholeShape(COMPANY_FIELDS),
  /** Permanent: a real company cannot become a test company, nor the reverse. */
  test: z.literal(true).optional(),
})
export type RegisterCompanyInput = z.infer<typeof RegisterCompanyInput>

/** First event of a ledger. Registering again changes nothing, so an interrupted registration can be repeated. */
export const registerCompany = command<RegisterCompanyInput>({
  needs: () => [ownCompany],
  decide(rows, input, { companyId }) {
    if (input.id !== companyId) throw new Error(`company ${input.id} does not match the id of this ledger`)
    const subject = `company/${companyId}`
    if (rows.get(ownCompany)) return accept('unchanged', subject)
    const { logo_url = null, state_registration = null, tax_regime = null } = input
    const registered = event('CompanyRegistered', { ...input, logo_url, state_registration, tax_regime })
    return accept('created', subject, [registered])
  },
})

/** Absent fields stay unchanged; null removes an optional one. */
export const UpdateCompanyInput = z.strictObject(changesShape(COMPANY_FIELDS))
export type UpdateCompanyInput = z.infer<typeof UpdateCompanyInput>

/** A new time zone applies from now on: recorded days stay unchanged, instants are shown in the new zone. */
export const updateCompany = command<UpdateCompanyInput>({
  permission: 'manage_company',
  needs: () => [ownCompany],
  decide(rows, input, { companyId }) {
    const company = rows.get(ownCompany)
    if (!company) return refuse('not_found')
    const changes = pickChanges(company.doc, input)
    if (isEmpty(changes)) return accept('unchanged', `company/${companyId}`)
    return accept('updated', `company/${companyId}`, [event('CompanyUpdated', { id: companyId, changes })])
  },
})

/** Records that the last event carries a time ahead of the clock. The correction itself may carry an earlier time. */
export const correctClock = command<object>({
  correctsClock: true,
  needs: () => [ownCompany],
  decide(rows, _input, { companyId, aheadUntil }) {
    if (!rows.get(ownCompany)) return refuse('not_found')
    if (aheadUntil === null) return refuseField('company', 'o livro não está adiantado em relação ao relógio')
    const subject = `company/${companyId}`
    return accept('updated', subject, [event('CompanyClockCorrected', { id: companyId, ahead_until: aheadUntil })])
  },
})

/** Operator's report of a restore; the reason is a single line. */
export const RestoreInput = z.object({
  /** UTC. */
  lost_after: z.iso.datetime({ precision: 3 }),
  reason: limitedText(1_500)
    .trim()
    .min(1)
    .max(500)
    .regex(/^\P{Cc}*$/u),
  copy: z.boolean(),
  ids: z.record(z.string(), z.int().positive()),
})
export type RestoreInput = z.infer<typeof RestoreInput>

/** Records that the ledger comes from a backup (OPS-84). */
export const recordRestore = command<RestoreInput>({
  needs: () => [ownCompany],
  decide(rows, input, { companyId, recordedAt: now }) {
    if (!rows.get(ownCompany)) return refuse('not_found')
    if (input.lost_after > now) return refuseField('lost_after', 'não pode estar no futuro')
    return accept('updated', `company/${companyId}`, [event('InstallationRestored', { id: companyId, ...input })])
  },
})

const SetLogoInput = z.object({ content: z.instanceof(Buffer) })
type SetLogoInput = z.infer<typeof SetLogoInput>

/** Address of an uploaded logo, below the service: its digest makes the answer immutable. */
const logoUrl = (companyId: number, digest: string): string => `/pictures/${companyId}/logo/${digest}.webp`

/** Sets or replaces the logo of the company. */
export const setCompanyLogo = command<SetLogoInput>({
  permission: 'manage_company',
  needs: () => [ownCompany],
  decide(rows, { content }, { companyId, recordedAt: stored_at }) {
    const company = rows.get(ownCompany)
    if (!company) return refuse('not_found')
    const problem = pictureProblem(content)
    if (problem !== null) return refuseField('content', problem)
    const digest = createHash('sha256').update(content).digest()
    const logo_url = logoUrl(companyId, digest.toString('hex'))
    if (company.doc.logo_url === logo_url) return accept('unchanged', `company/${companyId}`)
    const changed = event('CompanyUpdated', { id: companyId, changes: { logo_url } })
    const row = { company_id: companyId, digest, content, stored_at }
    return accept('updated', changed.subject, [changed], [{ table: companyLogos, row }])
  },
})

/** Deletes the logo, and its file if it was uploaded. */
export const deleteCompanyLogo = command<object>({
  permission: 'manage_company',
  needs: () => [ownCompany],
  decide(rows, _input, { companyId, recordedAt: stored_at }) {
    const company = rows.get(ownCompany)
    if (!company || company.doc.logo_url === null) return refuse('not_found')
    const changed = event('CompanyUpdated', { id: companyId, changes: { logo_url: null } })
    const row = { company_id: companyId, digest: null, content: null, stored_at }
    return accept('deleted', changed.subject, [changed], [{ table: companyLogos, row }])
  },
})

const DAY_MS = 86_400_000
const MAX_DAYS = 3_650

/** Maximum lead of a test company's clock; erasing its data resets it. */
const MAX_AHEAD_MS = MAX_DAYS * DAY_MS

export const AdvanceDays = z.int().min(1).max(MAX_DAYS)

/** To an instant, or by a number of days. */
export const MoveTestClockInput = z
  .strictObject({ now: Instant.nullish(), advance_days: AdvanceDays.nullish() })
  .superRefine(({ now, advance_days }, context) => {
    if ((now ?? null) === null && (advance_days ?? null) === null)
      context.addIssue({ code: 'custom', path: ['now'], message: 'informe now ou advance_days' })
    if ((now ?? null) !== null && (advance_days ?? null) !== null)
      context.addIssue({ code: 'custom', path: ['advance_days'], message: 'não pode ser enviado junto com now' })
  })
export type MoveTestClockInput = z.infer<typeof MoveTestClockInput>

/** Moves the clock of a test company forward, never back. Work scheduled up to then is due. */
export const moveTestClock = command<MoveTestClockInput>({
  permission: 'manage_company',
  needs: () => [ownCompany],
  decide(rows, input, { companyId, now }) {
    const { is_test, clock_ahead_ms } = companyRef(rows)
    if (!is_test) return refuse('not_test_company')
    const field = input.now ? 'now' : 'advance_days'
    const by_ms = input.now ? Date.parse(input.now) - Date.parse(now) : (input.advance_days ?? 0) * DAY_MS
    if (by_ms <= 0)
      return refuseField(field, 'deve ser depois da hora atual da empresa: o relógio só anda para a frente')
    if (clock_ahead_ms + by_ms > MAX_AHEAD_MS)
      return refuseField(
        field,
        `o relógio pode ser avançado no máximo ${MAX_DAYS} dias: apague os dados de teste para voltar`,
      )
    return accept('updated', `company/${companyId}`, [event('TestClockMoved', { id: companyId, by_ms })])
  },
})

/** Erases all business records of a test company, and resets its clock. */
export const eraseTestData = command<object>({
  permission: 'manage_company',
  isAlone: true,
  needs: () => [ownCompany],
  decide(rows, _input, { companyId }) {
    if (!companyRef(rows).is_test) return refuse('not_test_company')
    return accept('updated', `company/${companyId}`, [event('TestDataErased', { id: companyId })])
  },
})

/** `twin_id`: id of the twin to be created. */
const MakeTestTwinInput = z.strictObject({ twin_id: Id })
type MakeTestTwinInput = z.infer<typeof MakeTestTwinInput>

/** Records the test twin of a real company. A company has at most one: repeating it changes nothing. */
export const makeTestTwin = command<MakeTestTwinInput>({
  permission: 'manage_company',
  needs: () => [ownCompany],
  decide(rows, { twin_id }, { companyId }) {
    const company = companyRef(rows)
    if (company.is_test) return refuseField('company', 'já é uma empresa de teste')
    const subject = `company/${companyId}`
    if (company.twin_id !== null) return accept('unchanged', subject)
    return accept('updated', subject, [event('TestTwinMade', { id: companyId, twin_id })])
  },
})
