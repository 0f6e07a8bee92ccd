import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { createCustomer } from '#commands/person-commands.ts'
import { growTrees } from '#integrity/trees.ts'
import type { Writer } from '#ledger/write/writer.ts'
import {
  coalesce,
  createRoundRobin,
  purge,
  type Repetition,
  type RetentionRule,
  repeat,
  workInTurn,
} from '#lib/background-loops.ts'
import { eraseDuePersons, eraseLateWrites, eraseRestoredPersons } from '#privacy/erasures.ts'
import { refreshAllSalesRollups } from '#projections/sales-rollups.ts'
import { purgeOnSchedule } from '#service/process-roles.ts'
import type { LeasedDelivery } from '#webhooks/delivery-leases.ts'
import { monitorEndpoints, startEmailNotifications } from '#webhooks/endpoint-health.ts'
import type { TestCompany } from '../support/api.ts'
import { whileBroken } from '../support/broken-company.ts'
import { purgeTables } from '../support/purge.ts'
import { OWN_DATABASE, useApi, useCompanyPerTest } from '../support/use-api.ts'
import { until } from '../support/wait.ts'

/** Work that ends on command. */
function steps() {
  let runs = 0
  const ends: (() => void)[] = []
  const work = () => {
    runs += 1
    return new Promise<void>((resolve) => ends.push(resolve))
  }
  return { work, end: () => ends.shift()?.(), runs: () => runs }
}

describe('coalesce', () => {
  it('runs once for all requests of one tick, and once more for requests during the run', async () => {
    const { work, end, runs } = steps()
    const demand = coalesce(work)
    for (let n = 0; n < 3; n++) demand.ask()
    expect(runs()).to.equal(0)
    await nextTurn()
    expect(runs()).to.equal(1)
    for (let n = 0; n < 3; n++) demand.ask()
    await nextTurn()
    expect(runs()).to.equal(1)
    end()
    await nextTurn()
    expect(runs()).to.equal(2)
    end()
    await demand.idle()
    await nextTurn()
    expect(runs()).to.equal(2)
  })

  it('merges requests during a rest, which ends early when its signal aborts', async () => {
    let runs = 0
    const ending = new AbortController()
    const demand = coalesce(async () => (runs += 1), { rest_ms: 60_000, signal: ending.signal })
    demand.ask()
    await until(() => runs === 1)
    for (let n = 0; n < 3; n++) demand.ask()
    await nextTurn()
    expect(runs).to.equal(1)
    ending.abort()
    await demand.idle()
    expect(runs).to.equal(2)
  })

  it('is idle before the first request, and starts again afterwards', async () => {
    let runs = 0
    const demand = coalesce(async () => (runs += 1))
    await demand.idle()
    for (let n = 1; n < 4; n++) {
      demand.ask()
      await demand.idle()
      expect(runs).to.equal(n)
    }
  })
})

describe('repeat', () => {
  it('runs at once and again after each wait, after success or failure, until it is stopped', async () => {
    const errors: unknown[] = []
    let runs = 0
    const repetition = await new Promise<Repetition>((resolve) => {
      const started = repeat(
        async () => {
          runs += 1
          if (runs === 3) resolve(started)
          throw new Error(`run ${runs}`)
        },
        () => 1,
        (error) => errors.push((error as Error).message),
      )
    })
    await repetition.stop()
    expect(errors).to.deep.equal(['run 1', 'run 2', 'run 3'])
    repetition.now()
    await nextTurn()
    await nextTurn()
    expect(runs).to.equal(3)
  })

  it('skips the wait on request, and stops after the current run', async () => {
    const { work, end, runs } = steps()
    const repetition = repeat(work, 3_600_000, () => {})
    await nextTurn()
    repetition.now()
    end()
    await nextTurn()
    expect(runs()).to.equal(2)
    let stopped = false
    const stopping = repetition.stop().then(() => (stopped = true))
    await nextTurn()
    expect(stopped).to.equal(false)
    end()
    await stopping
    expect(runs()).to.equal(2)
  })

  it('aborts the signal of the current run on stop, waits for its end, and reports no abort', async () => {
    const errors: unknown[] = []
    let ended = false
    const repetition = repeat(
      async (signal) => {
        try {
          await delay(60_000, undefined, { signal })
        } finally {
          ended = true
        }
      },
      60_000,
      (error) => errors.push(error),
    )
    await nextTurn()
    await repetition.stop()
    expect([ended, errors]).to.deep.equal([true, []])
  })

  it('reports an abort of another signal', async () => {
    const errors: unknown[] = []
    const repetition = repeat(
      () => delay(1, undefined, { signal: AbortSignal.abort() }),
      60_000,
      (error) => errors.push(error),
    )
    await nextTurn()
    await repetition.stop()
    expect(errors).to.have.length(1)
  })
})

