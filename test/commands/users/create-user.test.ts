import { expect } from 'chai'
import { CreateUserInput, createUser } from '#commands/user-commands.ts'
import { event } from '#events/catalogue.ts'
import type { Changes } from '#ledger/working-set.ts'
import { persons } from '#projections/users.ts'
import { companyRegistered, userCreated } from '../../support/facts.ts'
import { COMPANY_ID, FIRST_NEW_ID, given } from '../../support/given.ts'

const input = CreateUserInput.parse({
  name: 'Rui',
  email: ' Rui@Ipe.example',
  role: 'clerk',
  password_hash: '$argon2id$x',
})

describe('create user', () => {
  it('records name, address and role', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(createUser, input, 'system')
    const user = { id: FIRST_NEW_ID, name: 'Rui', email: 'rui@ipe.example', role: 'clerk' } as const
    decided.accepts('created', event('UserCreated', user))
    expect(await scenario.show(`user/${FIRST_NEW_ID}`)).to.include({ ...user, company_id: COMPANY_ID })
  })

  it('stores the password hash outside the event', async () => {
    const scenario = await given(companyRegistered())
    const { decision } = await scenario.when(createUser, input, 'system')
    const { email, password_hash } = input
    const row = { email, password_hash, generation: 0 }
    expect(decision).to.have.deep.property('privateRows', [{ table: persons, row }])
    expect(JSON.stringify('events' in decision && decision.events)).not.to.include('argon2')
  })

  it('keeps the password of a person known to another company', async () => {
    const scenario = await given(companyRegistered())
    const rows = (await scenario.rows(...createUser.needs(input))) as Changes
    rows.put(persons, { email: input.email, password_hash: '$argon2id$theirs', generation: 3 })
    const { decision } = await scenario.when(createUser, input, 'system')
    expect(decision).to.have.deep.property('privateRows', [])
  })

  it('refuses the address of another user of the company, and returns its id', async () => {
    const scenario = await given(companyRegistered(), userCreated({ id: 5, email: input.email }))
    ;(await scenario.when(createUser, input, 'system')).refuses('duplicate_resource', {
      field: 'email',
      conflicting_id: 5,
    })
  })
})
