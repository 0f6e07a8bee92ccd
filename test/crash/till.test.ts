import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { createDrawer, createSession } from '#demo/till/demo-drawer.ts'
import { createLine, type Line, type OfflineSale, openQueue } from '#demo/till/demo-sales.ts'
import { createTill, type Tally } from '#demo/till/demo-till.ts'
import { freePort } from '#postgres/embedded.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { type Counter, openCounter } from '../support/offline-sales.ts'
import { type Service, startService } from '../support/process.ts'
import { programOf } from '../support/program.ts'
import { createTestUser, type TestUser } from '../support/till.ts'

const execute = promisify(execFile)
const PORTION = 100

describe('a till and a service process', () => {
  const database = useDatabase()
  /** Another process on the same database, for the checks. */
  let api: TestApi
  let company: TestCompany
  let counter: Counter
  let user: TestUser
  let service: Service
  let env: Record<string, string>

  before(async function () {
    this.timeout(60_000)
    api = await startApi(database.url)
    env = { DATABASE_URL: database.url, LOG_LEVEL: 'error', PORT: String(await freePort(null)) }
    service = await startService(env)
  })
  after(async () => {
    await service?.kill()
    await api?.close()
  })
  beforeEach(async () => {
    company = await api.company()
    counter = await openCounter(company)
    user = await createTestUser(company)
  })

  const countSales = async (): Promise<number> => {
    const { rows } = await api.core.pool.query<{ count: number }>(
      'select count(*)::integer as count from read.sales where company_id = $1',
      [company.id],
    )
    return rows[0]?.count ?? 0
  }

  async function restart(): Promise<void> {
    await service.kill()
    service = await startService(env)
  }

  /** Uploads 100 sales to a service that is killed and restarted at some moment, and counts the stored sales. */
  async function uploadThrough(kill: (line: Line, killed: () => void) => void): Promise<Tally> {
    const line = createLine(service.url)
    const session = createSession({ line, credentials: user, say: () => {}, random: () => 0 })
    const queue = await openQueue(null)
    const world = { random: Math.random, now: () => new Date(), newId: randomUUID }
    const say = () => {}
    const drawer = createDrawer({ session, queue: await openQueue(null), world, say })
    const till = createTill({ session, queue, drawer, world, say, portion: PORTION })
    await till.download()
    for (let n = 0; n < PORTION; n++) await queue.add(counter.sale(randomUUID()) as OfflineSale)
    const restarted = new Promise<void>((resolve, reject) => kill(line, () => void restart().then(resolve, reject)))
    await Promise.all([till.upload(), restarted])
    const tally = till.tally()
    const { saleIds, created, duplicate } = tally
    expect(created + duplicate).to.equal(PORTION)
    expect(new Set(saleIds.values()).size).to.equal(PORTION)
    expect(await countSales()).to.equal(PORTION)
    expect(await counter.stock()).to.equal('0.000')
    expect((await company.get('/sales?limit=200')).body.data.map(({ id }: { id: number }) => id)).to.have.members([
      ...saleIds.values(),
    ])
    return tally
  }

  it('lose and duplicate no sale if the service is killed during the upload [UP-15]', async () => {
    await uploadThrough((line, killed) => line.breakNext('while sending', killed))
  }).timeout(60_000)

  it('lose and duplicate no sale if the service is killed once it has the whole upload [UP-15]', async () => {
    await uploadThrough((line, killed) => line.breakNext('after sending', killed))
  }).timeout(60_000)

  it('lose and duplicate no sale if the service is killed during its answer, with all sales stored [UP-15]', async () => {
    const { created, duplicate } = await uploadThrough((line, killed) => line.breakNext('while receiving', killed))
    expect({ created, duplicate }).to.deep.equal({ created: 0, duplicate: PORTION })
  }).timeout(60_000)

  it('run a day from the command line, reported as one JSON document', async () => {
    const words = ['till', '--json', '--url', `${service.url}/`, '--email', user.email, '--password', user.password]
    const { stdout, stderr } = await execute(
      process.execPath,
      programOf('src/cli/main.ts', ...words, '--sales', '12'),
      { env: { PATH: process.env.PATH } },
    )
    const report = JSON.parse(stdout)
    expect(report).to.include({
      sold: 12,
      sale_ids: 12,
      created: 2,
      duplicate: 10,
      conflicts: 0,
      waiting: 0,
      retries: 2,
    })
    expect(stderr).to.match(/trying again in \d+ ms/)
    expect(stderr).not.to.include(user.password)
    expect(await countSales()).to.equal(12)
  }).timeout(60_000)
})