describe('round robin over companies', () => {
  const fail = (error: unknown) => expect.fail(String(error))

  it('gives each company one slice before any company gets a second one', async () => {
    const left = new Map([
      [1, 3],
      [2, 1],
      [3, 2],
    ])
    const worked: number[] = []
    const slice = async (id: number) => {
      worked.push(id)
      left.set(id, (left.get(id) as number) - 1)
      return left.get(id) === 0 ? 'done' : 'more'
    }
    await workInTurn(left.keys(), slice, { onError: fail })
    expect(worked).to.deep.equal([1, 2, 3, 1, 3, 1])
  })

  it('continues with the others if one company fails, and reports the failed one', async () => {
    const worked: number[] = []
    const failed: number[] = []
    const slice = async (id: number) => {
      worked.push(id)
      if (id === 1) throw new Error('broken')
      return worked.filter((each) => each === id).length < 2 ? 'more' : 'done'
    }
    await workInTurn([1, 2], slice, { onError: (_error, id) => failed.push(id) })
    expect([worked, failed]).to.deep.equal([[1, 2, 2], [1]])
  })

  it('ends a run after a maximum number of slices of an endless company', async () => {
    let slices = 0
    const slice = async () => {
      slices += 1
      return 'more' as const
    }
    await workInTurn([1], slice, { onError: fail, slices: 4 })
    expect(slices).to.equal(4)
  })

  it('works a quarter of the time while a company has more [OPS-158]', async () => {
    const [WORK_MS, SLICES] = [10, 3]
    let left = SLICES
    const slice = async () => {
      for (const end = performance.now() + WORK_MS; performance.now() < end; );
      left -= 1
      return left > 0 ? 'more' : 'done'
    }
    const startedAt = performance.now()
    await workInTurn([1], slice, { onError: fail })
    // A timer may fire up to a millisecond early; nothing follows the last slice.
    const rests_ms = (SLICES - 1) * (3 * WORK_MS - 1)
    expect(performance.now() - startedAt).to.be.at.least(SLICES * WORK_MS + rests_ms)
  })

  it('starts nothing more after a stop', async () => {
    const worked: number[] = []
    const stopping = new AbortController()
    const slice = async (id: number) => {
      worked.push(id)
      stopping.abort()
      return 'more' as const
    }
    await workInTurn([1, 2], slice, { onError: fail, stopping: stopping.signal })
    expect(worked).to.deep.equal([1])
  })

  for (const [what, stood, served, after] of [
    ['the last of those that were served', 0, [2, 5], 5],
    ['the last before the circle closed', 6, [7, 9, 2], 2],
    ['where it was, after an empty batch', 6, [], 6],
  ] as const)
    it(`sets its position after ${what}`, async () => {
      const companies = createRoundRobin()
      const positions: unknown[] = []
      const take = (ids: readonly number[]) => {
        const query = async ({ values }: { readonly values: readonly unknown[] }) => {
          positions.push(values.at(-1))
          return { rows: ids.map((company_id) => ({ company_id })) }
        }
        return companies.take({ query } as unknown as Pool, { name: 'taken', text: '' }, ['another value'])
      }
      for (const ids of [[stood], served, []]) expect(await take(ids)).to.have.length(ids.length)
      expect(positions).to.deep.equal([0, stood, after])
    })
})

