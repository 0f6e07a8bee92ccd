import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import express, { type ErrorRequestHandler, type RequestHandler, type Response } from 'express'
import { jsonBodyUpTo, limitLargeRequests, unauthenticatedBodyBudget } from '#http/bodies.ts'
import { problemHandler } from '#http/edge.ts'
import { createKeyedSemaphore, createMemoryBudget, type KeyedSemaphore, type MemoryBudget } from '#lib/fair-sharing.ts'
import { expectProblem } from '../support/answers.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { createTestUser, logIn } from '../support/till.ts'
import { until } from '../support/wait.ts'
import { bytesOf, exchange, openWire, type Wire } from '../support/wire.ts'

const MB = 1_048_576

describe('request bodies in transit', () => {
  const database = useDatabase()
  let api: TestApi
  let one: TestCompany
  let other: TestCompany
  const wires: Wire[] = []
  /** Bodies with reserved memory, and refused ones. */
  let held = 0
  let refused = 0

  const counted = (holdings: MemoryBudget): MemoryBudget => ({
    open(companyId) {
      const { add, release } = holdings.open(companyId)
      const letGo = () => {
        held -= 1
        release()
      }
      held += 1
      const counting: typeof add = (bytes) => {
        try {
          add(bytes)
        } catch (error) {
          refused += 1
          throw error
        }
      }
      return { add: counting, release: letGo }
    },
  })

  before(async () => {
    api = await startApi(database.url, {
      log: () => {},
      trustProxy: true,
      bodies: counted(createMemoryBudget({ allBytes: 4 * MB, companyBytes: 2 * MB })),
      unauthenticatedBodies: {
        panelLogins: counted(createMemoryBudget({ allBytes: MB, companyBytes: 32_768 })),
        tillLogins: counted(createMemoryBudget({ allBytes: MB, companyBytes: 32_768 })),
        notifications: counted(createMemoryBudget({ allBytes: MB, companyBytes: 16_384 })),
        checkouts: counted(createMemoryBudget({ allBytes: MB, companyBytes: 16_384 })),
      },
    })
    one = await api.company()
    other = await api.company()
  })
  after(() => api.close())
  afterEach(async () => {
    for (const wire of wires.splice(0)) wire.close()
    await until(() => held === 0)
  })

  const headersOf = ({ key }: TestCompany, ...more: (readonly [string, string])[]) =>
    [['Authorization', `Bearer ${key}`], ['Content-Type', 'application/json'], ...more] as const

  /** Announces a body of this size, and sends its first bytes only. */
  async function slowly(path: string, headers: readonly (readonly [string, string])[], bytes: number): Promise<Wire> {
    const wire = await openWire(api.url)
    wires.push(wire)
    const length = ['Content-Length', String(bytes)] as const
    const before = held
    wire.write(bytesOf({ method: 'POST', path, headers: [...headers, length], body: '{' }))
    await until(() => held > before)
    return wire
  }
  const enterPanel = (...headers: (readonly [string, string])[]) =>
    exchange(
      api.url,
      bytesOf({
        method: 'POST',
        path: '/painel/entrar',
        headers: [['Content-Type', 'application/x-www-form-urlencoded'], ...headers],
        body: 'email=ninguem%40loja.example&password=palpite',
      }),
    )
  const tell = (...headers: (readonly [string, string])[]) =>
    exchange(
      api.url,
      bytesOf({
        method: 'POST',
        path: '/webhook/paymentprovider/loja/1',
        headers,
        body: '{"type":"plan","data":{"id":"1"}}',
      }),
    )
  let customers = 0
  const create = (company: TestCompany) =>
    company.post('/customers', { name: `Ana ${++customers}`, notes: 'x'.repeat(1_000) })

  it('of one company leave memory for other companies [OPS-60]', async () => {
    await slowly('/api/v1/customers', headersOf(one), MB)
    await slowly('/api/v1/customers', headersOf(one), MB)
    const answer = await create(one)
    expectProblem(answer, 503, 'unavailable')
    expect(answer.headers.get('retry-after')).to.equal('1')
    expect((await create(other)).status).to.equal(201)
    for (const wire of wires) wire.close()
    await until(() => held === 0)
    expect((await create(one)).status).to.equal(201)
  })

  it('that turn out unreadable while their refusal waits get one response [OPS-122]', async () => {
    await slowly('/api/v1/customers', headersOf(one), MB)
    await slowly('/api/v1/customers', headersOf(one), MB)
    const before = refused
    const wire = await openWire(api.url)
    wires.push(wire)
    const headers = headersOf(one, ['Transfer-Encoding', 'chunked'])
    wire.write(bytesOf({ method: 'POST', path: '/api/v1/customers', headers, body: '1\r\n{\r\n' }))
    await until(() => refused > before)
    wire.write('no size\r\n')
    expect((await wire.answered(1))[0]?.status).to.equal(400)
    // This refusal is later than a second response to the first request would be.
    expectProblem(await create(one), 503, 'unavailable')
    await wire.ended()
    expect(wire.answers()).to.have.length(1)
  })

  it('of all companies share a limit, separate from that of logins and notifications [HTTP-31]', async () => {
    const user = await createTestUser(one)
    for (const company of [one, one, other]) await slowly('/api/v1/customers', headersOf(company), MB)
    await slowly('/api/v1/customers', headersOf(await api.company()), MB - 20)
    expectProblem(await create(one), 503, 'unavailable')
    expect((await logIn(api.url, user)).status).to.equal(200)
    expect((await tell()).status).to.equal(404)
    expect((await enterPanel()).status).to.equal(401)
  })

  describe('of unauthenticated clients', () => {
    const [LOGIN, TILL, TOLD] = ['/painel/entrar', '/api/auth/login', '/webhook/paymentprovider/loja/1']
    const FORM = ['Content-Type', 'application/x-www-form-urlencoded'] as const
    const JSON_BODY = ['Content-Type', 'application/json'] as const
    const from = (address: string) =>
      [
        ['X-Forwarded-For', address],
        ['X-Forwarded-Proto', 'https'],
      ] as const

    it('leave memory for other addresses (of IPv6, other /64 networks) and other interfaces [HTTP-31]', async () => {
      const user = await createTestUser(one)
      const served = async (path: string, address: string): Promise<number> => {
        if (path === LOGIN) return (await enterPanel(...from(address))).status
        if (path === TOLD) return (await tell(...from(address))).status
        return (await logIn(api.url, user, Object.fromEntries(from(address)))).status
      }
      for (const [path, type] of [
        [LOGIN, FORM],
        [TILL, JSON_BODY],
        [TOLD, JSON_BODY],
      ] as const) {
        const limit = path === TOLD ? 8_192 : 16_384
        for (const n of [1, 2]) await slowly(path, [type, ...from(`2001:db8:1:2::${n}`)], limit)
        for (const each of [LOGIN, TILL, TOLD]) {
          const [same, other] = [await served(each, '2001:db8:1:2::3'), await served(each, '2001:db8:1:3::1')]
          expect(same === 503, `${each} while ${path} is held`).to.equal(each === path)
          // Served: a login with a right or wrong password, a notification of no order.
          expect(other, `${each} while ${path} is held`).to.be.oneOf([200, 401, 404])
        }
        for (const wire of wires.splice(0)) wire.close()
        await until(() => held === 0)
      }
    })

    it('of a panel form beyond the limit are refused, without a fault [OPS-122]', async () => {
      const path = '/painel/clientes'
      for (const n of [1, 2]) await slowly(path, [FORM, ...from(`2001:db8:1:2::${n}`)], 16_384)
      const headers = [FORM, ...from('2001:db8:1:2::3')]
      const sent = await exchange(api.url, bytesOf({ method: 'POST', path, headers, body: 'name=Ana' }))
      expect(sent.status).to.equal(503)
      expect(sent.text).to.include('Acessos demais')
    })

    for (const [what, body] of [
      ['a name that is too long', `${'a'.repeat(201)}=1`],
      ['too many values of a name', 'a=1&'.repeat(299)],
      ['a name of too many values', 'a=&'.repeat(301)],
      ['an invalid encoding', '%zz=%&&=&[]=1'],
      ['a JavaScript property name', '__proto__=1&constructor=2'],
    ] as const)
      it(`of an invalid form with ${what} lead to the login, without a fault [OPS-122]`, async () => {
        const path = '/painel/clientes'
        const headers = [FORM, ...from('2001:db8:1:2::4')]
        const answer = await exchange(api.url, bytesOf({ method: 'POST', path, headers, body }))
        expect(answer.status).to.be.within(303, 499)
        if (answer.status === 303) expect(answer.headers.get('location')).to.match(/^\/painel\/entrar/)
        else expect(answer.text).to.match(/^<!doctype html>/)
      })

    it('are small: larger ones are 413 without being read [HTTP-31]', async () => {
      for (const [path, type, limit] of [
        [LOGIN, FORM, 16_384],
        [TILL, JSON_BODY, 16_384],
        [TOLD, JSON_BODY, 8_192],
      ] as const) {
        const length = ['Content-Length', String(limit + 1)] as const
        const wire = await openWire(api.url)
        wires.push(wire)
        wire.write(bytesOf({ method: 'POST', path, headers: [type, length] }))
        const [reply] = await wire.answered(1)
        expect([reply?.status, reply?.headers.get('connection')], path).to.deep.equal([413, 'close'])
      }
      expect(held).to.equal(0)
    })
  })

  it('reserve no memory if the client disconnects before admission', async () => {
    const bodies = counted(createMemoryBudget({ allBytes: MB, companyBytes: MB }))
    let passed = false
    const app = express()
    const leaves: RequestHandler = (_request, response, next) => void response.once('close', () => next())
    app.post('/', leaves, ...jsonBodyUpTo(MB, unauthenticatedBodyBudget(bodies)), () => {})
    app.use(((_error, _request, _response, _next) => {
      passed = true
    }) as ErrorRequestHandler)
    const server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const wire = await openWire(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    wire.write(bytesOf({ method: 'POST', path: '/', headers: headersOf(one, ['Transfer-Encoding', 'chunked']) }))
    await once(server, 'request')
    wire.close()
    await until(() => passed)
    expect(held).to.equal(0)
    await new Promise((done) => server.close(done))
  })

  it('release their memory when the connection closes, also those of pipelined requests', async () => {
    const blocker = await api.core.pool.connect()
    await blocker.query('begin')
    await blocker.query('select * from ops.ledgers where company_id = $1 for update', [one.id])
    const call = (name: string) =>
      bytesOf({ method: 'POST', path: '/api/v1/customers', headers: headersOf(one), body: `{"name":"${name}"}` })
    const wire = await openWire(api.url)
    wire.write(Buffer.concat([call('Primeira'), call('Segunda'), call('Terceira')]))
    await until(() => held === 3)
    wire.close()
    await until(() => held === 0)
    await blocker.query('rollback')
    blocker.release()
  })

  it('reserve the maximum size if they are compressed or of unknown size', async () => {
    const chunked = headersOf(one, ['Transfer-Encoding', 'chunked'])
    const wire = await openWire(api.url)
    wires.push(wire)
    wire.write(bytesOf({ method: 'POST', path: '/api/v1/customers', headers: chunked }))
    await until(() => held === 1)
    await slowly('/api/v1/customers', headersOf(one), MB)
    expectProblem(await create(one), 503, 'unavailable')
    wire.close()
    await until(() => held === 1)
    expect((await create(one)).status).to.equal(201)
    const body = gzipSync('{"name":"Pequena"}')
    const zipped = {
      method: 'POST',
      path: '/api/v1/customers',
      headers: headersOf(one, ['Content-Encoding', 'gzip']),
      body,
    }
    expect((await exchange(api.url, bytesOf(zipped))).status).to.equal(201)
    await slowly('/api/v1/customers', headersOf(one), 2_000)
    expect((await exchange(api.url, bytesOf(zipped))).status).to.equal(503)
  })
})

describe('requests with large bodies', () => {
  let server: Server
  let url: string
  let turns: KeyedSemaphore
  /** Requests under way. */
  const under: Response[] = []
  const wires: Wire[] = []

  before(async () => {
    const app = express()
    app.use((request, response, next) => {
      response.locals.requestId = 'id'
      response.locals.caller = { companyId: Number(request.get('company')) }
      next()
    })
    app.post(
      '/',
      (request, response, next) => limitLargeRequests(turns)(request, response, next),
      (_request, response) => {
        under.push(response)
      },
    )
    app.use(problemHandler(() => {}))
    server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  beforeEach(() => {
    turns = createKeyedSemaphore({ running: Number.POSITIVE_INFINITY, runningOfKey: 1, waiting: 4 })
    under.length = 0
  })
  afterEach(() => {
    for (const wire of wires.splice(0)) wire.close()
  })
  after(() => new Promise((resolve) => server.close(resolve).closeAllConnections()))

  /** Announces a body without sending any of it. */
  async function announce(company: number, header: readonly [string, string]): Promise<Wire> {
    const wire = await openWire(url)
    wires.push(wire)
    wire.write(bytesOf({ method: 'POST', path: '/', headers: [['Company', String(company)], header] }))
    return wire
  }
  const LARGE = ['Content-Length', '16385'] as const

  it('are admitted a few per company at a time, small ones at once [OPS-63]', async () => {
    await announce(1, LARGE)
    await until(() => under.length === 1)
    await announce(1, LARGE)
    await until(() => turns.used === 1)
    await announce(1, ['Content-Length', '16384'])
    await announce(2, LARGE)
    await until(() => under.length === 3)
    under[0]?.end()
    await until(() => under.length === 4)
    expect(turns.used).to.equal(0)
  })

  it('include those of unknown size', async () => {
    await announce(1, ['Transfer-Encoding', 'chunked'])
    await until(() => under.length === 1)
    const wire = await openWire(url)
    wires.push(wire)
    const headers = [
      ['Company', '1'],
      ['Content-Encoding', 'gzip'],
    ] as const
    wire.write(bytesOf({ method: 'POST', path: '/', headers, body: 'x' }))
    await until(() => turns.used === 1)
  })

  it('a full queue of the company refuses; a disconnect frees its place [OPS-63]', async () => {
    const first = await announce(1, LARGE)
    await until(() => under.length === 1)
    const waiting = [await announce(1, LARGE), await announce(1, LARGE)]
    await until(() => turns.used === 2)
    const headers = [['Company', '1']] as const
    const refused = await exchange(url, bytesOf({ method: 'POST', path: '/', headers, body: 'x'.repeat(20_000) }))
    expect([refused.status, refused.body.error.details]).to.deep.equal([503, { reason: 'share_taken' }])
    waiting[0]?.close()
    await until(() => turns.used === 1)
    first.close()
    await until(() => under.length === 2)
    expect(turns.used).to.equal(0)
  })
})
