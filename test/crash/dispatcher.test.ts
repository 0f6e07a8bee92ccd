import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import { useDatabase } from '../support/database.ts'
import { MASTER_KEY } from '../support/master-key.ts'
import { testProgramOf } from '../support/program.ts'
import { until } from '../support/wait.ts'
import { useDispatchers } from '../webhooks/harness.ts'
import { addEndpoint, queue } from '../webhooks/outbox.ts'

describe('a killed dispatcher', () => {
  const database = useDatabase('withoutReadModel')
  const tests = useDispatchers(database)

  const startProcess = (): ChildProcess => {
    const { PATH = '' } = process.env
    return spawn(process.execPath, testProgramOf('test/webhooks/dispatch-until-killed.ts'), {
      env: { PATH, MASTER_KEY, DATABASE_URL: database.url },
      stdio: ['pipe', 'ignore', 'inherit'],
    })
  }

  it('loses nothing: leased deliveries are sent again under the same id, the others once [HOOK-23]', async function () {
    this.timeout(90_000)
    const receiver = await tests.receiver()
    // The process is killed while requests are open and responses not yet recorded.
    receiver.answer = ({ headers }, response) => {
      if (receiver.received.length < 100 || headers['x-service-sequence'] === undefined) response.writeHead(204).end()
    }
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.push(...(await queue(tests.pool, await addEndpoint(tests.pool, receiver.url), 100)))
    const child = startProcess()
    const ended = once(child, 'exit')
    await until(() => receiver.received.length >= 100, { timeout_ms: 40_000 })
    child.kill('SIGKILL')
    await ended
    const { rows: taken } = await tests.pool.query<{ id: string }>(
      `select id from webhook_deliveries where status = 'pending' and leased_until > now()`,
    )
    const before = receiver.received.map(({ headers }) => headers['x-service-delivery'])
    expect(before.length).to.be.below(300)
    expect(taken.length).to.be.above(0)
    receiver.answer = (_received, response) => response.writeHead(204).end()
    // Simulates the expiry of the leases of the dead process.
    await tests.pool.query(`update webhook_deliveries set leased_until = null where status = 'pending'`)
    tests.dispatcher()
    const remaining = `select 1 from webhook_deliveries where status <> 'delivered' limit 1`
    await until(async () => (await tests.pool.query(remaining)).rowCount === 0, { timeout_ms: 40_000 })
    const all = receiver.received.map(({ headers }) => headers['x-service-delivery'] ?? '')
    expect(new Set(all)).to.deep.equal(new Set(ids))
    const repeated = all.filter((id, index) => all.indexOf(id) !== index)
    expect(taken.map(({ id }) => id)).to.include.members(repeated)
  })
})
