import { expect } from 'chai'
import type { Pool } from 'pg'
import { createPool } from '#postgres/pool.ts'
import { type FreeSlots, type LeasedDelivery, leaseDue, releaseLeases } from '#webhooks/delivery-leases.ts'
import { useDatabase } from '../support/database.ts'
import { vault } from '../support/master-key.ts'
import { addEndpoint, createEndpoints, queue, SECRET, type TestEndpoint } from './outbox.ts'

const ROOM: FreeSlots = { sound: 256, strained: 64, busy: {} }
const LEASE_MS = 20_000

describe('delivery leases', () => {
  const database = useDatabase('withoutReadModel')
  let pool: Pool

  before(async () => {
    pool = createPool(database.url, { max: 2, keyLookupsOnly: true })
    await createEndpoints(pool)
  })
  afterEach(() =>
    pool.query(`delete from webhook_deliveries; delete from webhook_messages; delete from webhook_health; delete from webhook_secrets;
      delete from read.webhooks`),
  )
  after(() => pool.end())

  const taking = () => ({
    pool,
    vault,
    log: (_message: string, error: unknown) => {
      throw error
    },
  })
  const take = async (room: Partial<FreeSlots> = {}) =>
    (await leaseDue(taking(), { ...ROOM, ...room }, LEASE_MS)).claims
  const endpoint = async (
    health?: { success?: string; failing?: string },
    deliveries = 80,
    companyId = 1,
  ): Promise<TestEndpoint> => {
    const added = await addEndpoint(pool, 'http://127.0.0.1/', companyId)
    if (health) {
      await pool.query(
        `insert into webhook_health (company_id, webhook_id, last_success_at, failing_since)
         values ($4, $1, now() + $2::interval, now() + $3::interval)`,
        [added.id, health.success, health.failing, companyId],
      )
    }
    await queue(pool, added, deliveries)
    return added
  }
  const sound = { success: '-1 hour' }
  /** After the endpoint was registered, a moment ago. */
  const failing = { success: '-1 hour', failing: '1 minute' }
  const countOf = (
    claims: readonly Pick<LeasedDelivery, 'company_id' | 'webhook_id'>[],
    { companyId, id }: TestEndpoint,
  ) => claims.filter(({ company_id, webhook_id }) => company_id === companyId && webhook_id === id).length

  it('contain everything that an attempt needs', async () => {
    const added = await endpoint(undefined, 0)
    const [id] = await queue(pool, added, 1, { body: '{"ação":1}' })
    const [claim] = await take()
    expect(claim).to.include({
      id,
      company_id: 1,
      webhook_id: added.id,
      url: added.url,
      secret: SECRET,
      next_secret: null,
    })
    expect(claim).to.include({ body: '{"ação":1}', event: 'sale.completed', tries: 0, failing: false })
    expect(claim!.sequence).to.equal(claim!.revision)
    expect(Date.parse(claim!.leased_until)).to.be.within(Date.now() + LEASE_MS - 5_000, Date.now() + LEASE_MS + 5_000)
  })

  it('contain the message of a test, which has no revision', async () => {
    const added = await endpoint(undefined, 0)
    await queue(pool, added, 1, { test: true, body: '{"test":true}' })
    expect((await take())[0]).to.include({
      sequence: null,
      revision: null,
      event: 'webhook.test',
      body: '{"test":true}',
    })
  })

  it('depend on the health of the endpoint: 64, two if unknown, four if slow, one if failing [HOOK-22]', async () => {
    const [one, unknown, slow, broken] = [
      await endpoint(sound),
      await endpoint(),
      await endpoint(sound),
      await endpoint(failing),
    ]
    const claims = await take({ busy: { [`1/${slow.id}`]: { attempts: 0, slow: true, strained: true } } })
    expect([one, unknown, slow, broken].map((each) => countOf(claims, each))).to.deep.equal([64, 2, 4, 1])
    expect(claims.filter((claim) => claim.failing).map(({ webhook_id }) => webhook_id)).to.deep.equal([broken.id])
  })

  it('count attempts under way', async () => {
    const [some, full] = [await endpoint(sound), await endpoint(failing)]
    const claims = await take({
      busy: {
        [`1/${some.id}`]: { attempts: 62, slow: false, strained: false },
        [`1/${full.id}`]: { attempts: 1, slow: true, strained: true },
      },
    })
    expect([some, full].map((each) => countOf(claims, each))).to.deep.equal([2, 0])
  })

  it('ignore failures from before the endpoint was enabled again [HOOK-5]', async () => {
    const added = await endpoint({ success: '-2 hours', failing: '-1 hour' })
    expect(countOf(await take(), added)).to.equal(64)
  })

  it('start with the oldest delivery of an endpoint', async () => {
    const added = await endpoint(undefined, 3)
    await pool.query(
      `update webhook_deliveries set next_attempt_at = now() - interval '1 hour' where sequence = (select max(sequence) from webhook_deliveries)`,
    )
    const { rows } = await pool.query<{ id: string }>('select id from webhook_deliveries order by next_attempt_at, id')
    const [first] = await take({ busy: { [`1/${added.id}`]: { attempts: 1, slow: false, strained: false } } })
    expect(first!.id).to.equal(rows[0]!.id)
  })

  it('share the capacity among endpoints, at least one each, longest wait first [HOOK-22]', async () => {
    const many = [await endpoint(sound), await endpoint(sound), await endpoint(sound), await endpoint(sound)]
    const claims = await take({ sound: 10 })
    expect(many.map((each) => countOf(claims, each))).to.deep.equal([2, 2, 2, 2])
    const next = await take({ sound: 3 })
    expect(new Set(next.map(({ webhook_id }) => webhook_id)).size).to.equal(3)
    expect(next).to.have.length(3)
  })

  it('reserve separate capacity for failing endpoints [HOOK-22]', async () => {
    const broken = [await endpoint(failing), await endpoint(failing), await endpoint(failing)]
    const one = await endpoint(sound)
    const claims = await take({ sound: 5, strained: 2 })
    expect(countOf(claims, one)).to.equal(5)
    expect(broken.map((each) => countOf(claims, each)).reduce((sum, count) => sum + count)).to.equal(2)
    expect(countOf(await take({ sound: 0, strained: 0 }), one)).to.equal(0)
  })

  it('exclude deliveries that are leased, not due or of a disabled endpoint, and report the next due time', async () => {
    await endpoint(undefined, 1)
    expect(await take()).to.have.length(1)
    const later = await leaseDue(taking(), ROOM, LEASE_MS)
    expect(later).to.deep.equal({ claims: [], has_more: false, next_due_ms: null })
    await pool.query(`update webhook_deliveries set next_attempt_at = now() + interval '1 minute', leased_until = null`)
    expect((await leaseDue(taking(), ROOM, LEASE_MS)).next_due_ms).to.be.within(45_000, 60_001)
    await pool.query(
      `update webhook_deliveries set next_attempt_at = now() - interval '1 second'; update read.webhooks set enabled = false`,
    )
    expect(await leaseDue(taking(), ROOM, LEASE_MS)).to.deep.equal({ claims: [], has_more: false, next_due_ms: null })
  })

  it('can be taken again after they expire', async () => {
    const [id] = await queue(pool, await endpoint(undefined, 0))
    await take()
    await pool.query(`update webhook_deliveries set leased_until = now() - interval '1 millisecond'`)
    expect((await take()).map((claim) => claim.id)).to.deep.equal([id])
  })

  it('report whether more deliveries may be due', async () => {
    const added = await endpoint(undefined, 2)
    const more = async (room: Partial<FreeSlots> = {}) =>
      (await leaseDue(taking(), { ...ROOM, ...room }, LEASE_MS)).has_more
    expect(await more({ busy: { [`1/${added.id}`]: { attempts: 1, slow: false, strained: false } } })).to.equal(true)
    expect(await more({ sound: 0 })).to.equal(true)
    await queue(pool, await endpoint(sound, 0), 31)
    expect(await more({ busy: { [`1/${added.id}`]: { attempts: 1, slow: false, strained: false } } })).to.equal(true)
    expect(await more()).to.equal(false)
  })

  it('are released for others, except deliveries that were leased again since', async () => {
    await queue(pool, await endpoint(sound, 0), 2)
    const [one, other] = await take()
    expect(await take()).to.deep.equal([])
    await releaseLeases(pool, [one!, { ...other!, leased_until: '2020-01-01T00:00:00Z' }])
    expect((await take()).map(({ id }) => id)).to.deep.equal([one!.id])
  })

  it('are granted to one of several processes only', async () => {
    await Promise.all([endpoint(sound, 200), endpoint(sound, 200)])
    const taken = await Promise.all(Array.from({ length: 8 }, () => take()))
    const ids = taken.flat().map(({ id }) => id)
    expect(new Set(ids).size).to.equal(ids.length)
    expect(ids.length).to.be.at.least(64)
  })

  describe('of several companies', () => {
    const busy = (endpoints: readonly TestEndpoint[], attempts: number, slow = false) =>
      Object.fromEntries(
        endpoints.map(({ companyId, id }) => [`${companyId}/${id}`, { attempts, slow, strained: slow }]),
      )
    async function endpoints(count: number, deliveries: number, health = sound): Promise<TestEndpoint[]> {
      const all: TestEndpoint[] = []
      while (all.length < count) all.push(await endpoint(health, deliveries))
      return all
    }

    it('share the capacity by company, then by endpoint [OPS-144]', async () => {
      const many = await endpoints(9, 20)
      const other = await endpoint(sound, 20, 2)
      const claims = await take({ sound: 20 })
      expect(countOf(claims, other)).to.equal(10)
      expect(many.map((each) => countOf(claims, each))).to.deep.equal(Array(9).fill(1))
    })

    it('free capacity goes to the company with the fewest attempts under way [OPS-144]', async () => {
      const many = await endpoints(8, 20)
      const other = await endpoint(sound, 1, 2)
      const claims = await take({ sound: 1, busy: busy(many, 30) })
      expect(claims.map(({ company_id }) => company_id)).to.deep.equal([other.companyId])
    })

    it('leave capacity for failing endpoints of other companies if those of one have long queues [OPS-144]', async () => {
      const many = await endpoints(17, 5)
      const broken = await endpoint(failing, 1, 2)
      const claims = await take({ strained: 64 - 17 * 2, busy: busy(many, 2, true) })
      expect([claims.length, countOf(claims, broken)]).to.deep.equal([1, 1])
    })

    it('grant one company at most half of the total capacity [OPS-144]', async () => {
      const many = await endpoints(8, 40)
      const other = await endpoint(sound, 20, 2)
      const claims = await take({ busy: busy(many, 31) })
      expect([claims.length, countOf(claims, other)]).to.deep.equal([256 - 8 * 31 + 20, 20])
    })
  })

  it('skip an endpoint at its limit, however many deliveries it has', async () => {
    const waiting = await endpoint(failing, 2_000)
    const one = await endpoint(sound, 3)
    const claims = await take({ busy: { [`1/${waiting.id}`]: { attempts: 1, slow: true, strained: true } } })
    expect(claims).to.have.length(3)
    expect(countOf(claims, one)).to.equal(3)
  })
})
