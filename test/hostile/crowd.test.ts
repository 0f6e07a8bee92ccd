import { readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { type Service, startService } from '../support/process.ts'
import { until } from '../support/wait.ts'
import { bytesOf, exchange, openWire, type Wire } from '../support/wire.ts'
import { expectAnswered } from './answers.ts'

const MB = 1_048_576
const JSON_TYPE = ['Content-Type', 'application/json'] as const

/** Memory beyond that of an idle service: bodies (64 MB), responses, and uncollected garbage. */
const MEMORY_MB = 150

/** A large request queues behind others of its company, and is refused a second after this time. */
const TURN_MS = 30_000

describe('mass of hostile connections', function () {
  this.timeout(120_000)
  const database = useDatabase()
  let api: TestApi
  let service: Service
  let company: TestCompany
  const wires: Wire[] = []

  before(async () => {
    api = await startApi(database.url)
    company = await api.company()
    const env = { DATABASE_URL: database.url, QUOTA_PER_MINUTE: '100000', LOG_LEVEL: 'error', SEED_DEMO: 'false' }
    service = await startService(env)
  })
  after(async () => {
    await service.stop()
    await api.close()
  })
  afterEach(() => {
    for (const wire of wires.splice(0)) wire.close()
  })

  const key = (): readonly [string, string] => ['Authorization', `Bearer ${company.key}`]
  const me = () => bytesOf({ method: 'GET', path: '/api/v1/me', headers: [key()] })
  const expectServed = async () => expect((await exchange(service.url, me())).status).to.equal(200)

  /** Opens connections, a hundred at a time, and sends bytes on each. */
  async function crowd(count: number, bytes: (n: number) => Buffer): Promise<Wire[]> {
    const opened: Wire[] = []
    for (let from = 0; from < count; from += 100) {
      const some = Array.from({ length: Math.min(100, count - from) }, () => openWire(service.url))
      opened.push(...(await Promise.all(some)))
    }
    wires.push(...opened)
    for (const [n, wire] of opened.entries()) wire.write(bytes(n))
    return opened
  }

  /** Peak resident memory since the last call. */
  async function peakMb(): Promise<number> {
    const status = await readFile(`/proc/${service.pid}/status`, 'utf8')
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1_024
  }

  it('of which 1,000 are silent do not disturb other clients [OPS-26]', async () => {
    await crowd(1_000, () => Buffer.alloc(0))
    await expectServed()
  })

  it('closed in the middle of requests leave nothing behind', async () => {
    const creating = (n: number) =>
      bytesOf({ method: 'POST', path: '/api/v1/customers', headers: [key(), JSON_TYPE], body: `{"name":"Fugaz ${n}"}` })
    const left = await crowd(300, (n) => {
      const bytes = creating(n)
      return n % 3 === 0 ? bytes : bytes.subarray(0, Math.floor((bytes.length * (n % 100)) / 100))
    })
    for (const wire of left) wire.close()
    await expectServed()
    // Later requests find all database connections free.
    const replies = await Promise.all(Array.from({ length: 50 }, () => exchange(service.url, me())))
    expect(replies.map((reply) => reply.status)).to.deep.equal(Array.from({ length: 50 }, () => 200))
    expect((await company.get('/events/verify')).body.data.valid).to.equal(true)
  })

  it('gets a response to every request that is pipelined on one connection', async () => {
    const [wire] = (await crowd(1, () => Buffer.concat(Array.from({ length: 2_000 }, me)))) as [Wire]
    const replies = await wire.answered(2_000, 60_000)
    // Requests beyond the queue limit of the API gate are refused with a retry.
    for (const reply of replies) expect(reply.status).to.be.oneOf([200, 503])
  })

  it('with endless, compressed-bomb and huge bodies stays within the memory limit', async function () {
    if (process.platform !== 'linux') this.skip()
    const before = await peakMb()
    const slow = (path: string, length: number, sent: number) => () =>
      Buffer.concat([
        bytesOf({ method: 'POST', path, headers: [key(), JSON_TYPE, ['Content-Length', String(length)]] }),
        Buffer.alloc(sent, ' '),
      ])
    await crowd(500, slow('/api/auth/login', 16_384, 16_000))
    await crowd(100, slow('/api/v1/customers', MB, MB - 1_000))
    await crowd(300, slow('/webhook/paymentprovider/loja/1', 65_536, 65_000))
    const bomb = gzipSync(Buffer.alloc(50 * MB, ' '), { level: 9 })
    for (const path of ['/api/auth/login', '/api/v1/customers/batch', '/webhook/paymentprovider/loja/1']) {
      const headers = [key(), JSON_TYPE, ['Content-Encoding', 'gzip']] as const
      const call = bytesOf({ method: 'POST', path, headers, body: bomb })
      const replies = await Promise.all(
        Array.from({ length: 20 }, () => exchange(service.url, call, { wait_budget_ms: TURN_MS })),
      )
      for (const reply of replies) {
        if (reply.status !== 503) expectAnswered(path, reply)
        // Whichever limit comes first: size, requests of the address, or shared memory.
        expect(reply.status, path).to.be.oneOf([413, 429, 503])
      }
    }
    await expectServed()
    expect((await peakMb()) - before, 'MB more than before').to.be.below(MEMORY_MB)
    for (const wire of wires.splice(0)) wire.close()
    const create = () =>
      exchange(
        service.url,
        bytesOf({ method: 'POST', path: '/api/v1/customers', headers: [key(), JSON_TYPE], body: '{}' }),
      )
    await until(async () => (await create()).status === 422)
  })
})
