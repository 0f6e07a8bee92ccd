import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { freePort } from '#postgres/embedded.ts'
import { readModel } from '#projections/index.ts'
import { tillbook, tillbookIn } from '../cli/tillbook.ts'
import { times } from '../service/fleet.ts'
import { type Reply, send, startApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { buildNewer, type NewerProgram } from '../support/newer-program.ts'
import { type Service, startService } from '../support/process.ts'
import { administer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const SETTINGS = { QUOTA_PER_MINUTE: '1000000', QUOTA_PER_DAY: '1000000', LOG_LEVEL: 'warn' }

/** Longest time that writes may be refused while one version replaces another. */
const REFUSED_MS = 2_000

describe('upgrade', function () {
  this.timeout(180_000)
  const database = useDatabase()
  let newer: NewerProgram
  let company: TestCompany
  const running: Service[] = []

  before(async () => {
    newer = await buildNewer()
    const office = await startApi(database.url)
    company = await office.company()
    await office.close()
  })
  after(async () => {
    await Promise.all(running.map((service) => service.kill()))
    await newer.remove()
  })

  const env = () => ({ ...SETTINGS, DATABASE_URL: database.url })
  const start = async (options: { readonly folder?: string; readonly port?: number } = {}): Promise<Service> => {
    const { folder, port } = options
    const service = await startService({ ...env(), ...(port && { PORT: String(port) }) }, folder ? { folder } : {})
    running.push(service)
    return service
  }
  const tables = () =>
    administer(database.ownerUrl, async (client) => {
      const { rows } = await client.query(
        'select version, number, since, (select array_agg(name order by id) from ops.migrations) as migrations from ops.read_model',
      )
      return rows[0]
    })
  const call = ({ url }: Pick<Service, 'url'>, method: string, path: string, body?: object, key = ''): Promise<Reply> =>
    send(`${url}/api/v1${path}`, method, body, {
      authorization: `Bearer ${company.key}`,
      ...(key && { 'idempotency-key': key }),
    })

  it('is not done by other commands, which report how to do it [OPS-38]', async () => {
    const before = await tables()
    const { code, stderr } = await tillbookIn(newer.folder, env(), 'company', 'list', '--json')
    expect(code).to.equal(1)
    const { error } = JSON.parse(stderr)
    expect(error.code).to.equal('other_version')
    expect(error.message).to.match(/older version.*start the service.*projections rebuild/)
    expect(await tables()).to.deep.equal(before)
  })

  it('an upgrade between processes loses no write and refuses no read [OPS-37]', async () => {
    const older = await start()
    const port = await freePort(null)
    const processes = [older, { url: `http://127.0.0.1:${port}` }]
    const traffic = createTraffic((...asked) => anyOf(processes, (each) => call(each, ...asked)))
    await until(() => traffic.written.size > 100)
    const successor = await start({ folder: newer.folder, port })
    expect(await older.ended(), 'the older process').to.equal(1)
    const written = traffic.written.size
    await until(() => traffic.written.size > written + 100)
    await traffic.stop()
    expect(traffic.faults, 'reads that were refused, or did not show what was acknowledged').to.deep.equal([])
    expect(traffic.longestRefusal_ms()).to.be.below(REFUSED_MS)
    const names = await allNames((path) => call(successor, 'GET', path))
    expect(
      [...traffic.written.values()].filter((name) => !names.has(name)),
      'acknowledged and missing',
    ).to.deep.equal([])
    expect(names.size).to.equal(traffic.written.size)
  })

  it('is not undone by an older program, which exits with 1 and leaves the newer one running [OPS-37]', async () => {
    const successor = running.at(-1) as Service
    const before = await tables()
    const failure = await start().catch((error: Error) => error)
    expect(String((failure as Error).cause)).to.include('ended with 1')
    const { number } = readModel
    expect((failure as Error).message).to.include(
      `made by a newer version of this program (number ${number + 1}, and this one makes ${number}`,
    )
    const { code, stderr } = await tillbook(env(), 'company', 'list')
    expect(code).to.equal(1)
    expect(stderr).to.include('start that version')
    expect((await tillbook(env(), 'projections', 'rebuild')).code, 'not even when asked').to.equal(1)
    expect(await tables()).to.deep.equal(before)
    expect(
      (await call(successor, 'POST', '/customers', { name: 'Ana', person_type: 'PF' }, randomUUID())).status,
    ).to.equal(201)
    expect((await tillbookIn(newer.folder, env(), 'company', 'list')).code).to.equal(0)
  })
})

/** First response other than 503, like a load balancer; the last refusal if there is none. */
async function anyOf<P>(processes: readonly P[], ask: (process: P) => Promise<Reply>): Promise<Reply | null> {
  let reply: Reply | null = null
  for (const each of processes) {
    reply = await ask(each).catch(() => null)
    if (reply && reply.status !== 503) return reply
  }
  return reply
}

type Ask = (method: string, path: string, body?: object, key?: string) => Promise<Reply | null>

/** Clients that write, read acknowledged data, and count refusals. */
function createTraffic(ask: Ask) {
  const written = new Map<number, string>()
  const faults: string[] = []
  let longest_ms = 0
  let running = true

  async function write(writer: number): Promise<void> {
    for (let n = 0; running; n++) {
      const name = `Cliente ${writer}-${n}`
      const key = randomUUID()
      const began = performance.now()
      let isRefused = false
      for (;;) {
        const reply = await ask('POST', '/customers', { name, person_type: 'PF' }, key)
        if (reply?.status === 201) {
          written.set(reply.body.data.id, name)
          break
        }
        if (reply && reply.status !== 503) throw new Error(`${reply.status} ${JSON.stringify(reply.body)}`)
        isRefused = true
        await pause(20)
      }
      if (isRefused) longest_ms = Math.max(longest_ms, performance.now() - began)
    }
  }

  async function read(): Promise<void> {
    while (running) {
      const [id, name] = [...written].at(-1) ?? []
      const reply = id === undefined ? await ask('GET', '/me') : await ask('GET', `/customers/${id}`)
      if (reply?.status !== 200) faults.push(`${reply?.status ?? 'no answer'} for ${id}`)
      else if (id !== undefined && reply.body.data.name !== name) faults.push(`another record for ${id}`)
    }
  }

  const working = Promise.all([...times(6, write), ...times(4, read)])
  return {
    written,
    faults,
    longestRefusal_ms: () => longest_ms,
    async stop() {
      running = false
      await working
    },
  }
}

/** Names of all customers, from all pages. */
async function allNames(get: (path: string) => Promise<Reply>): Promise<Set<string>> {
  const names = new Set<string>()
  let cursor = ''
  do {
    const { body } = await get(`/customers?limit=200${cursor && `&cursor=${cursor}`}`)
    for (const { name } of body.data) names.add(name)
    cursor = body.meta.next_cursor ?? ''
  } while (cursor)
  return names
}
