import { expect } from 'chai'
import { createStore } from '#commands/store-commands.ts'
import { readModel } from '#projections/index.ts'
import { presentSource, Reader, WHOLE } from '#queries/reader.ts'
import { t } from '#queries/table-names.ts'
import { OWN_ROLLUPS, OWN_ROWS } from '#queries/tables.ts'
import type { Json } from '../support/api.ts'
import { type Counter, openCounter, upload } from '../support/offline-sales.ts'
import { placedOrder } from '../support/orders.ts'
import { createTestUser, openTill, type TestTill } from '../support/till.ts'
import { useCompany } from '../support/use-api.ts'

/** Columns of rows that are of a sale, of takings or of accounts received. */
const OF_SALES = ['sale_id', 'return_id', 'sale_offline_id', 'cash_session_id', 'session_id', 'receipt', 'document']
/** Without sales or takings, or hidden by another permission. */
const OF_OTHERS = ['customers', 'suppliers', 'payable_payments', 'card_refunds']

const [DAY_MS, HOUR_MS] = [86_400_000, 3_600_000]

describe('rows of own sales', () => {
  const { api, company } = useCompany()
  const now = Date.now()
  const [today, yesterday] = [now, now - 1.5 * DAY_MS].map((at) => new Date(at).toISOString()) as [string, string]
  let counter: Counter
  let own: TestTill
  let other: TestTill
  let credit: number
  let customer: number

  const sent = async (till: TestTill, path: string, body: object): Promise<void> => {
    const reply = await till.post(path, body)
    expect(reply.body.summary.error_count, reply.text).to.equal(0)
  }
  /** A cash session with a sale of two units. */
  async function work(till: TestTill, name: string, at: string): Promise<void> {
    const movement = (kind: string) => ({ offline_id: `${name} ${kind}`, session_id: name, kind, amount: 50, at })
    await sent(till, '/sync/cash', { movements: [movement('opened'), movement('out')] })
    const items = [{ product_id: counter.product, quantity: 2, price: 10, total: 20 }]
    const payments = [{ payment_type_id: counter.cash, amount: 20, status: 'completed' }]
    const paid = { items, payments, total: 20, amount_received: 20, created_at: at }
    const [result] = (await upload(till, [counter.sale(name, { ...paid, cash_session_id: name })])).results
    expect(result.status).to.equal('created')
  }
  const giveBack = (till: TestTill, offline_id: string, sale_offline_id: string, at: string) =>
    sent(till, '/sync/returns', {
      returns: [
        {
          ...{ offline_id, sale_offline_id, reason: 'Troca', returned_at: at, customer_id: customer },
          items: [{ line: 0, quantity: 1 }],
          refunds: [{ payment_type_id: credit, amount: 10 }],
        },
      ],
    })

  before(async () => {
    counter = await openCounter(company)
    credit = await company.paymentType('exchange_credit')
    customer = (await company.post('/customers', { name: 'Eva' })).body.data.id
    // Owners give back what others sold.
    own = await openTill(api.url, company, await createTestUser(company, 'owner'))
    other = await openTill(api.url, company, await createTestUser(company, 'owner'))
    await work(own, 'own', today)
    await work(own, 'own of yesterday', yesterday)
    await work(other, 'other', today)
    await giveBack(own, 'own back', 'own', today)
    await giveBack(other, 'own back at another till', 'own', today)
    await giveBack(own, 'given back by own', 'other', today)
    await giveBack(other, 'other back', 'other', today)
    await giveBack(own, 'back of yesterday', 'own of yesterday', yesterday)
    await giveBack(own, 'awaited', 'unknown', today)
  })

  /** Rows that a statement finds among those that the user of a till sees on a day. */
  async function shown(text: string, { daysLater = 0, till = own } = {}): Promise<Json[]> {
    const from = now + daysLater * DAY_MS
    const ownSales = {
      userId: till.user.id,
      from: new Date(from - 12 * HOUR_MS).toISOString(),
      to: new Date(from + HOUR_MS).toISOString(),
    }
    const reader = new Reader(company.id, presentSource(api.core.pool), { ...WHOLE, ownSales })
    const named = `select t.name from (${text}) t(name, company_id) where t.company_id = $1 order by 1`
    return (await reader.query({ text: named })).rows.map(({ name }) => name)
  }
  const BACK = ['given back by own', 'own back', 'own back at another till']

  it('are the returns of own sales, and those that the user gave back [ROLE-105]', async () => {
    expect(await shown(`select offline_id, company_id from ${t.returns}`)).to.deep.equal(BACK)
    const ofSales = `select r.offline_id, s.company_id from ${t.sale_returns} s
      join ${t.returns} r on r.company_id = s.company_id and r.id = s.return_id`
    expect(await shown(ofSales)).to.deep.equal(BACK)
    expect(await shown(`select offline_id, company_id from ${t.offline_returns}`)).to.deep.equal([
      'awaited',
      'given back by own',
      'own back',
    ])
    expect(await shown(`select sale_offline_id, company_id from ${t.awaited_returns}`)).to.deep.equal([])
  })

  it('are the stock movements of own sales and returns; those of others are hidden [ROLE-105]', async () => {
    const moved = `select kind || quantity, company_id from ${t.stock_movements} where kind in ('sale', 'return')`
    expect(await shown(moved)).to.deep.equal([...Array(3).fill('return1.000'), 'sale-2.000'])
    expect(await shown(moved, { daysLater: 2 })).to.deep.equal([])
  })

  it('are the movements of orders that are shown, which are no returns with the same number [ROLE-105]', async () => {
    const { pool } = api.core
    const returned = await pool.query('select id, offline_id from read.returns where company_id = $1', [company.id])
    const numberOf = (name: string) => Number(returned.rows.find(({ offline_id }) => offline_id === name).id)
    const other = numberOf('other back')
    const moved = `select record, company_id from ${t.stock_movements} where record like 'order/%'`
    const alias = `loja-${company.id}`
    await company.run(createStore, { alias, commission_percentage: '5', sandbox: true })
    let placed = 0
    while (placed < other) placed = await placedOrder(company, alias)
    await pool.query(
      `insert into read.stock_movements select (m).* from (
         select json_populate_record(m, json_build_object('id', -o.id, 'record', 'order/' || o.id)) as m
         from read.stock_movements m join read.orders o on o.company_id = m.company_id
         where m.company_id = $1 and m.record = 'return/' || $2) made`,
      [company.id, other],
    )
    const all = Array.from({ length: placed }, (_, n) => `order/${n + 1}`)
    expect(await shown(moved)).to.deep.equal(all.sort())
    await pool.query(`update read.orders set status = 'cancelled' where company_id = $1`, [company.id])
    expect(await shown(moved, { daysLater: 2 })).to.deep.equal([])
  })

  it('are the store credit of own sales; balances are of all [ROLE-105]', async () => {
    expect(await shown(`select balance::int, company_id from ${t.customer_credits}`)).to.deep.equal([50])
    expect(await shown(`select balance::int, company_id from ${t.credit_movements}`)).to.deep.equal([10, 20])
  })

  it('are the own cash sessions of today, with their movements [ROLE-105]', async () => {
    expect(await shown(`select session_id, company_id from ${t.cash_sessions}`)).to.deep.equal(['own'])
    expect(await shown(`select offline_id, company_id from ${t.cash_movements}`)).to.deep.equal([
      'own opened',
      'own out',
    ])
    expect(await shown(`select user_id::int, company_id from ${t.cash_drawers}`)).to.deep.equal([own.user.id])
    expect(await shown(`select session_id, company_id from ${t.cash_sessions}`, { till: other })).to.deep.equal([
      'other',
    ])
  })

  it('are the payments of receivables that are shown: pending or changed today [ROLE-105]', async () => {
    const pay = async (amount: string) => {
      const account = { description: 'Fiado', amount: '30.00', due_date: today.slice(0, 10) }
      const { id } = (await company.post('/finance/receivables', account)).body.data
      const path = `/finance/receivables/${id}/payments`
      const reply = await company.post(path, { amount, payment_method: 'pix' }, { 'idempotency-key': `paga ${amount}` })
      expect(reply.status, reply.text).to.be.below(300)
    }
    await pay('30.00')
    await pay('7.00')
    const payments = `select received_cents::int, company_id from ${t.receivable_payments}`
    expect(await shown(payments)).to.deep.equal([700, 3_000])
    expect(await shown(payments, { daysLater: 2 })).to.deep.equal([700])
  })

  it('are limited in every table that has rows of sales, takings or accounts received [ROLE-105]', () => {
    const tables = readModel.projections.flatMap((each) => each.tables)
    const named = tables.filter(({ columns }) => OF_SALES.some((column) => Object.hasOwn(columns, column)))
    const limited = [...Object.keys(OWN_ROWS), ...Object.keys(OWN_ROLLUPS), ...OF_OTHERS]
    expect(named.map(({ name }) => name).filter((name) => !limited.includes(name))).to.deep.equal([])
  })
})
