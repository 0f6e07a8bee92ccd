import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import { jsonBodyUpTo } from '#http/middleware/json-body.ts'
import { createMemoryBudget, type MemoryBudget } from '#lib/memory-budget.ts'
import { expectProblem } from '../support/answers.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { createTestUser, expectFailure, logIn } from '../support/till.ts'
import { until } from '../support/wait.ts'
import { bytesOf, exchange, openWire, type Wire } from '../support/wire.ts'

const MB = 1_048_576

describe('bodies that are on their way', () => {
  const database = useDatabase()
  let api: TestApi
  let one: TestCompany
  let other: TestCompany
  const wires: Wire[] = []
  /** Bodies that room is held for. */
  let held = 0

  const counted = (holdings: MemoryBudget): MemoryBudget => ({
    open(companyId) {
      const { add, release } = holdings.open(companyId)
      const letGo = () => {
        held -= 1
        release()
      }
      held += 1
      return { add, release: letGo }
    },
  })

  before(async () => {
    api = await startApi(database.url, {
      log: () => {},
      bodies: counted(createMemoryBudget({ allBytes: 4 * MB, companyBytes: 2 * MB })),
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

  /** Announces a body of so many bytes, and sends the first of them only. */
  async function slowly(path: string, headers: readonly (readonly [string, string])[], bytes: number): Promise<Wire> {
    const wire = await openWire(api.url)
    wires.push(wire)
    const length = ['Content-Length', String(bytes)] as const
    const before = held
    wire.write(bytesOf({ method: 'POST', path, headers: [...headers, length], body: '{' }))
    await until(() => held > before)
    return wire
  }
  const create = (company: TestCompany) => company.post('/customers', { name: 'Ana', notes: 'x'.repeat(1_000) })

  it('of one company leave room for the others [OPS-25, OPS-60]', async () => {
    await slowly('/api/v1/customers', headersOf(one), MB)
    await slowly('/api/v1/customers', headersOf(one), MB)
    const refused = await create(one)
    expectProblem(refused, 503, 'unavailable')
    expect(refused.headers.get('retry-after')).to.equal('1')
    expect((await create(other)).status).to.be.oneOf([201, 409])
    for (const wire of wires) wire.close()
    await until(() => held === 0)
    expect((await create(one)).status).to.be.oneOf([201, 409])
  })

  it('of all are bounded together, in every interface [OPS-25]', async () => {
    const user = await createTestUser(one)
    for (const company of [one, one, other]) await slowly('/api/v1/customers', headersOf(company), MB)
    await slowly('/api/v1/customers', headersOf(await api.company()), MB - 20)
    expectProblem(await create(one), 503, 'unavailable')
    expectFailure(await logIn(api.url, user), 503)
    const path = '/webhook/paymentprovider/loja/1'
    const told = await exchange(api.url, bytesOf({ method: 'POST', path, body: '{"type":"plan","data":{"id":"1"}}' }))
    expect([told.status, told.body.error.code]).to.deep.equal([503, 'unavailable'])
    for (const wire of wires) wire.close()
    await until(() => held === 0)
    expect((await logIn(api.url, user)).status).to.equal(200)
  })

  it('take no room for senders who have gone before they were admitted', async () => {
    const bodies = counted(createMemoryBudget({ allBytes: MB, companyBytes: MB }))
    let passed = false
    const app = express()
    const leaves: RequestHandler = (_request, response, next) => void response.once('close', () => next())
    app.post('/', leaves, jsonBodyUpTo(MB, bodies), () => {})
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

  it('leave their room when their connection goes, also those of requests whose turn to be answered had not come', async () => {
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

  it('are taken for as long as they may be where they do not tell, or are compressed', async () => {
    const chunked = headersOf(one, ['Transfer-Encoding', 'chunked'])
    const wire = await openWire(api.url)
    wires.push(wire)
    wire.write(bytesOf({ method: 'POST', path: '/api/v1/customers', headers: chunked }))
    await until(() => held === 1)
    await slowly('/api/v1/customers', headersOf(one), MB)
    expectProblem(await create(one), 503, 'unavailable')
    wire.close()
    await until(() => held === 1)
    expect((await create(one)).status).to.be.oneOf([201, 409])
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
