import { expect } from 'chai'
import fc from 'fast-check'
import {
  acceptInvitation,
  INVITATIONS_PER_HOUR,
  InviteFields,
  inviteUser,
  renewInvitation,
} from '#commands/invitation-commands.ts'
import {
  type ChangePasswordInput,
  CreateUserInput,
  changePassword,
  createUser,
  deactivateUser,
  reactivateUser,
  UpdateUserInput,
  updateUser,
} from '#commands/user-commands.ts'
import { addDays, dateInZone } from '#domain/instant.ts'
import { refuse, refuseField } from '#domain/refusals.ts'
import { grantableTo, type Permission, ROLE_PRESETS, ROLES, type Role } from '#domain/rights.ts'
import { event } from '#events/catalogue.ts'
import {
  type Accepted,
  type Command,
  type DecisionContext,
  grantAll,
  type NewEvent,
  type Permit,
} from '#ledger/command.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef } from '#projections/companies.ts'
import { type Invitation, invitations, type PersonLogin, persons, userById } from '#projections/users.ts'
import { companyRegistered, userCreated, userInvited } from '../support/facts.ts'
import { COMPANY_ID, FIRST_NEW_ID, given, minute, type Scenario } from '../support/given.ts'

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
    expect(await decide(stale)).to.deep.equal(refuseField('current_password', 'está incorreta'))
    expect(await decide(stale, null)).to.deep.equal(refuseField('current_password', 'está incorreta'))
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
    const MANAGER = ['see_company', 'manage_users', ...ROLE_PRESETS.clerk.granted] as const
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
      ['the role of its person has rights that its maker lacks', () => madeBy('manager', {}, adjusted('manage_users'))],
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

/** Details of `invalid` for one field. */
const wrong = (field: string, message: string) => ({ fields: { [field]: [message] }, unknown_fields: [] })

const today = dateInZone(minute(3), 'America/Sao_Paulo')
const yesterday = addDays(today, -1)
const later = addDays(today, 30)

const ivo = { name: 'Ivo', email: 'ivo@auditoria.example', role: 'auditor', password_hash: 'x' } as const
const auditor = userCreated({ id: 2, ...{ name: 'Ivo', role: 'auditor' }, access_until: later, personal_data: false })

describe('auditors', () => {
  it('have access until a day, and see personal data only if granted [PANEL-82]', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(createUser, { ...ivo, access_until: later }, 'system')
    const { password_hash: _, ...fields } = ivo
    const user = { id: FIRST_NEW_ID, ...fields, access_until: later, personal_data: false }
    decided.accepts('created', event('UserCreated', user))
    expect(await scenario.show(`user/${FIRST_NEW_ID}`)).to.include(user)
  })

  it('have access today, but not until a past day, nor without an end [PANEL-82]', async () => {
    const scenario = await given(companyRegistered())
    const create = (access_until?: string | null) => scenario.when(createUser, { ...ivo, access_until }, 'system')
    for (const [day, message] of [
      [yesterday, 'já passou'],
      [null, 'informe a data: auditores precisam dela'],
      [undefined, 'informe a data: auditores precisam dela'],
    ] as const)
      (await create(day)).refuses('validation_failed', wrong('access_until', message))
    expect((await create(today)).decision).to.have.property('events')
  })

  it('are the only role with terms: others have no last day and no personal data grant [PANEL-82]', async () => {
    const scenario = await given(companyRegistered())
    const invite = { name: 'Rui', email: 'rui@loja.example', role: 'clerk', token_hash: Buffer.alloc(32) } as const
    ;(await scenario.when(inviteUser, { ...invite, access_until: later })).refuses(
      'validation_failed',
      wrong('access_until', 'só vale para auditores'),
    )
    ;(await scenario.when(inviteUser, { ...invite, personal_data: true })).refuses(
      'validation_failed',
      wrong('personal_data', 'só vale para auditores'),
    )
    const plain = await scenario.when(inviteUser, { ...invite, access_until: null, personal_data: false })
    const { token_hash: _, ...fields } = invite
    plain.accepts('created', event('UserInvited', { id: FIRST_NEW_ID, ...fields }))
    expect(await scenario.show(`user/${FIRST_NEW_ID}`)).to.include({ access_until: null, personal_data: true })
  })

  it('see personal data after a change from clerk only if granted [PANEL-83]', async () => {
    const scenario = await given(companyRegistered(), userCreated({ id: 2 }))
    const changes = { role: 'auditor', access_until: later, personal_data: false } as const
    const decided = await scenario.when(updateUser, { id: 2, role: 'auditor', access_until: later })
    decided.accepts('updated', event('UserUpdated', { id: 2, changes }))
    expect(await scenario.show('user/2')).to.include(changes)
  })

  it('lose their terms with the role', async () => {
    const scenario = await given(companyRegistered(), auditor)
    const decided = await scenario.when(updateUser, { id: 2, role: 'clerk', access_until: null, personal_data: false })
    decided.accepts('updated', event('UserUpdated', { id: 2, changes: { role: 'clerk', access_until: null } }))
    expect(await scenario.show('user/2')).to.include({ role: 'clerk', access_until: null, personal_data: true })
  })

  it('can be renamed after their last day, and get access again with a new one', async () => {
    const ended = userCreated({ id: 2, role: 'auditor', access_until: yesterday, personal_data: true })
    const scenario = await given(companyRegistered(), ended)
    ;(await scenario.when(updateUser, { id: 2, name: 'Ivone' })).accepts(
      'updated',
      event('UserUpdated', { id: 2, changes: { name: 'Ivone' } }),
    )
    ;(await scenario.when(updateUser, { id: 2, access_until: yesterday, personal_data: false })).refuses(
      'validation_failed',
      wrong('access_until', 'já passou'),
    )
    ;(await scenario.when(updateUser, { id: 2, access_until: later })).accepts(
      'updated',
      event('UserUpdated', { id: 2, changes: { access_until: later } }),
    )
  })

  it('are not owners: the last owner cannot become one', async () => {
    const scenario = await given(companyRegistered(), userCreated({ id: 1, role: 'owner' }))
    ;(await scenario.when(updateUser, { id: 1, role: 'auditor', access_until: later })).refuses('last_owner')
  })
})
