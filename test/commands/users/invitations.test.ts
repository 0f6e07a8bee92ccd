import { expect } from 'chai'
import {
  acceptInvitation,
  INVITATIONS_PER_HOUR,
  InviteFields,
  inviteUser,
  renewInvitation,
} from '#commands/invitation-commands.ts'
import { deactivateUser, reactivateUser } from '#commands/user-commands.ts'
import type { Permission, Role } from '#domain/rights.ts'
import { event } from '#events/catalogue.ts'
import type { Accepted, NewEvent } from '#ledger/command.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef } from '#projections/companies.ts'
import { type Invitation, invitations, persons } from '#projections/users.ts'
import { companyRegistered, userCreated, userInvited } from '../../support/facts.ts'
import { COMPANY_ID, FIRST_NEW_ID, given, minute, type Scenario } from '../../support/given.ts'

const HASH = Buffer.alloc(32, 1)
const OTHER = Buffer.alloc(32, 2)
const rui = InviteFields.parse({ name: 'Rui', email: ' Rui@Ipe.example', role: 'owner' })

const ACCEPTED = { id: 3, token_hash: HASH, generation: 0 }

/** Other companies of the person, as the lookup finds them. */
const found = (...ids: number[]) => ids.map((company_id) => ({ company_id, status: 'active' }))

const withLink = async (scenario: Scenario, link: Partial<Invitation>) => {
  const row = {
    ...{ company_id: COMPANY_ID, user_id: 3, token_hash: HASH, expires_at: minute(99) },
    ...{ made_by: null, for_owner: true, companies: [] },
    ...link,
  }
  ;((await scenario.rows()) as Changes).put(invitations, row)
  return scenario
}

describe('invite user', () => {
  it('records the invitation, stores the link outside the ledger, and gives no access yet [PANEL-50]', async () => {
    const scenario = await given(companyRegistered())
    const others = [...found(7), { company_id: 8, status: 'inactive' }]
    const decided = await scenario.when(inviteUser, { ...rui, token_hash: HASH }, 'api', 'api_key/1', null, others)
    const user = { id: FIRST_NEW_ID, name: 'Rui', email: 'rui@ipe.example', role: 'owner' } as const
    decided.accepts('created', event('UserInvited', user))
    const [link] = (decided.decision as Accepted).privateRows
    expect(link?.row).to.deep.equal({
      company_id: COMPANY_ID,
      user_id: FIRST_NEW_ID,
      token_hash: HASH,
      expires_at: '2026-03-17T15:01:00.000Z',
      ...{ made_by: null, for_owner: true, companies: [7] },
    })
    expect(await scenario.show(`user/${FIRST_NEW_ID}`)).to.include({ ...user, status: 'invited' })
    expect(companyRef(await scenario.rows()).active_owners).to.deep.equal([])
  })

  it('checks addresses of the own company only [PANEL-51]', async () => {
    const scenario = await given(companyRegistered(), userCreated({ id: 5, email: 'rui@ipe.example' }))
    const decided = await scenario.when(inviteUser, { ...rui, token_hash: HASH })
    decided.refuses('duplicate_resource', { field: 'email', conflicting_id: 5 })
    expect(inviteUser.needs({ ...rui, token_hash: HASH }).map(({ table }) => table.name)).to.deep.equal([
      'companies',
      'users',
      'invitation_counts',
    ])
  })

  it('is limited per hour, renewals included [PANEL-53]', async () => {
    const scenario = await given(companyRegistered())
    for (let n = 1; n < INVITATIONS_PER_HOUR; n++) {
      const { decision } = await scenario.when(inviteUser, { ...rui, email: `rui${n}@ipe.example`, token_hash: HASH })
      for (const { table, row } of (decision as Accepted).privateRows)
        ((await scenario.rows()) as Changes).put(table, row)
    }
    const again = await scenario.when(renewInvitation, { id: FIRST_NEW_ID, token_hash: OTHER })
    again.accepts('updated', event('UserInvitationRenewed', { id: FIRST_NEW_ID }))
    for (const { table, row } of (again.decision as Accepted).privateRows)
      ((await scenario.rows()) as Changes).put(table, row)
    ;(await scenario.when(inviteUser, { ...rui, token_hash: HASH })).refuses('invitation_limit_reached')
    ;(await scenario.when(renewInvitation, { id: FIRST_NEW_ID, token_hash: HASH })).refuses('invitation_limit_reached')
  })

  it('can be cancelled and renewed, until it is accepted [PANEL-50]', async () => {
    const scenario = await given(companyRegistered(), userInvited({ id: 3 }))
    ;(await scenario.when(reactivateUser, { id: 3 })).refuses('validation_failed', {
      fields: { id: ['só entra na empresa quem aceita o convite'] },
      unknown_fields: [],
    })
    ;(await scenario.when(deactivateUser, { id: 3 })).accepts('updated', event('UserInvitationCancelled', { id: 3 }))
    ;(await scenario.when(deactivateUser, { id: 3 })).accepts('unchanged')
    expect(await scenario.show('user/3')).to.include({ status: 'cancelled' })
    ;(await scenario.when(renewInvitation, { id: 3, token_hash: HASH })).accepts(
      'updated',
      event('UserInvitationRenewed', { id: 3 }),
    )
    expect(await scenario.show('user/3')).to.include({ status: 'invited' })
    const joined = await given(companyRegistered(), userInvited({ id: 3 }), event('UserJoined', { id: 3 }))
    for (const id of [3, 9]) (await joined.when(renewInvitation, { id, token_hash: HASH })).refuses('not_found')
  })
})

