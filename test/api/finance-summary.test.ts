import { expect } from 'chai'
import fc from 'fast-check'
import { fromCents, toCents } from '#domain/money.ts'
import { accountOfSale, SIDES, type Side, settle } from '../support/accounts.ts'
import { expectInvalid } from '../support/answers.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { explore } from '../support/random.ts'
import { useApi } from '../support/use-api.ts'

const PATH = '/finance/summary'
const NONE = { count: 0, amount: '0.00' }
const [receivables, payables] = SIDES

/** All records of a list, page by page. */
async function all(company: TestCompany, path: string): Promise<Json[]> {
  const records: Json[] = []
  let cursor: string | null = null
  do {
    const { body }: { body: Json } = await company.get(`${path}?limit=7${cursor ? `&cursor=${cursor}` : ''}`)
    records.push(...body.data)
    cursor = body.meta.next_cursor
  } while (cursor)
  return records
}

const addUp = (amounts: readonly string[]) => ({
  count: amounts.length,
  amount: fromCents(amounts.reduce((sum, amount) => sum + toCents(amount), 0)),
})

/** Expected summary, computed from the lists: days are the first ten characters of the shown times. */
async function expectedSummary(company: TestCompany, from: string, to: string): Promise<Json> {
  const within = (day: string) => from <= day && day <= to
  const openOf = (records: readonly Json[]) => records.map(({ open_amount }) => open_amount)
  const side = async ({ path }: Side) => {
    const accounts = await all(company, path)
    const pending = accounts.filter(({ status, due_date }) => status === 'pending' && within(due_date))
    const payments = accounts.flatMap(({ payments }) => payments as Json[])
    const standing = payments.filter(({ reversed_at, paid_on }) => reversed_at === null && within(paid_on))
    return {
      pending: addUp(openOf(pending)),
      overdue: addUp(openOf(pending.filter(({ is_overdue }) => is_overdue))),
      settled: addUp(standing.map(({ received }) => received)),
    }
  }
  const sold = (await all(company, '/sales')).filter(({ sold_at }) => within(sold_at.slice(0, 10)))
  const totals = (status: string) => addUp(sold.filter((sale) => sale.status === status).map(({ total }) => total))
  const { count, amount: gross } = totals('completed')
  const [received, paid] = [await side(receivables), await side(payables)]
  return {
    from,
    to,
    receivables: received,
    payables: paid,
    sales: {
      count,
      gross,
      by_seller: count === 0 ? [] : [{ seller: null, count, gross, returned: '0.00', net: gross }],
      sold: addUp(sold.map(({ total }) => total)),
      cancelled: totals('cancelled'),
      returned: NONE,
      net: gross,
    },
    balance: fromCents(toCents(received.settled.amount) - toCents(paid.settled.amount)),
  }
}

