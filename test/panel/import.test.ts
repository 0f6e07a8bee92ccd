import { expect } from 'chai'
import iconv from 'iconv-lite'
import { erasePerson } from '#privacy/erase-person.ts'
import { importFile, plainText, uploadFile } from '../support/import-file.ts'
import { hiddenFields, usePanelUser } from '../support/panel.ts'
import { expectShortTurns } from '../support/turns-taken.ts'
import { xlsx } from '../support/xlsx.ts'

describe('panel: import of files', () => {
  const { api, company, user } = usePanelUser('owner')

  const upload = (path: string, content: string | Buffer) => uploadFile({ api, user }, path, content)
  const told = plainText
  const imported = async (path: string, content: string) => {
    expect(await upload(path, content)).to.include({ status: 303, to: `/painel${path}/conferir` })
    const check = await user.get(`/painel${path}/conferir`)
    const done = await user.submit(`/painel${path}/conferir`, {})
    return { check: told(check.html), done: told(done.html) }
  }

  it('refuses a form of 10,000 parts with 400 without blocking the event loop [HTTP-43]', async () => {
    const { _csrf = '', _key = '' } = hiddenFields(
      (await user.get('/painel/clientes/importar')).html,
      '/painel/clientes/importar',
    )
    const send = (parts: number) => {
      const part = (name: string, value: string) =>
        `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
      const body = `${part('_csrf', _csrf)}${part('_key', _key)}${part('a', '').repeat(parts)}--b--\r\n`
      const headers = { cookie: user.cookie(), 'content-type': 'multipart/form-data; boundary=b' }
      return fetch(`${api.url}/painel/clientes/importar`, { method: 'POST', headers, body, redirect: 'manual' })
    }
    expect((await send(17)).status).to.equal(422)
    await expectShortTurns(100, async () => expect((await send(10_000)).status).to.equal(400))
  })

  const PRODUCTS = [
    'Código;Produto;Preço de venda (R$);Custo;Categoria;EAN;Estoque;Cor',
    'P1;Café torrado 500 g;18,90;11,40;Mercearia;7891234567895;24;preto',
    'P2;"Pão; francês";R$ 1.234,50;;Padaria;;;',
    'P3;Entrega;10;;;;;',
    'P3;Outra entrega;10;;;;;',
    ';Sem código;5;;;;;',
    'P5;Sem preço;dez;;;;;',
  ].join('\r\n')

  it('previews the import, changes nothing before confirmation, and then applies the preview [PANEL-180]', async () => {
    const { check, done } = await imported('/catalogo/importar', PRODUCTS)
    expect(check).to.match(/Novos 4 .*Já cadastrados 0 .*Com erro 2 .*Categorias novas 2/)
    for (const text of [
      '5 Outra entrega Código externo: repete a linha 4',
      'Preço de venda (R$): "dez" informe um valor válido, por exemplo 1.234,50',
      'Colunas que não serão importadas: Cor.',
    ])
      expect(check).to.include(text)
    expect(done).to.match(/Criados 4 .*Alterados 0 .*Iguais 0 .*Com erro 2/)
    const items = (await company.get('/catalog/items')).body.data
    expect(
      items.map(({ name, price, cost, category_name, stock }: Record<string, unknown>) => [
        name,
        price,
        cost,
        category_name,
        stock,
      ]),
    ).to.deep.equal([
      ['Café torrado 500 g', '18.90', '11.40', 'Mercearia', '24.000'],
      ['Pão; francês', '1234.50', null, 'Padaria', null],
      ['Entrega', '10.00', null, null, null],
      ['Sem código', '5.00', null, null, null],
    ])
    const [event] = (await company.get(`/catalog/items/${items[0].id}/history`)).body.data
    expect(event).to.deep.include({ origin: 'panel', actor: `user/${user.id}` })
  })

  it('a repeated import updates, and keeps stock and empty fields [PANEL-181]', async () => {
    await imported('/catalogo/importar', 'Código;Nome;Preço;Custo;Estoque;EAN\nP1;Café;18,90;11,40;24;789')
    const [before] = (await company.get('/catalog/items')).body.data
    await company.call('PATCH', `/catalog/items/${before.id}`, { stock_adjustment: '-4' })
    const again = await imported('/catalogo/importar', 'Código;Nome;Preço;Custo;Estoque;EAN\nP1;Café;18,90;;24;789')
    expect(again.done).to.match(/Criados 0 .*Alterados 0 .*Iguais 1/)
    const dearer = await imported('/catalogo/importar', 'EAN;Nome;Preço\n789;Café;19,90')
    expect(dearer.done).to.match(/Criados 0 .*Alterados 1 .*Iguais 0/)
    const items = (await company.get('/catalog/items')).body.data
    expect(items).to.have.length(1)
    expect(items[0]).to.include({ price: '19.90', cost: '11.40', stock: '20.000', external_id: 'P1' })
  })

  it('matches people by document, or by name without one, and reports keys of other records [PANEL-181]', async () => {
    const file = 'Nome;CPF/CNPJ;Cidade;Estado\nMaria;529.982.247-25;Campinas;SP\nJosé;;Santos;SP\nJosé;;Santos;SP'
    expect((await imported('/clientes/importar', file)).done).to.match(/Criados 2 .*Com erro 1/)
    const { check, done } = await imported(
      '/clientes/importar',
      'Nome;CPF;Celular;Rua\nMaria Souza;52998224725;11987654321;\nmaria;11144477735;;',
    )
    expect(check).to.match(/3 maria Nome: já é do cadastro Maria \(\d+\)/)
    expect(done).to.match(/Criados 0 .*Alterados 1 .*Com erro 1/)
    const [maria] = (await company.get('/customers?document=52998224725')).body.data
    expect(maria).to.deep.include({ name: 'Maria Souza', phone: '11987654321' })
    expect(maria.address).to.include({ city: 'Campinas', state: 'SP' })
  })

  it('imports once for concurrent submissions [PANEL-182]', async () => {
    await upload('/fornecedores/importar', 'Nome\nTorrefação\nMoinho')
    const path = '/painel/fornecedores/importar/conferir'
    const fields = hiddenFields((await user.get(path)).html, path)
    const replies = await Promise.all([user.post(path, fields), user.post(path, fields)])
    expect(replies.map(({ status }) => status)).to.deep.equal([200, 200])
    expect((await company.get('/suppliers')).body.data).to.have.length(2)
  })

  it('imports the previewed file, and refuses if another was uploaded since [PANEL-323]', async () => {
    const path = '/painel/fornecedores/importar/conferir'
    await upload('/fornecedores/importar', 'Nome\nTorrefação')
    const fields = hiddenFields((await user.get(path)).html, path)
    await upload('/fornecedores/importar', 'Nome\nMoinho\nOutro')
    for (const other of [fields, { ...fields, arquivo: '' }]) {
      const refused = await user.post(path, other)
      expect(refused.status).to.equal(409)
      expect(told(refused.html)).to.include('O arquivo foi trocado')
    }
    expect((await company.get('/suppliers')).body.data).to.deep.equal([])
    expect(told((await user.submit(path, {})).html)).to.match(/Criados 2/)
  })

  it('imports a file that was uploaded again with equal content [PANEL-323]', async () => {
    const path = '/painel/fornecedores/importar/conferir'
    await upload('/fornecedores/importar', 'Nome\nTorrefação')
    const fields = hiddenFields((await user.get(path)).html, path)
    await upload('/fornecedores/importar', 'Nome\nTorrefação')
    expect(told((await user.post(path, fields)).html)).to.match(/Criados 1/)
  })

  it('uses the chosen columns, and refuses a field for two columns [PANEL-180]', async () => {
    await upload('/fornecedores/importar', 'A;B\nTorrefação;12.345.678/0001-95')
    const path = '/painel/fornecedores/importar/conferir'
    expect(told((await user.get(path)).html)).to.include('Novos 0')
    const twice = await user.get(`${path}?coluna-0=name&coluna-1=name`)
    expect(twice.status).to.equal(422)
    expect(told(twice.html)).to.include('Há duas colunas para "Nome"')
    const done = await user.submit(`${path}?coluna-0=name&coluna-1=document`, {}, path)
    expect(told(done.html)).to.match(/Criados 1/)
    expect((await company.get('/suppliers')).body.data[0]).to.include({
      name: 'Torrefação',
      document: '12345678000195',
    })
  })

  it('refuses invalid files, and stores nothing of them [PANEL-180]', async () => {
    for (const [content, problem] of [
      ['', 'escolha um arquivo que não esteja vazio'],
      ['só títulos', 'não tem linhas'],
    ] as const) {
      const { status, html } = await upload('/clientes/importar', content)
      expect(status).to.equal(422)
      expect(told(html)).to.include(problem)
    }
    expect((await upload('/clientes/importar', 'a'.repeat(2_100_000))).status).to.equal(413)
    expect(told((await user.get('/painel/clientes/importar/conferir')).html)).to.include('Nenhum arquivo para importar')
  })

  it('stores a file encrypted until it is imported or a person is erased [PANEL-183]', async () => {
    await upload('/clientes/importar', 'Nome\nZulmira Markante')
    const { pool } = api.core
    const { rows } = await pool.query<{ file: Buffer }>('select file from ops.imports where company_id = $1', [
      company.id,
    ])
    expect(rows[0]?.file.toString('latin1')).to.not.include('Zulmira')
    const client = await pool.connect()
    try {
      const tx = { query: (statement: { text: string }, values: unknown[]) => client.query(statement.text, values) }
      await erasePerson(tx as never, company.id, { parts: [], subjects: [], values: [] } as never)
    } finally {
      client.release()
    }
    expect(told((await user.get('/painel/clientes/importar/conferir')).html)).to.include('Nenhum arquivo para importar')
  })
})

describe('panel: cells of files of other programs', () => {
  const { api, company, user } = usePanelUser('owner')
  const [ITEMS, CUSTOMERS] = ['/catalogo/importar', '/clientes/importar']
  const importOf = (path: string, content: string, query = '') => importFile({ api, user }, path, content, query)
  const items = async (): Promise<Record<string, unknown>[]> => (await company.get('/catalog/items')).body.data

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

  it('show prices before and after, what they would have brought, and each problem [ITEM-1268]', async () => {
    await company.post('/catalog/items', { name: 'Café', price: '18.90', cost: '11.00', sku: 'C' })
    await company.post('/catalog/items', { name: 'Chá', price: '5.00', sku: 'H' })
    const { check } = await importOf(ITEMS, 'SKU;Nome;Preço;Custo\nC;Café;19,90;11,00\nH;Chá;5,00;2,50\nX;Pão;dez;')
    expect(check).to.match(
      /Preços que mudam \(2\).*2 Café Preço de venda \(R\$\) R\$ 18,90 R\$ 19,90 41,80% → 44,72% 3 Chá Custo \(R\$\) — R\$ 2,50/,
    )
    expect(check).to.include('4 Pão Preço de venda (R$): "dez"')
    expect(check).to.match(/Abaixo do custo 0 .*Nos últimos 30 dias \+R\$ 0,00/)
    const cheap = await importOf(ITEMS, 'SKU;Nome;Preço\nC;Café;10,00')
    expect(cheap.check).to.include('R$ 10,00: abaixo do custo')
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
  })
})

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
    it('is only imported if it is ticked [IMPORT-820]', async () => {
      const { check, checkHtml, done } = await importOf(ITEMS, 'Nome;Código;Preço\nCafé;C1;1,00\nTotal;;1.234,50\n')
      expect(check)
        .to.match(/Novos 1 .*A confirmar 1/)
        .and.include('parece ser um total')
      expect(checkHtml).to.include(
        '<input type="checkbox" name="confirmar" value="3" aria-label="Importar a linha 3"/>',
      )
      expect(done).to.match(/Criados 1 .*Com erro 0 .*Não confirmados 1/)
      expect(namesOf(await items())).to.deep.equal(['Café'])
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

describe('panel: files of Tillbook and of other programs', () => {
  const { api, company, user } = usePanelUser('owner')
  const [ITEMS, CUSTOMERS] = ['/catalogo/importar', '/clientes/importar']
  const importOf = (path: string, content: string | Buffer, query = '') =>
    importFile({ api, user }, path, content, query)
  const items = async (): Promise<Record<string, unknown>[]> => (await company.get('/catalog/items')).body.data

  describe('files of Tillbook', () => {
    const exported = async (path: string) => Buffer.from((await user.get(`/painel${path}.csv`)).html)

    it('import as equal: items, with and without codes [PANEL-351]', async () => {
      const { body: category } = await company.post('/catalog/categories', { name: 'Café; chá' })
      for (const item of [
        { name: 'Café "especial"; 500 g', price: '1234.50', cost: '11.40', sku: '0017', barcode: '036000291452' },
        { name: 'Café', price: '1.00', sku: 'IGUAL' },
        { name: 'Chá', price: '2.00', sku: 'IGUAL' },
        { name: 'Pão', price: '0.50', category_id: category.data.id, stock: '1.500', unit: 'KG' },
        { name: 'Entrega', price: '10.00', type: 'service', external_id: '=1+1' },
        { name: "'=fórmula", price: '10.00', external_id: '-E1' },
      ])
        expect((await company.post('/catalog/items', item)).status).to.equal(201)
      const before = await items()
      const { check, done } = await importOf(ITEMS, await exported('/catalogo'))
      expect(check).to.include('Novos 0')
      expect(done).to.match(/Criados 0 .*Alterados 0 .*Iguais 6 .*Com erro 0/)
      expect(await items()).to.deep.equal(before)
    })

    const PERSONS = [
      {
        name: "Ana D'Ávila",
        document: '529.982.247-25',
        phone: '+55 11 98765-4321',
        email: 'ana@example.com',
        notes: 'uma linha\r\noutra\nmais uma; "aspas"',
        address: {
          zip: '01310-100',
          street: 'Av. Paulista, lado par',
          number: '1000',
          complement: 'sala 2; fundos',
          district: 'Bela Vista',
          city: 'São Paulo',
          state: 'SP',
        },
      },
      { name: '2️⃣ Irmãos', person_type: 'PJ', phone: '4930123456', address: { city: 'Santos' } },
      { name: '=1+1', document: '12.345.678/0001-95', external_id: "'=x", notes: '-1' },
    ]

    for (const [path, resource] of [
      ['/clientes', '/customers'],
      ['/fornecedores', '/suppliers'],
    ] as const)
      it(`import as equal: ${resource.slice(1)}, the address in columns of its own [PANEL-351]`, async () => {
        for (const person of PERSONS) expect((await company.post(resource, person)).status).to.equal(201)
        const before = (await company.get(resource)).body.data
        const file = await exported(path)
        expect(file.toString()).to.include(';Rua;Número;Complemento;Bairro;Cidade;UF;CEP;')
        const { done } = await importOf(`${path}/importar`, file)
        expect(done).to.match(/Criados 0 .*Alterados 0 .*Iguais 3 .*Com erro 0/)
        expect((await company.get(resource)).body.data).to.deep.equal(before)
      })
  })

  it('without known heads say so [PANEL-356]', async () => {
    const { check } = await importOf(ITEMS, 'Foo;Bar\nA;Café')
    expect(check).to.include('Não encontramos os títulos das colunas')
  })

  it('warn of a column with documents that is not imported [PANEL-356]', async () => {
    const { check } = await importOf(CUSTOMERS, 'Nome;Doc. fiscal\nAna;529.982.247-25\nRui;111.444.777-35')
    expect(check).to.include('A coluna "Doc. fiscal" parece conter CPF ou CNPJ e não será importada')
    const clean = await importOf(CUSTOMERS, 'Nome;CPF;Limite\nAna;529.982.247-25;100,00')
    expect(clean.check).to.not.include('parece conter CPF')
  })

  it('are read with the decimal mark that the user chooses where a column does not tell [PANEL-355]', async () => {
    const file = 'SKU;Nome;Preço\nA;Café;18.900\nB;Leite;5'
    const { check, checkHtml } = await importOf(ITEMS, file)
    expect(check).to.match(/Novos 1 .*Com erro 1/)
    const [, select = ''] = /<select name="numeros-2"(.*?)<\/select>/.exec(checkHtml) ?? []
    expect(select).to.include('option').and.to.not.include('selected')
    const query = '?coluna-0=sku&coluna-1=name&coluna-2=price&numeros-2=ponto'
    expect((await importOf(ITEMS, file, query)).done).to.match(/Criados 1 .*Iguais 1 .*Com erro 0/)
    expect((await items()).find(({ sku }) => sku === 'A')).to.include({ price: '18.90' })
  })

  describe('spellings', () => {
    it('of one GTIN and one name are warned of as duplicates, and imported [PANEL-357]', async () => {
      await company.post('/catalog/items', { name: 'Importado', price: '1.00', barcode: '036000291452' })
      const { check, done } = await importOf(ITEMS, 'EAN;Nome;Preço\n0036000291452;Café;1,00\n36000291452;Chá;2,00')
      expect(check).to.match(/Confira antes de importar .*2 Café parece repetir o cadastro Importado \(\d+\)/)
      expect(done).to.match(/Criados 2/)
      await company.post('/customers', { name: "Bar D'Água" })
      const named = await importOf(CUSTOMERS, 'Nome\nBar D’Água\nJoana d´Arc\nJoana d`Arc\nAna')
      expect(named.check).to.match(
        /2 Bar D’Água parece repetir o cadastro Bar D'Água \(\d+\) 4 Joana d`Arc parece repetir a linha 3/,
      )
      expect(named.done).to.match(/Criados 4/)
    })

    it('find each other in search and filters [LIST-7]', async () => {
      await company.post('/catalog/items', { name: 'Copo d’água', price: '1.00', barcode: '036000291452' })
      await company.post('/catalog/items', { name: "Pé d'água", price: '1.00', barcode: '0042100005264' })
      for (const q of ['0036000291452', '036000291452', '36000291452', "copo d'agua", 'copo d´água'])
        for (const path of ['/painel/busca', '/painel/catalogo'])
          expect(plainText((await user.get(`${path}?q=${encodeURIComponent(q)}`)).html), q).to.include('Copo d’água')
      for (const barcode of ['042100005264', '00042100005264', '0042100005264']) {
        const { data } = (await company.get(`/catalog/items?barcode=${barcode}`)).body
        expect(data.map(({ name }: { name: string }) => name)).to.deep.equal(["Pé d'água"])
      }
      expect((await company.get(`/catalog/items?name=${encodeURIComponent('d’agua')}`)).body.data).to.have.length(2)
      expect((await company.get('/catalog/items?barcode=7891234567895')).body.data).to.deep.equal([])
    })
  })
})
