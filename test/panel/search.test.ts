import { expect } from 'chai'
import { parseSearchText } from '#queries/search-queries.ts'
import { fiscalDocument } from '../support/facts.ts'
import { type Counter, openCounter } from '../support/offline-sales.ts'
import { panelUser, textIn, usePanelUser } from '../support/panel.ts'

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
      '765-4321': [],
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

  it('reads an integer as a sale number and 1.234,50 as an amount [PANEL-147]', () => {
    expect(parseSearchText(' nº 12 ')).to.deep.include({ id: 12, cents: null })
    expect(parseSearchText('R$ 1.234,50')).to.deep.include({ id: null, cents: 123450 })
    expect(parseSearchText('12,5')).to.deep.include({ id: null, cents: null })
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
