import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { createHealthCheck } from '#service/interfaces.ts'
import { useDatabase } from '../support/database.ts'
import { serverPid, stopLeftOver } from '../support/find-embedded.ts'
import { startService } from '../support/process.ts'
import { programOf, TEST_SETTINGS } from '../support/program.ts'
import { until } from '../support/wait.ts'
import { createFleet, type Fleet } from './fleet.ts'

describe('start and stop of a process', function () {
  this.timeout(120_000)
  const database = useDatabase()
  let fleet: Fleet

  beforeEach(() => {
    fleet = createFleet(database.url)
  })
  afterEach(() => fleet.close())

  it('reports a port that is in use, and ends', async () => {
    const other = createServer((_request, response) => response.writeHead(404).end())
    await new Promise<void>((done) => other.listen(0, done))
    const { port } = other.address() as AddressInfo
    const failure = await fleet.start('api', { PORT: String(port) }).catch((error: Error) => error)
    other.close().closeAllConnections()
    expect(failure).to.be.instanceOf(Error)
    const { message, cause } = failure as Error
    expect(message).to.include(`cannot listen on port ${port}`)
    expect(String(cause)).to.include('ended with 1')
  })

  it('keeps idle connections longer than load balancers do', async () => {
    const service = await fleet.start('api')
    const answer = await fetch(`${service.url}/health/live`)
    expect(answer.headers.get('keep-alive')).to.equal('timeout=65')
  })

  it('shuts down cleanly on a repeated signal, as Ctrl+C sends it through npm [OPS-6]', async () => {
    const service = await fleet.start('api', { LOG_LEVEL: 'info' })
    process.kill(service.pid, 'SIGINT')
    expect(await service.stop('SIGINT')).to.equal(0)
    expect(service.output()).to.include('"msg":"stopped"')
  })
})

describe('service with the embedded Postgres', function () {
  this.timeout(240_000)
  const STARTING = { timeout_ms: 120_000 }
  let dataDir: string
  let env: Record<string, string>

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'tillbook-owner-'))
    await chmod(dataDir, 0o755)
    env = { DATA_DIR: dataDir, SEED_DEMO: 'false', LOG_LEVEL: 'warn' }
  })
  afterEach(async () => {
    await stopLeftOver(dataDir)
    await rm(dataDir, { recursive: true })
  })

  it('a second service on the folder names the process that uses it, and exits with 1 [OPS-151]', async () => {
    const owner = await startService(env, STARTING)
    const failure: Error = await startService(env, STARTING).then(
      () => expect.fail('a second service has started'),
      (error) => error,
    )
    expect(failure.message).to.include(
      `${await realpath(dataDir)} is in use by a tillbook service (process ${owner.pid})`,
    )
    expect(failure.message).to.include('DATABASE_URL')
    expect(String(failure.cause)).to.include('ended with 1')
    expect((await fetch(`${owner.url}/health/ready`)).status).to.equal(200)
    expect(await owner.stop()).to.equal(0)
    expect(await serverPid(dataDir)).to.equal(undefined)
  })

  it('leaves no Postgres running if it is stopped during its start [OPS-151]', async () => {
    const { PATH = '', HOME = '' } = process.env
    const child = spawn(process.execPath, programOf('src/start.ts'), {
      env: { PATH, HOME, ...TEST_SETTINGS, ...env, PORT: '0' },
      stdio: 'ignore',
    })
    const ended = once(child, 'exit')
    await until(() => serverPid(dataDir), { ...STARTING, interval_ms: 1, what: 'the start of Postgres' })
    child.kill('SIGTERM')
    expect(await ended).to.deep.equal([0, null])
    expect(await serverPid(dataDir)).to.equal(undefined)
  })
})

describe('readiness of a role', () => {
  const health = async () => ({ postgres: 'up', event_store: 'down' }) as const
  const ledgersAhead = async () => 0
  const missingKeys = async () => []

  it('requires the event store, except in a process that only delivers [OPS-7]', async () => {
    expect(await createHealthCheck(['dispatcher'], { health, ledgersAhead, missingKeys })()).to.deep.equal({
      parts: { postgres: 'up' },
    })
    for (const roles of [['api'], ['projector'], ['projector', 'dispatcher']] as const) {
      const parts = { postgres: 'up', event_store: 'down' }
      expect(await createHealthCheck(roles, { health, ledgersAhead, missingKeys })()).to.deep.equal({ parts })
    }
  })

  it('health counts companies that lack keys, and does not depend on them [LEDGER-51]', async () => {
    const found = await createHealthCheck(['dispatcher'], { health, ledgersAhead, missingKeys: async () => [3, 4] })()
    expect(found).to.deep.equal({ parts: { postgres: 'up' }, read_only_without_keys: 2 })
  })

  it('reports stores that the provider refused, and does not depend on them [PAY-83]', async () => {
    const check = createHealthCheck(['dispatcher'], { health, ledgersAhead, missingKeys }, undefined, async () => 2)
    expect(await check()).to.deep.equal({ parts: { postgres: 'up' }, store_connections_refused: 2 })
  })

  it('reports ledgers ahead of the clock, and does not depend on them [LEDGER-20]', async () => {
    expect(
      await createHealthCheck(['dispatcher'], { health, ledgersAhead: async () => 2, missingKeys })(),
    ).to.deep.equal({
      parts: { postgres: 'up' },
      ledgers_ahead_of_clock: 2,
    })
  })
})
