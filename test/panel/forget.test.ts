import { expect } from 'chai'
import { problemsIn, textIn, usePanelUser } from '../support/panel.ts'

describe('panel: erasure of a person', () => {
  const { company, user } = usePanelUser('owner')

  it('asks for confirmation, names records that still need the person, and can be queued [PRIV-1, PRIV-4]', async () => {
    const customer = (await company.post('/customers', { name: 'Eva Souza', phone: '11999990000' })).body.data
    const account = { description: 'Fiado de abril', amount: '1.00', due_date: '2026-12-01', customer_id: customer.id }
    const receivable = (await company.post('/finance/receivables', account)).body.data
    const path = `/painel/clientes/${customer.id}`
    expect(textIn((await user.get(path)).html)).to.include('Excluir dados pessoais')
    const asked = textIn((await user.get(`${path}/esquecer`)).html)
    for (const text of ['Esta ação não pode ser desfeita.', 'Serão apagados nome', 'Ficam as vendas'])
      expect(asked).to.include(text)
    const confirm = 'eva souza'
    const empty = await user.submit(`${path}/esquecer`, {})
    expect(problemsIn(empty.html)).to.include('Motivo: preencha este campo')
    const needed = await user.submit(`${path}/esquecer`, { ground: 'holder_request', confirm })
    expect(needed.status).to.equal(409)
    expect(textIn(needed.html)).to.include(
      `Estes registros ainda precisam dos dados: Fiado de abril. Nada foi excluído.`,
    )
    const queued = await user.submit(`${path}/esquecer`, { ground: 'holder_request', queue: 'on', confirm })
    expect(queued.to).to.equal(`${path}?feito=esquecimento-marcado`)
    const waiting = textIn((await user.get(path)).html)
    expect(waiting).to.include('Eva Souza').and.to.include('(11) 99999-0000')
    expect(waiting).to.include('Exclusão do restante quando não houver mais conta ou pedido em aberto')
    expect(waiting).not.to.include('Editar cliente')
    await company.call('DELETE', `/finance/receivables/${receivable.id}`)
    const done = await user.submit(`${path}/esquecer`, { ground: 'holder_request', confirm })
    expect(done.to).to.equal(`${path}?feito=esquecida`)
    for (const page of [path, '/painel/clientes']) {
      const shown = textIn((await user.get(page)).html)
      expect(shown, page).to.include('Titular anonimizado').and.not.to.include('Eva')
    }
    expect(textIn((await user.get(`${path}/esquecer`)).html)).to.include('Os dados pessoais já foram excluídos.')
  })

  it('shows the person in the title, and debts with links before the button', async () => {
    const person = { name: 'Eva Souza', document: '52998224725' }
    const { id } = (await company.post('/customers', person)).body.data
    const account = { description: 'Fiado de maio', amount: '12.50', due_date: '2026-12-01', customer_id: id }
    const receivable = (await company.post('/finance/receivables', account)).body.data
    const { html } = await user.get(`/painel/clientes/${id}/esquecer`)
    expect(html).to.match(/<h1[^>]*>Excluir dados pessoais de Eva Souza \(529\.982\.247-25\)</)
    const before = html.slice(0, html.indexOf('<form method="post" action="/painel/clientes'))
    expect(before).to.include(`href="/painel/contas-a-receber/${receivable.id}"`)
    expect(textIn(before))
      .to.include('Fiado de maio , em aberto')
      .and.to.include('R$ 12,50')
      .and.to.include('o restante é excluído quando não houver mais nada')
  })

  it('asks for the person’s name [PANEL-457]', async () => {
    const { id } = (await company.post('/customers', { name: 'Eva Souza' })).body.data
    const path = `/painel/clientes/${id}`
    const wrong = await user.submit(`${path}/esquecer`, { ground: 'holder_request', confirm: 'Eva' })
    expect(problemsIn(wrong.html)).to.include('Confirme o nome da pessoa: não é o nome desta pessoa')
    expect((await company.get(`/customers/${id}`)).body.data).to.include({ name: 'Eva Souza', forgotten_at: null })
    const done = await user.submit(`${path}/esquecer`, { ground: 'holder_request', confirm: 'EVA  souza' })
    expect(done.to).to.equal(`${path}?feito=esquecida`)
  })

  it('leaves erased persons last in the list, without a data export [PANEL-458]', async () => {
    const { id } = (await company.post('/customers', { name: 'Ana' })).body.data
    await company.post('/customers', { name: 'Zoé' })
    expect((await user.get(`/painel/clientes/${id}`)).html).to.include('Baixar dados')
    await user.submit(`/painel/clientes/${id}/esquecer`, { ground: 'holder_request', confirm: 'Ana' })
    expect(textIn((await user.get('/painel/clientes')).html)).to.match(/Zoé .*Titular anonimizado/)
    expect((await user.get(`/painel/clientes/${id}`)).html).not.to.include('Baixar dados')
  })
})
