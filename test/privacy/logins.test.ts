import { expect } from 'chai'
import { forgetPerson } from '#commands/forget-person.ts'
import { createUser } from '#commands/user-commands.ts'
import { send, type TestCompany } from '../support/api.ts'
import { cheapHash } from '../support/passwords.ts'
import { OWN_DATABASE, useApi } from '../support/use-api.ts'

describe('the login of an erased user', () => {
  const api = useApi(OWN_DATABASE)
  const [email, password] = ['zuleica@duas.example', 'uma senha comprida']

  const logIn = async () => (await send(`${api.url}/api/auth/login`, 'POST', { email, password })).status
  const forget = (company: TestCompany, id: number) =>
    company.run(forgetPerson, { kind: 'user', id, ground: 'holder_request', retention_years: 5 })

  it('ends in the company at once, and is deleted with the last company of the address [PRIV-36]', async () => {
    const companies = [await api.company(), await api.company()] as const
    const ids: number[] = []
    const password_hash = await cheapHash(password)
    for (const company of companies)
      ids.push((await company.run(createUser, { name: 'Zuleica', email, role: 'clerk', password_hash })).id)
    const login = { email, password, company_id: companies[0].id }
    const { body } = await send(`${api.url}/api/auth/login`, 'POST', login)
    const known = async () => {
      const { rows } = await api.core.pool.query<{ known: string }>(
        `select 'login' as known from ops.persons where email = $1
         union all select 'origin' from ops.login_origins
         union all select 'token' from ops.sync_tokens where revoked_at is null and company_id = $2`,
        [email, companies[0].id],
      )
      return [...new Set(rows.map(({ known }) => known))].sort()
    }
    expect(body.data.token).to.be.a('string')
    expect(await known()).to.deep.equal(['login', 'origin', 'token'])

    await forget(companies[0], ids[0] as number)
    expect(await known()).to.deep.equal(['login', 'origin'])
    expect(await logIn()).to.equal(200)
    await forget(companies[1], ids[1] as number)
    expect(await known()).to.deep.equal([])
    expect(await logIn()).to.equal(401)
  })
})
