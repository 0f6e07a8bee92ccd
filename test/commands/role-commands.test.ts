import { readdirSync } from 'node:fs'
import { expect } from 'chai'
import { cancelSale } from '#commands/cancel-sale.ts'
import { updateItem } from '#commands/item-commands.ts'
import { adjustRole, recordSecondFactorRemoval } from '#commands/user-commands.ts'
import { ROLE_PRESETS } from '#domain/rights.ts'
import { event } from '#events/catalogue.ts'
import { type Command, isRefusal, type NewEvent, type Permit } from '#ledger/command.ts'
import { companyRef } from '#projections/companies.ts'
import { limitUsesByUser, liveUser, userById } from '#projections/users.ts'
import { companyRegistered, itemCreated, saleCompleted, userCreated } from '../support/facts.ts'
import { COMPANY_ID, given, minute } from '../support/given.ts'

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

/** The permissions of a user after these events, with an approver or without. */
async function permitAfter(events: readonly NewEvent[], userId: number, approver: number | null): Promise<Permit> {
  const shop = await given(...events)
  const caller = { userId, generation: 0, email: 'x@y.example', personGeneration: 0, sessionHash: Buffer.alloc(32) }
  const rows = await shop.rows(
    userById(userId),
    limitUsesByUser(userId),
    ...(approver === null ? [] : [userById(approver)]),
  )
  return liveUser(caller, approver).permitsOf?.(rows, minute(0)) as Permit
}

/**
 * Commands that need no permission (of the service, of till uploads, of the own login, of a company's operator) or
 * decide which one by their rows.
 */
const WITHOUT_PERMISSION = [
  'acceptInvitation',
  'acceptRefund',
  'applyScheduledPrices',
  'cancelSale',
  'changePassword',
  'changePin',
  'closeCashSession',
  'completeRefund',
  'correctClock',
  'createOfflineCustomer',
  'createOfflineItem',
  'forgetDue',
  'recordCashMovement',
  'recordOfflineReturn',
  'recordOfflineSale',
  'recordPasswordLink',
  'recordPayment',
  'recordRecoveryCodes',
  'recordRefusedReturn',
  'recordRestore',
  'recordSecondFactor',
  'recordSecondFactorRemoval',
  'refusePayment',
  'refuseRefund',
  'refuseStoreConnection',
  'registerCompany',
  'registerTill',
  'renewStoreConnection',
  'replaceItem',
  'returnGoods',
  'reverseReturn',
  'revokeShare',
  'settleRefund',
  'shareRecord',
  'startPayment',
  'tellTail',
  'updateItem',
  'usePasswordLink',
]

