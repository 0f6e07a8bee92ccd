import { expect } from 'chai'
import { RegisterCompanyInput, registerCompany } from '#commands/company-commands.ts'
import { companyRegistered } from '../../support/facts.ts'
import { COMPANY_ID, given } from '../../support/given.ts'

const body = { id: COMPANY_ID, name: ' Padaria Ipê ', cnpj: '11222333000181' }

describe('register company', () => {
  it('records the company with formatted CNPJ, the basic plan and the time zone of Brazil', async () => {
    const scenario = await given()
    const decided = await scenario.when(registerCompany, RegisterCompanyInput.parse(body), 'system')
    decided.accepts('created', companyRegistered({ plan: 'basic' }))
  })

  it('records plan, time zone, logo and tax data if given', async () => {
    const rest = {
      plan: 'api',
      timezone: 'America/Manaus',
      logo_url: 'https://ipe.example/logo.png',
      state_registration: '110042490114',
      tax_regime: 'simples_nacional_excess',
    } as const
    const scenario = await given()
    const decided = await scenario.when(registerCompany, RegisterCompanyInput.parse({ ...body, ...rest }), 'system')
    decided.accepts('created', companyRegistered(rest))
  })

  it('changes nothing when repeated after an interruption', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(registerCompany, RegisterCompanyInput.parse(body), 'system')
    decided.accepts('unchanged')
    expect(decided.decision).to.include({ subject: `company/${COMPANY_ID}` })
  })

  it('refuses to record a company in the ledger of another one', async () => {
    const scenario = await given()
    const input = RegisterCompanyInput.parse({ ...body, id: COMPANY_ID + 1 })
    const failure = await scenario.when(registerCompany, input).catch((error: unknown) => error)
    expect(failure).to.be.an('error')
  })

  for (const [field, value] of [
    ['cnpj', '11.222.333/0001-82'],
    ['timezone', '-03:00'],
    ['timezone', 'America/Sampa'],
    ['logo_url', 'javascript:alert(1)'],
    ['logo_url', 'logo.png'],
    ['plan', 'gold'],
    ['state_registration', 'IE 1'],
    ['tax_regime', 'simples'],
    ['name', ' '],
  ] as const) {
    it(`refuses ${field} ${JSON.stringify(value)}`, () => {
      const parsed = RegisterCompanyInput.safeParse({ ...body, [field]: value })
      expect(parsed.error?.issues.map((issue) => issue.path)).to.deep.equal([[field]])
    })
  }
})
