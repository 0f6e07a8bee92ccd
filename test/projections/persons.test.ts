import { expect } from 'chai'
import { event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/envelope.ts'
import type { Changes } from '#ledger/working-set.ts'
import { liveUser, persons, userByEmail } from '#projections/users.ts'
import { companyRegistered, userCreated, userInvited } from '../support/facts.ts'
import { given, minute } from '../support/given.ts'

const email = 'ana@loja.example'
const ana = userCreated({ id: 3, email })

describe('users of a company and their logins', () => {
  it('detect expired tokens, also after a password change in another company [KEY-21]', async () => {
    const caller = { userId: 3, generation: 0, email, personGeneration: 0 }
    const guard = liveUser(caller)
    const holds = async (personGeneration: number, ...more: NewEvent[]) => {
      const rows = await (await given(companyRegistered(), ana, ...more)).rows(...guard.needs)
      ;(rows as Changes).put(persons, { email, password_hash: 'x', generation: personGeneration })
      return guard.holds(rows, minute(9))
    }
    expect(await holds(0)).to.equal(true)
    expect(await holds(1)).to.equal(false)
    expect(await holds(0, event('UserDeactivated', { id: 3 }))).to.equal(false)
  })

  it('assign an address to the first user of the company: restored ledgers may have duplicates', async () => {
    const scenario = await given(companyRegistered(), ana, userInvited({ id: 4, email }))
    expect((await scenario.rows(userByEmail(email))).get(userByEmail(email))?.id).to.equal(3)
    expect(await scenario.show('user/4')).to.include({ email, status: 'invited' })
  })
})