describe('finance: summary', () => {
  let now: string | null = null
  const api = useApi({ now: () => now ?? new Date().toISOString() })

  beforeEach(() => {
    now = null
  })

  const create = async (company: TestCompany, { path }: Side, fields: object): Promise<number> => {
    const reply = await company.post(path, { description: 'x', ...fields })
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data.id
  }
  const sell = async (company: TestCompany, cash: number, sold_at: string, total: string): Promise<number> => {
    const items = [{ description: 'Bolo', quantity: '1', unit_price: total }]
    const reply = await company.post('/sales', { sold_at, items, payments: [{ payment_type_id: cash, amount: total }] })
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data.id
  }
  const settleAt = (company: TestCompany, side: Side, id: number, paid_at: string) =>
    settle(company, side, id, { payment_method: 'pix', paid_at })

  /** Pays a cent with interest and a discount, at a time. */
  const payPart = async (company: TestCompany, { path }: Side, id: number, paid_at: string, isReversed: boolean) => {
    const body = { amount: '0.01', interest: '1.10', discount: '0.02', paid_at }
    const headers = { 'idempotency-key': `parte-${path}-${id}` }
    const { payments } = (await company.post(`${path}/${id}/payments`, body, headers)).body.data
    if (isReversed) await company.post(`${path}/${id}/payments/${payments[0].id}/reverse`, { reason: 'engano' })
  }

  it('is all zeros for a new company', async () => {
    const company = await api.company()
    const reply = await company.get(`${PATH}?from=2026-03-01&to=2026-03-31`)
    expect(reply.status).to.equal(200)
    const none = { pending: NONE, overdue: NONE, settled: NONE }
    expect(reply.body).to.deep.equal({
      data: {
        from: '2026-03-01',
        to: '2026-03-31',
        receivables: none,
        payables: none,
        sales: { count: 0, gross: '0.00', sold: NONE, cancelled: NONE, returned: NONE, net: '0.00', by_seller: [] },
        balance: '0.00',
      },
    })
    expect(reply.headers.get('x-ledger-revision')).to.equal((await company.get('/me')).headers.get('x-ledger-revision'))
  })

  it('sums pending by due date, settled by accounting date, sales by day of sale [PANEL-420]', async () => {
    now = '2026-03-10T15:00:00.000Z'
    const company = await api.company()
    const cash = await company.paymentType('cash')
    await create(company, receivables, { amount: '10.00', due_date: '2026-03-09' })
    await create(company, receivables, { amount: '0.05', due_date: '2026-03-10' })
    await create(company, receivables, { amount: '1000.00', due_date: '2026-04-01' })
    const deleted = await create(company, receivables, { amount: '7.00', due_date: '2026-03-09' })
    await company.call('DELETE', `${receivables.path}/${deleted}`)
    await accountOfSale(company, receivables, { amount: '3.00', due_date: '2026-03-01' })
    const paid = await create(company, receivables, { amount: '20.00', due_date: '2026-01-01' })
    await settleAt(company, receivables, paid, '2026-03-02T12:00:00Z')
    const part = await create(company, receivables, { amount: '100.00', due_date: '2026-03-30' })
    await payPart(company, receivables, part, '2026-03-03T12:00:00Z', false)
    const reversed = await create(company, receivables, { amount: '1.00', due_date: '2026-03-30' })
    await payPart(company, receivables, reversed, '2026-03-03T12:00:00Z', true)
    const bill = await create(company, payables, { amount: '30.00', due_date: '2026-03-31' })
    await settleAt(company, payables, bill, '2026-03-31T23:59:59-03:00')
    await sell(company, cash, '2026-03-01T00:00:00-03:00', '5.00')
    await sell(company, cash, '2026-04-01T00:00:00-03:00', '500.00')
    const cancelled = await sell(company, cash, '2026-03-31T23:59:59-03:00', '6.00')
    await company.post(`/sales/${cancelled}/cancel`, {})
    const { body } = await company.get(`${PATH}?from=2026-03-01&to=2026-03-31`)
    expect(body.data).to.deep.equal({
      from: '2026-03-01',
      to: '2026-03-31',
      receivables: {
        pending: { count: 5, amount: '114.04' },
        overdue: { count: 2, amount: '13.00' },
        settled: { count: 2, amount: '21.09' },
      },
      payables: { pending: NONE, overdue: NONE, settled: { count: 1, amount: '30.00' } },
      sales: {
        count: 1,
        gross: '5.00',
        by_seller: [{ seller: null, count: 1, gross: '5.00', returned: '0.00', net: '5.00' }],
        sold: { count: 2, amount: '11.00' },
        cancelled: { count: 1, amount: '6.00' },
        returned: NONE,
        net: '5.00',
      },
      balance: '-8.91',
    })
  })

  it("defaults to this month until today, in the company's zone [PANEL-420]", async () => {
    const company = await api.company()
    const period = async (query = '') => {
      const { from, to } = (await company.get(PATH + query)).body.data
      return [from, to]
    }
    now = '2026-03-01T02:59:59.999Z'
    expect(await period()).to.deep.equal(['2026-02-01', '2026-02-28'])
    now = '2026-03-01T03:00:00.000Z'
    expect(await period()).to.deep.equal(['2026-03-01', '2026-03-01'])
    expect(await period('?from=2026-01-15')).to.deep.equal(['2026-01-15', '2026-03-01'])
    expect(await period('?to=2026-01-15')).to.deep.equal(['2026-01-01', '2026-01-15'])
    expect(await period('?to=2026-03-20')).to.deep.equal(['2026-03-01', '2026-03-20'])
    expectInvalid(await company.get(`${PATH}?from=2026-03-02`), ['from'])
  })

  it('refuses invalid days, a period that ends before it begins, and unknown parameters', async () => {
    const company = await api.company()
    expectInvalid(await company.get(`${PATH}?from=2026-03-02&to=2026-03-01`), ['from'])
    expectInvalid(await company.get(`${PATH}?from=2026-02-29&to=2026-3-1`), ['from', 'to'])
    expectInvalid(await company.get(`${PATH}?from=2026-03-01T00:00:00Z`), ['from'])
    expectInvalid(await company.get(`${PATH}?de=2026-03-01`), [], ['de'])
    expect((await company.get(`${PATH}?from=1900-01-01&to=9999-12-31`)).status).to.equal(200)
  })

  it('sums without rounding, beyond the precision of floats too [PANEL-420]', async () => {
    const company = await api.company()
    const account = { amount: '0.01', due_date: '2099-01-01' }
    const [large] = [await create(company, receivables, account), await create(company, receivables, account)]
    // No account is so large, only the sum of many; 2 ** 53 + 1 is no float.
    const enlarge = 'update read.receivables set open_cents = 2::bigint ^ 53 where company_id = $1 and id = $2'
    await api.core.pool.query(enlarge, [company.id, large])
    const { body } = await company.get(`${PATH}?from=2099-01-01&to=2099-01-01`)
    expect(body.data.receivables.pending).to.deep.equal({ count: 2, amount: '90071992547409.93' })
  })

  it('equals the sums of the lists, around the end of a day, in any zone [VAL-3, PANEL-420]', async () => {
    // Instants at which a day ends in one of the zones, and those just before and after.
    const zones = ['America/Sao_Paulo', 'America/New_York', 'Pacific/Kiritimati', 'Pacific/Pago_Pago', 'Asia/Kathmandu']
    const midnights = ['03:00', '05:00', '04:00', '10:00', '11:00', '18:15', '00:00']
    const around = fc
      .tuple(fc.integer({ min: 7, max: 12 }), fc.constantFrom(...midnights), fc.constantFrom(-1, 0, 1, 3_600_000))
      .map(([day, time, ms]) =>
        new Date(Date.parse(`2026-03-${String(day).padStart(2, '0')}T${time}:00.000Z`) + ms).toISOString(),
      )
    const day = fc.integer({ min: 6, max: 13 }).map((n) => `2026-03-${String(n).padStart(2, '0')}`)
    const amount = fc.integer({ min: 1, max: 9_999_999 }).map(fromCents)
    const account = fc.record({
      side: fc.constantFrom(...SIDES),
      amount,
      due_date: day,
      fate: fc.oneof(
        { weight: 5, arbitrary: around },
        fc.constantFrom('pending', 'part', 'reversed', 'deleted', 'sale'),
      ),
    })
    const sale = fc.record({ total: amount, sold_at: around, isCancelled: fc.boolean() })
    const world = fc.record({
      timezone: fc.oneof(fc.constant('America/Sao_Paulo'), fc.constantFrom(...zones)),
      clock: around,
      accounts: fc.array(account, { maxLength: 12 }),
      sales: fc.array(sale, { maxLength: 6 }),
      periods: fc.array(fc.tuple(day, day), { minLength: 3, maxLength: 3 }),
    })
    const property = fc.asyncProperty(world, async ({ timezone, clock, accounts, sales, periods }) => {
      const company = await api.company({ timezone })
      const cash = await company.paymentType('cash')
      const record = async ({ side, fate, ...fields }: (typeof accounts)[number]) => {
        if (fate === 'sale') return accountOfSale(company, side, fields)
        const id = await create(company, side, fields)
        if (fate === 'part' || fate === 'reversed') return payPart(company, side, id, clock, fate === 'reversed')
        if (fate === 'deleted') return company.call('DELETE', `${side.path}/${id}`)
        return fate === 'pending' ? null : settleAt(company, side, id, fate)
      }
      const recordSale = async ({ total, sold_at, isCancelled }: (typeof sales)[number]) => {
        const id = await sell(company, cash, sold_at, total)
        if (isCancelled) await company.post(`/sales/${id}/cancel`, {})
      }
      await Promise.all([...accounts.map(record), ...sales.map(recordSale)])
      now = clock
      for (const days of periods) {
        const [from, to] = [...days].sort() as [string, string]
        const { body } = await company.get(`${PATH}?from=${from}&to=${to}`)
        expect(body.data).to.deep.equal(await expectedSummary(company, from, to))
      }
    })
    await explore(property, 6)
  }).timeout(60_000)

  it("excludes another company's records", async () => {
    const [mine, theirs] = [await api.company(), await api.company()]
    await create(theirs, receivables, { amount: '10.00', due_date: '2026-03-09' })
    const { body } = await mine.get(`${PATH}?from=2026-03-01&to=2026-03-31`)
    expect(body.data.receivables.pending).to.deep.equal(NONE)
  })
})
