import { expect } from 'chai'
import { adjustRole } from '#commands/user-commands.ts'
import { ROLE_PRESETS } from '#domain/rights.ts'
import { event } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import { companyRef } from '#projections/companies.ts'
import { companyRegistered } from '../../support/facts.ts'
import { COMPANY_ID, given } from '../../support/given.ts'

const CLERK = {
  role: 'clerk',
  permissions: [...ROLE_PRESETS.clerk.granted],
  return_limit: '100.00',
  discount_limit: '100.00',
} as const
const clerk = (fields: Partial<Parameters<typeof adjustRole.decide>[1]> = {}) => ({
  ...CLERK,
  permissions: [...CLERK.permissions],
  ...fields,
})

describe('adjusting a role', () => {
  it('records all permissions and limits, in the order of the list [ROLE-110]', async () => {
    const shop = await given(companyRegistered())
    const input = clerk({ permissions: ['sell', 'export'], return_limit: '50.00', discount_limit: null })
    ;(await shop.when(adjustRole, input)).accepts(
      'updated',
      event('RoleAdjusted', { id: COMPANY_ID, ...input, permissions: ['export', 'sell'] }),
    )
    expect(companyRef(await shop.rows()).roles).to.deep.equal({
      clerk: { granted: ['export', 'sell'], limits: { return_goods: 5000, give_discount: null } },
    })
  })

  it('records nothing if nothing changes', async () => {
    const shop = await given(companyRegistered())
    ;(await shop.when(adjustRole, clerk())).accepts('unchanged')
  })

  it('restores the preset by choosing it again', async () => {
    const shop = await given(companyRegistered())
    await shop.when(adjustRole, clerk({ permissions: ['sell'] }))
    ;(await shop.when(adjustRole, clerk())).accepts(
      'updated',
      event('RoleAdjusted', { id: COMPANY_ID, role: 'clerk', permissions: null }),
    )
    expect(companyRef(await shop.rows()).roles).to.deep.equal({})
  })

  const ALL_OF_LEDGER = ['see_all_sales', 'see_costs', 'see_payables', 'export'] as const
  for (const [permission, required] of [
    ['see_audit', []],
    ['see_company', []],
    ['manage_integrations', [...ALL_OF_LEDGER, 'see_company']],
    ['manage_users', [...ALL_OF_LEDGER, 'see_company']],
    ['settle', ['see_payables']],
  ] as const)
    it(`grants what ${permission} requires [ROLE-111]`, async () => {
      const shop = await given(companyRegistered())
      const { decision } = await shop.when(adjustRole, clerk({ permissions: [permission] }))
      const [first] = isRefusal(decision) ? [] : decision.events
      expect(first?.data)
        .to.have.property('permissions')
        .that.has.members([...required, permission])
    })

  it('is refused for owners [ROLE-110]', async () => {
    const shop = await given(companyRegistered())
    ;(await shop.when(adjustRole, clerk({ role: 'owner' }))).refuses('validation_failed', {
      fields: { role: ['proprietários têm todas as permissões'] },
      unknown_fields: [],
    })
  })

  for (const role of ['accountant', 'auditor'] as const)
    it(`gives an ${role} no permission to act [ROLE-104]`, async () => {
      const shop = await given(companyRegistered())
      ;(await shop.when(adjustRole, clerk({ role, permissions: ['sell'] }))).refuses('validation_failed', {
        fields: { permissions: ['este perfil é somente leitura'] },
        unknown_fields: [],
      })
    })
})
