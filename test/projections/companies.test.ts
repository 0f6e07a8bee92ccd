import { expect } from 'chai'
import { event } from '#events/catalogue.ts'
import { PAYMENT_KINDS } from '#events/company-events.ts'
import type { NewEvent } from '#ledger/command.ts'
import { ownCompany } from '#projections/companies.ts'
import { paymentTypeById } from '#projections/stores.ts'
import { userById } from '#projections/users.ts'
import { apiKeyById } from '#projections/webhooks.ts'
import { companyRegistered, paymentTypeCreated, userCreated } from '../support/facts.ts'
import { COMPANY_ID, given, minute } from '../support/given.ts'

const key = (id: number, expires_at: string | null = null) =>
  event('ApiKeyCreated', { id, name: 'ERP', prefix: 'tb_live_abc', scopes: ['sales:read'], expires_at })

describe('companies projection', () => {
  it('shows registration and changes', async () => {
    const updated = event('CompanyUpdated', {
      id: COMPANY_ID,
      changes: { timezone: 'America/Manaus', plan: 'basic', name: 'Nova' },
    })
    const scenario = await given(companyRegistered(), updated)
    const company = (await scenario.rows(ownCompany)).get(ownCompany)
    expect(company).to.include({ company_id: COMPANY_ID, timezone: 'America/Manaus', plan: 'basic', revision: 1 })
    expect(company?.doc).to.include({ name: 'Nova', cnpj: '11.222.333/0001-81', created_at: minute(0) })
  })

  it('shows tax data of a company', async () => {
    const taxes = { state_registration: '110042490114', tax_regime: 'mei' } as const
    const told = await given(companyRegistered(taxes))
    expect((await told.rows(ownCompany)).get(ownCompany)?.doc).to.include(taxes)
  })

  it('records where times of its ledger go back [LEDGER-21]', async () => {
    const corrected = event('CompanyClockCorrected', { id: COMPANY_ID, ahead_until: '2036-03-10T15:00:00.000Z' })
    const scenario = await given(companyRegistered(), corrected, corrected)
    expect((await scenario.rows(ownCompany)).get(ownCompany)?.clock_corrections).to.deep.equal([
      { revision: 1, recorded_at: minute(1) },
      { revision: 2, recorded_at: minute(2) },
    ])
  })

  it('remembers permanently that its zone changed', async () => {
    const to = (changes: object) => event('CompanyUpdated', { id: COMPANY_ID, changes })
    const changed = async (...events: NewEvent[]) => {
      const scenario = await given(companyRegistered(), ...events)
      return (await scenario.rows(ownCompany)).get(ownCompany)?.zone_changed
    }
    const away = to({ timezone: 'America/Noronha' })
    expect(await changed(to({ name: 'Nova' }))).to.equal(false)
    expect(await changed(away)).to.equal(true)
    expect(await changed(away, to({ timezone: 'America/Sao_Paulo' }))).to.equal(true)
  })

  it('lists keys that are not revoked', async () => {
    const scenario = await given(companyRegistered(), key(1), key(2, minute(60)), event('ApiKeyRevoked', { id: 1 }))
    const rows = await scenario.rows(ownCompany, apiKeyById(1))
    expect(rows.get(ownCompany)?.active_keys).to.deep.equal([{ id: 2, scopes: ['sales:read'], expires_at: minute(60) }])
    expect(rows.get(apiKeyById(1))).to.include({ revoked_at: minute(3), revision: 3 })
    expect(rows.get(apiKeyById(1))?.doc).to.include({ revoked_at: minute(3), created_at: minute(1) })
  })
})

