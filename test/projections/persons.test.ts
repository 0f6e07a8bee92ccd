import { expect } from 'chai'
import { refuse } from '#domain/refusals.ts'
import type { Permission } from '#domain/rights.ts'
import { event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/command.ts'
import type { Changes } from '#ledger/working-set.ts'
import { guardRefusal } from '#ledger/write/unit-of-work.ts'
import { liveUser, panelSessions, persons, tillTokens, userByEmail } from '#projections/users.ts'
import { companyRegistered, userCreated, userInvited } from '../support/facts.ts'
import { COMPANY_ID, given, minute } from '../support/given.ts'

const email = 'ana@loja.example'
const ROLE = 'clerk' as const
const ana = userCreated({ id: 3, email, role: ROLE })

describe('users of a company and their persons', () => {
  it('live streams end with token, password or role, in all companies [KEY-21]', async () => {
    const hash = Buffer.alloc(32, 7)
    const caller = { userId: 3, generation: 0, email, personGeneration: 0 }
    for (const [table, of] of [
      [panelSessions, { sessionHash: hash }],
      [tillTokens, { tokenHash: hash, role: ROLE }],
    ] as const) {
      const guard = liveUser({ ...caller, ...of })
      const holds = async (
        { generation = 0, revoked_at = null as string | null, expires_at = null as string | null, is_there = true },
        ...more: NewEvent[]
      ) => {
        const rows = (await (await given(companyRegistered(), ana, ...more)).rows(...guard.needs)) as Changes
        rows.put(persons, { email, password_hash: 'x', generation })
        if (is_there) rows.put(table, { hash, revoked_at, expires_at })
        return guard.holds(rows, minute(9))
      }
      expect(await holds({})).to.equal(true)
      expect(await holds({ expires_at: minute(10) })).to.equal(true)
      expect(await holds({ expires_at: minute(9) })).to.equal(false)
      expect(await holds({ revoked_at: minute(8) })).to.equal(false)
      expect(await holds({ is_there: false })).to.equal(false)
      expect(await holds({ generation: 1 })).to.equal(false)
      expect(await holds({}, event('UserDeactivated', { id: 3 }))).to.equal(false)
      const moved = event('UserUpdated', { id: 3, changes: { role: 'manager' } })
      expect(await holds({}, moved)).to.equal(table === panelSessions)
    }
  })

  it('forms need their permissions until they are decided [ROLE-723]', async () => {
    const hash = Buffer.alloc(32, 7)
    const caller = { userId: 3, generation: 0, email, personGeneration: 0, sessionHash: hash }
    const refusal = async (permissions: Permission[], ...more: NewEvent[]) => {
      const guard = liveUser(caller, null, permissions)
      const rows = (await (await given(companyRegistered(), ana, ...more)).rows(...guard.needs)) as Changes
      rows.put(persons, { email, password_hash: 'x', generation: 0 })
      rows.put(panelSessions, { hash, revoked_at: null, expires_at: null })
      return guardRefusal(guard, rows, minute(9))
    }
    const clerks = { role: ROLE, return_limit: null, discount_limit: null }
    const adjusted = event('RoleAdjusted', { id: COMPANY_ID, ...clerks, permissions: ['edit_catalog'] })
    expect(await refusal(['edit_catalog'], adjusted)).to.equal(null)
    expect(await refusal(['edit_catalog', 'import'])).to.deep.equal(
      refuse('permission_required', { permission: 'import' }),
    )
    expect(await refusal(['sell'], adjusted)).to.deep.equal(refuse('permission_required', { permission: 'sell' }))
  })

  it('assign an address to the first user of the company: restored ledgers may have duplicates', async () => {
    const scenario = await given(companyRegistered(), ana, userInvited({ id: 4, email }))
    expect((await scenario.rows(userByEmail(email))).get(userByEmail(email))?.id).to.equal(3)
    expect(await scenario.show('user/4')).to.include({ email, status: 'invited' })
  })
})
