import { request } from 'node:http'
import { expect } from 'chai'
import { type AsOfCore, PastUnavailable, withCompanyAsOf } from '#integrity/as-of.ts'
import { createKeyedSemaphore, type KeyedSemaphore } from '#lib/fair-sharing.ts'
import type { TestCompany } from '../../support/api.ts'
import { type PanelUser, panelUser } from '../../support/panel.ts'
import { OWN_DATABASE, useApi } from '../../support/use-api.ts'
import { until } from '../../support/wait.ts'

describe('as-of reads', () => {
  const api = useApi(OWN_DATABASE)
  let company: TestCompany

  before(async () => {
    company = await api.company()
  })

  const core = (timeoutMs: number): AsOfCore => ({
    ...api.core,
    asOf: { turns: createKeyedSemaphore({ running: 2, runningOfKey: 1, waiting: 8, waitingOfKey: 1 }), timeoutMs },
  })
  /** Reason of a refused as-of read. */
  const reasonOf = (work: Promise<unknown>) =>
    work.then(
      () => 'none',
      (error: unknown) => (error instanceof PastUnavailable ? error.reason : String(error)),
    )
  const sleeping = async (): Promise<number> => {
    const { rows } = await api.core.pool.query<{ count: number }>(
      `select count(*) from pg_stat_activity where query like 'select pg_sleep%' and state = 'active'`,
    )
    return rows[0]?.count ?? -1
  }

  it('end at their deadline, together with the current statement [ASOF-5]', async () => {
    const late = withCompanyAsOf(core(300), company.id, { revision: 0 }, ({ source }) =>
      source.send({ text: 'select pg_sleep(60)', tables: [] }),
    )
    expect(await reasonOf(late)).to.equal('as_of_timeout')
    await until(async () => (await sleeping()) === 0)
  })

  it('end if the client disconnects, and free the slot for the next one [ASOF-5]', async () => {
    const bounded = core(60_000)
    const gone = new AbortController()
    const left = withCompanyAsOf(
      bounded,
      company.id,
      { revision: 0 },
      ({ source }) => source.send({ text: 'select pg_sleep(60)', tables: [] }),
      gone.signal,
    )
    const next = withCompanyAsOf(bounded, company.id, { revision: 0 }, async () => ({ value: 'shown' }))
    await until(async () => (await sleeping()) === 1)
    gone.abort()
    expect(await reasonOf(left)).to.include('canceling statement')
    expect(await next).to.deep.equal({ value: 'shown' })
    expect(await sleeping()).to.equal(0)
  })

  it('run one at a time per company: a few wait, the rest are refused; other companies are served [ASOF-6]', async () => {
    const bounded = core(60_000)
    const other = await api.company()
    let finish = () => {}
    const held = new Promise<void>((resolve) => {
      finish = resolve
    })
    const look = (companyId: number, work = async () => {}) =>
      withCompanyAsOf(bounded, companyId, { revision: 0 }, async () => ({ done: await work() }))
    const first = look(company.id, () => held)
    const second = look(company.id)
    expect(await reasonOf(look(company.id))).to.equal('as_of_busy')
    expect(await reasonOf(look(other.id))).to.equal('none')
    finish()
    expect(await Promise.all([reasonOf(first), reasonOf(second)])).to.deep.equal(['none', 'none'])
  })

  describe('in the panel', () => {
    let owner: PanelUser

    before(async () => {
      owner = await panelUser(api, company)
      await company.post('/customers', { name: 'Ana' })
    })

    it('are answered 503 with the reason and Retry-After if too many run for one company [ASOF-6]', async () => {
      const { turns } = api.core.asOf
      const leave = await turns.acquire(company.id)
      const gone = new AbortController()
      const line: Promise<unknown>[] = []
      // As many as may wait, and one more.
      for (let isFull = false; !isFull; ) {
        const entering = turns.acquire(company.id, gone.signal)
        isFull = await Promise.race([entering.then(() => true), new Promise<false>((no) => setImmediate(no, false))])
        line.push(entering)
      }
      const refused = await owner.get('/painel/clientes?em=1')
      expect(refused.status).to.equal(503)
      expect(refused.headers.get('retry-after')).to.equal('10')
      expect(refused.html).to.include('consultas demais a datas passadas')
      expect((await owner.get('/painel/clientes')).status, 'the present').to.equal(200)
      gone.abort()
      leave?.()
      await Promise.all(line)
      expect((await owner.get('/painel/clientes?em=1')).status).to.equal(200)
    })

    it('are aborted if the browser disconnects [ASOF-5]', async () => {
      const { turns } = api.core.asOf as { turns: { acquire: KeyedSemaphore['acquire'] } }
      const { acquire } = turns
      const signals: AbortSignal[] = []
      turns.acquire = (key, signal) => {
        if (signal) signals.push(signal)
        return acquire(key, signal)
      }
      const leave = await acquire(company.id, new AbortController().signal)
      const asked = request(`${api.url}/painel/clientes?em=1`, { headers: { cookie: owner.cookie() } })
      asked.on('error', () => {})
      asked.end()
      await until(async () => signals.length === 1)
      expect(signals[0]?.aborted).to.equal(false)
      asked.destroy()
      await until(async () => signals[0]?.aborted === true)
      turns.acquire = acquire
      leave?.()
    })
  })
})
