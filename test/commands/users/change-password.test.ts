import { expect } from 'chai'
import { type ChangePasswordInput, changePassword } from '#commands/users.ts'
import { invalid } from '#domain/refusal.ts'
import { event } from '#events/catalogue.ts'
import type { DecisionContext } from '#ledger/command.ts'
import type { Changes } from '#ledger/working-set.ts'
import { type UserCredentials, userById, userCredentials } from '#projections/users.ts'
import { companyRegistered, userCreated } from '../../support/facts.ts'
import { COMPANY_ID, given } from '../../support/given.ts'

const EMAIL = 'ana@loja.example'
const OLD: UserCredentials = { user_id: 3, company_id: COMPANY_ID, email: EMAIL, password_hash: '$argon2id$old' }
const NEW = { id: 3, password_hash: '$argon2id$new' }

/** Decides for user 3, whose credentials no event makes. */
async function decide(input: ChangePasswordInput, kept: UserCredentials | null = OLD) {
  const scenario = await given(companyRegistered(), userCreated({ id: 3, email: EMAIL, role: 'clerk' }))
  const rows = await scenario.rows(...changePassword.needs(input))
  const more = changePassword.needsMore?.(rows, input) ?? []
  await scenario.rows(...more)
  if (kept) (rows as Changes).put(userCredentials, kept)
  return changePassword.decide(rows, input, { companyId: COMPANY_ID } as Partial<DecisionContext> as DecisionContext)
}

describe('change password', () => {
  const changed = {
    outcome: 'updated',
    subject: 'user/3',
    events: [event('UserPasswordChanged', { id: 3 })],
    privateRows: [{ table: userCredentials, row: { ...OLD, password_hash: NEW.password_hash } }],
  }

  it('keeps the hash beside the event, which only says that it happened', async () => {
    expect(await decide(NEW)).to.deep.equal(changed)
  })

  it('needs that the verified password is still the one in force', async () => {
    expect(await decide({ ...NEW, verified_hash: OLD.password_hash })).to.deep.equal(changed)
    const stale = { ...NEW, verified_hash: '$argon2id$older' }
    expect(await decide(stale)).to.deep.equal(invalid('current_password', 'está incorreta'))
    expect(await decide(stale, null)).to.deep.equal(invalid('current_password', 'está incorreta'))
  })

  it('gives a password to a user whose credentials were lost', async () => {
    expect(await decide(NEW, null)).to.deep.equal(changed)
  })

  it('refuses where another has taken the address of lost credentials, without saying who', async () => {
    const taken = { ...OLD, user_id: 4, company_id: COMPANY_ID + 1 }
    expect(await decide(NEW, taken)).to.deep.equal({ refused: 'duplicate_resource', details: { field: 'email' } })
  })

  it('begins another generation of tokens each time', async () => {
    const scenario = await given(companyRegistered(), userCreated({ id: 3, email: EMAIL, role: 'clerk' }))
    for (const generation of [1, 2]) {
      await scenario.when(changePassword, NEW)
      expect((await scenario.rows(userById(3))).get(userById(3))).to.include({ generation })
    }
    expect(JSON.stringify(await scenario.show('user/3'))).not.to.include('argon2')
  })

  it('refuses a user that the company does not have', async () => {
    const scenario = await given(companyRegistered())
    ;(await scenario.when(changePassword, { ...NEW, id: 9 })).refuses('not_found')
  })
})
