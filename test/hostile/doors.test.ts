import { expect } from 'chai'
import { adjustRole } from '#commands/role-commands.ts'
import { createUser, deactivateUser, updateUser } from '#commands/user-commands.ts'
import { ROLE_PRESETS, ROLES } from '#domain/rights.ts'
import { BEFORE } from '#panel/forms/panel-form.ts'
import type { Json } from '../support/api.ts'
import { type Counter, openCounter, upload } from '../support/offline-sales.ts'
import { browser, hiddenFields, type PanelUser, panelUser, textIn } from '../support/panel.ts'
import { cheapHash } from '../support/passwords.ts'
import { createTestUser, openTill, type TestTill } from '../support/till.ts'
import { useCompany } from '../support/use-api.ts'
import { unreconciled } from './books.ts'

const AT = () => new Date(Date.now() - 60_000).toISOString()
const DIGITS = '9'.repeat(20_000)

describe('the doors beside the panel, as a thief tries them', () => {
  const { api, company } = useCompany()
  let counter: Counter
  let credit = 0
  let customer = 0
  let till: TestTill
  let other: TestTill
  let clerk: PanelUser
  let owner: PanelUser
  let named = 0

  before(async () => {
    counter = await openCounter(company, '1000')
    credit = await company.paymentType('exchange_credit')
    customer = (await company.post('/customers', { name: 'Eva' })).body.data.id
    ;[till, other] = [await openTill(api.url, company), await openTill(api.url, company)]
    clerk = await panelUser(api, company, 'clerk')
    owner = await panelUser(api, company)
  })
  afterEach(async () => expect(await unreconciled(api.core.pool, company.id)).to.deep.equal([]))

  const back = (fields: object) => ({
    ...{ offline_id: `d${++named}`, reason: 'Defeito', returned_at: AT(), items: [{ line: 0, quantity: 1 }] },
    ...{ refunds: [{ payment_type_id: counter.cash, amount: 10 }], ...fields },
  })
  const giveBack = async (of: TestTill, ...returns: object[]): Promise<Json[]> =>
    (await of.post('/sync/returns', { returns })).body.results
  const stock = async () => (await company.get(`/catalog/items/${counter.product}`)).body.data.stock
  const returnsOf = async (id: number) => (await company.get(`/sales/${id}/returns`)).body.data.length
  /** A sale of a till, with its id. */
  const sold = async (of: TestTill, fields = {}): Promise<number> =>
    (await upload(of, [counter.sale(`v${++named}`, { created_at: AT(), ...fields })])).results[0].sale_id

  it('keeps 20,000 digits out of every interface [VAL-741]', async () => {
    expect((await company.post('/customers', { name: 'Rui', phone: DIGITS })).status).to.equal(422)
    expect((await company.get(`/customers?phone=${DIGITS.slice(0, 8_000)}`)).status).to.equal(422)
    const form = { name: 'Rui', phone: DIGITS, document: DIGITS, 'address.zip': DIGITS }
    expect((await clerk.submit('/painel/clientes/novo', form, '/painel/clientes')).status).to.equal(422)
    const [movement] = (await till.post('/sync/cash', { movements: [{ offline_id: DIGITS, at: DIGITS }] })).body.results
    expect(movement.status).to.equal('error')
  })

  it('gives nothing back for sales of others, for more than was sold or paid, or above the limit [UP-764]', async () => {
    const [theirs, own] = [await sold(other), await sold(till)]
    const before = await stock()
    const answers = await giveBack(
      till,
      back({ sale_id: theirs }),
      back({ sale_id: 999_999 }),
      back({ sale_id: own, items: [{ line: 0, quantity: 999_999 }] }),
      back({ sale_id: own, refunds: [{ payment_type_id: credit, amount: 5_000 }], customer_id: customer }),
      back({ sale_id: own, refunds: [{ payment_type_id: counter.cash, amount: 10.01 }] }),
    )
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(5).fill('refused'))
    expect(answers[0].message).to.equal(answers[1].message)
    for (const answer of answers) expect(JSON.stringify(answer)).not.to.match(/\d+[.,]\d{2}/)
    expect(await stock()).to.equal(before)
    expect((await giveBack(till, back({ sale_id: own })))[0].status).to.equal('created')
    const cancelled = await company.post(`/sales/${await sold(till)}/cancel`, {})
    expect(cancelled.status, 'a counter sale, by the API').to.equal(409)
  })

  it('cancels the sale of no other user, whatever its upload says [UP-1080]', async () => {
    const [at, id] = [AT(), `v${named + 1}`]
    await sold(other, { created_at: at })
    const before = await stock()
    const cancelled = counter.sale(id, { created_at: at, status: 'cancelled' })
    const [refused] = (await upload(till, [cancelled])).results
    expect(refused).to.include({ status: 'error', code: 'permission_required', sale_id: null })
    expect([await stock(), (await company.get('/sales')).body.data[0].status]).to.deep.equal([before, 'completed'])
    expect((await owner.get('/painel/caixas/recusadas')).html).to.include('venda é de outro usuário')
    expect((await upload(other, [cancelled])).results[0].status).to.equal('cancelled')
  })

  it('keeps 1,000 returns of sales that never come from the sales of others [UP-101]', async () => {
    const waiting = Array.from({ length: 60 }, (_, n) => back({ sale_offline_id: `nunca ${n % 3}` }))
    const states = (await giveBack(till, ...waiting)).map(({ status }) => status)
    expect([states.slice(0, 50), states.slice(50)]).to.deep.equal([
      Array(50).fill('created'),
      Array(10).fill('refused'),
    ])
    expect((await giveBack(other, back({ sale_offline_id: 'logo' })))[0]).to.include({ status: 'created' })
    const [sale] = (await upload(other, [counter.sale('logo', { created_at: AT() })])).results
    expect([sale.status, await returnsOf(sale.sale_id)]).to.deep.equal(['created', 1])
    expect((await upload(other, [counter.sale('nunca 1', { created_at: AT() })])).results[0].status).to.equal('created')
  })

  it('moves and closes the drawer of no other user, and receives no account beyond what is open [CASH-761]', async () => {
    const move = async (of: TestTill, fields: object) => {
      const movement = { offline_id: `m${++named}`, session_id: 'gaveta', kind: 'out', amount: 5, at: AT(), ...fields }
      return (await of.post('/sync/cash', { movements: [movement] })).body.results[0].status
    }
    expect(await move(other, { kind: 'opened', amount: 50 })).to.equal('created')
    for (const fields of [{}, { kind: 'in' }, { kind: 'closed', amount: null, counted: { cash: 0 } }])
      expect(await move(till, fields)).to.equal('refused')
    const account = { description: 'Fiado', amount: '30.00', due_date: '2099-01-01' }
    const { id: receivable_id } = (await company.post('/finance/receivables', account)).body.data
    expect(await move(other, { kind: 'received', amount: 30.01, receivable_id })).to.equal('error')
    expect(await move(other, { kind: 'received', amount: 30, receivable_id: 999_999 })).to.equal('error')
    expect(await move(other, { kind: 'received', amount: 30, receivable_id })).to.equal('created')
    const { cash, status } = (await company.get('/cash-sessions?session_id=gaveta')).body.data[0]
    expect([status, cash.out, cash.in, cash.received]).to.deep.equal(['open', '0.00', '0.00', '30.00'])
  })

  const ACCOUNTS = '/painel/contas-a-receber'
  const settle = (user: PanelUser, id: number, fields: Record<string, string>) =>
    user.submit(`${ACCOUNTS}/${id}/liquidar`, { payment_method: 'cash', ...fields })

  async function edit(user: PanelUser, id: number, amount: string) {
    const path = `${ACCOUNTS}/${id}/editar`
    const form = hiddenFields((await user.get(path)).html, path)
    return user.post(path, { ...form, ...JSON.parse(form[BEFORE] ?? '{}'), amount })
  }

  for (const [how, end] of [
    ['deleted', (id: number) => owner.submit(`${ACCOUNTS}/${id}/excluir`, {})],
    ['edited to 0.01', (id: number) => edit(owner, id, '0,01')],
    ['settled with a discount', (id: number) => settle(owner, id, { received: '0,00', discount: '90,00' })],
  ] as const)
    it(`gives no cash back for goods whose debt was ${how} [RETURN-780]`, async () => {
      const account = { payment_type_id: counter.account, amount: 90, status: 'pending' }
      const items = [{ product_id: counter.product, quantity: 1, price: 90, total: 90 }]
      const id = await sold(till, { items, payments: [account], total: 90, amount_received: 0, customer_id: customer })
      const receivables: Json[] = (await company.get('/finance/receivables?status=pending&limit=100')).body.data
      const ended = await end(receivables.find(({ sale_id }) => sale_id === id)?.id)
      expect(ended.status, textIn(ended.html)).to.equal(303)
      const refunds = [{ payment_type_id: counter.cash, amount: '90.00' }]
      const body = { reason: 'x', items: [{ line: 0, quantity: '1' }], refunds }
      expect((await company.post(`/sales/${id}/returns`, body, { 'idempotency-key': `r${id}` })).status).to.equal(422)
      const byTill = { sale_id: id, refunds: [{ payment_type_id: counter.cash, amount: 90 }] }
      expect((await giveBack(till, back(byTill)))[0].status).to.equal('refused')
      expect(await returnsOf(id)).to.equal(0)
    })

  it('takes no receipt back whose money went out with the goods [RETURN-780]', async () => {
    const account = { payment_type_id: counter.account, amount: 90, status: 'pending' }
    const items = [{ product_id: counter.product, quantity: 1, price: 90, total: 90 }]
    const id = await sold(till, { items, payments: [account], total: 90, amount_received: 0, customer_id: customer })
    const receivables: Json[] = (await company.get('/finance/receivables?status=pending&limit=100')).body.data
    const debt = receivables.find(({ sale_id }) => sale_id === id)?.id
    expect((await settle(owner, debt, { received: '90,00' })).status).to.equal(303)
    const payment = (await company.get(`/finance/receivables/${debt}`)).body.data.payments[0].id
    const refunds = [{ payment_type_id: counter.cash, amount: '90.00' }]
    const body = { reason: 'x', items: [{ line: 0, quantity: '1' }], refunds }
    expect((await company.post(`/sales/${id}/returns`, body, { 'idempotency-key': `b${id}` })).status).to.equal(201)
    const undo = `${ACCOUNTS}/${debt}/pagamentos/${payment}/estornar`
    expect((await owner.submit(undo, { reason: 'Engano' })).status).to.equal(409)
    const again = await company.post(`/sales/${id}/returns`, body, { 'idempotency-key': `c${id}` })
    expect(again.body.error.code).to.equal('already_returned')
  })

  it('gives eight discounts of 100.00 on one account no more than one [ROLE-780]', async () => {
    const account = { description: 'Fiado grande', amount: '900.00', due_date: '2099-01-01' }
    const { id } = (await company.post('/finance/receivables', account)).body.data
    const forgiving = await panelUser(api, company, 'clerk')
    for (let n = 0; n < 8; n++) await settle(forgiving, id, { received: '0,00', discount: '100,00' })
    const lowered = await edit(forgiving, id, '200,00')
    expect([lowered.status, (await forgiving.get(`${ACCOUNTS}/${id}/excluir`)).status]).to.deep.equal([403, 403])
    const { open_amount, payments } = (await company.get(`/finance/receivables/${id}`)).body.data
    expect([open_amount, payments.length]).to.deep.equal(['800.00', 1])
  })

  it('takes no sale of another century, and every start page goes on [UP-761]', async () => {
    for (const created_at of ['9999-12-31T23:30:00Z', '0001-01-01T00:00:00Z', '2262-04-11T23:47:16.855Z']) {
      const [result] = (await upload(till, [counter.sale(`t${++named}`, { created_at })])).results
      expect(result.status, created_at).to.equal('error')
    }
    for (const role of ROLES)
      expect((await (await panelUser(api, company, role)).get('/painel')).status, role).to.equal(200)
  })

  it('adds up what is beyond 2^53 cents, and records the sales of a till that is paid from it', async () => {
    const total = 9_999_999_999.99
    const items = [{ product_id: counter.product, quantity: 1, price: total, total }]
    const payments = [{ payment_type_id: credit, amount: total, status: 'completed' }]
    const fields = { created_at: AT(), items, payments, total, amount_received: 0, customer_id: customer }
    const sales = Array.from({ length: 90 }, () => counter.sale(`g${++named}`, fields))
    const { results } = await upload(till, sales)
    expect(new Set(results.map(({ status }: Json) => status))).to.deep.equal(new Set(['created']))
    for (const path of ['', '/caixas/fechamento', `/clientes/${customer}`, '/vendas'])
      expect((await owner.get(`/painel${path}`)).status, path).to.equal(200)
    expect((await company.get(`/customers/${customer}/credit`)).body.data.balance).to.equal('-899999999999.10')
  })

  it('shows a typed document as text, and returns of others to no clerk [STOCK-740] [ROLE-105]', async () => {
    for (const document of ['sale/x', 'sale/5', 'return/1'])
      await company.post('/stock/movements', {
        ...{ catalog_item_id: counter.product, kind: 'purchase', quantity: '1', document },
      })
    const id = (await counter.sell()).id
    const refunds = [{ payment_type_id: counter.cash, amount: '10.00' }]
    const body = { reason: 'Segredo de outro', items: [{ line: 0, quantity: '1' }], refunds }
    expect((await company.post(`/sales/${id}/returns`, body, { 'idempotency-key': 's' })).status).to.equal(201)
    const { status, html } = await clerk.get(`/painel/catalogo/movimentacao`)
    expect(status).to.equal(200)
    expect(html).to.include('sale/5').and.not.include('href="/painel/vendas/5"').and.not.include('Segredo de outro')
  })

  it('grants what shows the ledger with what it shows, and approves no guess [ROLE-111] [ROLE-121]', async () => {
    const limits = { return_limit: '100.00', discount_limit: '100.00' }
    await company.run(adjustRole, { role: 'manager', permissions: ['manage_integrations'], ...limits })
    const manager = await panelUser(api, company, 'manager')
    expect((await manager.get('/painel/contas-a-pagar')).status).to.equal(200)
    const path = `/painel/vendas/${(await counter.sell({ seller: { user_id: clerk.id } })).id}/cancelar`
    await company.run(adjustRole, { role: 'clerk', permissions: ['sell'], ...limits })
    const guess = async (approver_email: string) =>
      textIn((await clerk.submit(path, { reason: 'x', approver_email, approver_secret: '123987' })).html)
    const stranger = await panelUser(api, await api.company())
    const answers = [await guess(owner.email), await guess(stranger.email), await guess('nobody@example.com')]
    for (const answer of answers) expect(answer).to.include('e-mail, PIN ou senha incorretos')
    for (let n = 0; n < 3; n++) await guess(owner.email)
    expect(await guess(owner.email)).to.include('muitas tentativas')
    expect((await owner.logIn()).status).to.equal(303)
    await company.run(adjustRole, { role: 'clerk', permissions: [...ROLE_PRESETS.clerk.granted], ...limits })
  })

  it('takes no settings of A by a link that an owner of B made before [ROLE-721]', async () => {
    const elsewhere = await api.company()
    const [thief, victim] = [await panelUser(api, elsewhere), await panelUser(api, elsewhere, 'clerk')]
    const made = await thief.submit(`/painel/configuracoes/usuarios/${victim.id}/nova-senha`, {})
    const [, codigo = ''] = /codigo=(tb_\w+_[\w-]{43})/.exec(made.html) ?? []
    const { email } = victim
    const joined = { name: 'Eva', email, role: 'owner' as const, password_hash: await cheapHash('x') }
    await company.run(createUser, joined)
    const password = 'a senha de quem tem o link'
    const used = await browser(api.url).post('/painel/nova-senha', { codigo, password, repeated: password })
    expect(used.status).to.equal(410)
    expect((await browser(api.url).post('/painel/entrar', { email, password })).status).not.to.equal(303)
  })

  it('ends pages and tokens of who is deactivated or gets another role [ROLE-725]', async () => {
    const user = await createTestUser(company, 'owner')
    const lost = await openTill(api.url, company, user)
    await company.run(updateUser, { id: user.id, role: 'clerk' })
    expect((await lost.get('/sync/status')).status).to.equal(401)
    const leaving = await panelUser(api, company, 'clerk')
    expect((await leaving.get('/painel')).status).to.equal(200)
    await company.run(deactivateUser, { id: leaving.id })
    expect((await leaving.get('/painel')).status).to.equal(303)
  })
})
