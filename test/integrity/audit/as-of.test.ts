import { request } from 'node:http'
import { expect } from 'chai'
import { answerPast, readPast } from '#api/read-as-of.ts'
import { type AsOfCore, type AsOfMoment, PastUnavailable, withPastCompany } from '#integrity/as-of.ts'
import { checkTables, checkTablesOnSchedule, findTableCheck } from '#integrity/table-checks.ts'
import { isRefusal } from '#ledger/command.ts'
import { createKeyedSemaphore, type KeyedSemaphore } from '#lib/fair-sharing.ts'
import { fullReader, presentSource } from '#queries/reader.ts'
import type { Json, TestCompany } from '../../support/api.ts'
import { type PanelUser, panelUser } from '../../support/panel.ts'
import { OWN_DATABASE, useApi, useCompanyPerTest } from '../../support/use-api.ts'
import { until } from '../../support/wait.ts'
import { bodyOf, usePast } from './past.ts'

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
    const late = withPastCompany(core(300), company.id, { revision: 0 }, ({ source }) =>
      source.send({ text: 'select pg_sleep(60)', tables: [] }),
    )
    expect(await reasonOf(late)).to.equal('as_of_timeout')
    await until(async () => (await sleeping()) === 0)
  })

  it('end if the client disconnects, and free the slot for the next one [ASOF-5]', async () => {
    const bounded = core(60_000)
    const gone = new AbortController()
    const left = withPastCompany(
      bounded,
      company.id,
      { revision: 0 },
      ({ source }) => source.send({ text: 'select pg_sleep(60)', tables: [] }),
      gone.signal,
    )
    const next = withPastCompany(bounded, company.id, { revision: 0 }, async () => ({ value: 'shown' }))
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
      withPastCompany(bounded, companyId, { revision: 0 }, async () => ({ done: await work() }))
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

describe('moments of as-of reads', () => {
  const { api, follow, present, visit } = usePast()

  describe('a moment', () => {
    let company: TestCompany
    let customer: number
    let events: Json[]

    before(async () => {
      present()
      company = await api.company({ timezone: 'Asia/Kolkata' })
      customer = (await company.post('/customers', { name: 'Ana' })).body.data.id
      await company.call('PATCH', `/customers/${customer}`, { name: 'Bia' })
      await company.call('DELETE', `/customers/${customer}`)
      events = (await company.get('/events?limit=200')).body.data
    })

    const nameAt = async (at: AsOfMoment): Promise<string | null> => {
      const answer = await readPast(api.core, company.id, at, `/api/v1/customers/${customer}`)
      return isRefusal(answer) ? answer.refused : JSON.parse(String(answer.body)).data.name
    }
    const eventOf = (type: string): Json => events.find((event) => event.type === type)
    const fieldsOf = (answer: object): string[] =>
      isRefusal(answer) ? Object.keys((answer.details?.fields as object) ?? {}) : []

    it('can be a revision, inclusive [ASOF-2]', async () => {
      const created = eventOf('CustomerCreated').revision
      expect(await nameAt({ revision: created - 1 })).to.equal('not_found')
      expect(await nameAt({ revision: created })).to.equal('Ana')
      expect(await nameAt({ revision: created + 1 })).to.equal('Bia')
      // A deleted record stays readable by id, without its personal data.
      expect(await nameAt({ revision: created + 2 })).to.equal(null)
    })

    it('can be a time, inclusive to the millisecond [ASOF-2]', async () => {
      const at = (type: string, ms: number) => ({
        time: new Date(Date.parse(eventOf(type).recorded_at) + ms).toISOString(),
      })
      expect(await nameAt(at('CustomerUpdated', -1))).to.equal('Ana')
      expect(await nameAt(at('CustomerUpdated', 0))).to.equal('Bia')
      expect(await nameAt(at('CustomerDeleted', -1))).to.equal('Bia')
      expect(await nameAt(at('CustomerDeleted', 86_400_000))).to.equal(null)
    })

    it('has its own day, which decides whether accounts were overdue [ASOF-2]', async () => {
      const due_date = '2026-03-10'
      const { id } = (await company.post('/finance/receivables', { description: 'x', amount: '1.00', due_date })).body
        .data
      const { revision } = (await company.get('/events?types=ReceivableCreated')).body.data[0]
      const later = await visit(company, { revision }, async (asOf) => ({
        asOf,
        answer: await answerPast(asOf, `/finance/receivables/${id}`),
      }))
      expect(JSON.parse(bodyOf(later.answer)).data.is_overdue).to.equal(later.asOf.calendar.today > due_date)
      const time = '2199-01-01T20:00:00.000Z'
      expect(await visit(company, { time }, async ({ calendar }) => calendar)).to.deep.equal({
        timezone: 'Asia/Kolkata',
        today: '2199-01-02',
      })
    })

    it('is refused before the first event and beyond the last one [ASOF-2]', async () => {
      const head = await follow(company)
      present()
      for (const at of [{ revision: -1 }, { revision: head + 1 }, { time: '2020-01-01T00:00:00.000Z' }]) {
        const answer = await readPast(api.core, company.id, at, '/customers')
        expect(fieldsOf(answer), JSON.stringify(at)).to.deep.equal(['at'])
      }
      expect(await readPast(api.core, 999_999, { revision: 0 }, '/customers')).to.include({ refused: 'not_found' })
    })

    it('is refused for data outside the ledger, and for anything but GET [ASOF-3]', async () => {
      await company.post('/webhooks', { url: 'https://erp.example/x', events: ['basic'] })
      const revision = await follow(company)
      present()
      const ask = (target: string) => readPast(api.core, company.id, { revision }, target)
      for (const target of [
        '/webhooks',
        '/webhooks/1',
        '/me',
        '/events/verify',
        '/nope',
        '/sales/1/cancel',
        'sales',
        '',
      ])
        expect(fieldsOf(await ask(target)), target).to.deep.equal(['get'])
      expect(fieldsOf(await ask('/customers?limit=0'))).to.deep.equal(['limit'])
      expect(fieldsOf(await ask('/customers?limit=1&limit=2'))).to.deep.equal(['limit'])
      expect(fieldsOf(await ask('/customers?cursor=x'))).to.deep.equal(['cursor'])
      for (const target of ['/sales/0', '/sales/x', '/sales/by-external/none'])
        expect(await ask(target), target).to.deep.equal({ refused: 'not_found' })
    })

    it('shows one company, and never a record of another one [ASOF-3]', async () => {
      const other = await api.company()
      await other.post('/customers', { name: 'Bia' })
      const { id } = (await other.post('/customers', { name: 'Caio' })).body.data
      const revision = await follow(company)
      present()
      expect(await readPast(api.core, company.id, { revision }, `/customers/${id}`)).to.deep.equal({
        refused: 'not_found',
      })
    })
  })

  describe('temporary tables', () => {
    const temporary = async (source = presentSource(api.core.pool)): Promise<number> => {
      const text = `select count(*) from pg_class where relpersistence = 't'`
      const { rows } = await source.send<{ count: number }>({ text, tables: [] })
      return rows[0]?.count ?? -1
    }

    it('are dropped after the work, also after a failure [ASOF-3]', async () => {
      const company = await api.company()
      const during = await visit(company, { revision: 0 }, async (asOf) => {
        await answerPast(asOf, '/customers')
        return temporary(asOf.source)
      })
      expect(during).to.be.at.least(3)
      await until(async () => (await temporary()) === 0)
      const failed = visit(company, { revision: 0 }, () => Promise.reject(new Error('the work failed')))
      expect(await failed.catch((error: Error) => error.message)).to.equal('the work failed')
      await until(async () => (await temporary()) === 0)
    })

    it('are dropped with a lost connection, and no current read uses them [ASOF-3]', async () => {
      const company = await api.company()
      const answer = await visit(company, { revision: 0 }, async (asOf) => {
        const { rows } = await asOf.source.send<{ pid: number }>({ text: 'select pg_backend_pid() as pid', tables: [] })
        await api.core.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
        return answerPast(asOf, '/customers').catch((error: unknown) => error)
      })
      expect(answer).to.be.instanceOf(Error)
      await until(async () => (await temporary()) === 0)
    })

    it('are separate for concurrent reads of different moments', async () => {
      const company = await api.company()
      for (const name of ['A', 'B', 'C', 'D']) await company.post('/customers', { name })
      const last = await follow(company)
      present()
      const counts = await Promise.all(
        Array.from({ length: 5 }, (_, n) =>
          visit(
            company,
            { revision: last - n },
            async (asOf) => JSON.parse(bodyOf(await answerPast(asOf, '/customers'))).data.length,
          ),
        ),
      )
      expect(counts).to.deep.equal([4, 3, 2, 1, 0])
    })
  })
})

describe('comparison of what has changed', () => {
  const { api, company } = useCompanyPerTest(OWN_DATABASE)
  const query = (text: string, values: unknown[] = []) => api.core.pool.query(text, values)
  const revision = async () =>
    (await query('select revision from ops.ledgers where company_id = $1', [company.id])).rows[0].revision as number
  const noPace = async () => {}
  const isEqualSince = async (verified: number) =>
    (await api.core.verifyChanges([{ company_id: company.id, revision: verified }], noPace)).length === 1

  /** An item, a customer with an account, and a verified revision; then changes of all of them, and a sale. */
  async function trade() {
    const made = async (path: string, body: object) => (await company.post(path, body)).body.data.id as number
    const item = await made('/catalog/items', { name: 'Café', price: '10.00', stock: '50' })
    const other = await made('/catalog/items', { name: 'Chá', price: '5.00', stock: '50' })
    const customer = await made('/customers', { name: 'Ana', person_type: 'PF' })
    const cash = await company.paymentType('cash')
    const verified = await revision()
    await company.call('PATCH', `/catalog/items/${item}`, { price: '11.00' })
    await company.call('PATCH', `/customers/${customer}`, { name: 'Ana Maria' })
    const payments = [{ payment_type_id: cash, amount: '22.00' }]
    const sale = await made('/sales', { items: [{ catalog_item_id: item, quantity: '2' }], payments })
    return { item, other, customer, sale, verified }
  }

  /** Statements that change a row behind the ledger's back. */
  const FAULTS: Readonly<Record<string, string>> = {
    'a new row with another value': 'update read.sales set total_cents = total_cents + 1 where company_id = $1',
    'a new row with another document': `update read.sales set doc = replace(doc::text, '22.00', '2.00')::json where company_id = $1`,
    'a new row that is gone': 'delete from read.sales where company_id = $1',
    'a movement that is gone': 'delete from read.stock_movements where company_id = $1 and quantity < 0',
    'a row of no event': `insert into read.customers select (t.c).* from (select jsonb_populate_record(c, '{"id": 999, "name_key": "x"}') as c
      from read.customers c where company_id = $1) t`,
    'an older row with another value':
      'update read.item_stocks set stock = stock + 1 where company_id = $1 and id = $2',
    'an older row in its former state, revision included': `update read.customers set revision = first_revision, past_revisions = null,
      doc = replace(doc::text, 'Ana Maria', 'Ana')::json where company_id = $1`,
    'an older row that lost an event from its history': `update read.catalog_items set past_revisions = '[]' where company_id = $1 and id = $2`,
  }

  for (const [fault, statement] of Object.entries(FAULTS))
    it(`finds ${fault} [OPS-941]`, async () => {
      const { verified, item } = await trade()
      expect(await isEqualSince(verified), 'before the fault').to.equal(true)
      await query(statement, statement.includes('$2') ? [company.id, item] : [company.id])
      expect(await isEqualSince(verified)).to.equal(false)
    })

  it('leaves a row that no new event touches to the comparison with the whole ledger [OPS-941] [OPS-942]', async () => {
    const { verified, other } = await trade()
    await query(
      `update read.catalog_items set doc = replace(doc::text, '5.00', '4.00')::json where company_id = $1 and id = $2`,
      [company.id, other],
    )
    expect(await isEqualSince(verified)).to.equal(true)
    const whole = await checkTables(api.core, company.id)
    expect(whole).to.have.nested.property('differences[0].key.id', other)
  })

  it('leaves a ledger that ends before its tables, or was restored, to the whole comparison [OPS-941]', async () => {
    const { verified } = await trade()
    expect(await isEqualSince((await revision()) + 1)).to.equal(false)
    await query('update ops.ledgers set revision = revision + 1 where company_id = $1', [company.id])
    expect(await isEqualSince(verified)).to.equal(false)
    await query('update ops.ledgers set revision = revision - 1 where company_id = $1', [company.id])
    expect(await isEqualSince(verified)).to.equal(true)
  })

  it('goes on from the last comparison, and settles a difference with the whole ledger [OPS-46]', async () => {
    const others = [await api.company(), await api.company()]
    for (const { id } of others) await checkTables(api.core, id)
    const { item } = await trade()
    await checkTables(api.core, company.id)
    const first = await findTableCheck(fullReader(api.core.pool, company.id))
    await company.call('PATCH', `/catalog/items/${item}`, { price: '12.00' })
    const told: unknown[] = []
    /** Lets a round run over the companies that are due. */
    const round = async () => {
      await query(`update ops.table_checks set due_at = now() - interval '1 second'`)
      const checks = checkTablesOnSchedule(api.core, {
        isBehind: () => false,
        onDifferent: (companyId, _revision, found) => companyId === company.id && told.push(found),
        onError: (error) => expect.fail(String(error)),
        rest_ms: () => 0,
      })
      const due = "select count(*)::int as due from ops.table_checks where due_at < now() + interval '30 minutes'"
      await until(async () => (await query(due)).rows[0].due === 0)
      await checks.stop()
    }
    await round()
    expect(await findTableCheck(fullReader(api.core.pool, company.id))).to.deep.include({
      revision: await revision(),
      differences: [],
      whole_revision: first?.revision,
      whole_at: first?.whole_at,
    })
    await company.call('PATCH', `/catalog/items/${item}`, { price: '13.00' })
    await query(
      `update read.catalog_items set doc = replace(doc::text, '13.00', '1.00')::json where company_id = $1 and id = $2`,
      [company.id, item],
    )
    await round()
    expect(told).to.have.nested.property('[0][0].fields').that.deep.equals(['doc.price'])
    expect((await findTableCheck(fullReader(api.core.pool, company.id)))?.whole_revision).to.equal(await revision())
  })

  it('compares a whole ledger again within thirty days, and then not again at once [OPS-942]', async () => {
    await trade()
    await checkTables(api.core, company.id)
    const days = `select extract(epoch from whole_due_at - now()) / 86400 as days from ops.table_checks where company_id = $1`
    expect(Number((await query(days, [company.id])).rows[0].days)).to.be.within(21, 29)
  })
})
