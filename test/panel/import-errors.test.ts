import { expect } from 'chai'
import { importFile, plainText } from '../support/import-file.ts'
import { usePanelUser } from '../support/panel.ts'

describe('panel: what an import tells of a file', () => {
  const { api, company, user } = usePanelUser('owner')
  const ITEMS = '/catalogo/importar'
  const importOf = (content: string, query = '') => importFile({ api, user }, ITEMS, content, query)
  const items = async (): Promise<Record<string, unknown>[]> => (await company.get('/catalog/items')).body.data

  it('takes Descrição, Valor and Qtde of a file without codes, once [IMPORT-100]', async () => {
    const file = 'Descrição;Valor;Qtde\nCafé;18,90;24\nAçúcar;5,00;3'
    expect((await importOf(file)).done).to.match(/Criados 2 .*Com erro 0/)
    expect((await importOf(file)).done).to.match(/Criados 0 .*Alterados 0 .*Iguais 2/)
    expect(await items()).to.have.length(2)
    await company.post('/catalog/items', { name: 'Chá', price: '1.00', sku: 'C' })
    expect((await importOf('Descrição;Valor\nCHÁ;2,00')).check).to.include('já é de um cadastro com código')
  })

  it('warns of wrong check digits, and imports the codes [IMPORT-101]', async () => {
    const { check, done } = await importOf(
      'EAN;Nome;Preço\n7891234567890;Café;1,00\n7891234567895;Chá;1,00\n123;Pão;1,00',
    )
    const warning = 'o código de barras 7891234567890 tem o dígito verificador errado'
    expect(check).to.include(`2 Café ${warning}`)
    expect(check.match(/dígito verificador/g)).to.have.length(1)
    expect(done).to.match(/Criados 3/)
  })

  it('warns of prices of zero and below the cost, and imports them [ITEM-101]', async () => {
    const { check, done } = await importOf(
      'SKU;Nome;Preço;Custo\nP1;Brinde;0,00;\nP2;Bala;1,00;1,50\nP3;Bolo;2,00;1,50',
    )
    expect(check).to.include('2 Brinde o preço é R$ 0,00').and.to.include('3 Bala o preço está abaixo do custo')
    expect(check).not.to.include('4 Bolo o preço')
    expect(done).to.match(/Criados 3/)
  })

  it('makes variants of an item of the file or the catalog, and refuses others [IMPORT-105]', async () => {
    const known = (await company.post('/catalog/items', { name: 'Meia', price: '5.00', cost: '2.00', sku: 'MEIA' }))
      .body
    const file = [
      'Código externo;SKU;Nome;Preço;Produto da variação;Tamanho;Cor',
      'CAM-M;;Camiseta M;40,00;CAM;M;Azul',
      'CAM;;Camiseta;40,00;;;',
      ';MEIA-P;Meia P;5,00;MEIA;P;',
      'X1;;Perdida;1,00;NADA;P;',
      'X2;;Neta;1,00;CAM-M;P;',
      'X3;;Sem tamanho;1,00;CAM;;',
      'X4;;Sem produto;1,00;;G;',
    ].join('\n')
    const { check, done } = await importOf(file)
    expect(check)
      .to.include('5 Perdida Produto da variação: "NADA" não foi encontrado no catálogo nem no arquivo')
      .and.include('6 Neta Produto da variação: "CAM-M" é uma variação')
      .and.include('7 Sem tamanho Produto da variação: informe tamanho, cor ou ambos')
      .and.include('8 Sem produto Tamanho: informe também Produto da variação')
    expect(done).to.match(/Criados 3 .*Com erro 4/)
    const of = async (query: string) => (await company.get(`/catalog/items?${query}`)).body.data[0]
    const shirt = await of('external_id=CAM')
    expect(await of('external_id=CAM-M')).to.deep.include({
      parent_id: shirt.id,
      variant: { size: 'M', color: 'Azul' },
    })
    const sock = await of('sku=MEIA-P')
    expect(sock).to.deep.include({ parent_id: known.data.id, variant: { size: 'P', color: null }, cost: '2.00' })
    expect((await importOf(file)).done).to.match(/Criados 0 .*Iguais 3/)
    const chain = await importOf('Código externo;Produto da variação;Tamanho\nCAM;MEIA;G')
    expect(chain.done).to.include('o item tem variações')
  })

  it('says that a file has no titles, and which columns are left out', async () => {
    const { check } = await importOf('Café;18,90;UN\nChá;5,00;UN')
    expect(check).to.include('A primeira linha parece ser um cadastro').and.to.include('Café · 18,90 · UN')
    const titled = await importOf('SKU;Nome;Preço;Cor;Peso;\nA;Café;18,90;preto;;x')
    expect(titled.check).to.include('Colunas que não serão importadas: Cor, Peso, Coluna 6.')
    expect(titled.check).not.to.include('parece ser um cadastro')
  })

  it('gives the wrong lines as a file with reasons, before and after the import', async () => {
    const file = 'SKU;Nome;Preço;Cor\nA1;Café;18,90;preto\nA2;Chá;dez;=1+1\nA3;Pão;7,89E+12;\nA1;Outro;1,00;'
    const wrong = [
      'SKU;Nome;Preço;Cor;O que corrigir',
      `A2;Chá;dez;'=1+1;"Preço de venda (R$): ""dez"" informe um valor válido, por exemplo 1.234,50"`,
      `A3;Pão;"7,89E+12";;"Preço de venda (R$): ""7,89E+12"" informe um valor válido, por exemplo 1.234,50"`,
      'A1;Outro;1,00;;SKU: repete a linha 2',
      '',
    ]
    const path = '/painel/catalogo/importar/linhas-com-erro.csv'
    const columns = '?coluna-0=sku&coluna-1=name&coluna-2=price'
    const { done, checkHtml } = await importOf(file, columns)
    expect(checkHtml).to.include(`href="${path}?coluna-0=sku&amp;coluna-1=name&amp;coluna-2=price"`)
    expect(done).to.match(/Criados 1 .*Com erro 3/)
    const { html, headers } = await user.get(path)
    expect(html.replace(/^\uFEFF/, '').split('\r\n')).to.deep.equal(wrong)
    expect(headers.get('content-type')).to.equal('text/csv; charset=utf-8')
    expect(plainText((await user.get('/painel/catalogo/importar/conferir')).html)).to.match(/Novos 0 .*Com erro 3/)
    const mended = html
      .replace(/"Preço[^\r]*/g, '')
      .replace('dez', '5,00')
      .replace('7,89E+12', '7,00')
    expect((await importOf(mended)).done).to.match(/Criados 2 .*Alterados 1 .*Com erro 0/)
    expect((await user.get(path)).status).to.equal(404)
  })

  it('refuses a code that a spreadsheet has shortened, with the reason [IMPORT-101]', async () => {
    const { check } = await importOf('EAN;Nome;Preço\n7,89E+12;Café;1,00')
    expect(check).to.include('Código de barras: "7,89E+12" perdeu algarismos na planilha')
    expect(await items()).to.deep.equal([])
  })
})
