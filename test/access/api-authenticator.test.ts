import { expect } from 'chai'
import type { Pool } from 'pg'
import { type Admission, type AuthenticatedCall, createApiAuthenticator } from '#access/api-authenticator.ts'
import { revokeApiKey } from '#commands/api-key-commands.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { Unavailable } from '#lib/errors.ts'
import { LIMITS, useGatekeeping } from './gatekeeping.ts'
import { keyedCompany } from './keyed-company.ts'

describe('quota', () => {
  const keeping = useGatekeeping()
  const { windowsOf } = keeping

  describe('across two processes', () => {
    it('admits exactly 120 of 300 concurrent requests, summed over all keys of the company [RATE-1]', async () => {
      const company = await keyedCompany(keeping.core)
      const hashes = [company.hash, (await company.newKey()).hash]
      const gates = keeping.pools.map((pool) => createApiAuthenticator(pool, LIMITS))
      const calls = Array.from({ length: 300 }, (_, n) => gates[n % 2]!.admit(hashes[n % 3 === 0 ? 0 : 1]!))
      const answers = (await Promise.all(calls)) as AuthenticatedCall[]
      const admitted = answers.filter((answer) => answer.kind === 'admitted')
      expect(admitted).to.have.length(120)
      expect(answers.filter((answer) => answer.kind === 'limited')).to.have.length(180)
      const remaining = admitted.map((answer) => answer.rate.remaining).sort((a, b) => a - b)
      expect(remaining).to.deep.equal(Array.from({ length: 120 }, (_, n) => n))
      expect(await windowsOf(company)).to.include({ minute_count: 120, day_count: 120 })
    })

    it('counts every company separately, without deadlocks for any order of arrival [RATE-1]', async () => {
      const companies = await Promise.all(Array.from({ length: 12 }, () => keyedCompany(keeping.core)))
      const gates = keeping.pools.map((pool) => createApiAuthenticator(pool, LIMITS))
      const turns = Array.from({ length: 20 }, (_, turn) => companies.map((_, n) => companies[(n * 5 + turn) % 12]!))
      for (const turn of turns) {
        const backwards = [...turn].reverse()
        const calls = turn.flatMap((company, n) => [gates[0]!.admit(company.hash), gates[1]!.admit(backwards[n]!.hash)])
        await Promise.all(calls)
      }
      for (const company of companies) expect(await windowsOf(company)).to.include({ minute_count: 40, day_count: 40 })
    })

    it('refuses a revoked key at once in both [KEY-5]', async () => {
      const company = await keyedCompany(keeping.core)
      const { id, hash } = await company.newKey()
      const gates = keeping.pools.map((pool) => createApiAuthenticator(pool, LIMITS))
      const ask = async () => (await Promise.all(gates.map((gate) => gate.admit(hash)))).map((answer) => answer.kind)
      expect(await ask()).to.deep.equal(['admitted', 'admitted'])
      await runAsSystem(keeping.core.writer, company.id, revokeApiKey, { id })
      expect(await ask()).to.deep.equal(['invalid', 'invalid'])
      expect(await windowsOf(company)).to.include({ minute_count: 2 })
    })
  })

  describe('keys', () => {
    it('identify the client', async () => {
      const company = await keyedCompany(keeping.core, { plan: 'basic', timezone: 'America/Manaus', name: 'Loja Rio' })
      const admitted = (await createApiAuthenticator(keeping.pools[0], LIMITS).admit(company.hash)) as AuthenticatedCall
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

    it('are refused if they were never created', async () => {
      expect(await createApiAuthenticator(keeping.pools[0], LIMITS).admit(Buffer.alloc(32, 255))).to.deep.equal({
        kind: 'invalid',
      })
    })

    it('are refused once expired, by the clock of Postgres, and then not counted [KEY-5]', async () => {
      const company = await keyedCompany(keeping.core)
      const { id, hash } = await company.newKey('2999-01-01T00:00:00.000Z')
      const gate = createApiAuthenticator(keeping.pools[0], LIMITS)
      expect((await gate.admit(hash)).kind).to.equal('admitted')
      await keeping.core.pool.query('update read.api_keys set expires_at = now() where id = $1', [id])
      expect((await gate.admit(hash)).kind).to.equal('invalid')
      expect(await windowsOf(company)).to.include({ minute_count: 1 })
    })

    it('of one tick are answered separately, unknown and valid ones', async () => {
      const [first, second] = [await keyedCompany(keeping.core), await keyedCompany(keeping.core)]
      const gate = createApiAuthenticator(keeping.pools[0], LIMITS)
      const hashes = [first.hash, Buffer.alloc(32, 254), second.hash, first.hash]
      const answers = await Promise.all(hashes.map((hash) => gate.admit(hash)))
      expect(answers.map((answer) => 'companyId' in answer && answer.companyId)).to.deep.equal([
        first.id,
        false,
        second.id,
        first.id,
      ])
    })

    it('record the last use, at most once a minute', async () => {
      const company = await keyedCompany(keeping.core)
      const gate = createApiAuthenticator(keeping.pools[0], LIMITS)
      const lastUse = async () =>
        (await keeping.core.pool.query('select last_used_at from ops.api_key_uses where company_id = $1', [company.id]))
          .rows
      await gate.admit(company.hash)
      const [first] = await lastUse()
      await gate.admit(company.hash)
      expect(await lastUse()).to.deep.equal([first])
      await keeping.core.pool.query(`update ops.api_key_uses set last_used_at = last_used_at - interval '61 seconds'`)
      await gate.admit(company.hash)
      expect((await lastUse())[0]?.last_used_at > first?.last_used_at).to.equal(true)
    })
  })

  describe('ticks', () => {
    /** First pool, with a hook before each statement. */
    const through = (happens: () => void): Pool => {
      const query = async (statement: never) => {
        happens()
        return keeping.pools[0].query(statement)
      }
      return { query } as unknown as Pool
    }

    it('send one query for all requests that arrive together, and another for those that arrive meanwhile', async () => {
      const company = await keyedCompany(keeping.core)
      let statements = 0
      let second: Promise<Admission[]> | undefined
      const gate = createApiAuthenticator(
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

    it('are unavailable if too many requests wait', async () => {
      const company = await keyedCompany(keeping.core)
      const gate = createApiAuthenticator(keeping.pools[0], LIMITS, 2)
      const answers = await Promise.allSettled([1, 2, 3].map(() => gate.admit(company.hash)))
      expect(answers.map(({ status }) => status)).to.deep.equal(['fulfilled', 'fulfilled', 'rejected'])
      expect((answers[2] as PromiseRejectedResult).reason).to.be.instanceOf(Unavailable)
    })

    it('are unavailable while Postgres is unreachable, and recover afterwards', async () => {
      const company = await keyedCompany(keeping.core)
      let broken = true
      const gate = createApiAuthenticator(
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
