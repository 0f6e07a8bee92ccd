import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import express, { type Request, type Response } from 'express'
import pg from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { createAddressLimit } from '#access/login-limits.ts'
import { createCustomer } from '#commands/person-commands.ts'
import { readConfig } from '#config/config.ts'
import { mountRoutes, type ObservedRequest } from '#http/edge.ts'
import { attestationStatuses, noteAttestors } from '#integrity/attestations.ts'
import { attestorNames } from '#integrity/attestor-settings.ts'
import type { NamedAttestor } from '#integrity/attestors.ts'
import { createProofServices } from '#integrity/sale-receipts.ts'
import { createErasureList } from '#privacy/erasures.ts'
import { createApp } from '#service/interfaces.ts'
import { createMetrics, type Metrics, serveMetrics } from '#service/metrics.ts'
import {
  failingForADay,
  failureText,
  type RunningRole,
  type SharedServices,
  startDispatcher,
  startProjector,
  tellOperator,
} from '#service/process-roles.ts'
import { errorRecord } from '#service/service.ts'
import { type Reply, send, startApi, type TestApi } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { noProvider } from '../support/memory-provider.ts'
import type { Service } from '../support/process.ts'
import { OWN_DATABASE, useApi } from '../support/use-api.ts'
import { until } from '../support/wait.ts'
import { bytesOf, exchange } from '../support/wire.ts'
import { startReceiver } from '../webhooks/receiver.ts'
import { createFleet, type Fleet } from './fleet.ts'

