import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import pg from 'pg'
import { createItem, updateItem } from '#commands/item-commands.ts'
import { createReceivable } from '#commands/receivables-payables.ts'
import { createStore } from '#commands/store-commands.ts'
import { dateInZone } from '#domain/instant.ts'
import { formatMoney } from '#domain/person-values.ts'
import type { Role } from '#domain/rights.ts'
import { projectFile } from '#http/assets.ts'
import { dateInput, momentInput } from '#panel/forms/input-kinds.ts'
import { asset } from '#panel/panel-assets.ts'
import { PANEL_ROUTES } from '#panel/routes.ts'
import { refreshSalesRollups } from '#projections/sales-rollups.ts'
import type { SentStatement } from '#queries/reader.ts'
import { parseSearchText } from '#queries/search-queries.ts'
import { getTableRule } from '#queries/tables.ts'
import { send, type TestCompany } from '../support/api.ts'
import { fiscalDocument } from '../support/facts.ts'
import { type Counter, openCounter, upload } from '../support/offline-sales.ts'
import { hiddenFields, type PanelUser, panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'
import { openTill } from '../support/till.ts'
import { useApi, useCompany } from '../support/use-api.ts'
import { until } from '../support/wait.ts'

describe('panel: search', () => {
  const { api, company, user } = usePanelUser('manager')
  let counter: Counter

  const found = async (q: string, who = user, em = '') => {
    const { status, html } = await who.get(`/painel/busca?q=${encodeURIComponent(q)}${em}`)
    expect(status).to.equal(200)
    return [...html.matchAll(/<li><a href="\/painel\/(\w+\/\d+)[^>]*>/g)].map(([, path]) => path)
  }

  it('finds sales, items and persons by number, code, name and phone [PANEL-147]', async () => {
    counter = await openCounter(company)
    const sale = await counter.sell({ external_id: 'Pedido-9' })
    await company.call('PUT', `/sales/${sale.id}/fiscal-document`, fiscalDocument)
    const item = (await company.post('/catalog/items', { name: 'Açúcar mascavo', barcode: '7890', price: '5.00' })).body
    const person = { name: 'João Ávila', document: '529.982.247-25', phone: '11987654321', external_id: 'cli' }
    const customer = (await company.post('/customers', person)).body.data.id
    const supplier = (await company.post('/suppliers', { name: 'Ávila Atacado' })).body.data.id
    const [ofSale, ofItem] = [`vendas/${sale.id}`, `catalogo/${item.data.id}`]
    const [ofCustomer, ofSupplier] = [`clientes/${customer}`, `fornecedores/${supplier}`]
    const expected: Record<string, string[]> = {
      [String(sale.id)]: [ofSale],
      'Pedido-9': [ofSale],
      '20,00': [ofSale],
      'R$ 20,01': [],
      [fiscalDocument.access_key]: [ofSale],
      [fiscalDocument.access_key.replace(/(.{4})/g, '$1 ')]: [ofSale],
      [fiscalDocument.access_key.replace(/5$/, '7')]: [],
      'mascavo acucar': [ofItem],
      '7890': [ofItem],
      avila: [ofCustomer, ofSupplier],
      '529.982.247-25': [ofCustomer],
      '(11) 98765-4321': [ofCustomer],
      '+55 11 98765-4321': [ofCustomer],
      '98765-4321': [ofCustomer],
      '765-4321': [ofCustomer],
      '4321': [ofCustomer],
      '9876': [ofCustomer],
      '321': [],
      '%': [],
      '': [],
    }
    for (const [q, paths] of Object.entries(expected)) expect(await found(q), q).to.deep.equal(paths)
    expect(await found('avila', user, '&em=0')).to.deep.equal([])
    const auditor = await panelUser(api, company, 'auditor')
    for (const q of ['avila', '98765-4321']) expect(await found(q, auditor), q).to.deep.equal([])
    expect(await found('7890', await panelUser(api, await api.company()))).to.deep.equal([])
    expect(textIn((await user.get('/painel/busca?q=nada')).html)).to.include('Nada encontrado com “nada”.')
  })

  it('reads a number as id, amount and phone, 125 as 125,00 to 125,99 [PANEL-147, PANEL-1256]', () => {
    expect(parseSearchText(' nº 12 ')).to.deep.include({ id: 12, cents: null })
    expect(parseSearchText('R$ 1.234,50')).to.deep.include({ id: null, cents: { from: 123450, to: 123450 } })
    expect(parseSearchText('12,5')).to.deep.include({ id: null, cents: null })
    expect(parseSearchText('125')).to.deep.include({ id: 125, cents: { from: 12500, to: 12599 }, phone: null })
    expect(parseSearchText('R$ 1.250').cents).to.deep.equal({ from: 125000, to: 125099 })
    expect(parseSearchText('+55 (81) 4321').phone).to.equal('55814321')
    expect(parseSearchText('4321').phone).to.equal('4321')
  })

  it('finds orders by number, buyer, phone and amount, as far as the user may see [PANEL-1256]', async () => {
    const alias = `busca-${company.id}`
    await company.run(createStore, { alias, commission_percentage: '5', sandbox: true })
    const customer = { name: 'Bia Conceição', phone: '(81) 99123-7788', document: '11144477735' }
    const items = [{ description: 'Cesta', quantity: '1', unit_price: '125.90' }]
    const order = { store_alias: alias, external_id: 'LOJA-77', customer, items }
    const { id } = (await company.post('/orders', order)).body.data
    const orders = async (q: string, who = user) => {
      const { html } = await who.get(`/painel/busca?q=${encodeURIComponent(q)}`)
      return [...html.matchAll(/<a href="\/painel\/loja\/pedidos\/(\d+)/g)].map(([, one]) => Number(one))
    }
    for (const q of [String(id), 'LOJA-77', 'conceicao bia', '7788', '99123', '125', '125,90', '111.444.777-35'])
      expect(await orders(q), q).to.deep.equal([id])
    for (const q of ['126', '125,91', 'bia maria', '7789']) expect(await orders(q), q).to.deep.equal([])
    const auditor = await panelUser(api, company, 'auditor')
    for (const q of ['conceicao', '7788', '11144477735']) expect(await orders(q, auditor), q).to.deep.equal([])
    expect(await orders('125', auditor)).to.deep.equal([id])
    await company.post(`/orders/${id}/cancel`, {})
    await company.post(`/orders/${id}/forget`, { ground: 'holder_request' })
    for (const q of ['conceicao', '7788']) expect(await orders(q), q).to.deep.equal([])
    expect(await orders('7788', await panelUser(api, await api.company()))).to.deep.equal([])
  })

  it('finds bills by description, party and amount, only for who sees them [PANEL-1256]', async () => {
    const supplier = (await company.post('/suppliers', { name: 'Luz Norte' })).body.data.id
    const bill = { description: 'Energia de março', amount: '431.27', due_date: '2026-12-10' }
    const payable = (await company.post('/finance/payables', { ...bill, supplier_id: supplier })).body.data.id
    const debt = { description: 'Reforma do balcão', amount: '431.80', due_date: '2026-12-10' }
    const receivable = (await company.post('/finance/receivables', debt)).body.data.id
    const bills = async (q: string, who = user) => {
      const { html } = await who.get(`/painel/busca?q=${encodeURIComponent(q)}`)
      return [...html.matchAll(/<li><a href="\/painel\/contas-a-(\w+\/\d+)/g)].map(([, one]) => one)
    }
    const [pay, receive] = [`pagar/${payable}`, `receber/${receivable}`]
    expect(await bills('energia marco')).to.deep.equal([pay])
    expect(await bills('luz norte')).to.deep.equal([pay])
    expect(await bills('balcao')).to.deep.equal([receive])
    expect(await bills('431')).to.deep.equal([receive, pay])
    expect(await bills('431,27')).to.deep.equal([pay])
    const clerk = await panelUser(api, company, 'clerk')
    expect(await bills('431', clerk)).to.deep.equal([receive])
    expect(await bills('energia', clerk)).to.deep.equal([])
  })

  it('finds the sales of a Pix, and of an NSU with or without zeros, the last first [PANEL-147, SALE-785]', async () => {
    const other = await openCounter(company)
    const type = await company.paymentType('card')
    const paidBy = (details: object) => ({ payments: [{ payment_type_id: type, amount: '20.00', ...details }] })
    const first = await other.sell(paidBy({ card: { nsu: '000991177' } }))
    const second = await other.sell(paidBy({ card: { nsu: '991177' }, end_to_end_id: 'E9Abc' }))
    const [one, two] = [`vendas/${first.id}`, `vendas/${second.id}`]
    expect(await found('991177')).to.deep.equal([two, one])
    expect(await found(' 0991177 ')).to.deep.equal([two, one])
    expect(await found('e9aBC')).to.deep.equal([two])
    expect(await found('e9aBC', user, '&em=0')).to.deep.equal([])
    expect(await found('E9Abc', await panelUser(api, await api.company()))).to.deep.equal([])
  })
})

type Plan = { readonly [name: string]: unknown }

/** Tables in a plan, each with the conditions by which its rows are read. */
function* relationsOf(plan: unknown, above = ''): Iterable<readonly [name: string, conditions: string]> {
  if (Array.isArray(plan)) for (const each of plan) yield* relationsOf(each, above)
  else if (plan !== null && typeof plan === 'object') {
    const { 'Relation Name': name, ...node } = plan as Plan
    // What a hashed subplan gives is compared in its parent's expression.
    const compared = node['Parent Relationship'] === 'SubPlan' ? /Cond$|Filter$|^Output$/ : /Cond$|Filter$/
    const own = Object.entries(node).flatMap(([key, value]) => (compared.test(key) ? [String(value)] : []))
    const conditions = [above, ...own].join(' ')
    if (typeof name === 'string') yield [name, conditions]
    for (const value of Object.values(node)) yield* relationsOf(value, conditions)
  }
}

/** Their rows are of no company. */
const OF_INSTALLATION = ['installation_checkpoints', 'installation_entries']

describe('panel: tables that pages read', function () {
  // All pages, for all roles.
  this.timeout(300_000)
  const { api, company } = useCompany()
  const { query } = pg.Client.prototype
  const sent = new Map<string, SentStatement>()

  before(async () => {
    const counter = await openCounter(company)
    const customer = (await company.post('/customers', { name: 'Maria' })).body.data.id
    const sale = await counter.sell({
      customer_id: customer,
      items: [{ catalog_item_id: counter.product, quantity: '1', unit_price: '9.00' }],
      payments: [{ payment_type_id: counter.cash, amount: '9.00' }],
    })
    const ids: Readonly<Record<string, number>> = {
      '/clientes': customer,
      '/catalogo': counter.product,
      '/vendas': sale.id as number,
    }
    const roles: readonly Role[] = ['owner', 'manager', 'clerk', 'accountant', 'auditor']
    const users = []
    for (const role of roles) users.push(await panelUser(api, company, role))
    Object.assign(pg.Client.prototype, {
      query(this: pg.Client, statement: unknown, ...rest: never[]) {
        const asked = statement as Partial<SentStatement>
        if (asked?.tables && asked.text) sent.set(asked.text, asked as SentStatement)
        return (query as (...all: unknown[]) => unknown).call(this, statement, ...rest)
      },
    })
    for (const route of PANEL_ROUTES.filter((each) => 'show' in each || 'table' in each)) {
      const [section = ''] = /^\/\w+/.exec(route.path) ?? []
      if (route.path.includes(':') && !(section in ids)) continue
      for (const user of users) {
        const { status } = await user.get(`/painel${route.path.replace(':id', String(ids[section]))}`)
        expect(status, route.path).to.be.below(500)
      }
    }
  })
  after(() => {
    Object.assign(pg.Client.prototype, { query })
  })

  it('are those that their statements name by rules, and of one company [ROLE-950]', async () => {
    expect(sent.size).to.be.above(150)
    for (const { text, tables } of sent.values()) {
      const { rows } = await api.core.pool.query<{ 'QUERY PLAN': unknown }>(
        `explain (generic_plan, verbose, format json) ${text}`,
      )
      const read = [...relationsOf(rows)]
      for (const [name] of read) expect(() => getTableRule(name), text).not.to.throw()
      expect(tables, text).to.include.members(read.map(([name]) => name))
      for (const [name, conditions] of read)
        if (!OF_INSTALLATION.includes(name)) expect(conditions, `${name} in ${text}`).to.include('company_id')
    }
  })
})

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
    await pool.query('delete from read.rollup_states where company_id = $1', [company.id])
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
    // As autovacuum would, that tables which grew by hand are planned as what they are.
    await pool.query('analyze read.sales, read.offline_sales, read.acquirer_payments, read.receivables')
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

describe('panel: guidance', () => {
  const api = useApi()
  let company: TestCompany
  let owner: PanelUser

  before(async () => {
    company = await api.company()
    owner = await panelUser(api, company)
  })

  it('says what a list without records will have, and leads to the first act', async () => {
    const first = await panelUser(api, await api.company())
    for (const [path, title, to] of [
      ['/loja', 'Nenhum pedido ainda', '/loja/pedidos/novo'],
      ['/vendas', 'Nenhuma venda ainda', '/caixas'],
      ['/devolucoes', 'Nenhuma devolução ainda', '/vendas'],
      ['/catalogo', 'Nenhum item ainda', '/catalogo/novo'],
      ['/catalogo/movimentacao', 'Nenhuma movimentação ainda', '/catalogo/entradas/novo'],
      ['/caixas/sessoes', 'Nenhuma gaveta ainda', '/caixas/sessoes/abrir'],
      ['/clientes', 'Nenhum cliente ainda', '/clientes/novo'],
      ['/contas-a-pagar', 'Nenhuma conta ainda', '/contas-a-pagar/novo'],
    ] as const) {
      const [, shown = ''] = /<div class="nothing">(.*?)<\/div>/s.exec((await first.get(`/painel${path}`)).html) ?? []
      expect(textIn(shown), path).to.match(new RegExp(`^ *${title} .+`))
      expect(shown, path).to.include(`href="/painel${to}"`)
    }
    const { html } = await first.get('/painel/clientes?q=Ana')
    expect(html).to.include('Nenhum cliente encontrado.').and.not.to.include('class="nothing"')
  })

  describe('of a form in two tabs', () => {
    async function openTwice(): Promise<{ path: string; form: Record<string, string>; id: number }> {
      const { id } = await company.run(createItem, {
        type: 'product',
        name: `Café ${++items}`,
        price: '10.00',
        unit: 'UN',
      })
      const path = `/painel/catalogo/${id}/editar`
      const form = hiddenFields((await owner.get(path)).html, path)
      return { path, form, id }
    }
    let items = 0
    const shownIn = (form: Record<string, string>) =>
      Object.fromEntries(
        Object.entries(JSON.parse(form._antes ?? '{}') as Record<string, string[]>).map(([name, [value = '']]) => [
          name,
          value,
        ]),
      )

    it('shows what changed meanwhile, and saves when it is sent again [PANEL-502]', async () => {
      const { path, form, id } = await openTwice()
      await company.run(updateItem, { id, changes: { price: '12.00' } })
      const typed = { ...shownIn(form), price: '15,00' }
      const stale = await owner.post(path, { ...form, ...typed })
      expect(stale.status).to.equal(409)
      expect(problemsIn(stale.html).join()).to.include('mudou enquanto').and.include('mudou para 12,00')
      expect(stale.html).to.include('value="15,00"')
      const again = await owner.post(path, { ...hiddenFields(stale.html, path), ...typed })
      expect(again.status).to.equal(303)
      expect((await company.get(`/catalog/items/${id}`)).body.data.price).to.equal('15.00')
    })

    it('saves at once if another field has changed, or the same value was typed [PANEL-11] [PANEL-502]', async () => {
      const { path, form, id } = await openTwice()
      await company.run(updateItem, { id, changes: { price: '12.00' } })
      const named = { ...shownIn(form), name: 'Outro nome' }
      expect((await owner.post(path, { ...form, ...named })).status).to.equal(303)
      expect((await company.get(`/catalog/items/${id}`)).body.data).to.include({ name: 'Outro nome', price: '12.00' })
      const { _key = '' } = hiddenFields((await owner.get(path)).html, path)
      expect((await owner.post(path, { ...form, ...shownIn(form), _key, price: '12,00' })).status).to.equal(303)
    })
  })

  it('explains a moment in the future, and one before the first event, on a page of its own [ASOF-2]', async () => {
    for (const path of ['/painel/clientes', '/painel/catalogo.csv']) {
      const future = await owner.get(`${path}?em=2999-01-01T10:00`)
      expect([future.status, textIn(future.html)]).to.satisfy(
        ([status, text]: [number, string]) => status === 422 && text.includes('ainda não chegou'),
      )
      const past = await owner.get(`${path}?em=1999-01-01T10:00`)
      expect(past.status).to.equal(422)
      expect(textIn(past.html)).to.match(/começa em \d\d\/\d\d\/\d{4} \d\d:\d\d/)
    }
  })

  it('puts the focus on the first wrong field, and on no other', async () => {
    const page = '/painel/configuracoes/usuarios/novo'
    const { html } = await owner.submit(page, { name: 'Bia', role: 'clerk', email: 'bia' })
    const focused = [...html.matchAll(/<input[^>]*autofocus[^>]*>/g)].map(([tag]) => /name="(\w+)"/.exec(tag)?.[1])
    expect(focused).to.deep.equal(['email'])
    expect((await owner.get(page)).html).not.to.include('autofocus')
  })

  it('ignores the fields of auditors with another role, and hides them by the stylesheet [PANEL-508]', async () => {
    const page = '/painel/configuracoes/usuarios/novo'
    const email = 'clara@loja.example'
    const typed = { name: 'Clara', role: 'clerk', email, access_until: '2099-12-31', personal_data: 'on' }
    expect((await owner.submit(page, typed)).status).to.equal(200)
    const { rows } = await api.core.pool.query('select doc from read.users where company_id = $1 and email = $2', [
      company.id,
      email,
    ])
    expect(rows[0].doc).to.include({ role: 'clerk', access_until: null })
    expect((await owner.get(page)).html.match(/data-of="auditor"/g)).to.have.length(2)
    const style = readFileSync(projectFile('src/panel/static/panel.css'), 'utf8')
    expect(style).to.match(/:not\(:has\(#campo-role option\[value\^="auditor"\]:checked\)\) \[data-of="auditor"\]/)
  })

  it('answers a browser at an unknown address with a page, and a program with JSON [PANEL-509]', async () => {
    const get = (path: string, accept: string) => fetch(api.url + path, { headers: { accept } })
    const page = await get('/nada', 'text/html,application/xhtml+xml,*/*;q=0.8')
    expect([page.status, page.headers.get('content-type')]).to.deep.equal([404, 'text/html; charset=utf-8'])
    expect(textIn(await page.text())).to.include('Ir para o início')
    for (const accept of ['*/*', 'application/json']) {
      const answer = await get('/nada', accept)
      expect([answer.status, (await answer.json()).error.code]).to.deep.equal([404, 'not_found'])
    }
    const api404 = await get('/api/v1/nada', 'text/html')
    expect(api404.headers.get('content-type')).to.include('json')
  })

  it('names the panel as the origin of accounts that were created there', async () => {
    const account = { description: 'Aluguel da sala', amount: '50.00', due_date: '2099-01-10' }
    const { id } = await company.run(createReceivable, account, 'panel')
    const made = (await company.post('/finance/receivables', account)).body.data
    const originOf = async (which: number) =>
      /Origem (\S+)/.exec(textIn((await owner.get(`/painel/contas-a-receber/${which}`)).html))?.[1]
    expect([await originOf(id), await originOf(made.id)]).to.deep.equal(['Painel', 'API'])
  })

  it('shows a webhook in red from its first failure until a delivery is accepted', async () => {
    const { id } = (await company.post('/webhooks', { url: 'https://example.com/x', events: ['*'] })).body.data
    const badge = async () =>
      /<span(?: class="badge (\w+)")?>(Ativo|Com falhas)/
        .exec((await owner.get(`/painel/integracoes/webhooks/${id}`)).html)
        ?.slice(1)
    const health = (failing: string) =>
      company.core.pool.query(
        `insert into ops.webhook_health as h (company_id, webhook_id, failing_since) values ($1, $2, ${failing})
         on conflict (company_id, webhook_id) do update set failing_since = excluded.failing_since`,
        [company.id, id],
      )
    await health(`clock_timestamp()`)
    expect(await badge()).to.deep.equal(['bad', 'Com falhas'])
    await health('null')
    expect(await badge()).to.deep.equal([undefined, 'Ativo'])
  })

  it('reads dates as people type them, and names that form [PANEL-507]', () => {
    expect(dateInput.read('21/11/2026', 'UTC')).to.equal('2026-11-21')
    expect(dateInput.read('2026-11-21', 'UTC')).to.equal('2026-11-21')
    expect(dateInput.problem?.('31/02/2026')).to.equal('informe uma data como 21/11/2026')
    expect(dateInput.problem?.('28/02/2026')).to.equal(null)
    expect(momentInput.read('21/11/2026 08:17', 'America/Sao_Paulo')).to.equal('2026-11-21T11:17:00.000Z')
    for (const right of ['21/11/2026 08:17', '2026-11-21T08:17', '2026-11-21T11:17:00Z'])
      expect(momentInput.problem?.(right), right).to.equal(null)
    expect(momentInput.problem?.('amanhã')).to.include('21/11/2026 08:17')
  })

  it('names customers in lists on phones, and breaks no number', async () => {
    const customer = (await company.post('/customers', { name: 'Zilda Prates' })).body.data
    const account = { description: 'Fiado', amount: '9.00', due_date: '2099-01-10', customer_id: customer.id }
    await company.post('/finance/receivables', account)
    const { html } = await owner.get('/painel/contas-a-receber')
    const cell = /<td([^>]*)>[^<]*(?:<a[^>]*>)?Zilda Prates/.exec(html)
    expect(cell?.[1]).to.equal('')
    const style = readFileSync(projectFile('src/panel/static/panel.css'), 'utf8')
    expect(style).to.match(/\.number \{\s+text-align: right;\s+white-space: nowrap;/)
  })

  it('keeps long ids whole in the page, with the beginning visible', async () => {
    const id = (await company.get('/customers/999999')).headers.get('x-request-id') ?? ''
    const style = readFileSync(projectFile('src/panel/static/panel.css'), 'utf8')
    expect(style).to.match(/\.short \{[^}]*max-width: 10ch;[^}]*user-select: all;/)
    const page = `/painel/integracoes/chamadas/${id}`
    await until(async () => (await owner.get(page)).status === 200)
    const { html } = await owner.get(page)
    expect(html).to.include(`<code class="short" title="${id}">${id}</code>`)
  })
})

describe('panel: static files', () => {
  const api = useApi()

  const TYPES = {
    'base.css': 'text/css; charset=utf-8',
    'panel.css': 'text/css; charset=utf-8',
    'panel.js': 'text/javascript; charset=utf-8',
    'htmx.js': 'text/javascript; charset=utf-8',
    'live-worker.js': 'text/javascript; charset=utf-8',
    'icon.svg': 'image/svg+xml',
    'icons.svg': 'image/svg+xml',
  }

  for (const [name, type] of Object.entries(TYPES) as [keyof typeof TYPES, string][]) {
    it(`serves ${name} with its content type, without a login, as immutable`, async () => {
      const reply = await send(api.url + asset(name), 'GET')
      expect(reply.status).to.equal(200)
      expect(reply.text).to.not.equal('')
      expect(reply.headers.get('content-type')).to.equal(type)
      expect(reply.headers.get('x-content-type-options')).to.equal('nosniff')
      expect(reply.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable')
    })
  }

  it('keeps the style sheets of a page within 25 KB, before compression', async () => {
    const sheets = await Promise.all(
      (['font.css', 'base.css', 'panel.css'] as const).map((name) => send(api.url + asset(name), 'GET')),
    )
    expect(sheets.reduce((sum, { text }) => sum + text.length, 0)).to.be.at.most(25_000)
  })

  it('responds 404 for another hash, another name or a path', async () => {
    const hash = asset('panel.css').split('/').at(-2)
    const others = [`${hash}/panel.js`, 'aaaaaaaaaaaa/panel.css', `${hash}/none.css`, `${hash}/`, 'panel.css']
    for (const path of [...others, `${hash}/..%2f..%2fassets.ts`, `${hash}/__proto__`]) {
      const reply = await send(`${api.url}/painel/assets/${path}`, 'GET')
      expect(reply.text, path).to.not.include('var(--')
      expect(reply.headers.get('cache-control') ?? '', path).to.not.include('immutable')
    }
  })
})
