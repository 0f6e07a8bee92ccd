import { expect } from 'chai'
import { figuresIn } from '../figures/parse.ts'
import { type PanelReply, type PanelUser, panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'

const DRAWERS = '/painel/caixas/sessoes'

describe('drawers in the panel', () => {
  const { api, company, user } = usePanelUser('owner')

  const pathOf = ({ to }: PanelReply) => String(to).replace(/\?.*/, '')
  const done = (reply: PanelReply): string => {
    expect(reply.status, problemsIn(reply.html).join()).to.equal(303)
    return pathOf(reply)
  }
  const open = async (who: PanelUser, amount: string) => done(await who.submit(`${DRAWERS}/abrir`, { amount }))
  const move = (who: PanelUser, path: string, kind: 'suprimento' | 'sangria', amount: string) =>
    who.submit(`${path}/${kind}`, { amount })
  const sessions = async () => (await company.get('/cash-sessions')).body.data
  const sessionAt = async (path: string) => (await company.get(`/cash-sessions/${path.split('/').at(-1)}`)).body.data
  const text = async (who: PanelUser, path: string) => textIn((await who.get(path)).html)

  it('are opened, supplied, bled, and closed by a count of notes and coins [DRAWER-1240] [DRAWER-1241]', async () => {
    const path = await open(user, '100')
    expect(problemsIn((await user.submit(`${DRAWERS}/abrir`, { amount: '1' })).html).join()).to.include(
      'você já tem uma gaveta aberta',
    )
    done(await move(user, path, 'suprimento', '20'))
    expect((await move(user, path, 'sangria', '0')).status).to.equal(422)
    done(await move(user, path, 'sangria', '500'))
    expect((await sessionAt(path)).cash).to.include({ opening: '100.00', in: '20.00', out: '500.00' })
    expect(await text(user, '/painel/caixas')).to.include('Minha gaveta')
    expect(problemsIn((await user.submit(`${path}/fechar`, {})).html).join()).to.include('digite 0')
    expect((await user.submit(`${path}/fechar`, { 'pieces.5000': '-1' })).status).to.equal(422)
    expect((await sessionAt(path)).status).to.equal('open')
    const counted = { 'pieces.5000': '2', 'pieces.25': '3', other: '1,10', reason: 'Nota rasgada' }
    done(await user.submit(`${path}/fechar`, counted))
    const closed = await sessionAt(path)
    expect(closed).to.include({ status: 'closed', counted: '101.85', expected: '-380.00', difference: '481.85' })
    expect(closed.name).to.match(/^Gaveta de Pessoa, \d\d\/\d\d, (madrugada|manhã|tarde|noite)$/)
    for (const form of ['sangria', 'suprimento', 'fechar'])
      expect(textIn((await user.get(`${path}/${form}`)).html), form).to.include('já foi fechada')
    await open(user, '10')
  })

  it('with a difference stay a task until it is explained, and again if it changes [DRAWER-1243]', async () => {
    const path = await open(user, '100')
    done(await user.submit(`${path}/fechar`, { other: '80' }))
    expect(await text(user, '/painel')).to.include('com diferença de −R$ 20,00')
    await company.post('/webhooks', { url: 'https://erp.example/gancho', events: ['cash_session.explained'] })
    expect((await user.submit(`${path}/explicar`, { reason: 'other' })).status).to.equal(422)
    expect(await text(user, '/painel')).to.include('com diferença de −R$ 20,00')
    done(await user.submit(`${path}/explicar`, { reason: 'change', note: 'Troco da venda 9' }))
    expect(await text(user, '/painel')).not.to.include('com diferença')
    expect(await text(user, path))
      .to.include('Troco errado ou faltou troco')
      .and.include('Troco da venda 9')
    expect(await sessionAt(path)).to.include({
      reason: 'change',
      note: 'Troco da venda 9',
      explained_by_user_id: user.id,
    })
    const { rows } = await api.core.pool.query<{ body: string }>(
      "select body from ops.webhook_messages where company_id = $1 and event = 'cash_session.explained'",
      [company.id],
    )
    expect(rows.map(({ body }) => JSON.parse(body).data)).to.deep.equal([await sessionAt(path)])
    const { session_id } = await sessionAt(path)
    const late = { ...{ offline_id: 'tardio', session_id, kind: 'in', amount: 50 }, at: new Date().toISOString() }
    const { recordCashMovement, CashMovementInput } = await import('#commands/cash-commands.ts')
    await company.run(recordCashMovement, CashMovementInput.parse(late), 'pdv')
    expect(await text(user, '/painel')).to.include('com diferença de −R$ 70,00')
  })

  it('of a clerk are the own ones, without what should be in them [DRAWER-1242]', async () => {
    const clerk = await panelUser(api, company, 'clerk')
    const others = await open(user, '70')
    const own = await open(clerk, '33')
    for (const path of [others, `${others}/fechar`, `${others}/sangria`])
      expect((await clerk.get(path)).status, path).to.equal(404)
    expect((await clerk.post(`${others}/sangria`, { amount: '5' })).status).not.to.equal(303)
    expect((await clerk.get(`${own}/explicar`)).status).to.equal(403)
    done(await move(user, own, 'sangria', '13'))
    done(await clerk.submit(`${own}/fechar`, { other: '21' }))
    for (const path of [DRAWERS, own, '/painel/caixas']) {
      const { html } = await clerk.get(path)
      expect(
        Object.keys(figuresIn(html)).filter((name) => /esperado|diferenca/.test(name)),
        path,
      ).to.deep.equal([])
      expect(textIn(html), path).to.not.include('R$ 70,00').and.not.include('R$ 20,00').and.not.include('R$ 1,00')
    }
    expect(await text(clerk, own))
      .to.include('Sangria Pessoa')
      .and.include('R$ 21,00')
    expect(await text(user, own)).to.match(/Sangria Pessoa \d+ R\$ 13,00/)
    expect(await sessionAt(own)).to.include({ difference: '1.00', closed_by_user_id: clerk.id })
  })

  const receivable = async (amount: string) =>
    (await company.post('/finance/receivables', { description: 'Fiado', amount, due_date: '2026-03-20' })).body.data
  const drawerOf = async (path: string) => (await sessionAt(path)).session_id

  it('take cash of accounts where the form names them; Pix needs none [DRAWER-1244]', async () => {
    const [path, { id }] = [await open(user, '100'), await receivable('40.00')]
    const pay = `/painel/contas-a-receber/${id}/liquidar`
    const cash_session_id = await drawerOf(path)
    const form = (await user.get(pay)).html
    expect(form).to.include(`<option value="${cash_session_id}"`).and.include('Fora das gavetas')
    const send = (fields: Record<string, string>) => user.submit(pay, { received: '10', ...fields })
    expect((await send({ payment_method: 'cash', cash_session_id: 'nenhuma' })).status).to.equal(422)
    done(await send({ payment_method: 'pix', cash_session_id }))
    done(await send({ payment_method: 'cash', cash_session_id: '' }))
    expect((await sessionAt(path)).cash).to.include({ received: '0.00' })
    done(await send({ payment_method: 'cash', cash_session_id, interest: '1' }))
    expect(await sessionAt(path)).to.include({ expected: '110.00' })
    const { payments } = (await company.get(`/finance/receivables/${id}`)).body.data
    expect(payments.map((each: { cash_session_id: string }) => each.cash_session_id)).to.deep.equal([
      ...[null, null, cash_session_id],
    ])
    // Its drawer is open: it gives the money back.
    done(
      await user.submit(`/painel/contas-a-receber/${id}/pagamentos/${payments[2].id}/estornar`, { reason: 'Engano' }),
    )
    expect(await sessionAt(path)).to.include({ expected: '100.00' })
    done(await send({ payment_method: 'cash', cash_session_id }))
    done(await user.submit(`${path}/fechar`, { other: '110' }))
    const other = await open(user, '50')
    const again = (await company.get(`/finance/receivables/${id}`)).body.data.payments.at(-1)
    const reversal = { reason: 'Engano', cash_session_id: await drawerOf(other) }
    done(await user.submit(`/painel/contas-a-receber/${id}/pagamentos/${again.id}/estornar`, reversal))
    expect(await sessionAt(path)).to.include({ expected: '110.00', difference: '0.00' })
    expect((await sessionAt(other)).cash).to.include({ out: '10.00' })
    expect((await user.get(other)).html).to.include(`/contas-a-receber/${id}"`)
  })

  it('pay bills as bleeds, and take back what is reversed [DRAWER-1245]', async () => {
    const path = await open(user, '100')
    const supplier = (await company.post('/suppliers', { name: 'Padaria Sol', person_type: 'PJ' })).body.data
    const bill = { description: 'Pão', due_date: '2026-03-20', supplier_id: supplier.id }
    const bills = await Promise.all(
      ['30.00', '12.50'].map(
        async (amount) => (await company.post('/finance/payables', { ...bill, amount })).body.data,
      ),
    )
    const cash_session_id = await drawerOf(path)
    const accounts = bills.map(({ id, open_amount }) => `${id}:${open_amount}`)
    done(
      await user.submit(`/painel/fornecedores/${supplier.id}/liquidar`, {
        ...{ payment_method: 'cash', cash_session_id, accounts },
      }),
    )
    expect(await sessionAt(path)).to.include({ expected: '57.50' })
    expect((await sessionAt(path)).cash).to.include({ out: '42.50' })
    expect(await text(user, path)).to.include('Conta paga')
    const [{ id, payments }] = (await company.get('/finance/payables')).body.data
    done(
      await user.submit(`/painel/contas-a-pagar/${id}/pagamentos/${payments[0].id}/estornar`, {
        ...{ reason: 'Engano', cash_session_id },
      }),
    )
    expect((await sessionAt(path)).cash.in).to.equal(payments[0].received)
  })

  it('stand in the closing of the day with reason and a line to sign [DRAWER-1247]', async () => {
    const path = await open(user, '100')
    done(await move(user, path, 'sangria', '25'))
    done(await user.submit(`${path}/fechar`, { other: '70' }))
    done(await user.submit(`${path}/explicar`, { reason: 'miscount' }))
    const closing = await text(user, '/painel/caixas/fechamento')
    const { name } = await sessionAt(path)
    expect(closing).to.include(
      `${name} Abertura R$ 100,00 Sangrias R$ 25,00 Esperado na gaveta R$ 75,00 Contado R$ 70,00 Diferença −R$ 5,00`,
    )
    expect(closing).to.include('Motivo Erro na contagem Assinatura')
    expect((await sessions()).length).to.equal(1)
  })
})
