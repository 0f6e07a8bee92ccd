import { expect } from 'chai'
import { problemsIn, textIn, usePanelUser } from '../support/panel.ts'

describe('panel: erasure of a person', () => {
  const { company, user } = usePanelUser('owner')

  it('asks for confirmation, names records that still need the person, and can be queued [PRIV-1, PRIV-4]', async () => {
    const customer = (await company.post('/customers', { name: 'Eva Souza', phone: '11999990000' })).body.data
    const account = { description: 'Conta', amount: '1.00', due_date: '2026-12-01', customer_id: customer.id }
    const receivable = (await company.post('/finance/receivables', account)).body.data
    const path = `/painel/clientes/${customer.id}`
    expect(textIn((await user.get(path)).html)).to.include('Esquecer dados pessoais')
    const asked = textIn((await user.get(`${path}/esquecer`)).html)
    for (const text of ['Não pode ser desfeito.', 'Vão-se nome', 'Ficam as vendas']) expect(asked).to.include(text)
    const empty = await user.submit(`${path}/esquecer`, {})
    expect(problemsIn(empty.html)).to.include('Por quê: é obrigatório')
    const needed = await user.submit(`${path}/esquecer`, { ground: 'holder_request' })
    expect(needed.status).to.equal(409)
    expect(textIn(needed.html)).to.include(
      `Ainda precisam desta pessoa: Conta a receber ${receivable.id}. Nada foi esquecido.`,
    )
    const queued = await user.submit(`${path}/esquecer`, { ground: 'holder_request', queue: 'on' })
    expect(queued.to).to.equal(`${path}?feito=esquecimento-marcado`)
    const waiting = textIn((await user.get(path)).html)
    expect(waiting).to.include('Eva Souza').and.to.include('O resto será esquecido')
    expect(waiting).not.to.include('Editar cliente')
    await company.call('DELETE', `/finance/receivables/${receivable.id}`)
    const done = await user.submit(`${path}/esquecer`, { ground: 'holder_request' })
    expect(done.to).to.equal(`${path}?feito=esquecida`)
    for (const page of [path, '/painel/clientes']) {
      const shown = textIn((await user.get(page)).html)
      expect(shown, page).to.include('Pessoa esquecida').and.not.to.include('Eva')
    }
    expect(textIn((await user.get(`${path}/esquecer`)).html)).to.include('Os dados pessoais já foram esquecidos.')
  })
})