describe('background work of all companies', () => {
  const api = useApi({ log: () => {} })
  const pool = () => api.core.pool
  /** Registered first, and therefore first in every order by id. */
  let first: TestCompany
  let other: TestCompany

  beforeEach(async () => {
    first = await api.company()
    other = await api.company()
  })

  /** Companies in the result of a statement, in its order. */
  async function companiesOf(text: string): Promise<number[]> {
    const { rows } = await pool().query<{ company_id: number }>(text)
    return rows.map(({ company_id }) => company_id).filter((id) => id === first.id || id === other.id)
  }
  /** Writer that refuses one company, and records the requested companies. */
  const refusing = (companyId: number, asked: number[] = []): Writer => ({
    ...api.core.writer,
    async around(request, write) {
      asked.push(request.companyId)
      if (request.companyId === companyId) throw new Error('nothing is recorded')
      return write()
    },
  })
  const due = (companyId: number, count: number) =>
    pool().query(
      `insert into read.queued_erasures select $1, 'customer/' || n, current_date - 1, false, 'request', 'pedido' from generate_series(1, $2) n`,
      [companyId, count],
    )

  it('e-mails the notice of one company early, however many notices another company has', async () => {
    const notices = (id: number, count: number, age: string) =>
      pool().query(
        `insert into ops.notifications (company_id, id, kind, data, created_at, email_tries, next_email_at)
         select $1, gen_random_uuid(), 'webhook_switched_off', '{"webhook_id":1,"url":"http://x","reason":"gone"}', now(), 0, now() - $3::interval
         from generate_series(1, $2)`,
        [id, count, age],
      )
    await notices(first.id, 20, '1 hour')
    await notices(other.id, 1, '0 s')
    const told: number[] = []
    const warn = (_message: string, details: object) => told.push((details as { company_id: number }).company_id)
    const running = startEmailNotifications({ pool: pool(), mailer: null, publicUrl: '', log: () => {}, warn })
    await until(() => told.length === 21)
    await running.stop()
    expect(told.indexOf(other.id)).to.be.at.most(1)
  })

  it('erases persons of each company in turn on the due day', async () => {
    await due(first.id, 60)
    await due(other.id, 1)
    const asked: number[] = []
    await eraseDuePersons({ pool: pool(), writer: refusing(first.id, asked), retentionYears: 5, onError: () => {} })
    expect(asked.filter((id) => id === first.id)).to.have.length(60)
    expect(asked.indexOf(other.id)).to.be.at.most(25)
  })

  it('grows the trees of other companies if the tree of one fails [OPS-143]', async () => {
    const errors: unknown[] = []
    await whileBroken(api.databaseUrl, { table: 'ops.trees', column: 'log', companyId: first.id }, () =>
      growTrees(api.core, { onError: (error) => errors.push(error) }),
    )
    expect(await companiesOf('select log as company_id from ops.trees')).to.deep.equal([other.id])
    expect(errors).to.have.length(1)
  })

  it('refreshes the rollups of other companies if those of one fail [OPS-143]', async () => {
    for (const company of [first, other]) {
      const payments = [{ payment_type_id: await company.paymentType('cash'), amount: '5.00' }]
      const items = [{ description: 'Café', quantity: '1', unit_price: '5.00' }]
      expect((await company.post('/sales', { items, payments })).status).to.equal(201)
    }
    const errors: unknown[] = []
    await whileBroken(api.databaseUrl, { table: 'read.rollup_states', companyId: first.id }, () =>
      refreshAllSalesRollups(pool(), { onError: (error) => errors.push(error) }),
    )
    expect(await companiesOf('select distinct company_id from read.sales_sums')).to.deep.equal([other.id])
    expect(errors).to.have.length(1)
  })

  it('erases late writes about persons of other companies if the erasure of one fails [OPS-143]', async () => {
    for (const company of [first, other]) {
      await company.post('/webhooks', { url: 'http://127.0.0.1:9/', events: ['basic'] })
      await company.run(createCustomer, { name: 'Zuleica' })
    }
    await pool().query(
      'update ops.person_keys set wrapped = null, destroyed_at = now() where company_id = any($1::bigint[])',
      [[first.id, other.id]],
    )
    const errors: unknown[] = []
    await whileBroken(api.databaseUrl, { table: 'ops.webhook_messages', companyId: first.id }, () =>
      eraseLateWrites(pool(), { onError: (error) => errors.push(error) }),
    )
    expect(await companiesOf(`select company_id from ops.webhook_messages where body like '%Zuleica%'`)).to.deep.equal([
      first.id,
    ])
    expect(errors).to.have.length(1)
  })

  it('repeats erasures after a restore for other companies if one company cannot record events [OPS-143]', async () => {
    const at = new Date(Date.now() + 60_000).toISOString()
    const listed = await Promise.all(
      [first, other].map(async (company) => {
        const { id } = (await company.post('/customers', { name: 'Ana' })).body.data
        return { company_id: company.id, subject: `customer/${id}`, part: 'identity' as const, key: '', at }
      }),
    )
    const stopping = new AbortController()
    const forgotten: number[] = []
    const errors: unknown[] = []
    await eraseRestoredPersons(
      {
        pool: pool(),
        writer: refusing(first.id),
        list: { read: async () => listed, sync: async () => {}, note: () => {}, idle: async () => {} },
        retentionYears: 5,
        onForgotten: (companyId) => forgotten.push(companyId),
        onError(error) {
          errors.push(error)
          stopping.abort()
        },
      },
      stopping.signal,
    )
    expect([forgotten, errors.length]).to.deep.equal([[other.id], 1])
  })

  it('switches off endpoints of other companies if the endpoint of one fails [OPS-143]', async () => {
    const endpoints = await Promise.all(
      [first, other].map(async ({ id: company_id, post }) => {
        const { id } = (await post('/webhooks', { url: 'http://127.0.0.1:9/', events: ['basic'] })).body.data
        return { company_id, webhook_id: id as number }
      }),
    )
    const { rows } = await pool().query<{ company_id: number; watched_since: string }>(
      'select company_id, watched_since::text from webhooks where company_id = any($1::bigint[])',
      [[first.id, other.id]],
    )
    const off: string[] = []
    const watch = monitorEndpoints({
      pool: pool(),
      switchOff: async (companyId, _id, reason) => {
        if (companyId === first.id) throw new Error('nothing is recorded')
        off.push(`${companyId} ${reason}`)
      },
      switchOffHours: 0,
      log: () => {},
    })
    for (const endpoint of endpoints) {
      const { watched_since } = rows.find(({ company_id }) => company_id === endpoint.company_id) as (typeof rows)[0]
      watch.gone({ ...endpoint, watched_since } as LeasedDelivery)
    }
    await pool().query(
      `insert into ops.webhook_health (company_id, webhook_id, no_response_since)
       select company_id, id, now() from read.webhooks where company_id = any($1::bigint[])`,
      [[first.id, other.id]],
    )
    await until(() => off.length >= 2)
    await watch.stop()
    expect(off).to.include.members([`${other.id} gone`, `${other.id} no_response`])
  })
})

