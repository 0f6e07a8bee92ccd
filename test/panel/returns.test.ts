import { expect } from 'chai'
import { figuresIn } from '../figures/parse.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { type PanelUser, panelUser, textIn } from '../support/panel.ts'
import { createTestUser, openTill, type TestTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

describe('returns in the panel and at tills', () => {
  const api = useApi()
  let company: TestCompany
  let user: PanelUser
  let till: TestTill
  let [cash, credit, item, customer] = [0, 0, 0, 0]

  before(async () => {
    company = await api.company()
    user = await panelUser(api, company)
    till = await openTill(api.url, company)
    cash = await company.paymentType('cash')
    credit = await company.paymentType('exchange_credit')
    item = (await company.post('/catalog/items', { name: 'Camisa', price: '10.00', stock: '99', unit: 'UN' })).body.data
      .id
    customer = (await company.post('/customers', { name: 'Eva' })).body.data.id
  })

  const sold = async (): Promise<number> =>
    (
      await company.post('/sales', {
        items: [{ catalog_item_id: item, quantity: '3' }],
        payments: [{ payment_type_id: cash, amount: '30.00' }],
      })
    ).body.data.id

  const sellAndReturn = async (): Promise<Json> => {
    const body = {
      reason: 'x',
      items: [{ line: 0, quantity: '1' }],
      refunds: [{ payment_type_id: cash, amount: '10.00' }],
    }
    const reply = await company.post(`/sales/${await sold()}/returns`, body, {
      'idempotency-key': String(Math.random()),
    })
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data
  }

  it('goods come back on one page and give store credit [PANEL-580] [CREDIT-1] [CREDIT-3]', async () => {
    const sale = await sold()
    const path = `/painel/vendas/${sale}/devolver`
    expect(textIn((await user.get(`/painel/vendas/${sale}`)).html)).to.include('Devolver mercadoria')
    const form = (await user.get(path)).html
    expect(form).not.to.include(' checked').and.not.to.include('value="3"')
    expect(textIn(form))
      .to.include('Vendido a R$ 10,00. Até 3 UN, que valem R$ 30,00.')
      .and.include('A devolver: R$ 0,00')
    const summed = await user.submit(path, { q0: '1,5', calcular: 's' })
    expect([summed.status, textIn(summed.html).includes('A devolver: R$ 15,00')]).to.deep.equal([200, true])
    expect(summed.html).to.include('value="1,5"')
    const over = await user.submit(path, { q0: '4', calcular: 's' })
    expect(textIn(over.html)).to.include('A devolver: R$ 0,00').and.include('Confira Camisa: resta devolver 3 UN')
    const chosen = { q0: '2', n0: 'on', reason: 'Defeito' }
    const refused = async (fields: object, told: string) => {
      const answer = await user.submit(path, { ...chosen, ...fields })
      expect([answer.status, textIn(answer.html).includes(told)], told).to.deep.equal([422, true])
    }
    await refused({ q0: '4' }, 'resta devolver 3 UN')
    await refused({ q0: '' }, 'informe a quantidade de ao menos um item')
    await refused({}, 'As formas devem somar R$ 20,00')
    const ways = { payment_type_id: String(cash), other_type_id: String(credit), other_amount: '5,00' }
    await refused({ ...ways, other_amount: '20,01' }, 'não pode passar de R$ 20,00')
    expect(textIn((await user.get(`${path}?customer_id=ev`)).html)).to.include('Eva')
    await refused({ ...ways, customer_id: 'Bia' }, 'não encontrado')
    expect((await company.get(`/sales/${sale}/returns`)).body.data).to.deep.equal([])
    const done = await user.submit(path, { ...chosen, ...ways, customer_id: 'Eva' })
    expect(done.status, textIn(done.html)).to.equal(303)
    const [shown] = (await company.get(`/sales/${sale}/returns`)).body.data
    expect(shown).to.deep.include({ total: '20.00', reason: 'Defeito', credit_customer_id: customer })
    expect(shown.refunds.map(({ amount }: Json) => amount)).to.deep.equal(['15.00', '5.00'])
    expect(shown.items[0]).to.include({ quantity: '2.000', amount: '20.00', restock: false })
    const undo = `/painel/devolucoes/${(await sellAndReturn()).id}/desfazer`
    expect((await user.get(undo.replace('/desfazer', ''))).html).to.include('Desfazer devolução')
    expect((await user.submit(undo, { reason: 'Engano' })).status).to.equal(303)
    const undone = (await company.get(undo.replace('/painel/devolucoes', '/returns').replace('/desfazer', ''))).body
      .data
    expect(undone).to.include({ reversal_reason: 'Engano' })
    const moves = (await company.get('/stock/movements?kind=return&limit=200')).body.data
    expect(moves.at(-1)).to.include({ quantity: '-1.000', record: `return/${undone.id}` })
    const other = (await sellAndReturn()).id
    const reversed = await company.post(`/returns/${other}/reverse`, { reason: 'Engano' })
    expect(reversed.status, reversed.text).to.equal(200)
    expect(reversed.body.data).to.include({ id: other, reversal_reason: 'Engano' })
    expect((await user.get('/painel/vendas')).html).to.include('href="/painel/devolucoes"')
    const listed = textIn((await user.get('/painel/devolucoes')).html)
    expect(listed).to.include('Defeito')
    expect(listed).to.match(/Devolução desfeita: Engano cash −R\$ 10,00 −R\$ 10,00/)
    expect(textIn((await user.get(`/painel/devolucoes/${shown.id}`)).html))
      .to.include('Camisa')
      .and.include(`Crédito de troca para Cliente ${customer}`)
    expect(textIn((await user.get(`/painel/clientes/${customer}`)).html)).to.include('Saldo R$ 5,00')
    const { balance, movements } = (await company.get(`/customers/${customer}/credit`)).body.data
    expect([balance, movements[0].document]).to.deep.equal(['5.00', `return/${shown.id}`])
    const forgotten = await company.post(`/customers/${customer}/forget`, { ground: 'holder_request' })
    expect(forgotten.status).to.equal(409)
    expect(forgotten.body.error.details.needed_by).to.deep.equal([{ kind: 'store_credit', id: customer, until: null }])
    expect((await company.get('/customers/999999/credit')).status).to.equal(404)
  })

  it('stand in the items, the history and the receipt of their sale', async () => {
    const sale = await sold()
    const of = `venda/${sale}`
    const page = async (path = '') => (await user.get(`/painel/vendas/${sale}${path}`)).html
    for (const path of ['', '/recibo']) expect(textIn(await page(path))).not.to.include('Devolvido')
    for (const quantity of ['1.5', '0.5']) {
      const refunds = [{ payment_type_id: cash, amount: quantity === '1.5' ? '15.00' : '5.00' }]
      const body = { reason: `Voltou ${quantity}`, items: [{ line: 0, quantity }], refunds }
      await company.post(`/sales/${sale}/returns`, body, { 'Idempotency-Key': `${of}/${quantity}` })
    }
    const figures = { [`${of}/0.voltou`]: 2, [`${of}.devolvido`]: 20, [`${of}.liquido`]: 10 }
    for (const path of ['', '/recibo']) expect(figuresIn(await page(path)), path).to.include(figures)
    expect(textIn(await page('/recibo'))).to.include('Devolvido: 2')
    const shown = textIn(await page())
    expect(shown.slice(shown.indexOf('Histórico')))
      .to.include('Voltou 1.5')
      .and.include('Voltou 0.5')
  })

  it('come back alone where the debt was deleted, in API and panel alike [RETURN-780]', async () => {
    const account = await company.paymentType('credit_account')
    const cake = (await company.post('/catalog/items', { name: 'Bolo', price: '10.00' })).body.data.id
    const owing = {
      ...{ offline_id: 'fiado', status: 'completed', created_at: new Date(Date.now() - 60_000).toISOString() },
      items: [{ product_id: cake, quantity: 2, price: 10, total: 20 }],
      payments: [{ payment_type_id: account, amount: 20, status: 'pending' }],
      total: 20,
    }
    const [{ sale_id }] = (await till.post('/sync/sales', { sales: [owing] })).body.results
    const [debt] = (await company.get('/finance/receivables?origin=sale&limit=100')).body.data
    expect((await user.submit(`/painel/contas-a-receber/${debt.id}/excluir`, {})).status).to.equal(303)
    const lines = [{ line: 0, quantity: '1' }]
    const refunds = [{ payment_type_id: cash, amount: '10.00' }]
    const giveBack = (refunds: readonly object[]) =>
      company.post(
        `/sales/${sale_id}/returns`,
        { reason: 'Defeito', items: lines, refunds },
        { 'Idempotency-Key': `fiado-${refunds.length}` },
      )
    const asked = await giveBack(refunds)
    expect([asked.status, asked.body.error.details?.due], asked.text).to.deep.equal([422, '0.00'])
    const alone = await giveBack([])
    expect([alone.status, alone.body.data.total], alone.text).to.deep.equal([201, '0.00'])
    const how = `/painel/vendas/${sale_id}/devolver`
    const form = textIn((await user.get(how)).html)
    expect(form).to.include('só a mercadoria volta').and.not.include('Outra forma')
    expect((await user.submit(how, { q0: '1', reason: 'Defeito' })).status).to.equal(303)
    expect((await company.get(`/sales/${sale_id}`)).body.data.items[0].returned).to.equal('2.000')
  })

  it('and cancellations take their money out of the open session that the form names [PANEL-603] [CASH-9]', async () => {
    const [sale, other] = [await sold(), await sold()]
    const drawer = async () => (await company.get('/cash-sessions')).body.data[0]
    const cancel = (fields: object) => user.submit(`/painel/vendas/${sale}/cancelar`, { reason: 'Engano', ...fields })
    expect(textIn((await user.get(`/painel/vendas/${sale}/cancelar`)).html)).to.include('Nenhuma gaveta aberta')
    const movement = { offline_id: 'm1', session_id: 'caixa-1', kind: 'opened', amount: 90, at: '2026-03-10T12:00:00Z' }
    await till.post('/sync/cash', { movements: [movement] })
    const form = textIn((await user.get(`/painel/vendas/${sale}/cancelar`)).html)
    expect(form)
      .to.include('Fora das gavetas')
      .and.match(/Gaveta de \S+, 10\/03, manhã/)
    const unknown = await cancel({ cash_session_id: 'caixa-2' })
    expect([unknown.status, textIn(unknown.html).includes('não é uma sessão de caixa aberta')]).to.deep.equal([
      422,
      true,
    ])
    expect((await company.get(`/sales/${sale}`)).body.data.status).to.equal('completed')
    expect((await cancel({ cash_session_id: 'caixa-1' })).status).to.equal(303)
    const chosen = `/painel/vendas/${other}/devolver`
    const how = { q0: '1', reason: 'Defeito', payment_type_id: String(cash), cash_session_id: 'caixa-1' }
    const done = await user.submit(chosen, how)
    expect(done.status, textIn(done.html)).to.equal(303)
    const [shown] = (await company.get(`/sales/${other}/returns`)).body.data
    expect(textIn((await user.get(`/painel/devolucoes/${shown.id}`)).html)).not.to.match(/Crédito de troca|Avisos/)
    expect(await drawer()).to.include({ expected: '50.00' })
    expect((await drawer()).cash).to.include({ opening: '90.00', cancelled: '30.00', returned: '10.00' })
    await till.post('/sync/cash', { movements: [{ ...movement, offline_id: 'm2', kind: 'closed', amount: null }] })
    expect((await user.submit(chosen, how)).status).to.equal(422)
  })

  it('of tills are uploaded, also before their sale, and each has a result [UP-100] [UP-101]', async () => {
    const back = (offline_id: string, fields: object = {}) => ({
      offline_id,
      sale_offline_id: 'v1',
      reason: 'Troca',
      returned_at: new Date().toISOString(),
      items: [{ line: 0, quantity: 1 }],
      refunds: [{ payment_type_id: cash, amount: 10 }],
      ...fields,
    })
    const first = back('d1')
    const upload = async (...returns: unknown[]): Promise<Json> => (await till.post('/sync/returns', { returns })).body
    const early = await upload(first, { ...back('d2'), items: [] }, 7)
    expect(early.summary).to.deep.equal({ total_processed: 3, success_count: 1, error_count: 2 })
    expect(early.results[0]).to.include({ offline_id: 'd1', status: 'created', awaits_sale: true })
    const sale = {
      offline_id: 'v1',
      status: 'completed',
      created_at: new Date(Date.now() - 60_000).toISOString(),
      items: [{ product_id: item, quantity: 1, price: 10, total: 10 }],
      payments: [{ payment_type_id: cash, amount: 10, status: 'completed' }],
      total: 10,
    }
    const [{ sale_id }] = (await till.post('/sync/sales', { sales: [sale] })).body.results
    const shown = (await company.get(`/returns/${early.results[0].return_id}`)).body.data
    expect(shown).to.include({ sale_id, offline_id: 'd1', total: '10.00' })
    const third = back('d3')
    const late = await upload(first, third)
    expect(late.results.map(({ status }: Json) => status)).to.deep.equal(['duplicate', 'refused'])
    expect(late.summary).to.deep.equal({ total_processed: 2, success_count: 1, error_count: 1 })
    expect(late.results[1]).to.deep.include({ offline_id: 'd3', return_id: null, code: 'already_returned' })
    const tills = (await user.get('/painel/caixas')).html
    expect(tills).to.include('Devoluções recusadas').and.to.include('Mais do que restava da venda')
    expect(textIn((await user.get('/painel')).html)).to.include('1 devolução recusada para resolver')
    const [, refused = ''] = /href="(\/painel\/caixas\/devolucoes-recusadas\/\d+)"/.exec(tills) ?? []
    expect((await user.get(refused)).html).to.include('Registrar devolução')
    expect((await user.submit(`${refused}/registrar`, {})).html).to.include('Não pode ser registrada')
    await user.submit(`${refused}/resolver`, { note: 'Conferida com o caixa' })
    expect((await upload(third)).results[0]).to.include({ status: 'resolved' })
    const cancelled = (await till.post('/sync/sales', { sales: [{ ...sale, status: 'cancelled' }] })).body.results[0]
    expect(cancelled).to.include({ status: 'error', code: 'sale_returned' })
  })

  it('are announced as GET shows them, by name only [HOOK-121]', async () => {
    const listen = async (events: string[]): Promise<number> =>
      (await company.post('/webhooks', { url: 'https://erp.example/gancho', events })).body.data.id
    const named = await listen(['sale.returned'])
    await listen(['basic'])
    const manager = await openTill(api.url, company, await createTestUser(company, 'owner'))
    const returned = {
      ...{ offline_id: 'd9', sale_id: await sold(), reason: 'Troca', returned_at: new Date().toISOString() },
      items: [{ line: 0, quantity: 1 }],
      refunds: [{ payment_type_id: cash, amount: 10 }],
    }
    const [{ return_id }] = (await manager.post('/sync/returns', { returns: [returned] })).body.results
    const { rows } = await api.core.pool.query<{ body: string; webhook_id: number }>(
      `select m.body, d.webhook_id from ops.webhook_messages m
       join ops.webhook_deliveries d on d.company_id = m.company_id and d.message_id = m.id
       where m.company_id = $1 and m.event = 'sale.returned'`,
      [company.id],
    )
    expect(rows.map(({ webhook_id }) => webhook_id)).to.deep.equal([named])
    const shown = (await company.get(`/returns/${return_id}`)).body.data
    expect(JSON.parse(rows[0]?.body ?? '').data).to.deep.equal(shown)
  })
})