describe('accept invitation', () => {
  const invited = async (link: Partial<Invitation> = {}) =>
    withLink(await given(companyRegistered(), userInvited({ id: 3, role: 'owner' })), link)

  it('gives access to the owner of the link, once [PANEL-52]', async () => {
    const scenario = await invited()
    const decided = await scenario.when(acceptInvitation, ACCEPTED)
    decided.accepts('updated', event('UserJoined', { id: 3 }))
    expect((decided.decision as Accepted).privateRows[0]?.row).to.include({ token_hash: null })
    expect(await scenario.show('user/3')).to.include({ status: 'active' })
    expect(companyRef(await scenario.rows()).active_owners).to.deep.equal([3])
    ;(await scenario.when(acceptInvitation, ACCEPTED)).refuses('not_found')
  })

  for (const [what, link] of [
    ['another link', { token_hash: OTHER }],
    ['a used link', { token_hash: null }],
    ['an expired link', { expires_at: minute(2) }],
  ] as const) {
    it(`refuses ${what} [PANEL-52]`, async () => {
      const scenario = await invited(link)
      ;(await scenario.when(acceptInvitation, ACCEPTED)).refuses('not_found')
    })
  }

  it('refuses a cancelled invitation [PANEL-52]', async () => {
    const scenario = await invited()
    await scenario.when(deactivateUser, { id: 3 })
    ;(await scenario.when(acceptInvitation, ACCEPTED)).refuses('not_found')
  })

  describe('made by a user', () => {
    const MANAGER = ['see_company', 'manage_users'] as const
    const madeBy = async (role: Role, link: Partial<Invitation>, ...more: NewEvent[]) => {
      const invited = userInvited({ id: 3, email: 'rui@ipe.example', role: 'clerk' })
      const scenario = await given(companyRegistered(), userCreated({ id: 2, role }), invited, ...more)
      ;((await scenario.rows()) as Changes).put(persons, { email: 'rui@ipe.example', password_hash: '', generation: 1 })
      return withLink(scenario, { made_by: 2, for_owner: false, ...link })
    }
    const adjusted = (...permissions: Permission[]) =>
      event('RoleAdjusted', { id: COMPANY_ID, role: 'manager', permissions, return_limit: null, discount_limit: null })
    const promoted = event('UserUpdated', { id: 3, changes: { role: 'owner' } })
    const accepted = { ...ACCEPTED, generation: 1 }

    it('holds while the maker may invite the person [ROLE-721]', async () => {
      for (const scenario of [
        await madeBy('owner', {}),
        await madeBy('manager', {}, adjusted(...MANAGER)),
        await madeBy('owner', { for_owner: true }, promoted),
      ])
        (await scenario.when(acceptInvitation, accepted)).accepts('updated', event('UserJoined', { id: 3 }))
      const known = await madeBy('owner', { companies: [7] })
      const others = [...found(7), { company_id: 8, status: 'invited' }]
      const decided = await known.when(acceptInvitation, accepted, 'panel', 'user/3', null, others)
      decided.accepts('updated', event('UserJoined', { id: 3 }))
    })

    for (const [what, scenario, input, others] of [
      ['its maker was deactivated', () => madeBy('owner', {}, event('UserDeactivated', { id: 2 }))],
      [
        'its maker has another role',
        () => madeBy('owner', {}, event('UserUpdated', { id: 2, changes: { role: 'clerk' } })),
      ],
      ['the role of its maker lost the permission', () => madeBy('manager', {}, adjusted(...MANAGER), adjusted())],
      ['its person became an owner', () => madeBy('owner', {}, promoted)],
      ['its maker may not invite owners', () => madeBy('manager', { for_owner: true }, adjusted(...MANAGER), promoted)],
      ['its person joined another company', () => madeBy('owner', { companies: [7] }), {}, found(7, 8)],
      ['the password changed while it was accepted', () => madeBy('owner', {}), { generation: 0 }],
    ] as const)
      it(`is over when ${what} [ROLE-721]`, async () => {
        const decided = (await scenario()).when(
          acceptInvitation,
          { ...accepted, ...input },
          'panel',
          'user/3',
          null,
          others,
        )
        ;(await decided).refuses('not_found')
      })
  })
})