describe('retention', () => {
  const fail = (error: unknown) => expect.fail(String(error))
  const rule = (table: string): RetentionRule => ({ table, olderThan: 'at', keep: '1 days' })
  /** Answers by the name of the table; all others have nothing to delete. */
  const poolOf = (answers: Readonly<Record<string, () => number>>) => {
    const asked: string[] = []
    const query = async (text: string) => {
      const table = /^delete from (\w+)/.exec(text)?.[1] as string
      asked.push(table)
      return { rowCount: answers[table]?.() ?? 0 }
    }
    return { pool: { query } as unknown as Pool, asked }
  }

  it('deletes a batch of each table in turn, until nothing is left', async () => {
    const left = { much: [5_000, 5_000, 1], little: [2] }
    const { pool, asked } = poolOf({ much: () => left.much.shift() ?? 0, little: () => left.little.shift() ?? 0 })
    expect(await purge(pool, [rule('much'), rule('little')], { onError: fail })).to.equal(10_003)
    expect(asked).to.deep.equal(['much', 'little', 'much', 'little', 'much', 'much'])
  })

  it('goes on with the other tables if one fails', async () => {
    const errors: unknown[] = []
    const { pool, asked } = poolOf({
      broken() {
        throw new Error('broken')
      },
    })
    const steps = [rule('broken'), rule('sound'), async () => 0]
    expect(await purge(pool, steps, { onError: (error) => errors.push(error) })).to.equal(0)
    expect([asked, errors.length]).to.deep.equal([['broken', 'sound'], 1])
  })

  it('ends a run after a maximum number of batches of a table that never ends', async () => {
    const { pool, asked } = poolOf({ endless: () => 1 })
    await purge(pool, [rule('endless')], { onError: fail })
    expect(asked).to.have.length(1_000)
  })

  it('stops after the batch under way has ended, and begins no other', async () => {
    const ends: (() => void)[] = []
    const query = () => new Promise((resolve) => ends.push(() => resolve({ rowCount: 5_000, rows: [] })))
    const purging = purgeOnSchedule({ query } as unknown as Pool, fail)
    await until(() => ends.length === 1)
    let hasStopped = false
    const stopped = purging.stop().then(() => (hasStopped = true))
    await new Promise(setImmediate)
    expect(hasStopped).to.equal(false)
    ends[0]?.()
    await stopped
    expect(ends).to.have.length(1)
  })
})

