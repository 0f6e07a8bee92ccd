import { expect } from 'chai'
import type { Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import {
  createRequestLog,
  type LoggedRequest,
  purgeExcessRequests,
  purgeOldRequests,
  type RequestLogBounds,
} from '#http/request-log.ts'
import { purge } from '#lib/background-loops.ts'
import { createPool } from '#postgres/pool.ts'
import { useDatabase } from '../../support/database.ts'

const DAY_MS = 86_400_000

const call = (companyId: number, more: Partial<LoggedRequest> = {}): LoggedRequest => ({
  companyId,
  keyId: 1,
  id: uuidv7(),
  at_ms: Date.now(),
  method: 'GET',
  path: '/sales',
  query: null,
  status: 200,
  code: null,
  duration_ms: 1,
  replayed: false,
  traceparent: null,
  body: null,
  details: null,
  ...more,
})

describe('request log writer', () => {
  it('never delays a request; drops and counts entries beyond its limits per company and in total [KIT-52]', async () => {
    let answer: (() => void) | undefined
    const written: number[] = []
    const pool = {
      query: ({ values }: { values: unknown[][] }) =>
        new Promise((resolve) => {
          written.push(values[0]!.length)
          answer = () => resolve({ rows: [{ written: values[0]!.length }] })
        }),
    } as unknown as Pool
    const log = createRequestLog({ pool, every_ms: 3_600_000, onError: (error) => expect.fail(String(error)) })
    for (let n = 0; n < 1_500; n++) log.add(call(1))
    expect([log.used, log.refused]).to.deep.equal([1_000, 500])
    for (let company = 2; company <= 6; company++) for (let n = 0; n < 900; n++) log.add(call(company))
    expect([log.used, log.refused]).to.deep.equal([5_000, 1_000])
    const flushed = log.flush()
    while (!answer) await new Promise(setImmediate)
    log.add(call(1))
    answer()
    await flushed
    expect(written).to.deep.equal([5_000])
    expect([log.used, log.refused]).to.deep.equal([1, 1_000])
  })

  it('continues while the database is down, and can still be stopped [KIT-52]', async () => {
    const errors: unknown[] = []
    const pool = { query: () => Promise.reject(new Error('away')) } as unknown as Pool
    const log = createRequestLog({ pool, every_ms: 3_600_000, onError: (error) => errors.push(error) })
    log.add(call(1))
    await log.stop()
    expect(errors).to.have.length(1)
    expect([log.used, log.refused]).to.deep.equal([0, 1])
  })

  describe('to Postgres', () => {
    const database = useDatabase('withoutReadModel')
    const of = { requests: 10, bytes: 1_000_000 }

    let pool: Pool

    before(() => {
      pool = createPool(database.url, { max: 2, keyLookupsOnly: true })
    })
    beforeEach(() => pool.query('delete from ops.request_log; delete from ops.request_counts'))
    after(() => pool.end())

    const purgeAll = (pool: Pool, bounds?: RequestLogBounds): Promise<number> =>
      purge(pool, [purgeOldRequests, (pool, limit) => purgeExcessRequests(pool, limit, bounds)], {
        onError: (error) => expect.fail(String(error)),
      })

    async function write(requests: readonly LoggedRequest[], bounds = { ofCompany: of, ofAll: of }) {
      const log = createRequestLog({ pool, bounds, onError: (error) => expect.fail(String(error)) })
      for (const each of requests) log.add(each)
      await log.stop()
      return log.refused
    }
    const left = async () =>
      (
        await pool.query(
          `select company_id as company, count(*)::int as requests, sum(bytes)::int as bytes from ops.request_log group by 1 order by 1`,
        )
      ).rows
    const counted = async () =>
      (await pool.query('select company_id as company, requests, bytes from ops.request_counts order by 1')).rows

    it('keeps 7 days, and the newest requests of each company within its limits [KIT-53]', async () => {
      const old = uuidv7({ msecs: Date.now() - 7 * DAY_MS - 60_000 })
      const young = uuidv7({ msecs: Date.now() - 7 * DAY_MS + 60_000 })
      await write([call(1, { id: old }), call(1, { id: young }), ...Array.from({ length: 12 }, () => call(2))])
      const newest = call(2)
      await write([newest])
      expect(await purgeAll(pool, { ofCompany: of, ofAll: { requests: 100, bytes: 1e9 } })).to.equal(1 + 3)
      expect(await left()).to.deep.equal(await counted())
      expect((await left()).map(({ requests }) => requests)).to.deep.equal([1, 10])
      const { rows } = await pool.query('select id from ops.request_log where company_id = 2 order by id desc limit 1')
      expect(rows[0].id).to.equal(newest.id)
      const small = await purgeAll(pool, { ofCompany: { requests: 10, bytes: 300 }, ofAll: of })
      expect(small, 'by bytes').to.be.at.least(7)
      expect((await left())[1].bytes).to.be.at.most(300)
    })

    it('beyond the total limit purges the largest companies first; none exceeds twice its limit [KIT-53]', async () => {
      const requests = (company: number, count: number) => Array.from({ length: count }, () => call(company))
      await write([...requests(1, 9), ...requests(2, 2), ...requests(3, 4)])
      await purgeAll(pool, { ofCompany: of, ofAll: { requests: 12, bytes: 1e9 } })
      expect((await left()).map(({ requests }) => requests)).to.deep.equal([4, 2, 4])
      await write(requests(1, 20))
      expect(await write([...requests(1, 5), ...requests(2, 1)]), 'left out').to.equal(5)
      expect(await left()).to.deep.equal(await counted())
    })
  })
})
