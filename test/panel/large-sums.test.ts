import { expect } from 'chai'
import { dateInZone } from '#domain/instant.ts'
import { formatMoney } from '#domain/person-values.ts'
import { refreshSalesRollups } from '#projections/sales-rollups.ts'
import { openCounter, upload } from '../support/offline-sales.ts'
import { textIn, usePanelUser } from '../support/panel.ts'
import { openTill } from '../support/till.ts'

/** Largest amount; 9,008 of them exceed what JavaScript's numbers count. */
const MOST = 9_999_999_999.99
const COPIES = 9_999
/** Of all of them. */
const SUM = '99999999999900.00'

/** As textIn returns it. */
const shownMoney = (amount: string): string => formatMoney(amount).replace('\u00A0', ' ')

describe('sums beyond 2^53 cents', () => {
  const { api, company, user } = usePanelUser('owner')

  it('are exact on pages, in answers and in uploads of tills [VAL-740]', async () => {
    const { pool } = api.core
    const till = await openTill(api.url, company)
    const counter = await openCounter(company)
    const terms = { name: 'Crédito', kind: 'card', fee_percentage: '0', acquirer_rate: '1.00', settles_in_days: 1 }
    const card = (await company.post('/sales/payment-types', terms)).body.data.id
    const credit = await company.paymentType('exchange_credit')
    const customer = (await company.post('/customers', { name: 'Eva' })).body.data.id
    const largest = (payment_type_id: number, fields: object = {}) => ({
      items: [{ product_id: counter.product, quantity: 1, price: MOST, total: MOST }],
      payments: [{ payment_type_id, amount: MOST, status: 'completed' }],
      ...{ total: MOST, amount_received: MOST, created_at: new Date().toISOString(), ...fields },
    })
    await upload(till, [counter.sale('cash', largest(counter.cash)), counter.sale('card', largest(card))])
    // Recording so many would take long.
    await pool.query(
      `insert into read.sales select (json_populate_record(s, json_build_object('id', s.id + 1000000 + n * 10))).*
         from read.sales s cross join generate_series(1, $2::int) n where company_id = $1`,
      [company.id, COPIES],
    )
    await pool.query(
      `insert into read.offline_sales select (json_populate_record(s, json_build_object(
           'sale_id', s.sale_id + 1000000 + n * 10, 'offline_id', s.offline_id || n))).*
         from read.offline_sales s cross join generate_series(1, $2::int) n where company_id = $1`,
      [company.id, COPIES],
    )
    await pool.query(
      `insert into read.acquirer_payments select (json_populate_record(a, json_build_object('revision', a.revision + 1000000 + n * 10))).*
         from read.acquirer_payments a cross join generate_series(1, $2::int) n where company_id = $1`,
      [company.id, COPIES],
    )
    await pool.query('delete from read.summed_sales where company_id = $1', [company.id])
    const balance = '99999999999999999.99'
    await pool.query(
      `insert into read.customer_credits (company_id, id, balance, revision, changed_at) values ($1, $2, $3, 0, now())`,
      [company.id, customer, balance],
    )
    const uploaded = await upload(till, [
      counter.sale('credit', largest(credit, { customer_id: customer })),
      counter.sale('plain'),
    ])
    expect(uploaded.summary.error_count, JSON.stringify(uploaded)).to.equal(0)
    const left = '99999990000000000.00'
    const { body } = await company.get(`/customers/${customer}/credit`)
    expect(body.data).to.deep.include({ balance: left })
    expect(body.data.movements[0]).to.include({ amount: '-9999999999.99', balance: left })
    const debt = { description: 'Fiado', due_date: '2020-01-31', amount: '9999999999.99', customer_id: customer }
    const owed = (await company.post('/finance/receivables', debt)).body.data
    await pool.query(
      `insert into read.receivables select (json_populate_record(a, json_build_object('id', a.id + 1000000 + n * 10))).*
         from read.receivables a cross join generate_series(1, $2::int) n where company_id = $1 and id = $3`,
      [company.id, COPIES, owed.id],
    )
    await refreshSalesRollups(pool, company.id, () => false)
    const today = dateInZone(new Date().toISOString(), 'America/Sao_Paulo')
    const shown = async (path: string) => {
      const { status, html } = await user.get(`/painel${path}`)
      expect(status, path).to.equal(200)
      return textIn(html)
    }
    expect(await shown(`/clientes/${customer}`))
      .to.include(shownMoney(left))
      .and.include(shownMoney(SUM))
    expect(await shown('/caixas/fechamento')).to.include(shownMoney(SUM))
    const start = await shown('')
    expect(start).to.include(shownMoney('200009999999799.99'))
    expect(await shown(`/contas-a-receber/operadoras?de=${today}`)).to.include(shownMoney('98999999999900.00'))
    for (const path of ['/vendas', '/caixas', '/devolucoes', '/catalogo']) await shown(path)
  })

  it('of closed sessions show, and later movements of theirs are recorded [VAL-740]', async () => {
    const till = await openTill(api.url, company)
    const at = new Date().toISOString()
    const moved = async (offline_id: string, kind: string, amount: number | null, more: object = {}) =>
      till.post('/sync/cash', { movements: [{ offline_id, session_id: 's1', kind, amount, at, ...more }] })
    await moved('1', 'opened', 0)
    await api.core.pool.query(
      `update read.cash_sessions set doc = jsonb_set(doc::jsonb, '{in}', '"99999999999999999.99"')::json
       where company_id = $1`,
      [company.id],
    )
    expect((await moved('2', 'closed', null, { counted: { cash: 0 } })).body.summary.error_count).to.equal(0)
    expect((await moved('3', 'out', 1)).body.summary.error_count).to.equal(0)
    const start = textIn((await user.get('/painel')).html)
    expect(start).to.include(shownMoney('-99999999999999998.99'))
  })

  it('of a line, price times quantity, leave the cost of its sale unknown [VAL-740]', async () => {
    const counter = await openCounter(company)
    const item = { name: 'Ouro', price: '0.01', cost: '9999999999.99' }
    const { id } = (await company.post('/catalog/items', item)).body.data
    const sold = await company.post('/sales', {
      items: [{ catalog_item_id: id, quantity: '999999.999' }],
      payments: [{ payment_type_id: counter.cash, amount: '10000.00' }],
    })
    expect(sold.status, sold.text).to.equal(201)
  })
})
