import { readdirSync } from 'node:fs'
import { expect } from 'chai'
import { cancelSale } from '#commands/cancel-sale.ts'
import { updateItem } from '#commands/item-commands.ts'
import { AdjustRoleInput, adjustRole, createRole, removeRole } from '#commands/role-commands.ts'
import { createUser, reactivateUser, recordSecondFactorRemoval, updateUser } from '#commands/user-commands.ts'
import { refuse, refuseField } from '#domain/refusals.ts'
import { MAX_OWN_ROLES, type Permission, ROLE_PRESETS } from '#domain/rights.ts'
import { event } from '#events/catalogue.ts'
import { type Command, isRefusal, type NewEvent, type Permit } from '#ledger/command.ts'
import { companyRef } from '#projections/companies.ts'
import { limitUsesByUser, liveUser, userById } from '#projections/users.ts'
import { companyRegistered, itemCreated, saleCompleted, userCreated } from '../support/facts.ts'
import { COMPANY_ID, type Decided, given, minute, type Scenario } from '../support/given.ts'

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

/** Has these permissions, and the limits of a clerk. */
const permitOnly =
  (...permissions: readonly Permission[]): Permit =>
  (permission, use) =>
    permissions.includes(permission) && (use?.cents ?? 0) <= 100_00 ? {} : refuse('permission_required', { permission })

const stocker = event('RoleCreated', {
  id: COMPANY_ID,
  role: 'clerk_7',
  role_name: 'Repositor',
  permissions: ['adjust_stock', 'edit_catalog'],
  return_limit: '0.00',
  discount_limit: '0.00',
})

