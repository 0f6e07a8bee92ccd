import { expect } from 'chai'
import { CreateUserInput, createUser } from '#commands/users.ts'
import { event } from '#events/catalogue.ts'
import type { DecisionContext } from '#ledger/command.ts'
import { createWorkingSet } from '#ledger/working-set.ts'
import { type UserCredentials, userCredentials } from '#projections/users.ts'
import { companyRegistered } from '../../support/facts.ts'
import { COMPANY_ID, FIRST_NEW_ID, given } from '../../support/given.ts'

const input = CreateUserInput.parse({
  name: 'Rui',
  email: ' Rui@Ipe.example',
  role: 'clerk',
  password_hash: '$argon2id$x',
})

/** Decides where the address has an owner already: no event makes such a row, because it belongs to the whole service. */
function decideWhereTaken(owner: Partial<UserCredentials>) {
  const rows = createWorkingSet().of(COMPANY_ID)
  rows.put(userCredentials, { user_id: 5, company_id: 1, email: 'rui@ipe.example', password_hash: '', ...owner })
  const context = { companyId: COMPANY_ID, nextId: () => FIRST_NEW_ID } as Partial<DecisionContext> as DecisionContext
  return createUser.decide(rows, input, context)
}

describe('create user', () => {
  it('records name, address and role', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(createUser, input, 'system')
    const user = { id: FIRST_NEW_ID, name: 'Rui', email: 'rui@ipe.example', role: 'clerk' } as const
    decided.accepts('created', event('UserCreated', user))
    expect(await scenario.show(`user/${FIRST_NEW_ID}`)).to.include({ ...user, company_id: COMPANY_ID })
  })

  it('keeps the password hash beside the event, never in it', async () => {
    const scenario = await given(companyRegistered())
    const { decision } = await scenario.when(createUser, input, 'system')
    const { email, password_hash } = input
    const row = { user_id: FIRST_NEW_ID, company_id: COMPANY_ID, email, password_hash }
    expect(decision).to.have.deep.property('privateRows', [{ table: userCredentials, row }])
    expect(JSON.stringify('events' in decision && decision.events)).not.to.include('argon2')
  })

  it('refuses an address that a user of the company has, and says who', () => {
    const details = { field: 'email', conflicting_id: 5 }
    expect(decideWhereTaken({ company_id: COMPANY_ID })).to.deep.equal({ refused: 'duplicate_resource', details })
  })

  it('refuses an address that a user of another company has, without saying who', () => {
    const details = { field: 'email' }
    expect(decideWhereTaken({ company_id: COMPANY_ID + 1 })).to.deep.equal({ refused: 'duplicate_resource', details })
  })
})
