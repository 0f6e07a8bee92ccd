import { expect } from 'chai'
import { seesPersons, TILL_ROLES } from '#domain/roles.ts'

describe('roles', () => {
  it('allow tills to owners and clerks, and not to read-only roles [PANEL-84] [PANEL-202]', () => {
    expect(TILL_ROLES).to.deep.equal(['owner', 'clerk'])
  })

  it('show personal data to an accountant without a grant [PANEL-202]', () => {
    expect(seesPersons({ role: 'accountant', personal_data: false })).to.equal(true)
  })
})
