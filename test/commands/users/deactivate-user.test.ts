import { expect } from 'chai'
import { deactivateUser, reactivateUser } from '#commands/user-commands.ts'
import { event } from '#events/catalogue.ts'
import { type DecisionContext, grantAll } from '#ledger/command.ts'
import { userById } from '#projections/users.ts'
import { companyRegistered, userCreated } from '../../support/facts.ts'
import { given, minute } from '../../support/given.ts'

const ana = userCreated({ id: 1, email: 'ana@loja.example', role: 'owner' })
const bia = userCreated({ id: 2, email: 'bia@loja.example', role: 'owner' })
const caio = userCreated({ id: 3, email: 'caio@loja.example', role: 'clerk' })

describe('deactivate user', () => {
  it('records it once, and starts a new generation of tokens', async () => {
    const scenario = await given(companyRegistered(), ana, caio)
    const decided = await scenario.when(deactivateUser, { id: 3 })
    decided.accepts('updated', event('UserDeactivated', { id: 3 }))
    ;(await scenario.when(deactivateUser, { id: 3 })).accepts('unchanged')
    expect(await scenario.show('user/3')).to.include({ status: 'inactive', updated_at: minute(3) })
    expect((await scenario.rows(userById(3))).get(userById(3))).to.include({ generation: 1, revision: 3 })
  })

  it('refuses the last owner, and accepts one of two [PANEL-8]', async () => {
    const scenario = await given(companyRegistered(), ana, bia, caio)
    ;(await scenario.when(deactivateUser, { id: 1 })).accepts('updated', event('UserDeactivated', { id: 1 }))
    ;(await scenario.when(deactivateUser, { id: 2 })).refuses('last_owner')
  })

  it('refuses the acting user', async () => {
    const scenario = await given(companyRegistered(), ana, bia)
    const rows = await scenario.rows(...deactivateUser.needs({ id: 2 }))
    const decide = (actor: string | null) =>
      deactivateUser.decide(rows, { id: 2 }, { actor, permit: grantAll } as Partial<DecisionContext> as DecisionContext)
    expect(decide('user/2')).to.have.property('refused', 'validation_failed')
    for (const actor of ['user/1', 'user/22', null]) expect(decide(actor)).to.have.property('outcome', 'updated')
  })

  it('does not find users of other companies', async () => {
    const scenario = await given(companyRegistered())
    ;(await scenario.when(deactivateUser, { id: 9 })).refuses('not_found')
  })
})

describe('reactivate user', () => {
  it('records it once; earlier sessions stay closed', async () => {
    const scenario = await given(companyRegistered(), ana, caio, event('UserDeactivated', { id: 3 }))
    ;(await scenario.when(reactivateUser, { id: 3 })).accepts('updated', event('UserReactivated', { id: 3 }))
    ;(await scenario.when(reactivateUser, { id: 3 })).accepts('unchanged')
    expect(await scenario.show('user/3')).to.include({ status: 'active' })
    expect((await scenario.rows(userById(3))).get(userById(3))?.generation).to.equal(1)
  })

  it('counts a reactivated owner again', async () => {
    const scenario = await given(companyRegistered(), ana, bia, event('UserDeactivated', { id: 1 }))
    await scenario.when(reactivateUser, { id: 1 })
    ;(await scenario.when(deactivateUser, { id: 2 })).accepts('updated', event('UserDeactivated', { id: 2 }))
  })

  it('does not find users of other companies', async () => {
    const scenario = await given(companyRegistered())
    ;(await scenario.when(reactivateUser, { id: 9 })).refuses('not_found')
  })
})
