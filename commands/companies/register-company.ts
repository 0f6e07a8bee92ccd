import { z } from 'zod'
import { Id } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { ownCompany } from '#projections/companies.ts'
import { companyShape } from './company-input.ts'

/** Most companies are in Brazil's own time. */
const TIME_ZONE = 'America/Sao_Paulo'

/** The id is part of the input: a company needs a ledger, and so an id, before anything can happen in it. */
export const RegisterCompanyInput = z.strictObject({
  id: Id,
  ...companyShape,
  plan: companyShape.plan.default('basic'),
  timezone: companyShape.timezone.default(TIME_ZONE),
  logo_url: companyShape.logo_url.default(null),
})
export type RegisterCompanyInput = z.infer<typeof RegisterCompanyInput>

/** The first event of a ledger. Registering again changes nothing, so that an interrupted registration can be repeated. */
export const registerCompany = command<RegisterCompanyInput>({
  needs: () => [ownCompany],
  decide(rows, input, { companyId }) {
    if (input.id !== companyId) throw new Error(`company ${input.id} belongs to another ledger`)
    const subject = `company/${companyId}`
    if (rows.get(ownCompany)) return accept('unchanged', subject)
    return accept('created', subject, [event('CompanyRegistered', input)])
  },
})
