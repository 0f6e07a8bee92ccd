import { expect } from 'chai'
import { inviteUser } from '#commands/invitation-commands.ts'
import { createUser, updateUser } from '#commands/user-commands.ts'
import { addDays, dateInZone } from '#domain/instant.ts'
import { event } from '#events/catalogue.ts'
import { companyRegistered, userCreated } from '../../support/facts.ts'
import { FIRST_NEW_ID, given, minute } from '../../support/given.ts'

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
