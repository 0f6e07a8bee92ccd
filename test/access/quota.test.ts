import { expect } from 'chai'
import type { Pool } from 'pg'
import { revokeApiKey } from '../../commands/api-keys/revoke-api-key.ts'
import { runAsSystem } from '../../src/access/as-system.ts'
import { type Admission, type Admitted, createGate } from '../../src/access/quota.ts'
import { type Core, openCore } from '../../src/core.ts'
import { addDays, dateInZone, startOfDay } from '../../src/domain/instant.ts'
import { Unavailable } from '../../src/ledger/port.ts'
import { createPool } from '../../src/postgres/pool.ts'
import { useDatabase } from '../support/database.ts'
import { type KeyedCompany, keyedCompany } from './keyed-company.ts'

const LIMITS = { perMinute: 120, perDay: 50_000 }

interface Windows {
  minute_count: number
  minute_ends_at: string
  day_count: number
  day_ends_at: string
}

describe('quota', () => {
  const database = useDatabase()
  let core: Core
  /** Each as the pool of a process of its own. */
  let pools: [Pool, Pool]

  before(async () => {
    core = await openCore({ databaseUrl: database.url, queryConnections: 2, log: () => {}, onOutdated: () => {} })
    const gatePool = () => createPool(database.url, { max: 1, keyLookupsOnly: true })
    pools = [gatePool(), gatePool()]
  })
  after(() => Promise.all([core.close(), ...pools.map((pool) => pool.end())]))

  const windowsOf = async ({ id }: KeyedCompany): Promise<Windows> => {
    const { rows } = await core.pool.query<Windows>('select * from ops.quotas where company_id = $1', [id])
    return rows[0] as Windows
  }
  const now = async (): Promise<string> => (await core.pool.query<{ now: string }>('select now()')).rows[0]?.now ?? ''
  /** As if so much time had passed. */
  const shift = ({ id }: KeyedCompany, column: keyof Windows, interval: string) =>
    core.pool.query(`update ops.quotas set ${column} = ${column} - $2::interval where company_id = $1`, [id, interval])

  describe('over two processes', () => {
    it('lets exactly 120 of 300 concurrent calls through, all keys of the company summed', async () => {
      const company = await keyedCompany(core)
      const hashes = [company.hash, (await company.newKey()).hash]
      const gates = pools.map((pool) => createGate(pool, LIMITS))
      const calls = Array.from({ length: 300 }, (_, n) => gates[n % 2]!.admit(hashes[n % 3 === 0 ? 0 : 1]!))
      const answers = (await Promise.all(calls)) as Admitted[]
      const admitted = answers.filter((answer) => answer.kind === 'admitted')
      expect(admitted).to.have.length(120)
      expect(answers.filter((answer) => answer.kind === 'limited')).to.have.length(180)
      const remaining = admitted.map((answer) => answer.rate.remaining).sort((a, b) => a - b)
      expect(remaining).to.deep.equal(Array.from({ length: 120 }, (_, n) => n))
      expect(await windowsOf(company)).to.include({ minute_count: 120, day_count: 120 })
    })

    it('counts every company apart, and no order of arrival makes the processes wait for each other', async () => {
      const companies = await Promise.all(Array.from({ length: 12 }, () => keyedCompany(core)))
      const gates = pools.map((pool) => createGate(pool, LIMITS))
      const turns = Array.from({ length: 20 }, (_, turn) => companies.map((_, n) => companies[(n * 5 + turn) % 12]!))
      for (const turn of turns) {
        const backwards = [...turn].reverse()
        const calls = turn.flatMap((company, n) => [gates[0]!.admit(company.hash), gates[1]!.admit(backwards[n]!.hash)])
        await Promise.all(calls)
      }
      for (const company of companies) expect(await windowsOf(company)).to.include({ minute_count: 40, day_count: 40 })
    })

    it('refuses a revoked key at once in both', async () => {
      const company = await keyedCompany(core)
      const { id, hash } = await company.newKey()
      const gates = pools.map((pool) => createGate(pool, LIMITS))
      const ask = async () => (await Promise.all(gates.map((gate) => gate.admit(hash)))).map((answer) => answer.kind)
      expect(await ask()).to.deep.equal(['admitted', 'admitted'])
      await runAsSystem(core.writer, company.id, revokeApiKey, { id })
      expect(await ask()).to.deep.equal(['invalid', 'invalid'])
      expect(await windowsOf(company)).to.include({ minute_count: 2 })
    })
  })

  describe('keys', () => {
    it('tells who calls', async () => {
      const company = await keyedCompany(core, { plan: 'basic', timezone: 'America/Manaus', name: 'Loja Rio' })
      const admitted = (await createGate(pools[0], LIMITS).admit(company.hash)) as Admitted
      expect(admitted).to.deep.include({
        kind: 'admitted',
        companyId: company.id,
        keyId: company.keyId,
        scopes: ['sales:read'],
        plan: 'basic',
        timezone: 'America/Manaus',
        revision: 1,
      })
    })

    it('does not know a key that was never made', async () => {
      expect(await createGate(pools[0], LIMITS).admit(Buffer.alloc(32, 255))).to.deep.equal({ kind: 'invalid' })
    })

    it('refuses an expired key, by the clock of Postgres, and counts nothing', async () => {
      const company = await keyedCompany(core)
      const { id, hash } = await company.newKey('2999-01-01T00:00:00.000Z')
      const gate = createGate(pools[0], LIMITS)
      expect((await gate.admit(hash)).kind).to.equal('admitted')
      await core.pool.query('update read.api_keys set expires_at = now() where id = $1', [id])
      expect((await gate.admit(hash)).kind).to.equal('invalid')
      expect(await windowsOf(company)).to.include({ minute_count: 1 })
    })

    it('answers unknown and live keys of one tick each on its own', async () => {
      const [first, second] = [await keyedCompany(core), await keyedCompany(core)]
      const gate = createGate(pools[0], LIMITS)
      const hashes = [first.hash, Buffer.alloc(32, 254), second.hash, first.hash]
      const answers = await Promise.all(hashes.map((hash) => gate.admit(hash)))
      expect(answers.map((answer) => 'companyId' in answer && answer.companyId)).to.deep.equal([
        first.id,
        false,
        second.id,
        first.id,
      ])
    })

    it('notes the last use, at most once a minute', async () => {
      const company = await keyedCompany(core)
      const gate = createGate(pools[0], LIMITS)
      const lastUse = async () =>
        (await core.pool.query('select last_used_at from ops.api_key_uses where api_key_id = $1', [company.keyId])).rows
      await gate.admit(company.hash)
      const [first] = await lastUse()
      await gate.admit(company.hash)
      expect(await lastUse()).to.deep.equal([first])
      await core.pool.query(`update ops.api_key_uses set last_used_at = last_used_at - interval '61 seconds'`)
      await gate.admit(company.hash)
      expect((await lastUse())[0]?.last_used_at > first?.last_used_at).to.equal(true)
    })
  })

  describe('windows', () => {
    it('begins a minute with its first call, and no later call makes it longer', async () => {
      const company = await keyedCompany(core)
      const gate = createGate(pools[0], LIMITS)
      const before = await now()
      const first = (await gate.admit(company.hash)) as Admitted
      const { minute_ends_at } = await windowsOf(company)
      const length_ms = Date.parse(minute_ends_at) - Date.parse(before)
      expect(length_ms).to.be.within(60_000, 65_000)
      expect(first.rate).to.include({ limit: 120, remaining: 119, retryAfter: 60 })
      expect(first.rate.reset).to.equal(Math.ceil(Date.parse(minute_ends_at) / 1000))
      await shift(company, 'minute_ends_at', '10 seconds')
      const second = (await gate.admit(company.hash)) as Admitted
      expect(second.rate).to.include({ remaining: 118 })
      expect(second.rate.retryAfter).to.be.within(48, 50)
    })

    it('begins anew when the minute is over', async () => {
      const company = await keyedCompany(core)
      const gate = createGate(pools[0], { ...LIMITS, perMinute: 1 })
      const kinds = async () => (await Promise.all([1, 2].map(() => gate.admit(company.hash)))).map(({ kind }) => kind)
      expect(await kinds()).to.deep.equal(['admitted', 'limited'])
      await shift(company, 'minute_ends_at', '61 seconds')
      expect(await kinds()).to.deep.equal(['admitted', 'limited'])
      expect(await windowsOf(company)).to.include({ minute_count: 1, day_count: 2 })
    })

    it('grants the first in order of arrival what both windows leave, within one tick', async () => {
      const company = await keyedCompany(core)
      const other = (await company.newKey()).hash
      const gate = createGate(pools[0], { ...LIMITS, perMinute: 3 })
      const hashes = [other, company.hash, other, other, company.hash]
      const answers = (await Promise.all(hashes.map((hash) => gate.admit(hash)))) as Admitted[]
      const kinds = answers.map((answer) => answer.kind)
      expect(kinds).to.deep.equal(['admitted', 'admitted', 'admitted', 'limited', 'limited'])
      expect(answers.map((answer) => answer.rate.remaining)).to.deep.equal([2, 1, 0, 0, 0])
    })

    it('does not count what it refuses', async () => {
      const company = await keyedCompany(core)
      const gate = createGate(pools[0], { ...LIMITS, perMinute: 2 })
      for (let n = 0; n < 5; n++) await gate.admit(company.hash)
      expect(await windowsOf(company)).to.include({ minute_count: 2, day_count: 2 })
    })

    it('leaves the minute alone when the day is exhausted', async () => {
      const company = await keyedCompany(core)
      const gate = createGate(pools[0], { perMinute: 10, perDay: 3 })
      await Promise.all([1, 2, 3, 4, 5].map(() => gate.admit(company.hash)))
      const before = await windowsOf(company)
      expect(before).to.include({ minute_count: 3, day_count: 3 })
      await shift(company, 'minute_ends_at', '61 seconds')
      const answer = (await gate.admit(company.hash)) as Admitted
      expect(answer.kind).to.equal('limited')
      expect(answer.rate).to.include({ limit: 3, remaining: 0, reset: Date.parse(before.day_ends_at) / 1000 })
      // No new minute has begun.
      expect((await windowsOf(company)).minute_ends_at < (await now())).to.equal(true)
      await shift(company, 'day_ends_at', '1 day')
      expect((await gate.admit(company.hash)) as Admitted).to.include({ kind: 'admitted' })
      expect(await windowsOf(company)).to.include({ minute_count: 1, day_count: 1 })
    })

    it('tells of the window that is nearer to exhaustion', async () => {
      const company = await keyedCompany(core)
      const rate = async (perMinute: number, perDay: number) =>
        ((await createGate(pools[0], { perMinute, perDay }).admit(company.hash)) as Admitted).rate
      expect(await rate(10, 1000)).to.include({ limit: 10, remaining: 9 })
      expect(await rate(10, 11)).to.include({ limit: 10, remaining: 8 })
      expect(await rate(10, 9)).to.include({ limit: 9, remaining: 6 })
    })

    it('sends the caller away until the later end when both windows are exhausted', async () => {
      const company = await keyedCompany(core)
      const gate = createGate(pools[0], { perMinute: 1, perDay: 1 })
      await gate.admit(company.hash)
      await core.pool.query(
        `update ops.quotas set day_ends_at = now() + interval '20 s', minute_ends_at = now() + interval '50 s' where company_id = $1`,
        [company.id],
      )
      const { rate } = (await gate.admit(company.hash)) as Admitted
      expect(rate.retryAfter).to.be.within(48, 50)
    })

    for (const timezone of ['America/Sao_Paulo', 'Pacific/Kiritimati', 'Asia/Kolkata', 'America/Noronha']) {
      it(`counts the day as the calendar of ${timezone} does`, async () => {
        const company = await keyedCompany(core, { timezone })
        await createGate(pools[0], LIMITS).admit(company.hash)
        const tomorrow = addDays(dateInZone(await now(), timezone), 1)
        expect((await windowsOf(company)).day_ends_at).to.equal(startOfDay(tomorrow, timezone))
      })
    }

    it('counts the day of UTC for a zone that Postgres does not know, without failing others', async () => {
      const [company, other] = [await keyedCompany(core, { timezone: 'Mars/Olympus' }), await keyedCompany(core)]
      const gate = createGate(pools[0], LIMITS)
      const answers = await Promise.all([gate.admit(company.hash), gate.admit(other.hash)])
      expect(answers.map(({ kind }) => kind)).to.deep.equal(['admitted', 'admitted'])
      expect((await windowsOf(company)).day_ends_at).to.equal(`${addDays((await now()).slice(0, 10), 1)}T00:00:00.000Z`)
    })
  })

  describe('ticks', () => {
    /** The first pool, with something happening before each statement. */
    const through = (happens: () => void): Pool => {
      const query = async (statement: never) => {
        happens()
        return pools[0].query(statement)
      }
      return { query } as unknown as Pool
    }

    it('asks once for all calls that arrive together, and once more for those that arrive meanwhile', async () => {
      const company = await keyedCompany(core)
      let statements = 0
      let second: Promise<Admission[]> | undefined
      const gate = createGate(
        through(() => {
          statements += 1
          second ??= wave()
        }),
        LIMITS,
      )
      const wave = () => Promise.all(Array.from({ length: 30 }, () => gate.admit(company.hash)))
      await wave()
      await second
      expect(statements).to.equal(2)
    })

    it('promises nothing when too many wait already', async () => {
      const company = await keyedCompany(core)
      const gate = createGate(pools[0], LIMITS, 2)
      const answers = await Promise.allSettled([1, 2, 3].map(() => gate.admit(company.hash)))
      expect(answers.map(({ status }) => status)).to.deep.equal(['fulfilled', 'fulfilled', 'rejected'])
      expect((answers[2] as PromiseRejectedResult).reason).to.be.instanceOf(Unavailable)
    })

    it('promises nothing when Postgres cannot be asked, and goes on when it can', async () => {
      const company = await keyedCompany(core)
      let broken = true
      const gate = createGate(
        through(() => {
          if (broken) throw new Error('down')
        }),
        LIMITS,
      )
      const failure = await gate.admit(company.hash).catch((error: unknown) => error)
      expect(failure).to.be.instanceOf(Unavailable)
      broken = false
      expect((await gate.admit(company.hash)).kind).to.equal('admitted')
    })
  })
})
