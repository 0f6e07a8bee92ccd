import { expect } from 'chai'
import { deactivateUser, reactivateUser, updateUser } from '#commands/user-commands.ts'
import { refuse } from '#domain/refusals.ts'
import { grantableTo, ROLES } from '#domain/rights.ts'
import { event } from '#events/catalogue.ts'
import type { Command, Permit } from '#ledger/command.ts'
import { companyRegistered, userCreated } from '../../support/facts.ts'
import { given } from '../../support/given.ts'

/** Of a manager to whom the company granted `manage_users`. */
const managesUsers: Permit = (permission) =>
  permission === 'manage_owners' ? refuse('permission_required', { permission }) : {}

describe('owners of a company', () => {
  const facts = [
    companyRegistered(),
    userCreated({ id: 1, role: 'owner' }),
    userCreated({ id: 2, email: 'bia@loja.example', role: 'owner' }),
    userCreated({ id: 3, email: 'caio@loja.example', role: 'clerk' }),
  ]
  const asManager = async <I>(command: Command<I>, input: I) =>
    (await given(...facts)).when(command, input, 'panel', 'user/4', null, [], managesUsers)

  for (const [what, run] of [
    ['demoted', () => asManager(updateUser, { id: 2, role: 'clerk' })],
    ['renamed', () => asManager(updateUser, { id: 2, name: 'Outra' })],
    ['made of others', () => asManager(updateUser, { id: 3, role: 'owner' })],
    ['deactivated', () => asManager(deactivateUser, { id: 2 })],
    ['reactivated', () => asManager(reactivateUser, { id: 2 })],
  ] as const)
    it(`are not ${what} by users who manage users [ROLE-124]`, async () => {
      ;(await run()).refuses('permission_required', { permission: 'manage_owners' })
    })

  it('alone can be given the permission to manage owners [ROLE-124]', () => {
    const others = ROLES.filter((role) => role !== 'owner' && grantableTo(role).includes('manage_owners'))
    expect(others).to.deep.equal([])
  })

  it('do not stand in the way of other users', async () => {
    ;(await asManager(updateUser, { id: 3, name: 'Caio' })).accepts(
      'updated',
      event('UserUpdated', { id: 3, changes: { name: 'Caio' } }),
    )
  })
})
