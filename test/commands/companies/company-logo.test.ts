import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { deleteCompanyLogo, setCompanyLogo, UpdateCompanyInput, updateCompany } from '#commands/company-commands.ts'
import { event } from '#events/catalogue.ts'
import { companyRegistered } from '../../support/facts.ts'
import { COMPANY_ID, given } from '../../support/given.ts'

/** The smallest lossless WebP. */
const WEBP = Buffer.from('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==', 'base64')
const URL_OF_IT = `/pictures/${COMPANY_ID}/logo/${createHash('sha256').update(WEBP).digest('hex')}.webp`

const changed = (changes: object) => event('CompanyUpdated', { id: COMPANY_ID, changes })

describe('brand of a company', () => {
  it('records the address of an uploaded logo, not its content [PANEL-611]', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(setCompanyLogo, { content: WEBP })
    decided.accepts('updated', changed({ logo_url: URL_OF_IT }))
    expect(await scenario.show(`company/${COMPANY_ID}`)).to.include({ logo_url: URL_OF_IT, brand_color: null })
    ;(await scenario.when(setCompanyLogo, { content: WEBP })).accepts('unchanged')
  })

  it('refuses a logo that is not a WebP of at most 200 KB [PANEL-611]', async () => {
    const scenario = await given(companyRegistered())
    const fields = (message: string) => ({ fields: { content: [message] }, unknown_fields: [] })
    const gif = await scenario.when(setCompanyLogo, { content: Buffer.from('GIF89a') })
    gif.refuses('validation_failed', fields('deve ser uma imagem WebP'))
    const large = await scenario.when(setCompanyLogo, { content: Buffer.concat([WEBP, Buffer.alloc(204_800)]) })
    large.refuses('validation_failed', fields('deve ter no máximo 200 KB'))
  })

  it('deletes the logo, once [PANEL-611]', async () => {
    const scenario = await given(companyRegistered({ logo_url: URL_OF_IT }))
    ;(await scenario.when(deleteCompanyLogo, {})).accepts('deleted', changed({ logo_url: null }))
    ;(await scenario.when(deleteCompanyLogo, {})).refuses('not_found')
  })

  it('records a colour in lower case, and refuses what is none [PANEL-610]', async () => {
    const scenario = await given(companyRegistered())
    const input = UpdateCompanyInput.parse({ brand_color: ' #0B5FA5 ' })
    ;(await scenario.when(updateCompany, input)).accepts('updated', changed({ brand_color: '#0b5fa5' }))
    expect(await scenario.show(`company/${COMPANY_ID}`)).to.include({ brand_color: '#0b5fa5' })
    for (const wrong of ['azul', '#fff', '0b5fa5', '#0b5fa5;}'])
      expect(UpdateCompanyInput.safeParse({ brand_color: wrong }).success, wrong).to.equal(false)
  })
})
