import { expect } from 'chai'
import type { Json } from '../support/api.ts'
import { importFile } from '../support/import-file.ts'
import { type Counter, openCounter } from '../support/offline-sales.ts'
import { problemsIn, textIn, usePanelUser } from '../support/panel.ts'
import { createTestUser } from '../support/till.ts'

const TAXES = {
  origin: '2',
  cfop: '5.102',
  csosn: '102',
  pis_cst: '49',
  cofins_cst: '49',
  ibs_cbs_cst: '000',
  ibs_cbs_class: '000001',
}

describe('panel: fiscal fields', () => {
  const { api, company, user } = usePanelUser('owner')

  const items = async (): Promise<Json[]> => (await company.get('/catalog/items')).body.data
  const pathOf = (to: string | null) => (to ?? '').replace(/\?.*/, '')

  it('of an item are folded in its form, and shown on its page', async () => {
    const { html } = await user.get('/painel/catalogo/novo')
    const folded = /<details class="fold"><summary>Dados fiscais<\/summary>.*?<\/details>/s.exec(html)?.[0] ?? ''
    for (const field of Object.keys(TAXES)) expect(folded).to.include(`name="${field}"`)
    expect(folded).not.to.include('name="price"')
    const form = { type: 'product', name: 'Café', price: '10', ...TAXES }
    const { status, to } = await user.submit('/painel/catalogo/novo', form, '/painel/catalogo')
    expect(status).to.equal(303)
    expect((await items())[0]).to.include({ ...TAXES, cfop: '5102', icms_cst: null })
    const shown = textIn((await user.get(pathOf(to))).html)
    for (const text of ['Origem da mercadoria 2 – Importada, comprada no mercado interno', 'CFOP 5102', 'CSOSN 102'])
      expect(shown).to.include(text)
    expect(shown).not.to.include('CST do ICMS')
  })

  it('of an item are refused at their field, unfolded [ITEM-21]', async () => {
    const form = { type: 'product', name: 'Café', price: '10', csosn: '102' }
    for (const [wrong, label] of [
      [{ pis_cst: '1' }, 'CST do PIS: '],
      [{ icms_cst: '00' }, 'CSOSN: '],
    ] as const) {
      const { status, html } = await user.submit('/painel/catalogo/novo', { ...form, ...wrong }, '/painel/catalogo')
      expect(status).to.equal(422)
      expect(problemsIn(html).join()).to.include(label)
      expect(html).to.match(/<details class="fold" open>/)
    }
    expect(await items()).to.deep.equal([])
  })

  it('of items are imported with leading zeros that a spreadsheet left out', async () => {
    const file = 'SKU;Nome;Preço;Origem;CFOP;CST;CST PIS;cClassTrib\nA1;Café;18,90;0 - Nacional;5102;0;1;1'
    const { done } = await importFile({ api, user }, '/catalogo/importar', file)
    expect(done).to.match(/Criados 1 .*Com erro 0/)
    const [item] = await items()
    expect(item).to.include({ origin: '0', cfop: '5102', icms_cst: '00', pis_cst: '01', ibs_cbs_class: '000001' })
  })

  it('of customers are recorded, shown, exported and imported as equal', async () => {
    const form = { name: 'Padaria', state_registration: '110.042.490.114', ie_indicator: '1' }
    const { status, to } = await user.submit('/painel/clientes/novo', form, '/painel/clientes')
    expect(status).to.equal(303)
    const shown = textIn((await user.get(pathOf(to))).html)
    expect(shown).to.include('Inscrição estadual 110042490114 Contribuinte do ICMS 1 – Contribuinte do ICMS')
    const file = Buffer.from((await user.get('/painel/clientes.csv')).html)
    const { done } = await importFile({ api, user }, '/clientes/importar', file)
    expect(done).to.match(/Iguais 1 .*Com erro 0/)
    const { data } = (await company.get('/customers')).body
    expect(data[0]).to.include({ state_registration: '110042490114', ie_indicator: '1' })
  })
})

describe('panel: details of a sale', () => {
  const { company, user } = usePanelUser('owner')
  let counter: Counter
  let sale: Json
  let seller: { readonly name: string }

  beforeEach('sell with discounts, a card, a Pix and a seller', async () => {
    counter = await openCounter(company)
    const [card, pix] = [await company.paymentType('card'), await company.paymentType('pix')]
    const clerk = await createTestUser(company)
    seller = clerk
    sale = await counter.sell({
      items: [{ catalog_item_id: counter.product, quantity: '2', discount: '1.00' }],
      discount: '4.00',
      seller: { user_id: clerk.id },
      payments: [
        {
          payment_type_id: card,
          amount: '10.00',
          card: { brand: 'elo', nsu: '4711', installments: 2, acquirer_cnpj: '01027058000191', integrated: true },
        },
        { payment_type_id: pix, amount: '5.00', end_to_end_id: 'E0003816620190726' },
      ],
    })
  })

  it('are on its page: seller, share of the discount, card and Pix [SALE-24] [SALE-25]', async () => {
    const shown = textIn((await user.get(`/painel/vendas/${sale.id}`)).html)
    for (const text of [
      `Vendedor ${seller.name}`,
      'Total Rateio do desconto Café 100 2 R$ 10,00 R$ 1,00 R$ 19,00 R$ 4,00',
      'Subtotal R$ 19,00 Desconto R$ 4,00 Total R$ 15,00',
      'Elo · 2× · NSU 4711 · credenciadora 01.027.058/0001-91 · TEF',
      'Pix E0003816620190726',
    ])
      expect(shown).to.include(text)
  })

  it('leave no empty columns on the page of a plain sale', async () => {
    const plain = await counter.sell()
    const shown = textIn((await user.get(`/painel/vendas/${plain.id}`)).html)
    expect(shown).not.to.include('Rateio do desconto').and.not.include('Dados Valor')
  })

  it('are in the file of the sales [SALE-25]', async () => {
    const [heads = '', line = ''] = (await user.get('/painel/vendas.csv')).html.replace(/^\uFEFF/, '').split('\r\n')
    const cells = line.split(';')
    const cell = (head: string) => cells[heads.split(';').indexOf(head)]
    expect(cell('Vendedor')).to.equal(seller.name)
    expect(cell('Bandeira do cartão')).to.equal('Elo')
    expect(cell('NSU')).to.equal('4711')
    expect(cell('Parcelas')).to.equal('2')
    expect(cell('CNPJ da credenciadora')).to.equal('01.027.058/0001-91')
    expect(cell('Identificador do Pix')).to.equal('E0003816620190726')
    expect(cell('Desconto')).to.equal('4,00')
  })
})