const SRC = new URL('../../src/', import.meta.url)

/** Their timers end with a connection. */
const OF_A_CONNECTION = ['api/v1/event-routes.ts', 'panel/panel-live.tsx', 'public/checkout-live.ts']

describe('background loops', () => {
  it('use `repeat`, so that a stop waits for the work under way; only those of a connection use a timer', () => {
    const withTimer = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name) && !/^(?:cli|lib|http)\//.test(name))
      .filter((name) => /\bsetInterval\(/.test(readFileSync(new URL(name, SRC), 'utf8')))
    expect(withTimer).to.have.members(OF_A_CONNECTION)
  })
})

describe('retention of refused sales', () => {
  const { api, company } = useCompanyPerTest(OWN_DATABASE)

  /** Sale with these ages, in days, of its last upload and its settlement; open if null. */
  const refused = (offlineId: string, sent: number, settled: number | null) =>
    api.core.pool.query(
      `insert into ops.refused_sales (company_id, user_id, digest, offline_id, first_refused_at, last_refused_at, times, code, message, errors, resolved_at)
       values ($1, 1, sha256(convert_to($2, 'UTF8')), $2, now() - interval '400 days', now() - make_interval(days => $3), 1, 'x', 'x', '{}', now() - make_interval(days => $4))`,
      [company.id, offlineId, sent, settled],
    )
  const left = async (): Promise<string[]> => {
    const { rows } = await api.core.pool.query<{ offline_id: string }>(
      'select offline_id from ops.refused_sales where company_id = $1 order by offline_id',
      [company.id],
    )
    return rows.map(({ offline_id }) => offline_id)
  }

  it('deletes sales settled 90 days ago, also of a company that no longer uploads [PRIV-61]', async () => {
    await refused('old', 200, 91)
    expect(await purgeTables(api.core.pool, 'refused_sales')).to.equal(1)
    expect(await left()).to.deep.equal([])
  })

  it('keeps sales that were settled recently or sent again since [PRIV-61]', async () => {
    await refused('sent again', 89, 91)
    await refused('settled lately', 91, 89)
    await purgeTables(api.core.pool, 'refused_sales')
    expect(await left()).to.deep.equal(['sent again', 'settled lately'])
  })

  it('keeps open sales of any age [PRIV-61]', async () => {
    await refused('open', 300, null)
    await purgeTables(api.core.pool, 'refused_sales')
    expect(await left()).to.deep.equal(['open'])
  })
})
