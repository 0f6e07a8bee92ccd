import { expect } from 'chai'
import { type ChangePasswordInput, changePassword } from '#commands/user-commands.ts'
import { invalid } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import type { DecisionContext, NewEvent } from '#ledger/command.ts'
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

  describe('by a link that another user made', () => {
    const link = { ...NEW, handed_over: { made_by: 2, for_owner: false } }
    const demoted = event('UserUpdated', { id: 2, changes: { role: 'manager' } })
    const promoted = event('UserUpdated', { id: 3, changes: { role: 'owner' } })
    const byLink = async (input: ChangePasswordInput, ...more: NewEvent[]) => {
      const users = [userCreated({ id: 2, role: 'owner' }), userCreated({ id: 3, email: EMAIL, role: 'clerk' })]
      return (await given(companyRegistered(), ...users, ...more)).when(changePassword, input)
    }

    it('is done while that user may make the link [ROLE-721]', async () => {
      ;(await byLink(link)).accepts('updated', event('UserPasswordChanged', { id: 3 }))
      ;(await byLink({ ...NEW, handed_over: { made_by: 2, for_owner: true } }, promoted)).accepts(
        'updated',
        event('UserPasswordChanged', { id: 3 }),
      )
    })

    for (const [what, ...more] of [
      ['was deactivated', event('UserDeactivated', { id: 2 })],
      ['may not make it any more', demoted],
      ['made it before the person became an owner', promoted],
    ] as const)
      it(`is refused if that user ${what} [ROLE-721]`, async () => {
        ;(await byLink(link, ...more)).refuses('not_found')
      })
  })
})
