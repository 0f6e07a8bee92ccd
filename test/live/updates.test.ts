import { expect } from 'chai'
import type { Pool } from 'pg'
import { createCustomer } from '#commands/person-commands.ts'
import {
  createLiveNotifier,
  createLiveUpdates,
  decodePositions,
  EVERY_COMPANY,
  encodePositions,
  type LedgerPosition,
  LIVE_CHANNEL,
  type LiveUpdates,
} from '#http/live-updates.ts'
import { createFairShareLimiter, type FairShareLimiter } from '#lib/fair-sharing.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'

/** Revisions received by a page, and whether its subscription has ended. */
interface Page {
  readonly revisions: number[]
  readonly ended: boolean
  leave(): void
}

describe('live updates of companies', () => {
  const database = useDatabase()
  let writing: TestApi
  let showing: TestApi
  let pool: Pool
  let company: TestCompany
  let other: TestCompany
  let updates: LiveUpdates
  const errors: unknown[] = []
  /** The tests break connections on purpose. */
  const quiet = { log: () => {} }

  before(async () => {
    writing = await startApi(database.url, quiet)
    // Resources of this process; `writing` belongs to another process.
    showing = await startApi(database.url, quiet)
    pool = showing.core.pool
  })
  beforeEach(async () => {
    company = await writing.company()
    other = await writing.company()
    updates = createLiveUpdates({ databaseUrl: database.url, pool, onError: (error) => errors.push(error) })
    errors.length = 0
  })
  afterEach(() => updates.close())
  after(() => Promise.all([writing.close(), showing.close()]))

  const revisionOf = async ({ id }: TestCompany): Promise<number> =>
    (await pool.query('select revision from ops.ledgers where company_id = $1', [id])).rows[0].revision
  const happen = (where = company) => where.run(createCustomer, { name: `C ${performance.now()}`, person_type: 'PF' })
  const listeners = async (): Promise<{ pid: number }[]> =>
    (
      await pool.query(
        `select pid from pg_stat_activity where datname = current_database() and application_name = 'tillbook live'
           and query ilike 'listen %' and query like $1`,
        [`%${LIVE_CHANNEL}%`],
      )
    ).rows

  function follow(where: TestCompany, since: number, places?: FairShareLimiter): Page {
    const page = { revisions: [] as number[], ended: false }
    const moved = (revision: number) => void page.revisions.push(revision)
    const leave = updates.subscribe(where.id, since, { moved, ended: () => (page.ended = true) }, places)
    return Object.assign(page, { leave })
  }
  const toldUntil = (page: Page, revision: number) =>
    until(() => page.revisions.at(-1) === revision, { what: `revision ${revision} to be told` })

  it('reach a page in another process, with a revision that is readable by then [PANEL-17]', async () => {
    const since = await revisionOf(company)
    const page = follow(company, since)
    await happen()
    await toldUntil(page, since + 1)
    expect(await revisionOf(company)).to.equal(since + 1)
  })

  it('do not reach pages of other companies [PANEL-17]', async () => {
    const since = await revisionOf(company)
    const [page, stranger] = [follow(company, since), follow(other, await revisionOf(other))]
    await happen()
    await toldUntil(page, since + 1)
    expect(stranger.revisions).to.deep.equal([])
  })

  it('arrive at once if events were missed before the subscription, and otherwise with the next event', async () => {
    const since = await revisionOf(company)
    await happen()
    const [late, fresh] = [follow(company, since), follow(company, since + 1)]
    await toldUntil(late, since + 1)
    await happen()
    await toldUntil(fresh, since + 2)
    expect(fresh.revisions).to.deep.equal([since + 2])
  })

  it('have increasing revisions, and merge many commits', async () => {
    const since = await revisionOf(company)
    const page = follow(company, since)
    for (let n = 0; n < 10; n++) await Promise.all(Array.from({ length: 10 }, () => happen()))
    await toldUntil(page, since + 100)
    expect(page.revisions).to.deep.equal([...page.revisions].sort((a, b) => a - b))
    expect(new Set(page.revisions).size).to.equal(page.revisions.length)
  })

  it('do not reach a page after it unsubscribed', async () => {
    const since = await revisionOf(company)
    const [gone, page] = [follow(company, since), follow(company, since)]
    gone.leave()
    gone.leave()
    await happen()
    await toldUntil(page, since + 1)
    expect(gone.revisions).to.deep.equal([])
  })

  it('missed during a connection loss arrive after the reconnection [PANEL-17]', async () => {
    const since = await revisionOf(company)
    const page = follow(company, since)
    await until(async () => (await listeners()).length >= 3, { what: 'all listeners' })
    const { rowCount } = await pool.query('select pg_terminate_backend(pid) from unnest($1::int[]) as pid', [
      (await listeners()).map(({ pid }) => pid),
    ])
    expect(rowCount).to.be.at.least(3)
    await happen()
    await toldUntil(page, since + 1)
    await happen()
    await toldUntil(page, since + 2)
  })

  it('check all companies after a message about all or an invalid one', async () => {
    for (const message of [EVERY_COMPANY, 'nonsense']) {
      const since = await revisionOf(company)
      const page = follow(company, since)
      await until(async () => (await listeners()).length >= 3, { what: 'all listeners' })
      // Changes the ledger without a notification, like a process that sends none.
      await pool.query('update ops.ledgers set revision = revision + 1 where company_id = $1', [company.id])
      await pool.query('select pg_notify($1, $2)', [LIVE_CHANNEL, message])
      await toldUntil(page, since + 1)
      page.leave()
    }
  })

  it('end for all subscribers when the process stops, which then refuses new ones', async () => {
    const page = follow(company, await revisionOf(company))
    await updates.close()
    expect(page.ended).to.equal(true)
    expect(() => follow(company, 0)).to.throw('the process stops')
    page.leave()
  })

  it('limits the subscribers of each company', async () => {
    const since = await revisionOf(company)
    const places = createFairShareLimiter(1_000, 3)
    const pages = Array.from({ length: 3 }, () => follow(company, since, places))
    expect(() => follow(company, since, places)).to.throw('too many live subscriptions')
    follow(other, await revisionOf(other), places)
    pages[0]?.leave()
    pages[0]?.leave()
    follow(company, since, places)
    expect(places.used).to.equal(4)
    await updates.close()
    expect(places.used).to.equal(0)
  })
})

