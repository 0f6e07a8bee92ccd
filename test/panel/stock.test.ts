import { expect } from 'chai'
import { panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'

const PATH = '/painel/catalogo'

describe('panel: stock', () => {
  const { api, company, user } = usePanelUser('owner')

  const item = async (fields: object) => {
    const reply = await company.post('/catalog/items', { price: '10.00', ...fields })
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data
  }
  const textOf = async (path: string) => textIn((await user.get(path)).html)

  it('lists what runs out, with its minimum and the days that it lasts, as a page and a file [PANEL-530]', async () => {
    const milk = await item({ name: 'Leite', unit: 'UN', stock: '16', min_stock: '10' })
    await item({ name: 'Mel', stock: '9', min_stock: '5' })
    await company.post('/sales', {
      items: [{ catalog_item_id: milk.id, quantity: '10' }],
      payments: [{ payment_type_id: await company.paymentType('cash'), amount: '100.00' }],
    })
    const page = await textOf(`${PATH}/reposicao`)
    expect(page)
      .to.match(/1 produto acabando.*Leite 6 UN 10 UN 10 UN 18 dias/)
      .and.not.to.include('Mel')
    expect(await textOf(`${PATH}/reposicao?q=mel`)).to.include('Nenhum produto acabando.')
    expect((await user.get(`${PATH}/reposicao.csv`)).html).to.match(/Leite;;UN;6,000;10,000;10,000;18/)
    expect(await textOf(`${PATH}/${milk.id}`)).to.include('O estoque dura 18 dias')
    expect(await textOf(`${PATH}?low_stock=on`))
      .to.include('Leite')
      .and.not.to.include('Mel')
    expect(await textOf('/painel')).to.include('Produtos acabando: 1')
  })

  it('takes a minimum in the form of an item [PANEL-530]', async () => {
    const fields = { type: 'product', name: 'Chá', price: '1', min_stock: '2,5' }
    const { to } = await user.submit(`${PATH}/novo`, fields, PATH)
    const { body } = await company.get((to ?? '').replace(PATH, '/catalog/items').replace(/\?.*/, ''))
    expect(body.data.min_stock).to.equal('2.500')
  })

  it('demands the reason of a loss, and shows it [PANEL-531]', async () => {
    const { id } = await item({ name: 'Copo', stock: '5' })
    const lose = (reason: string) =>
      user.submit(`${PATH}/${id}`, { movement: 'loss', quantity: '1', reason }, `${PATH}/${id}/estoque`)
    expect(problemsIn((await lose('')).html)).to.deep.include('Motivo: informe o motivo da perda')
    expect((await lose('Quebra')).status).to.equal(303)
    expect(await textOf(`${PATH}/${id}`)).to.match(/Perda Quebra .*−1 4/)
  })

  it('marks prices of zero and below cost and fractions of pieces, and hides costs from clerks [PANEL-532]', async () => {
    const free = await item({ name: 'Brinde', price: '0.00' })
    const lossy = await item({ name: 'Isca', price: '6.00', cost: '8.00', unit: 'UN', stock: '1.5' })
    const good = await item({ name: 'Pão', price: '10.00', cost: '6.00' })
    expect(await textOf(`${PATH}/${free.id}`)).to.include('R$ 0,00: preço zerado')
    const shown = await textOf(`${PATH}/${lossy.id}`)
    expect(shown).to.include('R$ 6,00: abaixo do custo').and.include('1,5 UN (não inteira)')
    expect(await textOf(`${PATH}/${good.id}`)).to.include('Margem R$ 4,00 (40,00%)')
    expect(await textOf(`${PATH}/${good.id}/editar`)).to.include('Margem: R$ 4,00 (40,00%)')
    const clerk = await panelUser(api, company, 'clerk')
    for (const path of [PATH, `${PATH}/${lossy.id}`]) {
      const seen = textIn((await clerk.get(path)).html)
      expect(seen).to.include('R$ 6,00').and.not.to.include('abaixo do custo').and.not.to.include('Margem')
    }
  })
})
