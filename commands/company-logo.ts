import { createHash } from 'node:crypto'
import * as z from 'zod'
import { invalid, refuse } from '#domain/refusal.ts'
import { pictureProblem } from '#domain/webp.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { ownCompany } from '#projections/companies.ts'
import { companyLogos } from '#projections/pictures.ts'

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
    if (problem !== null) return invalid('content', problem)
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