describe('live notifier', () => {
  const statement = (sent: string[][]) =>
    ({
      query: async ({ values }: { values: [string, string[]] }) => void sent.push(values[1]),
    }) as unknown as Pool
  const told = (companyId: number, revision: number) => [{ companyId, revision }]

  it('merges notifications during a pause into one statement with the highest revision of each company', async () => {
    const sent: string[][] = []
    const notifier = createLiveNotifier(statement(sent), () => {}, 60_000)
    notifier.notify(told(1, 5))
    await until(() => sent.length === 1)
    notifier.notify(told(1, 6))
    notifier.notify([...told(2, 3), ...told(1, 8)])
    notifier.notify(told(1, 7))
    await notifier.close()
    expect(sent).to.deep.equal([['1:5'], ['1:8,2:3']])
  })

  it('retries failed notifications with the next ones, and reports the failure', async () => {
    const sent: string[][] = []
    const failures = [new Error('down')]
    const good = statement(sent)
    const query = (...args: Parameters<Pool['query']>) => {
      const failure = failures.shift()
      return failure ? Promise.reject(failure) : good.query(...args)
    }
    const errors: unknown[] = []
    const notifier = createLiveNotifier({ query } as unknown as Pool, (error) => errors.push(error), 0)
    notifier.notify(told(1, 5))
    await until(() => errors.length === 1)
    notifier.notify(told(2, 1))
    await notifier.close()
    expect(sent).to.deep.equal([['1:5,2:1']])
    expect(errors).to.have.length(1)
  })

  it('sends pending notifications before it closes, and none afterwards', async () => {
    const sent: string[][] = []
    const notifier = createLiveNotifier(statement(sent), () => {}, 60_000)
    notifier.notify(told(1, 5))
    notifier.notify(told(1, 6))
    await notifier.close()
    notifier.notify(told(1, 7))
    await notifier.close()
    expect(sent.flat().at(-1)).to.equal('1:6')
  })
})

const positions = (count: number, base = 1): LedgerPosition[] =>
  Array.from({ length: count }, (_, n) => ({ companyId: base + n, revision: base + 2 * n }))

describe('messages with ledger positions', () => {
  it('decode to the encoded positions', () => {
    for (const count of [1, 2, 200, 201, 2_000]) {
      expect(
        encodePositions(positions(count)).flatMap((message) => decodePositions(message) ?? []),
        String(count),
      ).to.deep.equal(positions(count))
    }
  })

  it('fit the size limit of Postgres for any numbers', () => {
    const messages = encodePositions(positions(2_000, Number.MAX_SAFE_INTEGER - 5_000))
    expect(messages).to.have.length(10)
    for (const message of messages) expect(Buffer.byteLength(message)).to.be.below(8_000)
  })

  it('are one message for all companies if there are too many positions', () => {
    expect(encodePositions(positions(2_001))).to.deep.equal([EVERY_COMPANY])
    expect(decodePositions(EVERY_COMPANY)).to.equal(null)
  })

  it('with invalid content mean all companies', () => {
    for (const message of ['', '1', '1:', ':1', '1:2,', '1:2;3:4', '-1:2', '1:99999999999999999', 'x'])
      expect(decodePositions(message), message).to.equal(null)
  })
})
