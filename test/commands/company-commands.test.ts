import { createHash } from 'node:crypto'
import { expect } from 'chai'
import {
  correctClock,
  deleteCompanyLogo,
  eraseTestData,
  makeTestTwin,
  moveTestClock,
  RegisterCompanyInput,
  recordRestore,
  registerCompany,
  setCompanyLogo,
  UpdateCompanyInput,
  updateCompany,
} from '#commands/company-commands.ts'
import { registerSale } from '#commands/register-sale.ts'
import { createApiKey } from '#commands/webhook-commands.ts'
import { addMilliseconds } from '#domain/instant.ts'
import { event } from '#events/catalogue.ts'
import { ownCompany } from '#projections/companies.ts'
import { customerById } from '#projections/people.ts'
import { companyRegistered, customerCreated } from '../support/facts.ts'
import { COMPANY_ID, given, minute } from '../support/given.ts'

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

const DAY_MS = 86_400_000
const tester = () => companyRegistered({ test: true })
const moved = (days: number) => event('TestClockMoved', { id: COMPANY_ID, by_ms: days * DAY_MS })
const erased = event('TestDataErased', { id: COMPANY_ID })
const BACK = 'deve ser depois da hora atual da empresa: o relógio só anda para a frente'
const TOO_FAR = 'o relógio pode ser avançado no máximo 3650 dias: apague os dados de teste para voltar'
const refusal = (field: string, message: string) => ({ fields: { [field]: [message] }, unknown_fields: [] })

describe('clock of a test company', () => {
  it('moves forward by days, and to an instant, from its current time [KIT-34]', async () => {
    const scenario = await given(tester(), moved(40))
    ;(await scenario.when(moveTestClock, { advance_days: 2 })).accepts('updated', moved(2))
    const [row] = [(await scenario.rows(ownCompany)).get(ownCompany)]
    expect(row?.clock_ahead_ms).to.equal(42 * DAY_MS)
    // The next event is recorded at minute(3), which is 42 days later in company time.
    const decided = await scenario.when(moveTestClock, { now: addMilliseconds(minute(3), 45 * DAY_MS) })
    decided.accepts('updated', moved(3))
  })

  it('neither moves back nor further than ten years ahead [KIT-34]', async () => {
    const scenario = await given(tester(), moved(40))
    const back = await scenario.when(moveTestClock, { now: '2020-01-01T00:00:00.000Z' })
    back.refuses('validation_failed', refusal('now', BACK))
    const far = await scenario.when(moveTestClock, { advance_days: 3_611 })
    far.refuses('validation_failed', refusal('advance_days', TOO_FAR))
  })

  it('determines business days, but not the validity of keys [KIT-34]', async () => {
    const scenario = await given(tester(), moved(40))
    const key = { name: 'a', scopes: ['sales:read'] as const, prefix: 'tb_test_0000', hash: Buffer.alloc(32) }
    // Past in company time only.
    const made = await scenario.when(createApiKey, {
      ...key,
      scopes: [...key.scopes],
      expires_at: addMilliseconds(minute(2), DAY_MS),
    })
    expect(made.decision).to.deep.include({ outcome: 'created' })
    const sold_at = addMilliseconds(minute(3), 42 * DAY_MS)
    const sale = { external_id: 'a', sold_at, items: [], payments: [] } as never
    const decided = await scenario.when(registerSale, sale)
    decided.refuses(
      'validation_failed',
      refusal('sold_at', 'não pode ser antes de 1990 nem estar mais de um dia no futuro'),
    )
  })

  it('cannot be moved for a real company', async () => {
    const scenario = await given(companyRegistered())
    ;(await scenario.when(moveTestClock, { advance_days: 1 })).refuses('not_test_company')
    ;(await scenario.when(eraseTestData, {})).refuses('not_test_company')
  })
})