describe('permissions of commands', () => {
  const [CLERK, MANAGER, OTHER_CLERK] = [2, 3, 4]

  const users = [
    companyRegistered(),
    userCreated({ id: 1, role: 'owner' }),
    userCreated({ id: CLERK, email: 'bia@loja.example', role: 'clerk' }),
    userCreated({ id: MANAGER, email: 'caio@loja.example', role: 'manager' }),
    userCreated({ id: OTHER_CLERK, email: 'dora@loja.example', role: 'clerk' }),
  ]

  it('are named by every command, except those that need none or decide by their rows [ROLE-107]', async () => {
    const files = readdirSync('commands', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
    const without: string[] = []
    for (const file of files) {
      const exported = (await import(`../../commands/${file}`)) as Record<string, Partial<Command<unknown>>>
      for (const [name, value] of Object.entries(exported))
        if (typeof value === 'object' && 'decide' in value && value.permission === undefined) without.push(name)
    }
    expect(without.sort()).to.deep.equal(WITHOUT_PERMISSION)
  })

  it('are granted by the role, or by the approver, who is named only if needed [ROLE-106] [ROLE-120]', async () => {
    expect((await permitAfter(users, CLERK, null))('sell')).to.deep.equal({})
    expect((await permitAfter(users, CLERK, MANAGER))('sell')).to.deep.equal({})
    expect((await permitAfter(users, CLERK, MANAGER))('cancel_all')).to.deep.equal({ approved_by: MANAGER })
    const refused = { refused: 'permission_required', details: { permission: 'cancel_all' } }
    expect((await permitAfter(users, CLERK, null))('cancel_all')).to.deep.equal(refused)
    expect((await permitAfter(users, CLERK, OTHER_CLERK))('cancel_all')).to.deep.equal(refused)
  })

  it('end at their limit, above which an approval is needed [ROLE-103] [ROLE-120]', async () => {
    const permit = await permitAfter(users, CLERK, null)
    expect(permit('return_goods', { cents: 100_00, before: 0 })).to.deep.equal({})
    expect(permit('return_goods', { cents: 100_01, before: 0 })).to.deep.equal({
      refused: 'permission_required',
      details: { permission: 'return_goods', limit: '100.00' },
    })
    expect((await permitAfter(users, CLERK, MANAGER))('return_goods', { cents: 100_01, before: 0 })).to.deep.equal({
      approved_by: MANAGER,
    })
  })

  it('are not lent by a deactivated approver [ROLE-120]', async () => {
    const permit = await permitAfter([...users, event('UserDeactivated', { id: MANAGER })], CLERK, MANAGER)
    expect(permit('cancel_all')).to.have.property('refused', 'permission_required')
  })

  it('are those that the company gave the role [ROLE-110]', async () => {
    const adjusted = event('RoleAdjusted', { id: COMPANY_ID, role: 'clerk', permissions: ['cancel_all'] })
    const permit = await permitAfter([...users, adjusted], CLERK, null)
    expect(permit('cancel_all')).to.deep.equal({})
    expect(permit('sell')).to.have.property('refused', 'permission_required')
  })

  for (const user of [CLERK, OTHER_CLERK])
    it(`to remove the second factor of ${user === CLERK ? 'the user are none' : 'another user is manage_users'} [ROLE-107]`, async () => {
      const shop = await given(...users)
      const permit = await permitAfter(users, CLERK, null)
      const input = { id: user, method: null }
      const decided = await shop.when(recordSecondFactorRemoval, input, 'panel', `user/${CLERK}`, null, [], permit)
      expect(decided.decision).to.deep.include(
        user === CLERK
          ? { outcome: 'updated' }
          : { refused: 'permission_required', details: { permission: 'manage_users' } },
      )
    })

  for (const [seller, permission] of [
    [CLERK, 'cancel_own'],
    [OTHER_CLERK, 'cancel_all'],
    [null, 'cancel_all'],
  ] as const)
    it(`to cancel the sale of ${seller === CLERK ? 'the user' : seller ? 'another user' : 'no user'} is ${permission}`, async () => {
      const sold = saleCompleted({ id: 5, seller: { user_id: seller, name: 'x' } })
      const shop = await given(...users, itemCreated({ stock: '9.000' }), sold)
      const asked: string[] = []
      const permit: Permit = (needed) => {
        asked.push(needed)
        return { approved_by: MANAGER }
      }
      const decided = await shop.when(cancelSale, { id: 5, reason: 'x' }, 'panel', `user/${CLERK}`, null, [], permit)
      expect(asked).to.deep.equal([permission])
      expect(decided.decision).to.have.nested.property('events[0].data.approved_by', MANAGER)
    })

  for (const [changes, needed] of [
    [{ name: 'Outro' }, ['edit_catalog']],
    [{ price: '1.00' }, ['edit_catalog', 'change_price']],
    [{ cost: '1.00' }, ['edit_catalog', 'see_costs']],
    [{ stock: '1.000' }, ['adjust_stock']],
  ] as const)
    it(`to change ${Object.keys(changes)[0]} of an item are ${needed.join(' and ')} [ROLE-123]`, async () => {
      const shop = await given(companyRegistered(), itemCreated({ id: 1, stock: '9.000', price: '5.00' }))
      const asked: string[] = []
      const permit: Permit = (permission) => {
        asked.push(permission)
        return {}
      }
      await shop.when(updateItem, { id: 1, changes }, 'panel', `user/${CLERK}`, null, [], permit)
      expect(asked).to.deep.equal(needed)
    })
})
