import { z } from 'zod'
import { refuse } from '#domain/refusal.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { ownCompany } from '#projections/companies.ts'
import { changesBetween, isEmpty } from '../records/changes.ts'
import { companyShape } from './company-input.ts'

/** Absent is left alone; a null logo_url removes the logo. */
export const UpdateCompanyInput = z.strictObject(companyShape).partial()
export type UpdateCompanyInput = z.infer<typeof UpdateCompanyInput>

/** Changes the company's own data, as its plan. Times already shown keep the offset of the zone that they were shown in. */
export const updateCompany = command<UpdateCompanyInput>({
  needs: () => [ownCompany],
  decide(rows, input, { companyId }) {
    const company = rows.get(ownCompany)
    if (!company) return refuse('not_found')
    const changes = changesBetween(company.doc, input)
    if (isEmpty(changes)) return accept('unchanged', `company/${companyId}`)
    return accept('updated', `company/${companyId}`, [event('CompanyUpdated', { id: companyId, changes })])
  },
})