describe('erased test company', () => {
  it('has lost its records and its clock offset, and continues its ids [KIT-36]', async () => {
    const scenario = await given(tester(), customerCreated({ id: 1 }), moved(40))
    ;(await scenario.when(eraseTestData, {})).accepts('updated', erased)
    const rows = await scenario.rows(ownCompany, customerById(1))
    expect(rows.get(customerById(1))).to.equal(null)
    expect(rows.get(ownCompany)).to.include({ clock_ahead_ms: 0, erased_revision: 3 })
  })
})

describe('returns of an erased test company', () => {
  it('no longer wait for their sales [KIT-36]', async () => {
    const awaited = event('ReturnAwaited', {
      ...{ id: 1, sale_offline_id: 'v1', offline_id: 'd1', fingerprint: 'f', reason: 'Defeito' },
      ...{ sale_id: null, user_id: 1 },
      returned_at: minute(1),
      items: [{ line: 0, quantity: '1.000', restock: true }],
      refunds: [],
      ...{ on_credit: '0.00', store_credit: '0.00', customer_id: null, cash_session_id: null },
    })
    const scenario = await given(tester(), awaited)
    const waiting = async () => (await scenario.rows(ownCompany)).get(ownCompany)?.awaited_returns
    expect(await waiting()).to.equal(1)
    await scenario.when(eraseTestData, {})
    expect(await waiting()).to.equal(0)
  })
})

describe('test twin of a company', () => {
  it('is created once: a second request returns the same twin [KIT-32]', async () => {
    const scenario = await given(companyRegistered())
    const twin = (twin_id: number) => event('TestTwinMade', { id: COMPANY_ID, twin_id })
    ;(await scenario.when(makeTestTwin, { twin_id: 8 })).accepts('updated', twin(8))
    ;(await scenario.when(makeTestTwin, { twin_id: 9 })).accepts('unchanged')
    expect((await scenario.rows(ownCompany)).get(ownCompany)).to.include({ twin_id: 8 })
  })

  it('is refused for a test company [KIT-32]', async () => {
    const scenario = await given(tester())
    const decided = await scenario.when(makeTestTwin, { twin_id: 8 })
    decided.refuses('validation_failed', refusal('company', 'já é uma empresa de teste'))
  })
})

const AHEAD = '2036-03-10T15:00:00.000Z'

describe('correct the clock of a ledger', () => {
  it('records how far the previous event was ahead [LEDGER-21]', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(correctClock, {}, 'system', undefined, AHEAD)
    decided.accepts('updated', event('CompanyClockCorrected', { id: COMPANY_ID, ahead_until: AHEAD }))
  })

  it('records nothing if the ledger is not ahead [LEDGER-21]', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(correctClock, {}, 'system')
    const fields = { company: ['o livro não está adiantado em relação ao relógio'] }
    decided.refuses('validation_failed', { fields, unknown_fields: [] })
  })

  it('does not find an unregistered company', async () => {
    const scenario = await given()
    const decided = await scenario.when(correctClock, {}, 'system', undefined, AHEAD)
    decided.refuses('not_found')
  })
})

const SAID = { lost_after: '2026-01-02T03:04:05.678Z', reason: 'disco perdido', copy: false, ids: { sale: 10_000 } }

describe('record a restore', () => {
  it('records since when events may be lost, the reason, and the id floors [OPS-84]', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(recordRestore, SAID, 'system')
    decided.accepts('updated', event('InstallationRestored', { id: COMPANY_ID, ...SAID }))
  })

  it('refuses a loss in the future [OPS-84]', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(recordRestore, { ...SAID, lost_after: '2999-01-01T00:00:00.000Z' }, 'system')
    decided.refuses('validation_failed', { fields: { lost_after: ['não pode estar no futuro'] }, unknown_fields: [] })
  })

  it('does not find an unregistered company', async () => {
    const scenario = await given()
    const decided = await scenario.when(recordRestore, SAID, 'system')
    decided.refuses('not_found')
  })
})
