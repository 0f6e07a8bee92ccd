import { expect } from 'chai'
import fc from 'fast-check'
import { deactivateUser, reactivateUser, UpdateUserInput, updateUser } from '#commands/user-commands.ts'
import { event } from '#events/catalogue.ts'
import { userById } from '#projections/users.ts'
import { companyRegistered, userCreated } from '../../support/facts.ts'
import { given, minute, type Scenario } from '../../support/given.ts'

const owner = (id: number) => userCreated({ id, email: `dona${id}@loja.example`, role: 'owner' })
const clerk = (id: number) => userCreated({ id, email: `caixa${id}@loja.example`, role: 'clerk' })

describe('update user', () => {
  it('records changed fields, and shows them', async () => {
    const scenario = await given(companyRegistered(), owner(1), clerk(2))
    const decided = await scenario.when(updateUser, { id: 2, name: 'Beatriz', role: 'owner' })
    decided.accepts('updated', event('UserUpdated', { id: 2, changes: { name: 'Beatriz', role: 'owner' } }))
    expect(await scenario.show('user/2')).to.include({ name: 'Beatriz', role: 'owner', updated_at: minute(3) })
  })

  it('records nothing for equal values', async () => {
    const scenario = await given(companyRegistered(), clerk(2))
    for (const fields of [{}, { role: 'clerk' as const }]) {
      ;(await scenario.when(updateUser, { id: 2, ...fields })).accepts('unchanged')
    }
  })

  it('refuses to make the last owner a clerk, but accepts a new name', async () => {
    const scenario = await given(companyRegistered(), owner(1), clerk(2))
    ;(await scenario.when(updateUser, { id: 1, role: 'clerk', name: 'Alba' })).refuses('last_owner')
    ;(await scenario.when(updateUser, { id: 1, name: 'Alba' })).accepts(
      'updated',
      event('UserUpdated', { id: 1, changes: { name: 'Alba' } }),
    )
  })

  it('makes one of two owners a clerk, but not both', async () => {
    const scenario = await given(companyRegistered(), owner(1), owner(2))
    ;(await scenario.when(updateUser, { id: 2, role: 'clerk' })).accepts(
      'updated',
      event('UserUpdated', { id: 2, changes: { role: 'clerk' } }),
    )
    ;(await scenario.when(updateUser, { id: 1, role: 'clerk' })).refuses('last_owner')
  })

  it('does not count inactive owners', async () => {
    const scenario = await given(companyRegistered(), owner(1), owner(2), event('UserDeactivated', { id: 2 }))
    ;(await scenario.when(updateUser, { id: 1, role: 'clerk' })).refuses('last_owner')
    const demoted = await scenario.when(updateUser, { id: 2, role: 'clerk' })
    demoted.accepts('updated', event('UserUpdated', { id: 2, changes: { role: 'clerk' } }))
  })

  it('does not find users of other companies', async () => {
    const scenario = await given(companyRegistered())
    ;(await scenario.when(updateUser, { id: 9, name: 'X' })).refuses('not_found')
  })

  it('refuses an address, an unknown role and an empty name', () => {
    for (const input of [{ email: 'a@b.example' }, { role: 'admin' }, { name: ' ' }, { name: 'x'.repeat(121) }]) {
      expect(UpdateUserInput.safeParse({ id: 1, ...input }).success, JSON.stringify(input)).to.equal(false)
    }
  })

  it('and all other user commands, in any order, leave an active owner [PANEL-8]', async () => {
    const id = fc.integer({ min: 1, max: 4 })
    const act = fc.oneof(
      fc.record({ id, role: fc.constantFrom('owner' as const, 'clerk' as const) }).map((input) => ({
        run: (scenario: Scenario) => scenario.when(updateUser, input),
      })),
      id.map((id) => ({ run: (scenario: Scenario) => scenario.when(deactivateUser, { id }) })),
      id.map((id) => ({ run: (scenario: Scenario) => scenario.when(reactivateUser, { id }) })),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 20 }), async (acts) => {
        const scenario = await given(companyRegistered(), owner(1), owner(2), clerk(3), clerk(4))
        for (const { run } of acts) {
          await run(scenario)
          const refs = [1, 2, 3, 4].map(userById)
          const rows = await scenario.rows(...refs)
          const left = refs.filter((ref) => {
            const user = rows.get(ref)?.doc
            return user?.role === 'owner' && user.status === 'active'
          })
          expect(left).not.to.be.empty
        }
      }),
    )
  })
})
