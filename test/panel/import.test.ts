import { expect } from 'chai'
import { erasePerson } from '#privacy/erase-person.ts'
import { plainText, uploadFile } from '../support/import-file.ts'
import { hiddenFields, usePanelUser } from '../support/panel.ts'
import { expectShortTurns } from '../support/turns-taken.ts'

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
