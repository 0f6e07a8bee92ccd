import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { healthOf } from '#service/health.ts'
import { useDatabase } from '../support/database.ts'
import { createFleet, type Fleet } from './fleet.ts'

describe('a process that starts and stops', function () {
  this.timeout(120_000)
  const database = useDatabase()
  let fleet: Fleet

  beforeEach(() => {
    fleet = createFleet(database.url)
  })
  afterEach(() => fleet.close())

  it('says which port it cannot have, and ends', async () => {
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

  it('keeps idle connections for longer than load balancers do', async () => {
    const service = await fleet.start('api')
    const answer = await fetch(`${service.url}/health/live`)
    expect(answer.headers.get('keep-alive')).to.equal('timeout=65')
  })

  it('ends in an orderly way when a signal comes twice, as Ctrl+C does through npm [OPS-6]', async () => {
    const service = await fleet.start('api', { LOG_LEVEL: 'info' })
    process.kill(service.pid, 'SIGINT')
    expect(await service.stop('SIGINT')).to.equal(0)
    expect(service.output()).to.include('"msg":"stopped"')
  })
})

describe('readiness of a role', () => {
  const health = async () => ({ postgres: 'up', event_store: 'down' }) as const
  const ledgersAhead = async () => 0
  const missingKeys = async () => []

  it('depends on the event store, unless the process only delivers [OPS-7]', async () => {
    expect(await healthOf(['dispatcher'], { health, ledgersAhead, missingKeys })()).to.deep.equal({
      parts: { postgres: 'up' },
    })
    for (const roles of [['api'], ['projector'], ['projector', 'dispatcher']] as const) {
      const parts = { postgres: 'up', event_store: 'down' }
      expect(await healthOf(roles, { health, ledgersAhead, missingKeys })()).to.deep.equal({ parts })
    }
  })

  it('tells of companies that are read-only without keys, and does not depend on them [LEDGER-51]', async () => {
    const found = await healthOf(['dispatcher'], { health, ledgersAhead, missingKeys: async () => [3, 4] })()
    expect(found).to.deep.equal({ parts: { postgres: 'up' }, read_only_without_keys: 2 })
  })

  it('tells of ledgers that are ahead of the clock, and does not depend on them [LEDGER-20]', async () => {
    expect(await healthOf(['dispatcher'], { health, ledgersAhead: async () => 2, missingKeys })()).to.deep.equal({
      parts: { postgres: 'up' },
      ledgers_ahead_of_clock: 2,
    })
  })
})
