import { expect } from 'chai'
import { deactivateUser } from '#commands/user-commands.ts'
import { isRefusal } from '#ledger/command.ts'
import { getUser, listUsers } from '#queries/company-queries.ts'
import { fullReader } from '#queries/reader.ts'
import type { TestCompany } from '../../support/api.ts'
import { dataOf } from '../../support/shop.ts'
import { createTestUser, type TestUser } from '../../support/till.ts'
import { useApi } from '../../support/use-api.ts'

describe('users', () => {
  const api = useApi()
  let company: TestCompany
  let stranger: TestCompany
  let owner: TestUser
  let clerk: TestUser

  before(async () => {
    company = await api.company({ timezone: 'America/Manaus' })
    stranger = await api.company()
    owner = await createTestUser(company, 'owner')
    await createTestUser(stranger)
    clerk = await createTestUser(company)
    await company.run(deactivateUser, { id: clerk.id })
  })

  async function list(limit: number, cursor?: string) {
    const page = await listUsers(fullReader(api.core.pool, company.id), {
      limit,
      ...(cursor !== undefined && { cursor }),
    })
    if (isRefusal(page)) throw new Error(page.refused)
    return { ...page, users: JSON.parse(`[${dataOf(page)}]`) }
  }

  it('lists by id, inactive ones included, without other companies', async () => {
    const { users, has_more } = await list(10)
    expect(has_more).to.equal(false)
    expect(users.map(({ created_at: _, updated_at: __, ...user }: Record<string, unknown>) => user)).to.deep.equal([
      {
        id: owner.id,
        name: owner.name,
        email: owner.email,
        role: 'owner',
        status: 'active',
        forgotten_at: null,
        access_until: null,
        personal_data: true,
      },
      {
        id: clerk.id,
        name: clerk.name,
        email: clerk.email,
        role: 'clerk',
        status: 'inactive',
        forgotten_at: null,
        access_until: null,
        personal_data: true,
      },
    ])
    for (const { created_at, updated_at } of users) {
      for (const time of [created_at, updated_at]) expect(time).to.match(/T\d\d:\d\d:\d\d\.\d{3}-04:00$/)
    }
    expect(users[0].updated_at).to.equal(users[0].created_at)
    expect(users[1].updated_at > users[1].created_at).to.equal(true)
  })

  it('are listed in pages', async () => {
    const first = await list(1)
    const second = await list(1, first.next ?? '')
    expect([first.has_more, second.has_more]).to.deep.equal([true, false])
    expect([...first.users, ...second.users]).to.deep.equal((await list(10)).users)
  })

  it('are returned by id as in the list, to their own company only', async () => {
    const { users } = await list(10)
    const found = await getUser(fullReader(api.core.pool, company.id), clerk.id)
    expect(JSON.parse(found.record ?? '')).to.deep.equal(users[1])
    expect(await getUser(fullReader(api.core.pool, stranger.id), clerk.id)).to.have.property('record', null)
    expect(await getUser(fullReader(api.core.pool, company.id), 999_999)).to.have.property('record', null)
  })
})