describe('responses before the interfaces are ready', () => {
  let server: Server
  let url: string

  before(async () => {
    const app = createApp({
      trustProxy: false,
      addresses: createAddressLimit({ perMinute: 1_000_000 }),
      newId: uuidv7,
      isStopping: () => false,
      log: () => {},
    })
    server = app.server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(() => void server.close())

  const ask = async (path: string) => {
    const reply = await exchange(url, bytesOf({ method: 'GET', path }))
    expect([reply.status, reply.headers.get('retry-after')], path).to.deep.equal([503, '5'])
    expect(reply.headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/)
    return reply
  }

  it('have the till format for tills [OPS-7]', async () => {
    for (const path of [
      '/api/sync/status',
      '/api',
      '/api?x',
      '/api/v2',
      '/api/v1x',
      '/API/auth/login',
      'http://a/api/auth/user',
    ]) {
      expect((await ask(path)).body, path).to.include({ success: false })
    }
  })

  it('are a page in the panel [OPS-7]', async () => {
    for (const path of ['/painel', '/painel/entrar', '/painel/vendas?x=1']) {
      const { headers, text } = await ask(path)
      expect(headers.get('content-type'), path).to.equal('text/html; charset=utf-8')
      expect(text, path).to.match(/^<!doctype html>/i)
    }
  })

  it('have the format of API v1 elsewhere [OPS-7]', async () => {
    for (const path of ['/api/v1', '/api/v1/me', '/api/v1?x', '/webhook/paymentprovider/a/1', '/', '/painelx']) {
      expect((await ask(path)).body?.error?.code, path).to.equal('unavailable')
    }
  })
})

/** Error as thrown by the driver. */
function databaseError(message: string, members: object): Error {
  return Object.assign(new pg.DatabaseError(message, 1, 'error'), members)
}

function parseError(text: string): Error {
  try {
    JSON.parse(text)
  } catch (error) {
    return error as Error
  }
  throw new Error('it is JSON')
}

describe('errors in the log', () => {
  it('contain the cause, and no values of rows, texts or addresses [PRIV-45]', () => {
    const detail = 'Key (company_id, name_key)=(1, maria da silva) already exists.'
    const taken = databaseError('duplicate key value violates unique constraint "customers_name_key"', {
      code: '23505',
      constraint: 'customers_name_key',
      detail,
      where: 'maria da silva',
    })
    const errors = [
      new Error('the unit of work failed', { cause: taken }),
      databaseError('invalid input syntax for type bigint: "maria da silva"', { code: '22P02' }),
      Object.assign(new Error("Can't send mail: 550 <maria.da.silva@example.com> is unknown"), {
        rejected: ['maria.da.silva@example.com'],
      }),
      parseError('{"name": maria da silva}'),
      parseError('maria da silva'),
      new AggregateError([taken], 'several'),
      'maria da silva',
    ]
    for (const error of errors) expect(JSON.stringify(errorRecord(error)), String(error)).not.to.match(/maria/i)
    expect(errorRecord(errors[0])).to.deep.include({ type: 'Error', message: 'the unit of work failed' })
    expect((errorRecord(errors[0]) as unknown as { cause: object }).cause).to.deep.include({
      code: '23505',
      constraint: 'customers_name_key',
    })
    expect((errorRecord(taken) as unknown as { stack: string }).stack).to.match(/^\s+at .*service\.test/)
  })
})

const WITNESS: NamedAttestor = { source: 'w.example/1', kind: 'cosignature', host: 'w.example' }
const AUTHORITY: NamedAttestor = { source: 'https://tsa.example/tsr', kind: 'time_stamp', host: 'tsa.example' }
const FOLDER: NamedAttestor = { source: '/copies', kind: 'copy', host: null }

describe('attestors that fail for a day', () => {
  const api = useApi(OWN_DATABASE)
  const states = (settings: readonly NamedAttestor[] = []) => attestationStatuses(api.core.pool, settings)
  const failFor = (hours: number) =>
    api.core.pool.query(
      `update ops.attestors set failures = 30, problem = 'unreachable', detail = 'answered 503',
         failing_since = clock_timestamp() - make_interval(hours => $1) where source = $2`,
      [hours, WITNESS.source],
    )

  beforeEach(() => noteAttestors(api.core.pool, [WITNESS, AUTHORITY, FOLDER]))

  it('are those of the service without its settings, by kind; removed ones are forgotten', async () => {
    const named = async () =>
      (await states()).map(({ source, kind, host, problem }) => ({ source, kind, host, problem }))
    const sound = (attestor: NamedAttestor) => ({ ...attestor, problem: null })
    expect(await named()).to.deep.equal(
      [FOLDER, WITNESS, AUTHORITY].map(sound).sort((a, b) => (a.kind < b.kind ? -1 : 1)),
    )
    await noteAttestors(api.core.pool, [AUTHORITY])
    expect(await named()).to.deep.equal([sound(AUTHORITY)])
    expect((await states([FOLDER])).map(({ source }) => source)).to.deep.equal([FOLDER.source])
  })

  it('are told with host, time and reason from then on [PROOF-720]', async () => {
    await failFor(23)
    expect(failingForADay(await states(), Date.now())).to.deep.equal([])
    await failFor(25)
    const [failing, ...others] = failingForADay(await states([WITNESS, FOLDER]), Date.now())
    expect(others).to.deep.equal([])
    expect(failing && failureText(failing)).to.match(
      /^w\.example\/1 \(w\.example\) since 20[\d-]+T[\d:.]+Z: unreachable, answered 503$/,
    )
  })

  it('are told to the operator by one e-mail, again if it was not sent [PROOF-720]', async () => {
    const sent: string[] = []
    let isDown = true
    const mailer = {
      async send({ to, text }: { readonly to: readonly string[]; readonly text: string }) {
        if (isDown) throw new Error('the mail server is down')
        sent.push(`${to} ${text}`)
        return []
      },
      close: () => {},
    }
    const tell = () => tellOperator(api.core.pool, mailer, 'operador@loja.example')
    await failFor(23)
    await tell()
    await failFor(25)
    expect(await tell().catch((error: Error) => error.message)).to.equal('the mail server is down')
    isDown = false
    for (let n = 0; n < 3; n++) await tell()
    expect(sent).to.have.length(1)
    expect(sent[0]).to.match(/^operador@loja\.example .*w\.example.*unreachable, answered 503/s)
  })
})

describe('metrics of a process', function () {
  this.timeout(120_000)
  const database = useDatabase()
  let fleet: Fleet
  let office: TestApi
  let service: Service

  before(async () => {
    office = await startApi(database.url)
    fleet = createFleet(database.url)
    service = await fleet.start('api', { ROLES: 'api,projector,dispatcher' })
  })
  after(async () => {
    await fleet.close()
    await office.close()
  })

  /** Value of a metric, named with its labels as in the output. */
  async function figure(line: string): Promise<number | null> {
    const { text } = await send(`${service.url}/metrics`, 'GET')
    const found = text.split('\n').find((one) => one.startsWith(`${line} `))
    return found === undefined ? null : Number(found.slice(line.length + 1))
  }

  it('metrics count requests, commands and deliveries without companies [OPS-19]', async () => {
    const company = await office.company()
    const receiver = await startReceiver()
    const post = (path: string, body: object) =>
      send(`${service.url}/api/v1${path}`, 'POST', body, { authorization: `Bearer ${company.key}` })
    try {
      expect((await post('/webhooks', { url: receiver.url, events: ['customer.created'] })).status).to.equal(201)
      const { id } = (await post('/customers', { name: 'Ana' })).body.data
      expect((await post('/customers', { name: 'ana' })).status).to.equal(409)
      const items = [{ external_id: 'b', name: 'Bia' }, { external_id: 'c', name: 'ANA' }, { name: 'Caio' }]
      expect((await post('/customers/batch', { items })).status).to.equal(207)
      await company.run(createCustomer, { name: 'Davi', person_type: 'PF' }, 'pdv')
      await until(() => receiver.received.length === 1)

      const posted = 'tillbook_http_request_seconds_count{method="POST",route="/api/v1/customers",status'
      expect(await figure(`${posted}="201"}`)).to.equal(1)
      expect(await figure(`${posted}="409"}`)).to.equal(1)
      expect(await figure('tillbook_commands_total{outcome="accepted"}')).to.equal(3)
      expect(await figure('tillbook_commands_total{outcome="refused"}')).to.equal(2)
      expect(await figure('tillbook_refusals_total{code="duplicate_resource"}')).to.equal(2)
      expect(await figure('tillbook_writer_unanswered_commands')).to.equal(0)
      expect(await figure('tillbook_writer_group_commands_sum')).to.equal(5)
      expect(await figure('tillbook_writer_group_seconds_count')).to.equal(4)
      await until(async () => (await figure('tillbook_delivery_attempt_seconds_count{outcome="delivered"}')) === 1)
      expect(await figure('tillbook_deliveries_pending')).to.be.within(0, 1)
      expect(await figure('tillbook_deliveries_oldest_due_seconds')).to.be.within(0, 60)
      expect(await figure('tillbook_postgres_connections{pool="writer",state="idle"}')).to.be.above(0)
      for (const resource of ['commands', 'queries', 'verifications', 'body_bytes', 'large_requests', 'downloads']) {
        expect(await figure(`tillbook_shared_used{resource="${resource}"}`), resource).to.equal(0)
        expect(await figure(`tillbook_shared_refused_total{resource="${resource}"}`), resource).to.equal(0)
      }
      expect(await figure('nodejs_eventloop_lag_seconds')).to.be.at.least(0)
      expect(await figure('process_resident_memory_bytes')).to.be.above(0)

      await send(`${service.url}/api/v1/customers/${id}`, 'GET', undefined, { authorization: `Bearer ${company.key}` })
      const { text } = await send(`${service.url}/metrics`, 'GET')
      expect(text)
        .to.include('route="/api/v1/customers/:id"')
        .and.not.match(/company/i)
    } finally {
      await receiver.close()
    }
  })
})

/** Statements that only gauges run, by a part of their text, and the gauges that show their result. */
const STATEMENTS = {
  'from ops.checkpoint_faults': ['checkpoint_faults', 'checkpoint_run_age_seconds', 'checkpoint_age_seconds'],
  'ops.table_checks where not is_equal': ['tables_unequal_companies', 'tables_check_overdue_seconds'],
  'as oldest_due_seconds': ['deliveries_pending', 'deliveries_oldest_due_seconds'],
  'left join ops.attestors': ['attestor_token_age_seconds', 'attestor_waiting_seconds', 'attestor_failures'],
}

describe('scrape of the metrics of background roles', () => {
  const api = useApi()
  const counts = new Map<string, number>()
  let directory: string
  let metrics: Metrics
  let roles: RunningRole[]
  let restore: () => void

  before('start the roles on a pool that counts statements', async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-scrape-'))
    const { pool, sealing } = api.core
    const query = pool.query
    const counting = (...given: unknown[]) => {
      const [asked] = given as [string | { text: string }]
      const text = typeof asked === 'string' ? asked : asked.text
      for (const part of Object.keys(STATEMENTS)) if (text.includes(part)) counts.set(part, (counts.get(part) ?? 0) + 1)
      return Reflect.apply(query, pool, given)
    }
    pool.query = counting as typeof query
    restore = () => {
      pool.query = query
    }
    const config = { ...readConfig({}), SEAL_PUSH_FOLDER: directory }
    metrics = createMetrics()
    const shared = {
      config,
      core: { ...api.core, proof: createProofServices(pool, { sealing, attestors: attestorNames(config) }) },
      databaseUrl: api.databaseUrl,
      forgottenList: createErasureList({ pool, dataDir: directory, onError: () => {} }),
      provider: noProvider,
      metrics,
      logger: { info() {}, warn() {}, error() {} },
      log() {},
    }
    const services = shared as unknown as SharedServices
    roles = [startProjector(services), startDispatcher(services)]
  })
  after(async () => {
    await Promise.all(roles.map((role) => role.stop()))
    restore()
    await rm(directory, { recursive: true })
  })
  beforeEach(() => counts.clear())

  for (const [part, names] of Object.entries(STATEMENTS))
    it(`runs one statement for ${names.join(', ')} [OPS-19]`, async () => {
      const text = await metrics.read()
      for (const name of names) expect(text).to.include(`# TYPE tillbook_${name} gauge`)
      expect(counts.get(part)).to.equal(1)
      await metrics.read()
      expect(counts.get(part)).to.equal(2)
    })

  it('is shared by concurrent calls, and the next call makes a new one [OPS-19]', async () => {
    const [first, second] = await Promise.all([metrics.read(), metrics.read()])
    expect(first).to.equal(second)
    expect([...counts.values()]).to.deep.equal(Object.keys(STATEMENTS).map(() => 1))
    await metrics.read()
    expect([...counts.values()]).to.deep.equal(Object.keys(STATEMENTS).map(() => 2))
  })
})

const metrics = { contentType: 'text/plain; version=0.0.4', read: async () => 'figure 1\n' }
const expectError = (reply: Reply, status: number, code: string) =>
  expect([reply.status, reply.body.error.code]).to.deep.equal([status, code])
const TOKEN = 'prometheus-reads-this'

describe('/metrics', () => {
  const servers: Server[] = []
  const calls: ObservedRequest[] = []

  async function serve(token: string | null): Promise<string> {
    const { server, open } = createApp({
      trustProxy: false,
      addresses: createAddressLimit({ perMinute: 1_000_000 }),
      newId: uuidv7,
      isStopping: () => false,
      onAnswered: (call) => calls.push(call),
      figures: { metrics, token },
      log: () => {},
    })
    const sales = express.Router()
    mountRoutes(sales, '/api/v1', [
      { method: 'get', path: '/sales/:id', handlers: [(_request, response) => void response.json({})] },
      { method: 'post', path: '/sales/:id', handlers: [(request) => void request.socket.destroy()] },
    ])
    open(async () => ({ parts: {} }), express.Router().use('/api/v1', sales))
    servers.push(server)
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  beforeEach(() => {
    calls.length = 0
  })
  afterEach(() => {
    for (const server of servers.splice(0)) server.close().closeAllConnections()
  })

  it('is served to this machine in the Prometheus format [OPS-19]', async () => {
    const url = await serve(null)
    const reply = await send(`${url}/metrics`, 'GET')
    expect(reply.status).to.equal(200)
    expect(reply.text).to.equal('figure 1\n')
    expect(reply.headers.get('content-type')).to.equal(metrics.contentType)
    expectError(await send(`${url}/metrics`, 'POST'), 405, 'method_not_allowed')
  })

  it('is 404 for requests through a proxy [OPS-19]', async () => {
    const url = await serve(null)
    for (const name of ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip']) {
      expectError(await send(`${url}/metrics`, 'GET', undefined, { [name]: '10.0.0.1' }), 404, 'not_found')
    }
  })

  for (const [address, status] of [
    ['127.0.0.1', 200],
    ['::ffff:192.168.1.20', 200],
    ['10.1.2.3', 200],
    ['172.31.0.9', 200],
    ['fd00::1', 200],
    ['fe80::1%eth0', 200],
    ['203.0.113.9', 404],
    ['::ffff:8.8.8.8', 404],
    ['2001:db8::1', 404],
    [undefined, 404],
  ] as const) {
    it(`responds ${status} to ${address ?? 'a closed connection'} [OPS-19]`, async () => {
      const request = { method: 'GET', headers: {}, socket: { remoteAddress: address } } as unknown as Request
      const response = { statusCode: 200, locals: {}, req: request, setHeader: () => {}, end: () => {} }
      await serveMetrics({ metrics, token: null })(request, response as unknown as Response, () => {})
      expect(response.statusCode).to.equal(status)
    })
  }

  it('requires the token if one is configured, and nothing else [OPS-19]', async () => {
    const url = await serve(TOKEN)
    const read = (headers?: Record<string, string>) => send(`${url}/metrics`, 'GET', undefined, headers)
    expectError(await read(), 401, 'missing_token')
    expectError(await read({ authorization: 'Bearer prometheus-reads-that' }), 401, 'invalid_token')
    expectError(await read({ authorization: `Basic ${TOKEN}` }), 401, 'invalid_token')
    const allowed = await read({ authorization: `Bearer ${TOKEN}`, 'x-forwarded-for': '203.0.113.9' })
    expect(allowed.status).to.equal(200)
  })

  it('counts requests by route pattern, never by path [OPS-19]', async () => {
    const url = await serve(null)
    const counted = async (method: string, path: string) => {
      const before = calls.length
      await send(`${url}${path}`, method).catch(() => null)
      await until(() => calls.length > before)
      const { duration_seconds, ...call } = calls.at(-1) as ObservedRequest
      expect(duration_seconds).to.be.within(0, 60)
      return call
    }
    expect(await counted('GET', '/api/v1/sales/7?x=1')).to.deep.equal({
      method: 'GET',
      route: '/api/v1/sales/:id',
      status: '200',
    })
    expect(await counted('POST', '/api/v1/sales/8')).to.include({ route: '/api/v1/sales/:id', status: 'aborted' })
    expect(await counted('GET', '/api/v1/nothing/9')).to.include({ route: '/api/v1/*', status: '404' })
    expect(await counted('GET', '/api/v1x/9')).to.include({ route: '/api/*' })
    expect(await counted('GET', '/wp-login.php?user=9')).to.include({ route: 'other', status: '404' })
    expect(await counted('PROPFIND', '/')).to.include({ method: 'other', route: 'other' })
    expect(await counted('GET', '/health/live')).to.include({ route: '/health/*', status: '200' })
  })
})