describe('a role of the company', () => {
  const BY = ['panel', 'user/1', null] as const

  it('begins as a copy, named by the revision of its event [ROLE-1350]', async () => {
    const shop = await given(companyRegistered())
    ;(await shop.when(createRole, { name: 'Repositor', copy_of: 'clerk' })).accepts(
      'created',
      event('RoleCreated', { id: COMPANY_ID, ...clerk(), role: 'clerk_1', role_name: 'Repositor' }),
    )
    const again = await shop.when(createRole, { name: 'Repositor 2', copy_of: 'clerk_1' })
    expect(again.decision).to.have.nested.property('events[0].data.role', 'clerk_2')
  })

  it('copied from owners is a manager, who decides about no owners [ROLE-1350] [ROLE-124]', async () => {
    const shop = await given(companyRegistered())
    const { decision } = await shop.when(createRole, { name: 'Sócia', copy_of: 'owner' })
    expect(decision).to.have.nested.property('events[0].data.role', 'manager_1')
    expect(decision).to.have.nested.property('events[0].data.permissions').that.does.not.include('manage_owners')
    expect(decision).to.have.nested.property('events[0].data.permissions').that.includes('manage_company')
  })

  for (const name of ['repositor', 'Gerente'])
    it(`takes no name of another role: ${name} [ROLE-1350]`, async () => {
      const shop = await given(companyRegistered(), stocker)
      const taken = refuseField('name', 'outro perfil já tem este nome')
      expect((await shop.when(createRole, { name, copy_of: 'clerk' })).decision).to.deep.equal(taken)
    })

  it('is one of twenty at most [ROLE-1350]', async () => {
    const roles = Array.from({ length: MAX_OWN_ROLES }, (_, n) =>
      event('RoleCreated', { id: COMPANY_ID, role: `clerk_${n + 1}`, role_name: `Perfil ${n}`, permissions: [] }),
    )
    const shop = await given(companyRegistered(), ...roles)
    const input = { name: 'Mais um', copy_of: 'clerk' } as const
    expect((await shop.when(createRole, input)).decision).to.have.property('refused', 'validation_failed')
    await shop.when(removeRole, { role: 'clerk_3' })
    expect((await shop.when(createRole, input)).decision).to.have.property('outcome', 'created')
  })

  it('gets another name and other permissions by one event, and its own name again [ROLE-1350]', async () => {
    const shop = await given(companyRegistered(), stocker)
    const changes = { role: 'clerk_7', permissions: ['adjust_stock'], return_limit: '0.00', discount_limit: '0.00' }
    const input = AdjustRoleInput.parse(changes)
    ;(await shop.when(adjustRole, { ...input, name: 'Estoquista' })).accepts(
      'updated',
      event('RoleAdjusted', { id: COMPANY_ID, ...input, role_name: 'Estoquista' }),
    )
    ;(await shop.when(adjustRole, input)).accepts('unchanged')
    expect(companyRef(await shop.rows()).roles.clerk_7).to.include({ name: 'Estoquista' })
  })

  it('leaves when no user has it, and is given to no one from then on [ROLE-1351]', async () => {
    const bia = userCreated({ id: 2, role: 'clerk_7', role_name: 'Repositor' })
    const shop = await given(companyRegistered(), stocker, bia)
    const held = await shop.when(removeRole, { role: 'clerk_7' }, ...BY, [{ name: 'Bia' }])
    expect(held.decision).to.deep.equal(refuseField('role', 'têm este perfil: Bia'))
    await shop.happens(event('UserDeactivated', { id: 2 }))
    ;(await shop.when(removeRole, { role: 'clerk_7' })).accepts(
      'deleted',
      event('RoleRemoved', { id: COMPANY_ID, role: 'clerk_7', role_name: 'Repositor' }),
    )
    ;(await shop.when(removeRole, { role: 'clerk_7' })).refuses('not_found')
    const gone = refuseField('role', 'este perfil não existe mais: escolha outro')
    const user = { name: 'Rui', email: 'rui@ipe.example', role: 'clerk_7', password_hash: 'x' } as const
    for (const { decision } of [await shop.when(reactivateUser, { id: 2 }), await shop.when(createUser, user)])
      expect(decision).to.deep.equal(gone)
    ;(await shop.when(updateUser, { id: 2, role: 'clerk' })).accepts(
      'updated',
      event('UserUpdated', { id: 2, changes: { role: 'clerk' } }),
    )
  })

  it('gives its users what it says, at once, and none once it is gone [ROLE-1350]', async () => {
    const bia = userCreated({ id: 2, role: 'clerk_7', role_name: 'Repositor' })
    const events = [companyRegistered(), stocker, bia]
    const permit = await permitAfter(events, 2, null)
    expect([permit('adjust_stock'), permit('sell')]).to.deep.equal([
      {},
      { refused: 'permission_required', details: { permission: 'sell' } },
    ])
    const sells = event('RoleAdjusted', { id: COMPANY_ID, role: 'clerk_7', role_name: 'X', permissions: ['sell'] })
    expect((await permitAfter([...events, sells], 2, null))('sell')).to.deep.equal({})
    const removed = event('RoleRemoved', { id: COMPANY_ID, role: 'clerk_7', role_name: 'X' })
    expect((await permitAfter([...events, sells, removed], 2, null))('sell')).to.have.property('refused')
  })

  it('is named in the events of its users by the name that it had then [ROLE-1350]', async () => {
    const shop = await given(
      companyRegistered(),
      userCreated({ id: 1, role: 'owner' }),
      userCreated({ id: 2 }),
      stocker,
    )
    ;(await shop.when(updateUser, { id: 2, role: 'clerk_7' })).accepts(
      'updated',
      event('UserUpdated', { id: 2, changes: { role: 'clerk_7', role_name: 'Repositor' } }),
    )
    expect(await shop.show('user/2'))
      .to.include({ role: 'clerk_7' })
      .and.not.to.have.property('role_name')
  })

  for (const [what, act] of [
    ['a copy', (shop, permit) => shop.when(createRole, { name: 'X', copy_of: 'clerk' }, ...BY, [], permit)],
    ['a permission', (shop, permit) => shop.when(adjustRole, clerk({ permissions: ['import'] }), ...BY, [], permit)],
    ['a limit', (shop, permit) => shop.when(adjustRole, clerk({ discount_limit: null }), ...BY, [], permit)],
    ['a role', (shop, permit) => shop.when(updateUser, { id: 2, role: 'manager' }, ...BY, [], permit)],
  ] as const satisfies readonly [string, (shop: Scenario, permit: Permit) => Promise<Decided>][])
    it(`is not given ${what} by a user who has it not [ROLE-1352]`, async () => {
      const shop = await given(companyRegistered(), userCreated({ id: 2, role: 'clerk' }))
      const permit = permitOnly('manage_company', 'manage_users', 'give_discount', 'return_goods')
      expect((await act(shop, permit)).decision).to.have.property('refused', 'permission_required')
      expect((await act(shop, () => ({}))).decision).to.have.property('outcome')
    })

  it('loses permissions by a user who has them not [ROLE-1352]', async () => {
    const shop = await given(companyRegistered())
    const fewer = clerk({ permissions: ['sell'], discount_limit: '50.00' })
    const { decision } = await shop.when(adjustRole, fewer, ...BY, [], permitOnly('manage_company'))
    expect(decision).to.have.property('outcome', 'updated')
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
