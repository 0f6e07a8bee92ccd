import { expect } from 'chai'
import type { Pool, QueryConfig } from 'pg'
import { createPanelGate, type PanelLimits } from '#access/panel-quota.ts'
import { createSessions, type Sessions } from '#access/sessions.ts'
import { Unavailable } from '#lib/errors.ts'
import { createPool } from '#postgres/pool.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { purgeTables } from '../support/purge.ts'
import { createTestUser, type TestUser } from '../support/till.ts'

const LIMITS: PanelLimits = { ofSession: 5, ofUser: 8, ofCompany: 12 }

describe('quota of the panel', () => {
  const database = useDatabase()
  let api: TestApi
  let pool: Pool
  let other: Pool
  let company: TestCompany

  before(async () => {
    api = await startApi(database.url)
    pool = api.core.pool
    other = createPool(database.url, { max: 1 })
  })
  beforeEach(async () => {
    company = await api.company()
  })
  after(() => Promise.all([api.close(), other.end()]))

  const sessionsOn = (on: Pool, limits: Partial<PanelLimits> = {}): Sessions =>
    createSessions(on, (error) => Promise.reject(error), { ...LIMITS, ...limits })
  const sessionOf = async ({ id, companyId }: TestUser): Promise<string> =>
    (await sessionsOn(pool).issue({ userId: id, companyId, generation: 0, personGeneration: 0 })).token
  const user = () => createTestUser(company)
  /** Retry-After in seconds for each refused call, null for each admitted one. */
  const ask = (sessions: Sessions, token: string, times: number) =>
    Promise.all(
      Array.from({ length: times }, async () => {
        const admitted = await sessions.admit(token)
        if (!admitted) throw new Error('there is no such session')
        return admitted.retryAfter
      }),
    )
  const letThrough = (waits: readonly (number | null)[]) => waits.filter((wait) => wait === null).length
  const counts = async () =>
    (
      await pool.query<{ requests: number }>(
        'select requests from ops.panel_request_counts where company_id = $1 order by user_id, session',
        [company.id],
      )
    ).rows.map(({ requests }) => requests)
  const shift = (interval: string) =>
    pool.query(
      'update ops.panel_request_counts set minute_ends_at = minute_ends_at - $2::interval where company_id = $1',
      [company.id, interval],
    )

  it('limits the requests of a session per minute, from its first request on [PANEL-302]', async () => {
    const token = await sessionOf(await user())
    const sessions = sessionsOn(pool)
    expect(await ask(sessions, token, 2)).to.deep.equal([null, null])
    const waits = await ask(sessions, token, 5)
    expect(waits.slice(0, 3)).to.deep.equal([null, null, null])
    for (const wait of waits.slice(3)) expect(wait).to.be.within(50, 60)
    await shift('10 seconds')
    expect((await ask(sessions, token, 1))[0]).to.be.within(40, 50)
    await shift('50 seconds')
    expect(letThrough(await ask(sessions, token, 6))).to.equal(5)
  })

  it('counts all sessions of a user together, and no other user [PANEL-302]', async () => {
    const one = await user()
    const tokens = [await sessionOf(one), await sessionOf(one), await sessionOf(await user())] as const
    const sessions = sessionsOn(pool)
    expect(letThrough(await ask(sessions, tokens[0], 5))).to.equal(5)
    expect(letThrough(await ask(sessions, tokens[1], 5))).to.equal(3)
    expect(letThrough(await ask(sessions, tokens[2], 4))).to.equal(4)
    expect((await sessions.admit(tokens[1]))?.retryAfter).to.be.within(50, 60)
  })

  it('counts all users of a company together, and no other company [PANEL-302]', async () => {
    const sessions = sessionsOn(pool)
    const tokens = [await sessionOf(await user()), await sessionOf(await user()), await sessionOf(await user())]
    const passed = []
    for (const token of tokens) passed.push(letThrough(await ask(sessions, token, 5)))
    expect(passed).to.deep.equal([5, 5, 2])
    const elsewhere = await api.company()
    expect(await ask(sessions, await sessionOf(await createTestUser(elsewhere)), 2)).to.deep.equal([null, null])
  })

  it('does not count refused requests: excess requests use up no quota of others [PANEL-302]', async () => {
    const tokens = [await sessionOf(await user()), await sessionOf(await user())] as const
    const sessions = sessionsOn(pool)
    expect(letThrough(await ask(sessions, tokens[0], 50))).to.equal(5)
    expect(letThrough(await ask(sessions, tokens[0], 50))).to.equal(0)
    expect(await counts()).to.deep.equal([5, 5, 5])
    expect(letThrough(await ask(sessions, tokens[1], 5))).to.equal(5)
  })

  it('counts exactly across two processes [PANEL-302]', async () => {
    const owner = await user()
    const tokens = [await sessionOf(owner), await sessionOf(owner), await sessionOf(await user())]
    const limits = { ofSession: 40, ofUser: 60, ofCompany: 90 }
    const processes = [pool, other].map((each) => sessionsOn(each, limits))
    const passed = await Promise.all(
      tokens.map(async (token) => {
        const answers = await Promise.all(
          Array.from({ length: 100 }, async (_, n) => {
            // One statement per call.
            const [admitted] = await ask(processes[n % 2] as Sessions, token, 1)
            return admitted as number | null
          }),
        )
        return letThrough(answers)
      }),
    )
    expect(passed.reduce((sum, one) => sum + one, 0)).to.equal(90)
    expect((passed[0] ?? 0) + (passed[1] ?? 0)).to.be.at.most(60)
    for (const one of passed) expect(one).to.be.at.most(40)
    expect((await counts())[0]).to.equal(90)
  })

  it('avoids deadlocks if two processes count companies in opposite order', async () => {
    const companies = [company, await api.company()]
    const tokens = await Promise.all(companies.map(async (each) => sessionOf(await createTestUser(each))))
    const limits = { ofSession: 1_000, ofUser: 1_000, ofCompany: 1_000 }
    const processes = [pool, other].map((each) => sessionsOn(each, limits))
    for (let round = 0; round < 20; round++)
      await Promise.all(
        processes.flatMap((sessions, n) =>
          (n === 0 ? tokens : tokens.toReversed()).map((token) => ask(sessions, token, 3)),
        ),
      )
    expect((await counts())[0]).to.equal(120)
  })

  it('sends one statement for a request, and one for all that wait meanwhile', async () => {
    const token = await sessionOf(await user())
    const asked: (string | undefined)[] = []
    const query = (statement: QueryConfig) => {
      asked.push(statement.name)
      return pool.query(statement)
    }
    const sessions = sessionsOn({ query } as unknown as Pool, { ofSession: 100, ofUser: 100, ofCompany: 100 })
    await sessions.admit(token)
    expect(asked).to.deep.equal(['admit_to_panel'])
    await ask(sessions, token, 50)
    expect(asked).to.have.length(2)
  })

  it('returns the same session as a look-up without counting', async () => {
    const token = await sessionOf(await user())
    const sessions = sessionsOn(pool)
    const [found, admitted] = [await sessions.find(token), (await sessions.admit(token))?.session]
    const withoutTime = { now: '', companysTime: '', today: '' }
    expect({ ...admitted, ...withoutTime }).to.deep.equal({ ...found, ...withoutTime })
  })

  it('finds no ended or unknown session, and counts nothing for it [PANEL-4]', async () => {
    const token = await sessionOf(await user())
    const sessions = sessionsOn(pool)
    const found = await sessions.find(token)
    if (!found) throw new Error('there is no such session')
    await sessions.revoke(found)
    expect(await sessions.admit(token)).to.equal(null)
    expect(await sessions.admit('')).to.equal(null)
    expect(await sessions.admit(`${token.slice(0, -2)}xx`)).to.equal(null)
    expect(await counts()).to.deep.equal([])
  })

  it('refuses new requests while too many wait, and answers the waiting ones', async () => {
    const gate = createPanelGate(pool, LIMITS, 2)
    const waiting = [gate.admit(Buffer.alloc(32)), gate.admit(Buffer.alloc(32, 1))]
    const refused = await gate.admit(Buffer.alloc(32)).catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(Unavailable)
    expect(await Promise.all(waiting)).to.deep.equal([null, null])
  })

  it('deletes counts of past minutes [OPS-22]', async () => {
    const sessions = sessionsOn(pool)
    await ask(sessions, await sessionOf(await user()), 1)
    await purgeTables(pool, 'panel_request_counts')
    expect(await counts()).to.have.length(3)
    await shift('2 hours')
    expect(await purgeTables(pool, 'panel_request_counts')).to.equal(3)
    expect(await counts()).to.deep.equal([])
  })
})
