import { expect } from 'chai'
import { updateCompany } from '#commands/company-commands.ts'
import { LOCAL_TIME } from '../support/answers.ts'
import { send, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'

describe('/me', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany

  before(async () => {
    api = await startApi(database.url, { perMinute: 77, perDay: 777 })
    company = await api.company()
  })
  after(() => api.close())

  const me = (key: string) => send(`${api.url}/api/v1/me`, 'GET', undefined, { authorization: `Bearer ${key}` })

  it('shows company, scopes and quotas of the key, and never the key itself', async () => {
    const { id, key } = await company.newKey(['sales:write', 'catalog:read'], '2099-12-31T23:59:59.000Z')
    const reply = await me(key)
    expect(reply.status).to.equal(200)
    const { server_time, limits, key: shown, ...rest } = reply.body.data
    expect(rest).to.deep.equal({
      company: {
        id: company.id,
        name: `Loja ${company.id}`,
        cnpj: '11.222.333/0001-81',
        state_registration: null,
        tax_regime: null,
        logo_url: null,
        brand_color: null,
        test: false,
      },
      plan: 'api',
    })
    const { created_at, ...about } = shown
    expect(about).to.deep.equal({
      id,
      name: 'chave',
      prefix: key.slice(0, 12),
      scopes: ['catalog:read', 'sales:write'],
      expires_at: '2099-12-31T20:59:59.000-03:00',
    })
    expect(created_at).to.match(LOCAL_TIME)
    expect(server_time).to.match(LOCAL_TIME)
    expect(Math.abs(Date.parse(server_time) - Date.now())).to.be.below(5_000)
    expect(limits).to.deep.include({ requests_per_minute: 77, requests_per_day: 777, bytes_per_day: 1_000_000_000_000 })
    expect(reply.text).to.not.include(key)
  })

  it('shows tax data of the company', async () => {
    const taxes = { state_registration: 'ISENTO', tax_regime: 'normal' } as const
    await company.run(updateCompany, taxes)
    expect((await me(company.key)).body.data.company).to.include(taxes)
  })

  it('shows null for a key without expiry', async () => {
    expect((await me(company.key)).body.data.key.expires_at).to.equal(null)
  })

  it('agrees with the quota headers', async () => {
    const reply = await me(company.key)
    expect(reply.headers.get('x-ratelimit-limit')).to.equal(String(reply.body.data.limits.requests_per_minute))
  })
})
