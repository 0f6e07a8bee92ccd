import { expect } from 'chai'
import { isToldPersons, TILL_ROLES } from '#domain/roles.ts'

describe('roles', () => {
  it('let owners and clerks in at tills, and nobody who changes nothing [PANEL-84] [PANEL-202]', () => {
    expect(TILL_ROLES).to.deep.equal(['owner', 'clerk'])
  })

  it('tell an accountant persons, without a grant [PANEL-202]', () => {
    expect(isToldPersons({ role: 'accountant', personal_data: false })).to.equal(true)
  })
})
