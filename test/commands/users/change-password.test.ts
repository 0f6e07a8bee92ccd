import { expect } from 'chai'
import { type ChangePasswordInput, changePassword } from '#commands/users.ts'
import { invalid } from '#domain/refusal.ts'
import { event } from '#events/catalogue.ts'
import type { DecisionContext } from '#ledger/command.ts'
import type { Changes } from '#ledger/working-set.ts'
import { type PersonLogin, persons, userById } from '#projections/users.ts'
import { companyRegistered, userCreated, userInvited } from '../../support/facts.ts'
import { COMPANY_ID, given } from '../../support/given.ts'

const EMAIL = 'ana@loja.example'
const OLD: PersonLogin = { email: EMAIL, password_hash: '$argon2id$old', generation: 4 }
const NEW = { id: 3, password_hash: '$argon2id$new' }

/** Decides for user 3; the person row is given, since no event creates it. */
async function decide(input: ChangePasswordInput, kept: PersonLogin | null = OLD) {
  const scenario = await given(companyRegistered(), userCreated({ id: 3, email: EMAIL, role: 'clerk' }))
  const rows = await scenario.rows(...changePassword.needs(input))
  const more = changePassword.needsMore?.(rows, input) ?? []
  await scenario.rows(...more)
  if (kept) (rows as Changes).put(persons, kept)
  return changePassword.decide(rows, input, { companyId: COMPANY_ID } as Partial<DecisionContext> as DecisionContext)
}

describe('change password', () => {
  const changed = {
    outcome: 'updated',
    subject: 'user/3',
    events: [event('UserPasswordChanged', { id: 3 })],
    privateRows: [{ table: persons, row: { ...OLD, password_hash: NEW.password_hash, generation: 5 } }],
  }

  it('stores the hash outside the event', async () => {
    expect(await decide(NEW)).to.deep.equal(changed)
  })

  it('requires that the verified password is still current', async () => {
    expect(await decide({ ...NEW, verified_hash: OLD.password_hash })).to.deep.equal(changed)
    const stale = { ...NEW, verified_hash: '$argon2id$older' }
    expect(await decide(stale)).to.deep.equal(invalid('current_password', 'está incorreta'))
    expect(await decide(stale, null)).to.deep.equal(invalid('current_password', 'está incorreta'))
  })

  it('sets the password of a person who lost theirs', async () => {
    const row = { email: EMAIL, password_hash: NEW.password_hash, generation: 1 }
    expect(await decide(NEW, null)).to.deep.equal({ ...changed, privateRows: [{ table: persons, row }] })
  })

  it('is refused for users with a pending invitation [TOKEN-23]', async () => {
    const scenario = await given(companyRegistered(), userInvited({ id: 3, email: EMAIL }))
    ;(await scenario.when(changePassword, NEW)).refuses('not_found')
  })

  it('starts a new generation of tokens each time', async () => {
    const scenario = await given(companyRegistered(), userCreated({ id: 3, email: EMAIL, role: 'clerk' }))
    for (const generation of [1, 2]) {
      await scenario.when(changePassword, NEW)
      expect((await scenario.rows(userById(3))).get(userById(3))).to.include({ generation })
    }
    expect(JSON.stringify(await scenario.show('user/3'))).not.to.include('argon2')
  })

  it('does not find users of other companies', async () => {
    const scenario = await given(companyRegistered())
    ;(await scenario.when(changePassword, { ...NEW, id: 9 })).refuses('not_found')
  })
})
