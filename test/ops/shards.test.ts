import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { parseCommandLine } from '#cli/arguments.ts'
import { createContext } from '#cli/connection.ts'
import { load } from '#cli/load.ts'
import { Refused } from '#cli/verb.ts'
import { UnsupportedPostgres } from '#lib/errors.ts'
import { WrongShardDatabase } from '#sharding/shard-identity.ts'
import { createFleet, type Fleet } from '../service/fleet.ts'
import { type Json, send } from '../support/api.ts'
import { type CutProxy, startCutProxy } from '../support/cut-proxy.ts'
import { cloneDatabase, ownerUrlOf, TEMPLATES, useDatabase } from '../support/database.ts'
import { MASTER_KEY } from '../support/master-key.ts'
import type { Service } from '../support/process.ts'
import { onDatabase } from '../support/server.ts'
import { southOf } from '../support/shards.ts'
import { until } from '../support/wait.ts'
import { startReceiver } from '../webhooks/receiver.ts'

const MAIN_CNPJ = '11222333000181'
const SOUTH_CNPJ = '45448325000170'
const USER = { email: 'bia@shards.example', password: 'uma senha longa' }

describe('processes with two shards', function () {
  this.timeout(120_000)
  const database = useDatabase()
  let fleet: Fleet
  let env: Record<string, string>
  let dataDir: string
  let south: string
  let southOwner: string
  let network: CutProxy
  let [first, second] = [] as unknown as [Service, Service]
  let companies: Json[]
  let keys: string[]
  let till: string

  /** Runs the command line in this process. */
  async function tillbook(...words: string[]): Promise<Json> {
    const { name, values } = parseCommandLine(words)
    const context = createContext(env)
    try {
      const verb = await load(name)
      return await verb.run(context, values as Parameters<typeof verb.run>[1])
    } finally {
      await context.close()
    }
  }
  const refused = async (...words: string[]): Promise<unknown> => {
    const error = await tillbook(...words).then(
      () => null,
      (reason: unknown) => reason,
    )
    return error instanceof Refused ? error.refusal : error
  }
  const call = (service: Service, company: number, method: string, path: string, body?: unknown) =>
    send(`${service.url}/api/v1${path}`, method, body, { authorization: `Bearer ${keys[company]}` })
  const readiness = async (service: Service): Promise<Json> => (await send(`${service.url}/health/ready`, 'GET')).body

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'tillbook-shards-'))
    const place = new URL(southOf(database.url))
    await cloneDatabase(place.pathname.slice(1), 'template0')
    network = await startCutProxy(place.hostname, Number(place.port))
    const owner = new URL(ownerUrlOf(place.href))
    place.port = owner.port = String(network.port)
    ;[south, southOwner] = [place.href, owner.href]
    env = {
      DATABASE_URL: database.url,
      SHARDS: `south=${south}`,
      SHARDS_OWNER_URLS: `south=${southOwner}`,
      DATA_DIR: dataDir,
      MASTER_KEY,
      ALLOW_UNDURABLE_POSTGRES: 'true',
    }
    fleet = createFleet(database.url)
  })
  after(async () => {
    await fleet.close()
    await network.close()
    await rm(dataDir, { recursive: true })
  })

  it('use the default shard only, until another shard is added [SHARD-5]', async () => {
    first = await fleet.start('api', { ...env, ROLES: 'api,projector,dispatcher' })
    expect(await readiness(first)).to.deep.equal({ status: 'ready', parts: { postgres: 'up', shard_south: 'away' } })
    expect(await refused('company', 'create', '--name', 'X', '--cnpj', MAIN_CNPJ, '--shard', 'south')).to.include({
      refused: 'not_found',
    })
  })

  it('accept an empty database as a shard only on request of an operator [SHARD-9]', async () => {
    expect(await refused('shard', 'add', 'east')).to.include({ refused: 'not_found' })
    const foreign = onDatabase(database.url, TEMPLATES.withReadModel)
    const own = env.SHARDS as string
    env.SHARDS = `south=${database.url.replace('127.0.0.1', 'localhost')}`
    expect(await refused('shard', 'add', 'south')).to.be.instanceOf(UnsupportedPostgres)
    env.SHARDS = own
    expect(foreign).not.to.equal(south)
    for (const _ of [1, 2])
      expect(await tillbook('shard', 'add', 'south')).to.deep.equal({
        name: 'south',
        draining: false,
        companies: 0,
        excess: '',
      })
    await until(async () => (await readiness(first)).parts.shard_south === 'up', { timeout_ms: 30_000 })
  })

  it('create companies on the emptiest shard that accepts new ones [SHARD-10, SHARD-11]', async () => {
    const make = (name: string, cnpj: string, ...rest: string[]) =>
      tillbook('company', 'create', '--name', name, '--cnpj', cnpj, '--plan', 'api', ...rest)
    companies = [await make('Loja', MAIN_CNPJ, '--shard', 'main'), await make('Filial', SOUTH_CNPJ)]
    expect((await tillbook('company', 'list')).map(({ name, shard }: Json) => [name, shard])).to.deep.equal([
      ['Loja', 'main'],
      ['Filial', 'south'],
    ])
    expect(await refused('company', 'create', '--name', 'Outra', '--cnpj', SOUTH_CNPJ)).to.deep.include({
      refused: 'duplicate_resource',
      details: { field: 'cnpj', conflicting_id: companies[1].id },
    })
    expect(await tillbook('shard', 'drain', 'south')).to.include({ draining: true, companies: 1 })
    expect(
      await refused('company', 'create', '--name', 'Y', '--cnpj', '12345678000195', '--shard', 'south'),
    ).to.include({
      refused: 'validation_failed',
    })
    await tillbook('shard', 'drain', 'south', '--undo')
    expect((await tillbook('shard', 'list')).map(({ name, reachable }: Json) => [name, reachable])).to.deep.equal([
      ['main', true],
      ['south', true],
    ])
  })

  it('serve every company by its key from any process, with ids of its own [SHARD-3, SHARD-12]', async () => {
    second = await fleet.start('api', { ...env, ROLES: 'api' })
    keys = []
    for (const { id } of companies) {
      const made = await tillbook('key', 'create', '--company', String(id), '--name', 'erp', '--scopes', 'all')
      keys.push(made.key)
    }
    for (const company of [0, 1]) {
      const { status, body } = await call(company === 0 ? first : second, company, 'POST', '/customers', {
        name: 'Ana',
      })
      expect([status, body.data.id]).to.deep.equal([201, 1])
    }
    for (const service of [first, second]) {
      for (const company of [0, 1]) {
        expect((await call(service, company, 'GET', '/me')).body.data.company.id).to.equal(companies[company].id)
        expect((await call(service, company, 'GET', '/customers')).body.data).to.have.length(1)
      }
    }
    const nobody = await send(`${first.url}/api/v1/me`, 'GET', undefined, {
      authorization: `Bearer ${keys[0]?.slice(0, -4)}AAAA`,
    })
    expect([nobody.status, nobody.headers.has('x-ratelimit-limit')]).to.deep.equal([401, true])
  })

  it('log tills in, and deliver the webhooks of a shard [SHARD-3]', async () => {
    await tillbook(
      'user',
      'create',
      '--company',
      String(companies[1].id),
      '--name',
      'Bia',
      '--role',
      'owner',
      '--email',
      USER.email,
      '--password',
      USER.password,
    )
    const login = await send(`${second.url}/api/auth/login`, 'POST', USER)
    expect(login.status).to.equal(200)
    till = login.body.data.token
    const told = await send(`${first.url}/api/sync/status`, 'GET', undefined, {
      authorization: `Bearer ${till}`,
    })
    expect(told.status).to.equal(200)
    const receiver = await startReceiver()
    try {
      const made = await call(second, 1, 'POST', '/webhooks', { url: receiver.url, events: ['customer.created'] })
      expect(made.status).to.equal(201)
      await call(second, 1, 'POST', `/webhooks/${made.body.data.id}/test`)
      await until(() => receiver.received.length === 1, { timeout_ms: 20_000 })
    } finally {
      await receiver.close()
    }
  })

  it('verify and seal the ledgers of all shards, each as a log of its own [SHARD-8, SHARD-12]', async () => {
    expect(
      (await tillbook('ledger', 'verify')).map(({ company_id, valid }: Json) => [company_id, valid]),
    ).to.deep.equal(companies.map(({ id }) => [id, true]))
    const origins = (await tillbook('ledger', 'seal', '--all')).map(({ origin }: Json) => origin)
    const installation = origins[1]
    expect(origins).to.deep.equal([
      `${installation}/company-${companies[0].id}`,
      installation,
      `${installation}/company-${companies[1].id}`,
      `${installation}/shard-south`,
    ])
    expect((await tillbook('projections', 'verify')).every(({ equal }: Json) => equal)).to.equal(true)
  })

  it('report metrics and health of each shard [SHARD-6]', async () => {
    const { text } = await send(`${first.url}/metrics`, 'GET')
    for (const shard of ['main', 'south'])
      expect(text).to.match(new RegExp(`tillbook_postgres_connections\\{[^}]*shard="${shard}"`))
    expect(text).to.include('process_cpu_seconds_total')
  })

  it('continue on one shard while another is down, and serve it again automatically [SHARD-5, SHARD-6]', async () => {
    network.cut()
    const late = await fleet.start('api', { ...env, ROLES: 'api' })
    for (const service of [first, late]) {
      expect((await call(service, 0, 'GET', '/me')).status).to.equal(200)
      const away = await call(service, 1, 'GET', '/me')
      expect([away.status, away.headers.has('retry-after'), away.body.error.code]).to.deep.equal([
        503,
        true,
        'unavailable',
      ])
      const counter = await send(`${service.url}/api/sync/status`, 'GET', undefined, {
        authorization: `Bearer ${till}`,
      })
      expect([counter.status, counter.body.success]).to.deep.equal([503, false])
      expect((await readiness(service)).status).to.equal('ready')
    }
    expect((await readiness(first)).parts).to.deep.equal({ postgres: 'up', shard_south: 'down' })
    expect((await readiness(late)).parts.shard_south).to.equal('away')
    network.mend()
    for (const service of [first, late])
      await until(async () => (await call(service, 1, 'GET', '/me')).status === 200, { timeout_ms: 60_000 })
    expect(await late.stop()).to.equal(0)
  })

  it('refuse another database than the one that was added as the shard [SHARD-9]', async () => {
    env.SHARDS = `north=${south}`
    env.SHARDS_OWNER_URLS = `north=${southOwner}`
    expect(await refused('shard', 'add', 'north')).to.be.instanceOf(UnsupportedPostgres)
    env.SHARDS = `south=${database.url}?application_name=x`
    env.SHARDS_OWNER_URLS = ''
    expect(await refused('key', 'list', '--company', String(companies[1].id))).to.be.instanceOf(WrongShardDatabase)
  })
})
