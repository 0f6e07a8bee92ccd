import { expect } from 'chai'
import iconv from 'iconv-lite'
import { importFile, plainText, uploadFile } from '../support/import-file.ts'
import { usePanelUser } from '../support/panel.ts'
import { xlsx } from '../support/xlsx.ts'

describe('panel: lines of a file that are to be confirmed', () => {
  const { api, company, user } = usePanelUser('owner')
  const [ITEMS, CUSTOMERS] = ['/catalogo/importar', '/clientes/importar']
  const importOf = (path: string, content: string | Buffer, query = '', ticked = {}) =>
    importFile({ api, user }, path, content, query, ticked)
  const items = async (): Promise<Record<string, unknown>[]> => (await company.get('/catalog/items')).body.data
  const customers = async (): Promise<Record<string, unknown>[]> => (await company.get('/customers')).body.data
  const namesOf = (records: readonly Record<string, unknown>[]) => records.map(({ name }) => name)

  describe('encodings', () => {
    const FILE = 'Nome;Preço\nFeijão;8,90\nCafé em pó;18,90\nAÇÚCAR;5,00\n'
    const twice = (page: string) => Buffer.from(iconv.decode(Buffer.from(FILE), page))
    for (const [name, bytes] of [
      ['CP850 (MS-DOS)', iconv.encode(FILE, 'cp850')],
      ['Mac Roman', iconv.encode(FILE, 'macroman')],
      ['Windows-1252 (ANSI)', iconv.encode(FILE, 'win1252')],
      ['UTF-8', Buffer.from(FILE)],
      ['UTF-8 gravado duas vezes (JoÃ£o)', twice('win1252')],
      ['UTF-8 gravado duas vezes (Jo├úo)', twice('cp850')],
    ] as const)
      it(`are detected, named and shown with lines: ${name} [PANEL-354]`, async () => {
        const { check, done } = await importOf(ITEMS, bytes)
        expect(check).to.include(
          `Lido como ${name}. Confira se os acentos destas linhas estão certos: Feijão Café em pó AÇÚCAR`,
        )
        expect(done).to.match(/Criados 3 .*Com erro 0/)
        expect(namesOf(await items())).to.deep.equal(['Feijão', 'Café em pó', 'AÇÚCAR'])
      })

    it('are chosen by the owner, for the columns and the import too [PANEL-354]', async () => {
      const bytes = iconv.encode('Descrição;Preço\nCaféŽ;1,00', 'win1252')
      const { check, done } = await importOf(ITEMS, bytes, '?codificacao=macroman', { 'confirmar-tipo': 'letters' })
      expect(check).to.include('Lido como Mac Roman')
      const guessed = await importOf(ITEMS, iconv.encode('Descrição;Preço\nLimões;1,00', 'cp850'), '?codificacao=cp850')
      expect(guessed.done).to.match(/Criados 1 .*Com erro 0/)
      expect(done).to.include('Com erro')
      expect(namesOf(await items())).to.deep.equal(['Limões'])
      const page = '/painel/catalogo/importar/conferir'
      await uploadFile({ api, user }, ITEMS, 'Nome;Preço\nPão;1,00')
      expect((await user.get(`${page}?codificacao=constructor`)).status).to.equal(200)
    })

    it('that are wrong leave letters that stop at the check [IMPORT-822]', async () => {
      const file = iconv.encode('Nome;Valor\nFeijão;8,90\nArroz;5,00\nLimões;1,00', 'cp850')
      const { check, done } = await importOf(ITEMS, file, '?codificacao=windows-1252')
      expect(check).to.include('"FeijÆo" tem letras que nenhuma palavra do português tem').and.include('"Limäes"')
      expect(done, done).to.match(/Criados 1 .*Não confirmados 2/)
    })
  })

  describe('what is no record', () => {
    for (const [what, line, reason] of [
      ['a total', 'Total;;1.234,50', 'parece ser um total'],
      ['a total in capitals', 'TOTAL GERAL:;T1;99,00', 'parece ser um total'],
      ['a number of records', 'Total de 25 produtos;25;1,00', 'parece ser um total'],
      ['a footer', 'Emitido em 28/11/2026 08:17;E1;1,00', 'parece ser do rodapé'],
      ['a page number', 'Página 1 de 3;P1;1,00', 'parece ser do rodapé'],
      ['repeated titles', 'Nome;Código;1,00', 'repete os títulos das colunas'],
      ['a total value', 'Valor total;;1.234,50', 'parece ser um total'],
      ['a total in stock', 'Total em estoque;;99,00', 'parece ser um total'],
      ['a short count', 'Qtd. registros: 3;R3;1,00', 'parece ser um total'],
    ] as const)
      it(`is only imported if it is ticked: ${what} [IMPORT-820]`, async () => {
        const file = `Nome;Código;Preço\nCafé;C1;1,00\n${line}\n`
        const { check, checkHtml, done } = await importOf(ITEMS, file)
        expect(check)
          .to.match(/Novos 1 .*A confirmar 1/)
          .and.include(reason)
        expect(checkHtml).to.include(
          '<input type="checkbox" name="confirmar" value="3" aria-label="Importar a linha 3"/>',
        )
        expect(done).to.match(/Criados 1 .*Com erro 0 .*Não confirmados 1/)
        expect(namesOf(await items())).to.deep.equal(['Café'])
      })

    it('is no error of names that only begin so, and a reason of wrong lines [IMPORT-820]', async () => {
      const file = 'Nome;Preço\nTotal Flex 1 L;1,00\nMédia de café;2,00\nRelatório (bloco);3,00\nTotal;dez'
      const { check, done } = await importOf(ITEMS, file)
      expect(done).to.match(/Criados 3 .*Com erro 1/)
      expect(check).to.match(/5 Total "Total" parece ser um total; Preço/)
    })

    it('is a line of a report, alone in its line, and no name with more beside it [IMPORT-820]', async () => {
      const alone = ['28/11/2026 10:05:33', '10:05', 'Grupo: Bebidas', 'Continua...', 'Sistema Loja v1.2', '1 de 3']
      const { check, done } = await importOf(CUSTOMERS, `Nome;Fone\n${alone.join(';\n')};\nAC: Maria;11987654321`)
      expect(check).to.match(/Novos 1 .*A confirmar 6/)
      expect(done).to.match(/Criados 1 .*Não confirmados 6/)
    })

    it('is imported if it is ticked, alone or with all of its kind, and else kept [IMPORT-820]', async () => {
      const file = 'Nome;CPF\nAna;\nTotal;\nNome;CPF\nTotal geral;'
      const { check, done } = await importOf(CUSTOMERS, file, '', { confirmar: '3' })
      expect(check).to.match(/Novos 1 .*Com erro 1 .*A confirmar 2/)
      expect(done).to.match(/Criados 2 .*Não confirmados 1/)
      const page = '/painel/clientes/importar/conferir'
      expect(plainText((await user.get(page)).html)).to.match(/Novos 0 .*A confirmar 1/)
      expect(plainText((await user.submit(page, { 'confirmar-tipo': 'summary' })).html)).to.match(/Criados 1/)
      expect(namesOf(await customers())).to.deep.equal(['Ana', 'Total', 'Total geral'])
    })

    it('makes no category, and holds no code against another line [IMPORT-820]', async () => {
      const file = 'Nome;Preço;EAN;Categoria;Situação\nVelho;1,00;789;Antigos;Inativo\nNovo;2,00;789;Atuais;Ativo'
      const { check, done } = await importOf(ITEMS, file)
      expect(check).to.match(/Novos 1 .*Categorias novas 1/)
      expect(done).to.match(/Criados 1 /)
      expect(
        (await company.get('/catalog/categories')).body.data.map(({ name }: { name: string }) => name),
      ).to.deep.equal(['Atuais'])
    })
  })

  describe('what is not on sale', () => {
    for (const [head, off, on] of [
      ['Situação', 'Inativo', 'Ativo'],
      ['Situação', 'Excluído', 'Ativo'],
      ['Situação', 'I', 'A'],
      ['Published', '-1', '1'],
      ['Published', '0', '1'],
      ['Ativo', 'Não', 'Sim'],
      ['Status', 'draft', 'active'],
      ['Inativo', 'S', 'N'],
      ['Available for sale [Loja]', 'N', 'Y'],
      ['Data de exclusão', '28/11/2026', ''],
      ['Ativo (S/N)', 'N', 'S'],
      ['Situação', 'Bloqueado p/ venda', 'Ativo p/ venda'],
      ['Situação', 'Não ativo', 'Ativo'],
      ['Visibility in catalog', 'hidden', 'visible'],
      ['Condição', 'Inativo', 'Inativo desde nunca'],
    ] as const)
      it(`is only imported if it is ticked: ${head} ${off} [IMPORT-820]`, async () => {
        const { check, done } = await importOf(ITEMS, `Nome;Preço;${head}\nVelho;1,00;${off}\nNovo;2,00;${on}`)
        expect(check).to.include(`${head}: ${off}`)
        expect(done).to.match(/Criados 1 .*Não confirmados 1/)
        expect(namesOf(await items())).to.deep.equal(['Novo'])
      })
  })

  describe('codes that have lost their zeros', () => {
    it('name the record, and change it if they are ticked [IMPORT-821]', async () => {
      await company.post('/catalog/items', { name: 'Café', price: '1.00', external_id: '00018', sku: '0007' })
      const both = await importOf(ITEMS, 'Código;Nome;Preço;NCM\n18;Café;2,00;9012100')
      expect(both.check).to.include('NCM: "9012100" parece ser').and.include('"18" parece ser "00018" (Café)')
      const file = 'Código;Nome;Preço\n18;Café;2,00\n19;Chá;3,00'
      const { check, done } = await importOf(ITEMS, file)
      expect(check).to.include('Código externo: "18" parece ser "00018" (Café), sem os zeros')
      expect(done).to.match(/Criados 1 .*Não confirmados 1/)
      const ticked = await importOf(ITEMS, 'Código;Nome;Preço\n18;Café;2,00', '', { confirmar: '2' })
      expect(ticked.done).to.match(/Criados 0 .*Alterados 1/)
      expect((await items())[0]).to.include({ external_id: '00018', price: '2.00' })
      expect((await importOf(ITEMS, 'SKU;Nome;Preço\n7;Café;3,00')).check).to.include('SKU: "7" parece ser "0007"')
    })

    it('are found where the zeros are in the file, or in an earlier line [IMPORT-821]', async () => {
      await company.post('/catalog/items', { name: 'Café', price: '1.00', external_id: '18' })
      const { check } = await importOf(ITEMS, 'Código;Nome;Preço\n0018;Café;2,00\n0020;Chá;1,00\n20;Mate;1,00')
      expect(check).to.include('"0018" parece ser "18" (Café)')
      expect(check).to.include('"20" só difere nos zeros de "0020", da linha 3')
    })

    it('of customers say whose they are, and codes of a fixed length are completed [IMPORT-821]', async () => {
      await company.post('/customers', { name: 'Maria', external_id: '00018' })
      const file = 'Código;Nome;CPF;CEP\n18;Maria;;\n;Rui;1234567890;\n;Eva;;1310100'
      const { check, done } = await importOf(CUSTOMERS, file, '', { 'confirmar-tipo': 'zeros' })
      expect(check)
        .to.include('"18" parece ser "00018" (Maria)')
        .and.match(/Com erro 0 .*A confirmar 3/)
      expect(done).to.match(/Criados 2 .*Iguais 1 .*Com erro 0/)
      expect((await customers()).map(({ document }) => document)).to.deep.equal([null, '01234567890', null])
      expect((await customers())[2]).to.have.nested.property('address.zip', '01310100')
    })
  })

  it('are of a workbook as of a text [IMPORT-827]', async () => {
    const file = await xlsx([
      ['Código', 'Nome', 'Preço', 'Situação'],
      ['C1', 'Feijão', 8.9, 'Ativo'],
      ['C2', 'Café', 18.9, 'Inativo'],
      ['', 'Total', 27.8, ''],
    ])
    const { check, done } = await importOf(ITEMS, file)
    expect(check)
      .to.match(/Novos 1 .*A confirmar 2/)
      .and.not.include('Codificação')
    expect(done).to.match(/Criados 1/)
    expect((await items())[0]).to.include({ external_id: 'C1', name: 'Feijão', price: '8.90' })
  })
})
