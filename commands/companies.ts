import * as z from 'zod'
import { BrandColor } from '#domain/brand-color.ts'
import { StateRegistration } from '#domain/fiscal-codes.ts'
import { isTimeZone } from '#domain/instant.ts'
import { invalid, refuse } from '#domain/refusal.ts'
import { Cnpj } from '#domain/tax-number.ts'
import { boundedText, Id, limitedText, Phone } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { PLANS, TAX_REGIMES } from '#events/companies.ts'
import { accept, command } from '#ledger/command.ts'
import { ownCompany } from '#projections/companies.ts'
import { changedRecordFields, isEmpty } from './records.ts'

const LOGO_URL = 'deve ser uma URL http ou https'
const TIME_ZONE = 'deve ser um fuso horário, como "America/Sao_Paulo"'

/** Fields of a company that the operator sets. */
export const companyShape = {
  name: boundedText(120),
  cnpj: Cnpj,
  plan: z.enum(PLANS),
  timezone: limitedText(60, TIME_ZONE).refine(isTimeZone, TIME_ZONE),
  logo_url: boundedText(500)
    .refine((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol), LOGO_URL)
    .nullable(),
  state_registration: StateRegistration.nullable(),
  tax_regime: z.enum(TAX_REGIMES).nullable(),
  /** As receipts show it, in one line. */
  address: boundedText(200).nullable(),
  phone: Phone.nullable(),
  /** Of the shop's pages; text on it is black or white, whichever has more contrast. */
  brand_color: BrandColor.nullable(),
}

/** The id is part of the input: a company needs an id and a ledger before its first event. */
export const RegisterCompanyInput = z.strictObject({
  id: Id,
  ...companyShape,
  plan: companyShape.plan.default('basic'),
  timezone: companyShape.timezone.default('America/Sao_Paulo'),
  logo_url: companyShape.logo_url.default(null),
  state_registration: companyShape.state_registration.optional(),
  tax_regime: companyShape.tax_regime.optional(),
  address: companyShape.address.optional(),
  phone: companyShape.phone.optional(),
  brand_color: companyShape.brand_color.optional(),
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
    const { state_registration = null, tax_regime = null } = input
    return accept('created', subject, [event('CompanyRegistered', { ...input, state_registration, tax_regime })])
  },
})

/** Absent fields stay unchanged; null removes an optional one. */
export const UpdateCompanyInput = z.strictObject(companyShape).partial()
export type UpdateCompanyInput = z.infer<typeof UpdateCompanyInput>

/** A new time zone applies from now on: recorded days stay unchanged, instants are shown in the new zone. */
export const updateCompany = command<UpdateCompanyInput>({
  permission: 'manage_company',
  needs: () => [ownCompany],
  decide(rows, input, { companyId }) {
    const company = rows.get(ownCompany)
    if (!company) return refuse('not_found')
    const changes = changedRecordFields(company.doc, input)
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
    if (aheadUntil === null) return invalid('company', 'o livro não está adiantado em relação ao relógio')
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
    if (input.lost_after > now) return invalid('lost_after', 'não pode estar no futuro')
    return accept('updated', `company/${companyId}`, [event('InstallationRestored', { id: companyId, ...input })])
  },
})