describe('users projection', () => {
  const ref = userById(3)
  const owner = userCreated({ id: 3, role: 'owner' })

  it('stores users without secrets', async () => {
    const scenario = await given(companyRegistered(), owner)
    const row = (await scenario.rows(ref)).get(ref)
    expect(row).to.include({ generation: 0, revision: 1 })
    expect(row?.doc).to.deep.equal({
      id: 3,
      name: 'Ana',
      email: 'ana@loja.example',
      role: 'owner',
      access_until: null,
      personal_data: true,
      status: 'active',
      company_id: COMPANY_ID,
      forgotten_at: null,
      created_at: minute(1),
      updated_at: minute(1),
    })
  })

  it('follows name, role and status', async () => {
    const scenario = await given(
      companyRegistered(),
      owner,
      event('UserUpdated', { id: 3, changes: { name: 'Bia', role: 'clerk' } }),
      event('UserDeactivated', { id: 3 }),
    )
    const row = (await scenario.rows(ref)).get(ref)
    expect(row).to.include({ generation: 1, revision: 3, changed_at: minute(3) })
    const changed = { name: 'Bia', role: 'clerk', status: 'inactive', updated_at: minute(3) }
    expect(row?.doc).to.include({ ...changed, email: 'ana@loja.example', created_at: minute(1) })
  })

  it('starts a new generation with each password and each deactivation only', async () => {
    const scenario = await given(
      companyRegistered(),
      owner,
      event('UserPasswordChanged', { id: 3 }),
      event('UserDeactivated', { id: 3 }),
      event('UserReactivated', { id: 3 }),
      event('UserUpdated', { id: 3, changes: { name: 'Bia' } }),
      event('UserPasswordChanged', { id: 3 }),
    )
    expect((await scenario.rows(ref)).get(ref)?.generation).to.equal(3)
  })

  it('lists active owners in the company', async () => {
    const owners = async (...events: NewEvent[]) => {
      const other = userCreated({ id: 4, email: 'bia@loja.example' })
      const scenario = await given(companyRegistered(), owner, other, ...events)
      return (await scenario.rows(ownCompany)).get(ownCompany)?.active_owners
    }
    const promoted = event('UserUpdated', { id: 4, changes: { role: 'owner' } })
    const renamed = event('UserUpdated', { id: 4, changes: { name: 'Bia' } })
    const gone = event('UserDeactivated', { id: 3 })
    expect(await owners()).to.deep.equal([3])
    expect(await owners(renamed)).to.deep.equal([3])
    expect(await owners(promoted, renamed)).to.deep.equal([3, 4])
    expect(await owners(promoted, gone)).to.deep.equal([4])
    expect(await owners(promoted, gone, event('UserReactivated', { id: 3 }))).to.deep.equal([4, 3])
    expect(await owners(event('UserDeactivated', { id: 4 }), promoted)).to.deep.equal([3])
  })
})

describe('payment types projection', () => {
  it('refuses credit and internal kinds to the API, with a reason, and no others [TYPE-2]', async () => {
    const internal = ['credit_account', 'exchange_credit', 'promotion', 'cashback', 'online']
    const events = PAYMENT_KINDS.map((kind, index) => paymentTypeCreated({ id: index + 1, name: kind, kind }))
    const scenario = await given(companyRegistered(), ...events)
    for (const [index, kind] of PAYMENT_KINDS.entries()) {
      const shown = (await scenario.show(`payment_type/${index + 1}`)) as { reason?: string }
      expect(shown).to.include({ kind, is_cash: kind === 'cash', accepts_api: !internal.includes(kind) })
      expect(typeof shown.reason, kind).to.equal(internal.includes(kind) ? 'string' : 'undefined')
    }
  })

  it('follows a change of kind', async () => {
    const updated = event('PaymentTypeUpdated', { id: 1, changes: { kind: 'cashback', fee_percentage: '1.50' } })
    const scenario = await given(companyRegistered(), paymentTypeCreated({ id: 1 }), updated)
    const ref = paymentTypeById(1)
    expect((await scenario.rows(ref)).get(ref)).to.include({ revision: 2, changed_at: minute(2) })
    const shown = await scenario.show('payment_type/1')
    expect(shown).to.include({ is_cash: false, accepts_api: false, fee_percentage: '1.50', name: 'Dinheiro' })
  })
})
