import { expect } from 'chai'
import { importFile, plainText } from '../support/import-file.ts'
import { usePanelUser } from '../support/panel.ts'

describe('panel: cells of files of other programs', () => {
  const { api, company, user } = usePanelUser('owner')
  const [ITEMS, CUSTOMERS] = ['/catalogo/importar', '/clientes/importar']
  const importOf = (path: string, content: string, query = '') => importFile({ api, user }, path, content, query)
  const items = async (): Promise<Record<string, unknown>[]> => (await company.get('/catalog/items')).body.data
  const customers = async (): Promise<Record<string, unknown>[]> => (await company.get('/customers')).body.data

  it('have no invisible characters in codes [IMPORT-823]', async () => {
    const file =
      'Nome;Fone;CPF;Código\nAna;\u202a(11)\u00a098765\u20114321\u202c;529.982.247\u201025\u200b;C\u200b1\nRui;+55\u200e11\u20602222\u20133333;;'
    expect((await importOf(CUSTOMERS, file)).done).to.match(/Criados 2 .*Com erro 0/)
    const [ana, rui] = await customers()
    expect(ana).to.include({ phone: '11987654321', document: '52998224725', external_id: 'C1' })
    expect(rui).to.include({ phone: '551122223333' })
    const codes =
      'EAN;Nome;Preço\n7891234567895;Café;1,00\n\u200b7891234567895;Café;1,00\n7891234567895\ufeff;Café;1,00\n789 1234\u2011567895;Café;1,00'
    const { check } = await importOf(ITEMS, codes)
    expect(check).to.match(/Novos 1 .*Com erro 3/)
    expect(await items()).to.have.length(1)
  })

  for (const [cell, phone] of [
    ['11987654321 1133334444', '11987654321'],
    ['(11) 98765-4321 (11) 3333-4444', '11987654321'],
    ['98765-4321 3333-4444', '987654321'],
    ['(11) 98765-4321 / (11) 3333-4444', '11987654321'],
    ['(11) 98765-4321, 3333-4444', '11987654321'],
    ['11 98765 4321 ou 11 3333 4444', '11987654321'],
    ['+55 11 98765-4321 +55 11 3333-4444', '5511987654321'],
    ['3333-4444 3333-5555 3333-6666', '33334444'],
  ] as const)
    it(`may have several phones, of which the first counts: ${cell} [IMPORT-823]`, async () => {
      const { check } = await importOf(CUSTOMERS, `Nome;Fone\nAna;"${cell}"`)
      expect(check).to.include(`"${cell}" tem mais de um número; vale`)
      expect((await customers())[0]).to.include({ phone })
    })

  for (const [cell, phone] of [
    ['+55 11 98765 4321', '5511987654321'],
    ['0 11 98765-4321', '011987654321'],
    ['+49 30 1234 5678 90', '4930123456789' + '0'],
    ['0800 123 4567', '08001234567'],
  ] as const)
    it(`may have one phone in parts: ${cell} [IMPORT-823]`, async () => {
      const { check } = await importOf(CUSTOMERS, `Nome;Fone\nAna;${cell}`)
      expect(check).not.to.include('mais de um número')
      expect((await customers())[0]).to.include({ phone })
    })

  it('that stand for nothing are empty [VAL-910]', async () => {
    const none = ['SEM GTIN', 'sem gtin', '-', '--', 'N/A', 'null', '0', '0000000000000', '\u2014', ' - ', 'SEM EAN']
    const file = `Nome;Preço;EAN;GTIN;NCM;Categoria\n${none.map((cell, n) => `Item ${n};1,00;${cell};${cell};${cell === '0' ? '00000000' : '-'};${n % 2 === 0 ? '-' : '0'}`).join('\n')}`
    expect((await importOf(ITEMS, file)).done).to.match(/Criados 11 .*Com erro 0/)
    for (const item of await items())
      expect(item).to.include({ barcode: null, gtin: null, ncm: null, category_id: null })
    const people =
      'Nome;CPF;Fone;E-mail;CEP;Número;Código\nAna;000.000.000-00;(00) 0000-0000;-;00000-000;0;0\nRui;NÃO INFORMADO;n/d;n/a;--;S/N;(vazio)'
    expect((await importOf(CUSTOMERS, people)).done).to.match(/Criados 2 .*Com erro 0/)
    for (const person of await customers())
      expect(person).to.include({ document: null, phone: null, email: null, external_id: null })
  })

  it('are as many new records as the check says, also where lines share a code or name [IMPORT-825]', async () => {
    const file = 'Código;EAN;Nome;Preço\nA;789;Café;1,00\nB;789;Chá;2,00\nC;790;Mate;3,00'
    const { check, done } = await importOf(ITEMS, file)
    expect(check)
      .to.match(/Novos 2 .*Com erro 1/)
      .and.include('3 Chá Código de barras: repete a linha 2')
    expect(done).to.match(/Criados 2 .*Com erro 1/)
    const people = await importOf(CUSTOMERS, 'Nome;CPF\nAna;529.982.247-25\nAna;111.444.777-35')
    expect(people.check).to.match(/Novos 1 .*Com erro 1/)
    expect(people.done).to.match(/Criados 1 /)
    const wrong = await importOf(ITEMS, 'Código;EAN;Nome;Preço\nD;800;Pão;dez\nE;800;Bolo;2,00')
    expect(wrong.check).to.match(/Novos 1 .*Com erro 1/)
    const variants =
      'Código;Nome;Preço;Produto da variação;Tamanho\nP;Meia;5,00;;\nV;Meia P;5,00;P;P\nW;Meia p;5,00;P;p'
    expect((await importOf(ITEMS, variants)).check).to.include('esta variação repete a linha 3')
  })

  it('show prices and costs before and after, and the name beside each problem', async () => {
    await company.post('/catalog/items', { name: 'Café', price: '18.90', cost: '11.00', sku: 'C' })
    await company.post('/catalog/items', { name: 'Chá', price: '5.00', sku: 'H' })
    const { check } = await importOf(ITEMS, 'SKU;Nome;Preço;Custo\nC;Café;19,90;11,00\nH;Chá;5,00;2,50\nX;Pão;dez;')
    expect(check).to.match(
      /Preços que mudam \(2\).*2 Café Preço de venda \(R\$\) R\$ 18,90 R\$ 19,90 3 Chá Custo \(R\$\) — R\$ 2,50/,
    )
    expect(check).to.include('4 Pão Preço de venda (R$): "dez"')
  })

  describe('of WooCommerce', () => {
    const HEADS =
      'ID,Type,SKU,Name,Published,Description,"Regular price",Categories,Parent,"Attribute 1 name","Attribute 1 value(s)","Attribute 2 name","Attribute 2 value(s)"'
    const FILE = [
      HEADS,
      '10,variable,CAM,Camiseta,1,longa,,"Roupas > Camisetas, Novos",,Tamanho,"P, M",Cor,"Azul, Preta"',
      '11,variation,CAM-P,"Camiseta - P, Azul",1,,39.90,,CAM,Tamanho,P,Cor,Azul',
      '12,variation,,"Camiseta - M, Preta",1,,35.90,,id:10,Tamanho,M,Cor,Preta',
      '13,simple,10,Caneca,1,,20,Louça,,,,,',
      '14,variable,LAMP,Lâmpada,-1,,,,,Voltagem,"110V, 220V",,',
      '15,variation,LAMP-1,Lâmpada - 110V,1,,9,,LAMP,Voltagem,110V,,',
    ].join('\n')

    it('are variations of their products, which have the least of their prices [IMPORT-826]', async () => {
      const { check, done } = await importOf(ITEMS, FILE)
      expect(check).to.match(/Novos 4 .*Com erro 0 .*A confirmar 2/)
      expect(check).to.include('o produto da linha 6 está por confirmar')
      expect(done).to.match(/Criados 4 .*Com erro 0/)
      const [shirt, ...others] = await items()
      expect(shirt).to.include({ name: 'Camiseta', price: '35.90', category_name: 'Camisetas', parent_id: null })
      expect(others.map(({ parent_id, variant }) => [parent_id, variant])).to.have.deep.members([
        [shirt?.id, { size: 'P', color: 'Azul' }],
        [shirt?.id, { size: 'M', color: 'Preta' }],
        [null, null],
      ])
      expect((await importOf(ITEMS, FILE)).done).to.match(/Criados 0 .*Iguais 4/)
    })

    it('may have 200 columns, and long texts in columns that are not imported [IMPORT-828]', async () => {
      const meta = Array.from({ length: 190 }, (_, n) => `"Meta: _${n}"`).join(',')
      const text = `"<p>${'Descrição ""longa"". '.repeat(2_000)}</p>"`
      const { done } = await importOf(
        ITEMS,
        `ID,Name,"Regular price",Description,${meta}\n1,Café,18.90,${text}\n2,Chá,5,`,
      )
      expect(done).to.match(/Criados 2 .*Com erro 0/)
      const wrong = plainText((await importOf(ITEMS, `Nome;Preço\n"${'x'.repeat(6_000)}";1,00\nMate;2,00`)).check)
      expect(wrong)
        .to.match(/Novos 1 .*Com erro 1/)
        .and.include('é longo demais')
    })
  })
})
