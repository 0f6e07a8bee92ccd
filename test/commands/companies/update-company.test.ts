import { expect } from 'chai'
import { UpdateCompanyInput, updateCompany } from '#commands/company-commands.ts'
import { event } from '#events/catalogue.ts'
import { companyRegistered } from '../../support/facts.ts'
import { COMPANY_ID, given } from '../../support/given.ts'

const input = (body: object) => UpdateCompanyInput.parse(body)

describe('update company', () => {
  it('records changed fields only', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(updateCompany, input({ name: 'Padaria Ipê', plan: 'basic' }), 'system')
    decided.accepts('updated', event('CompanyUpdated', { id: COMPANY_ID, changes: { plan: 'basic' } }))
    expect(await scenario.show(`company/${COMPANY_ID}`)).to.include({ name: 'Padaria Ipê', plan: 'basic' })
  })

  it('removes the logo if it is null', async () => {
    const scenario = await given(companyRegistered({ logo_url: 'https://ipe.example/logo.png' }))
    const decided = await scenario.when(updateCompany, input({ logo_url: null }), 'system')
    decided.accepts('updated', event('CompanyUpdated', { id: COMPANY_ID, changes: { logo_url: null } }))
  })

  it('records a registration as digits, and null for removed tax data', async () => {
    const scenario = await given(companyRegistered({ tax_regime: 'mei' }))
    const decided = await scenario.when(
      updateCompany,
      input({ state_registration: '110.042.490.114', tax_regime: null }),
      'system',
    )
    const changes = { state_registration: '110042490114', tax_regime: null }
    decided.accepts('updated', event('CompanyUpdated', { id: COMPANY_ID, changes }))
  })

  it('records nothing when nothing changes', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(updateCompany, input({ cnpj: '11222333000181' }), 'system')
    decided.accepts('unchanged')
  })

  it('does not find an unregistered company', async () => {
    const scenario = await given()
    const decided = await scenario.when(updateCompany, input({ name: 'Outra' }), 'system')
    decided.refuses('not_found')
  })

  it('adds no defaults for absent fields', () => {
    expect(input({})).to.deep.equal({})
  })
})
