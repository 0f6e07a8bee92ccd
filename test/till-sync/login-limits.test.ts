import { expect } from 'chai'
import { type Reply, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { rawRequest } from '../support/raw-request.ts'
import { createTestUser, expectFailure, type TestUser, tillWith } from '../support/till.ts'

const HTTPS = { 'x-forwarded-proto': 'https' }

describe('login limits', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let user: TestUser

  before(async () => {
    // A proxy passes the addresses, so that every test has its own.
    api = await startApi(database.url, { trustProxy: true })
    company = await api.company()
  })
  beforeEach(async () => {
    user = await createTestUser(company)
  })
  after(() => api.close())

  const logIn = (address: string, email: string, password: string, token?: string, url = api.url): Promise<Reply> =>
    rawRequest(url, {
      method: 'POST',
      path: '/api/auth/login',
      headers: {
        'content-type': 'application/json',
        'x-forwarded-for': address,
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...HTTPS,
      },
      body: JSON.stringify({ email, password }),
    })
  const guess = (address: string, email = user.email, token?: string) => logIn(address, email, 'palpite errado', token)
  const enter = (address: string, token?: string) => logIn(address, user.email, user.password, token)
  const statuses = (replies: readonly Reply[]) => replies.map(({ status }) => status).sort()
  const times = <T>(count: number, act: (n: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, (_, n) => act(n)))

  it('ten failures of an account from any networks refuse the right password with 429 [TOKEN-7]', async () => {
    for (let n = 0; n < 10; n++) expectFailure(await guess(`2001:db8:${n}::1`), 401)
    for (const reply of [await guess('2001:db8:10::1'), await enter('2001:db8:11::1'), await enter('198.51.100.1')]) {
      expectFailure(reply, 429, /Muitas tentativas de login/)
      expect(Number(reply.headers.get('retry-after'))).to.be.within(45, 60)
    }
  })

  it('accept a known network or device despite failures from others [TOKEN-7, TOKEN-10]', async () => {
    const { token } = (await enter('203.0.113.5')).body.data
    for (let n = 0; n < 12; n++) await guess(`2001:db8:20${n}::1`)
    expectFailure(await enter('2001:db8:1ff::1'), 429)
    expect((await enter('203.0.113.200')).status).to.equal(200)
    expect((await enter('2001:db8:1fe::1', token)).status).to.equal(200)
    // The network is known now.
    expect((await enter('2001:db8:1fe:77::2')).status).to.equal(200)
    const other = await createTestUser(company)
    for (let n = 0; n < 10; n++) await guess(`2001:db8:30${n}::1`, other.email)
    const ofAnother = await logIn('2001:db8:3ff::1', other.email, other.password, token)
    expectFailure(ofAnother, 429)
  })

  it('count failures of a known network and of a known device separately [TOKEN-7, TOKEN-10]', async () => {
    const { token } = (await enter('203.0.112.5')).body.data
    for (let n = 0; n < 5; n++) expectFailure(await guess('198.51.100.2', user.email, token), 401)
    expectFailure(await enter('198.51.100.2', token), 429)
    for (let n = 0; n < 10; n++) expectFailure(await guess(`203.0.112.${n}`), 401)
    expectFailure(await enter('203.0.112.5'), 429)
    expect((await enter('198.51.100.2')).status).to.equal(200)
  })

  it('fifty failures of an address block unknown clients, no known ones [TOKEN-7, TOKEN-10]', async () => {
    const { token } = (await enter('198.51.101.1')).body.data
    const replies = await times(60, (n) => guess('192.0.2.7', `alvo${n}@loja.example`))
    expect(statuses(replies)).to.deep.equal([...Array(50).fill(401), ...Array(10).fill(429)])
    expectFailure(await enter('192.0.2.7'), 429)
    expect((await enter('192.0.2.7', token)).status).to.equal(200)
    expect((await enter('192.0.2.7')).status).to.equal(200)
    const other = await createTestUser(company)
    expectFailure(await logIn('192.0.2.7', other.email, other.password), 429)
    expect((await logIn('192.0.2.8', other.email, other.password)).status).to.equal(200)
  })

  it('count spellings of one e-mail together, and addresses of one network together', async () => {
    const spellings = [user.email, user.email.toUpperCase(), ` ${user.email} `]
    for (let n = 0; n < 10; n++) await guess(`198.51.102.${n}`, spellings[n % 3])
    expectFailure(await enter('198.51.102.100'), 429)
    const replies = await times(52, (n) => guess(`2001:db8:2:2::${n}`, `vizinho${n}@loja.example`))
    expect(statuses(replies).filter((status) => status === 401)).to.have.length(50)
    expectFailure(await guess('2001:db8:2:2:ffff::1', 'outro@loja.example'), 429)
    expectFailure(await guess('2001:db8:2:3::1', 'outro@loja.example'), 401)
  })

  it('count no successful logins', async () => {
    const token = (await enter('192.0.3.4')).body.data.token as string
    for (let round = 0; round < 4; round++) {
      for (let n = 0; n < 6; n++) expect((await enter('192.0.3.4', n % 2 ? token : undefined)).status).to.equal(200)
      expectFailure(await guess('192.0.3.4'), 401)
    }
  })

  it('treat accounts that do not exist like those of users [TOKEN-7]', async () => {
    for (let n = 0; n < 10; n++) expectFailure(await guess('192.0.5.5', 'ninguem@loja.example'), 401)
    expectFailure(await guess('192.0.5.5', 'ninguem@loja.example'), 429)
  })

  it('check no more than ten concurrent guesses in two processes [TOKEN-7]', async () => {
    const other = await startApi(database.url, { trustProxy: true })
    try {
      const urls = [api.url, other.url]
      const replies = await times(60, (n) => logIn('192.0.6.6', user.email, 'palpite errado', undefined, urls[n % 2]))
      expect(statuses(replies)).to.deep.equal([...Array(10).fill(401), ...Array(50).fill(429)])
    } finally {
      await other.close()
    }
    // Refused guesses do not count against the address.
    for (let n = 0; n < 40; n++) expectFailure(await guess('192.0.6.6', `alvo${n}@loja.example`), 401)
    expectFailure(await guess('192.0.6.6', 'alvo40@loja.example'), 429)
  })

  it('accept twenty tills of one user that log in at the same time', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => enter('192.0.9.9')))
    expect(statuses(replies)).to.deep.equal(Array(20).fill(200))
    const tokens = new Set(replies.map(({ body }) => body.data.token))
    expect(tokens.size).to.equal(20)
  })

  it('issue sixty tokens a minute per user, by login or renewal; the last token stays valid [TOKEN-8]', async () => {
    let till = tillWith(api.url, user, (await enter('192.0.11.11')).body.data.token)
    for (let n = 1; n < 60; n++) {
      const renewed = await till.call('POST', '/auth/refresh', undefined, HTTPS)
      expect(renewed.status).to.equal(200)
      till = tillWith(api.url, user, renewed.body.data.token)
    }
    const refused = await till.call('POST', '/auth/refresh', undefined, HTTPS)
    expectFailure(refused, 429)
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60)
    expectFailure(await enter('192.0.11.11'), 429)
    expect((await till.call('GET', '/sync/status', undefined, HTTPS)).status).to.equal(200)
    const other = await createTestUser(company)
    expect((await logIn('192.0.11.11', other.email, other.password)).status).to.equal(200)
  })

  it('count no malformed requests', async () => {
    for (let n = 0; n < 12; n++) expectFailure(await logIn('192.0.10.10', user.email, ''), 422)
    expect((await enter('192.0.10.10')).status).to.equal(200)
  })
})
