import { expect } from 'chai'
import { type Reply, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { rawRequest } from '../support/raw-request.ts'
import { createTestUser, expectFailure, type TestUser, tillWith } from '../support/till.ts'

const HTTPS = { 'x-forwarded-proto': 'https' }

describe('limits of logins', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let user: TestUser

  before(async () => {
    // Addresses as a proxy tells them, so that every test has some of its own.
    api = await startApi(database.url, { trustProxy: true })
    company = await api.company()
  })
  beforeEach(async () => {
    user = await createTestUser(company)
  })
  after(() => api.close())

  const logIn = (address: string, email: string, password: string): Promise<Reply> =>
    rawRequest(api.url, {
      method: 'POST',
      path: '/api/auth/login',
      headers: {
        'content-type': 'application/json',
        'x-forwarded-for': address,
        ...HTTPS,
      },
      body: JSON.stringify({ email, password }),
    })
  const guess = (address: string, email = user.email) => logIn(address, email, 'palpite errado')
  const enter = (address: string) => logIn(address, user.email, user.password)
  const statuses = (replies: readonly Reply[]) => replies.map(({ status }) => status).sort()

  it('after five failures for an e-mail even the right password is 429, with Retry-After [TOKEN-7]', async () => {
    for (let n = 0; n < 5; n++) expectFailure(await guess('192.0.2.1'), 401)
    for (const reply of [await guess('192.0.2.1'), await enter('192.0.2.1')]) {
      expectFailure(reply, 429, /Muitas tentativas de login/)
      expect(Number(reply.headers.get('retry-after'))).to.be.within(45, 60)
    }
  })

  it('another address, and another e-mail from the same one, are not held back [TOKEN-7]', async () => {
    for (let n = 0; n < 6; n++) await guess('192.0.2.2')
    expect((await enter('192.0.2.3')).status).to.equal(200)
    const other = await createTestUser(company)
    expect((await logIn('192.0.2.2', other.email, other.password)).status).to.equal(200)
  })

  it('writes of the same e-mail, and neighbours in an IPv6 network, count together', async () => {
    const spellings = [user.email, user.email.toUpperCase(), ` ${user.email} `]
    for (let n = 0; n < 5; n++) await guess(`2001:db8:1:2::${n}`, spellings[n % 3])
    expectFailure(await enter('2001:db8:1:2:ffff::1'), 429)
    expect((await enter('2001:db8:1:3::1')).status).to.equal(200)
  })

  it('a right password within the limit starts the count anew', async () => {
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 4; n++) expectFailure(await guess('192.0.2.4'), 401)
      expect((await enter('192.0.2.4')).status).to.equal(200)
    }
  })

  it('addresses that nobody has are limited like those of users [TOKEN-7]', async () => {
    for (let n = 0; n < 5; n++) expectFailure(await guess('192.0.2.5', 'ninguem@loja.example'), 401)
    expectFailure(await guess('192.0.2.5', 'ninguem@loja.example'), 429)
  })

  it('of many guesses at once no more than five are looked at [TOKEN-7]', async () => {
    const replies = await Promise.all(Array.from({ length: 60 }, () => guess('192.0.2.6')))
    expect(statuses(replies)).to.deep.equal([...Array(5).fill(401), ...Array(55).fill(429)])
    // What was not looked at counts for nobody else at the address.
    const other = await createTestUser(company)
    for (let n = 0; n < 5; n++) expectFailure(await guess('192.0.2.6', `alvo${n}@loja.example`), 401)
    expect((await logIn('192.0.2.6', other.email, other.password)).status).to.equal(200)
  })

  it('of guesses at many e-mails from one address no more than fifty are looked at, also at once [TOKEN-7]', async () => {
    const replies = await Promise.all(Array.from({ length: 60 }, (_, n) => guess('192.0.2.7', `alvo${n}@loja.example`)))
    expect(statuses(replies)).to.deep.equal([...Array(50).fill(401), ...Array(10).fill(429)])
    expectFailure(await enter('192.0.2.7'), 429)
    expect((await enter('192.0.2.8')).status).to.equal(200)
  })

  it('twenty tills of one user that log in at the same time all get in', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => enter('192.0.2.9')))
    expect(statuses(replies)).to.deep.equal(Array(20).fill(200))
    const tokens = new Set(replies.map(({ body }) => body.data.token))
    expect(tokens.size).to.equal(20)
  })

  it('a user gets sixty tokens a minute, by logging in and by renewing; the last one goes on [TOKEN-8]', async () => {
    let till = tillWith(api.url, user, (await enter('192.0.2.11')).body.data.token)
    for (let n = 1; n < 60; n++) {
      const renewed = await till.call('POST', '/auth/refresh', undefined, HTTPS)
      expect(renewed.status).to.equal(200)
      till = tillWith(api.url, user, renewed.body.data.token)
    }
    const refused = await till.call('POST', '/auth/refresh', undefined, HTTPS)
    expectFailure(refused, 429)
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60)
    expectFailure(await enter('192.0.2.11'), 429)
    expect((await till.call('GET', '/sync/status', undefined, HTTPS)).status).to.equal(200)
    const other = await createTestUser(company)
    expect((await logIn('192.0.2.11', other.email, other.password)).status).to.equal(200)
  })

  it('what is refused as malformed counts for nothing', async () => {
    for (let n = 0; n < 8; n++) expectFailure(await logIn('192.0.2.10', user.email, ''), 422)
    expect((await enter('192.0.2.10')).status).to.equal(200)
  })
})
