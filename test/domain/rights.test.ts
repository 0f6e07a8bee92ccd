import { expect } from 'chai'
import {
  getTraits,
  inOrder,
  may,
  mayUpTo,
  PERMISSIONS,
  parseScopes,
  ROLE_PRESETS,
  ROLES,
  SCOPES,
  SEEING_PERMISSIONS,
  seesPersons,
  TILL_ROLES,
  toRolePermissions,
} from '#domain/rights.ts'

describe('roles', () => {
  it('allow tills to owners, managers and clerks, and not to read-only roles [PANEL-202]', () => {
    expect(TILL_ROLES).to.deep.equal(['owner', 'manager', 'clerk'])
  })

  it('show personal data to an accountant without a grant [PANEL-202]', () => {
    expect(seesPersons({ role: 'accountant', personal_data: false })).to.equal(true)
  })

  it('give a clerk its own sales of today, no cancellation of others, no files and no prices', () => {
    const clerk = ROLE_PRESETS.clerk
    for (const permission of [
      'see_all_sales',
      'cancel_all',
      'export',
      'change_price',
      'import',
      'delete_receivables',
    ] as const)
      expect(may(clerk, permission), permission).to.equal(false)
    for (const permission of ['sell', 'cancel_own', 'receive'] as const)
      expect(may(clerk, permission), permission).to.equal(true)
  })

  it('limit returns and discounts of a clerk, and nothing of a manager [ROLE-103]', () => {
    for (const permission of ['return_goods', 'give_discount'] as const) {
      expect(mayUpTo(ROLE_PRESETS.clerk, permission, 100_00)).to.equal(true)
      expect(mayUpTo(ROLE_PRESETS.clerk, permission, 100_01)).to.equal(false)
      expect(mayUpTo(ROLE_PRESETS.manager, permission, 1_000_000_00)).to.equal(true)
    }
    expect(mayUpTo(ROLE_PRESETS.accountant, 'return_goods', 0)).to.equal(false)
  })

  it('have only permissions to see if they are read-only [ROLE-104]', () => {
    for (const role of ROLES.filter((each) => getTraits(each).readsOnly))
      expect(SEEING_PERMISSIONS).to.include.members([...ROLE_PRESETS[role].granted])
  })

  it('have the permissions that the company gave them; owners always have all [ROLE-110]', () => {
    const adjusted = { granted: ['sell', 'export'], limits: { return_goods: 500, give_discount: null } } as const
    const company = { clerk: adjusted, owner: adjusted }
    expect(toRolePermissions('clerk', company)).to.deep.equal({ role: 'clerk', ...adjusted })
    expect(toRolePermissions('owner', company).granted).to.deep.equal(PERMISSIONS)
    expect(toRolePermissions('manager', company)).to.equal(ROLE_PRESETS.manager)
  })
})

describe('scopes', () => {
  it('are fourteen [KEY-8]', () => {
    expect(new Set(SCOPES).size).to.equal(14)
  })

  it('are all of them for "all"', () => {
    expect(parseScopes('all')).to.deep.equal([...SCOPES])
  })

  it('are the read-only ones for "read"', () => {
    const read = ['catalog', 'customers', 'suppliers', 'finance', 'sales', 'orders', 'audit'].map(
      (area) => `${area}:read`,
    )
    expect(parseScopes('read')).to.deep.equal(read)
  })

  it('are the named ones, deduplicated in fixed order', () => {
    expect(parseScopes('sales:write, catalog:read,sales:write')).to.deep.equal(['catalog:read', 'sales:write'])
    expect(inOrder(['audit:read', 'catalog:write', 'audit:read'])).to.deep.equal(['catalog:write', 'audit:read'])
  })

  for (const text of ['', 'sales', 'sales:read,', 'sales:read,all', 'SALES:READ', 'toString']) {
    it(`are null for ${JSON.stringify(text)}`, () => {
      expect(parseScopes(text)).to.equal(null)
    })
  }
})
