import { expect } from 'chai'
import { importFile, plainText, uploadFile } from '../support/import-file.ts'
import { usePanelUser } from '../support/panel.ts'

describe('panel: files from Excel, LibreOffice, other programs and Tillbook', () => {
  const { api, company, user } = usePanelUser('owner')
  const ITEMS = '/catalogo/importar'
  const CUSTOMERS = '/clientes/importar'

  const importOf = (path: string, content: string | Buffer, query = '', ticked = {}) =>
    importFile({ api, user }, path, content, query, ticked)
  const items = async (): Promise<Record<string, unknown>[]> => (await company.get('/catalog/items')).body.data
  const customers = async (): Promise<Record<string, unknown>[]> => (await company.get('/customers')).body.data

  describe('cells without a column', () => {
    for (const [what, file, cell] of [
      ['a price with an unquoted comma', 'SKU,Nome,Preço,Estoque\nA1,Café,18,90,24', '24'],
      ['an unquoted comma before an untitled column', 'SKU,Nome,Preço,Estoque,\nA1,Café,18,90,24', '24'],
      ['an unquoted semicolon in a name', 'SKU;Nome;Preço\nA1;Café; moído;18,90', '18,90'],
    ] as const)
      it(`make ${what} an error of its line [PANEL-350]`, async () => {
        const { check, done } = await importOf(ITEMS, file)
        expect(check).to.match(/Com erro 1/)
        expect(check).to.include(`sobra "${cell}"`)
        expect(done).to.not.include('Arquivo importado')
        expect(await items()).to.deep.equal([])
      })

    it('are harmless if they are empty [PANEL-350]', async () => {
      const { done } = await importOf(ITEMS, 'SKU;Nome;Preço\nA1;Café;18,90;;;\nA2;Leite;5,00')
      expect(done).to.match(/Criados 2 .*Com erro 0/)
    })
  })

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

  describe('lines', () => {
    for (const [what, file] of [
      ['a CRLF head and LF lines', 'SKU;Nome;Preço\r\nA;a;1,00\nB;b;2,00\nC;c;3,00\nD;d;4,00\n'],
      ['an LF head and CRLF lines', 'SKU;Nome;Preço\nA;a;1,00\r\nB;b;2,00\r\nC;c;3,00\r\nD;d;4,00'],
      ['CR, LF and CRLF', 'SKU;Nome;Preço\rA;a;1,00\nB;"b";2,00\r\nC;c;3,00\rD;d;4,00\r\n'],
    ] as const)
      it(`with ${what} are all imported [PANEL-352]`, async () => {
        expect((await importOf(ITEMS, file)).done).to.match(/Criados 4 .*Com erro 0/)
      })

    for (const [what, file] of [
      ['before a quoted cell', 'SKU;Nome;Preço\r\nA;"Tubo;1,00\nB;"b";2,00\nC;c;3,00\nD;d;4,00\n'],
      ['before another open quote', 'SKU;Nome;Preço\nA;"Tubo;1,00\nB;b;2,00\nC;c;3,00\nD;"d x";4,00\nE;e;5,00\n'],
    ] as const)
      it(`do not become one by an open quote ${what}: it is an error of its line [PANEL-352]`, async () => {
        const { check } = await importOf(ITEMS, file)
        expect(check).to.include('2 "Tubo as aspas de uma célula não se fecham nesta linha')
        expect((await items()).map(({ sku }) => sku)).to.deep.equal(
          file.includes('E;e') ? ['B', 'C', 'D', 'E'] : ['B', 'C', 'D'],
        )
      })
  })

  it('with quotes in the quotes of a cell are read, or an error where they have two readings [PANEL-352]', async () => {
    const file = 'SKU,Nome,Preço\nA,"TV 42" LED",1\nB,"TV 42"" LED",1\nC,TV 42" LED,1\nD,"Café "forte" 1 kg",1'
    const { check } = await importOf(ITEMS, file)
    expect(check).to.include('5 "Café "forte" 1 kg" há aspas dentro das aspas de uma célula')
    const names = (await items()).map(({ name }) => name)
    expect(names).to.deep.equal(['TV 42" LED', 'TV 42" LED', 'TV 42" LED'])
  })

  describe('codes that a spreadsheet took for numbers', () => {
    for (const [head, cell] of [
      ['EAN', '8,81795E+14'],
      ['EAN', '1,23E+12'],
      ['EAN', '7891234567895.0'],
      ['EAN', '7891234567895,00'],
      ['EAN', '7.891.234.567.895'],
      ['SKU', '1.5E+07'],
      ['Código', '4,5600E+3'],
      ['SKU', '17,0'],
      ['NCM', '9012100.0'],
      ['GTIN', '#N/D'],
      ['Unidade', '4,5600E+3'],
      ['Categoria', '#REF!'],
      ['Preço', '#VALOR!'],
      ['EAN', '########'],
    ] as const)
      it(`are an error of the line: ${head} ${cell} [PANEL-353]`, async () => {
        await company.post('/catalog/items', { name: 'Café', price: '1.00', external_id: 'K', barcode: '789' })
        const before = await items()
        const key = head === 'Código' ? 'Nome;Código' : `Código;Nome;${head}`
        const line = head === 'Código' ? `Café;${cell}` : `K;Café;${cell}`
        const { check } = await importOf(ITEMS, `${key}\n${line}`)
        expect(check).to.match(/Com erro 1/)
        expect(check).to.include(`"${cell}"`)
        expect(await items()).to.deep.equal(before)
      })

    for (const [head, cell] of [
      ['Telefone', '11987654321.0'],
      ['Telefone', '1,1987654321E+10'],
      ['Celular', '(11) 98765-4321,0'],
      ['CPF', '52998224725.0'],
      ['CEP', '1310100.0'],
      ['Código externo', '1E+05'],
    ] as const)
      it(`are an error of the line: ${head} ${cell} [PANEL-353]`, async () => {
        const { check } = await importOf(CUSTOMERS, `Nome;${head}\nAna;"${cell}"`)
        expect(check).to.match(/Com erro 1/)
        expect(await customers()).to.deep.equal([])
      })

    it('are not read beyond the length of any field [VAL-741]', async () => {
      const { check } = await importOf(CUSTOMERS, `Nome;Telefone;CPF\nAna;${'9'.repeat(4_900)};${'1.'.repeat(2_000)}`)
      expect(check)
        .to.match(/Com erro 1/)
        .and.include('é longo demais')
    })

    for (const [head, cell, field, value] of [
      ['SKU', '="00017"', 'sku', '00017'],
      ['SKU', '"=""00017"""', 'sku', '00017'],
      ['EAN', "'0789000000009", 'barcode', '0789000000009'],
      ['Código', '="A-1"', 'external_id', 'A-1'],
      ['EAN', '="7891234567895"', 'barcode', '7891234567895'],
    ] as const)
      it(`are read as the text that was meant: ${head} ${cell} [PANEL-353]`, async () => {
        const { done } = await importOf(ITEMS, `${head};Nome;Preço\n${cell};Café;="18,90"`)
        expect(done).to.match(/Criados 1/)
        expect((await items())[0]).to.include({ [field]: value, price: '18.90' })
      })

    for (const phone of ['11987654321.0', '+5511987654321.00', '(11) 98765-4321.0'])
      it(`are refused as a phone by the API: ${phone} [PERSON-4]`, async () => {
        const refused = await company.post('/customers', { name: 'Ana', phone })
        expect(refused.status).to.equal(422)
        expect(refused.body.error.details.fields).to.have.property('phone')
      })
  })

  describe('encodings', () => {
    const HEAD = 'Nome;Observações\n'
    const NAME = 'Café “São João” – nº 1 €'
    const asWindows = (text: string) =>
      Buffer.from(
        text.replace(/[“”–€ž]/g, (character) =>
          String.fromCharCode({ '“': 0x93, '”': 0x94, '–': 0x96, '€': 0x80 }[character] ?? 0x9e),
        ),
        'latin1',
      )
    const utf16be = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16()

    for (const [what, bytes] of [
      ['windows-1252', asWindows(`${HEAD}${NAME};ž`)],
      ['UTF-8', Buffer.from(`${HEAD}${NAME};ž`)],
      ['UTF-16LE with a byte order mark', Buffer.from(`\ufeff${HEAD}${NAME};ž`, 'utf16le')],
      ['UTF-16BE with a byte order mark', utf16be(`${HEAD}${NAME};ž`)],
    ] as const)
      it(`are recognised: ${what} [PANEL-354]`, async () => {
        await importOf(CUSTOMERS, bytes, '', { 'confirmar-tipo': 'letters' })
        expect((await customers())[0]).to.include({ name: NAME, notes: 'ž' })
      })

    it('leave no control character in a name or a note [PANEL-354]', async () => {
      for (const text of ['Caf\x81;x', 'Ana;Caf\x8d', 'Rui;\x9d']) {
        const { check } = await importOf(CUSTOMERS, Buffer.from(`${HEAD}${text}é`, 'latin1'))
        expect(check).to.include('não pode conter caracteres de controle')
      }
      expect(await customers()).to.deep.equal([])
    })

    const BROKEN = Buffer.from([0x4a, 0x6f, 0xe3, 0x6f])
    for (const [what, bytes, names] of [
      ['one broken byte', Buffer.concat([Buffer.from('Nome\nJoão\nMaria\nTorção '), BROKEN]), ['João', 'Maria']],
      [
        'a broken byte behind a byte order mark',
        Buffer.concat([Buffer.from('\ufeffNome\n'), BROKEN, Buffer.from('\nAna\nRui')]),
        ['Ana', 'Rui'],
      ],
      [
        'a line of UTF-8 in a Windows file',
        Buffer.concat([Buffer.from('Nome\nJosé\nAndré\nÉrico\n', 'latin1'), Buffer.from('João')]),
        ['José', 'André', 'Érico'],
      ],
    ] as const)
      it(`that are mixed (${what}) are errors of the lines that do not fit [PANEL-354]`, async () => {
        const { check, done } = await importOf(CUSTOMERS, bytes)
        expect(check).to.include('tem caracteres que não puderam ser lidos')
        expect(done).to.match(new RegExp(`Criados ${names.length} .*Com erro 1`))
        expect((await customers()).map(({ name }) => name)).to.deep.equal(names)
      })
  })

  describe('numbers', () => {
    for (const [what, cells, prices] of [
      ['an English column with a decimal point', ['18.900', '2.50'], ['18.90', '2.50']],
      ['an English column with grouped thousands', ['"1,250"', '950.00'], ['1250.00', '950.00']],
      ['a Brazilian column', ['1.250', '"18,9"'], ['1250.00', '18.90']],
      ['both marks in one number', ['"1,250.5"', '1.250'], ['1250.50', '1.25']],
      ['ten decimals', ['"29,9000000000"', '1.250'], ['29.90', '1250.00']],
      ['numbers that are each clear', ['"1.234,56"', '"1,234.56"'], ['1234.56', '1234.56']],
    ] as const)
      it(`are read by their whole column: ${what} [PANEL-355]`, async () => {
        await importOf(ITEMS, `SKU,Nome,Preço\n${cells.map((cell, n) => `S${n},Item ${n},${cell}`).join('\n')}`)
        expect((await items()).map(({ price }) => price)).to.deep.equal(prices)
      })

    for (const [cell, comma, dot] of [
      ['18.900', '18900.00', '18.90'],
      ['1,250', '1.25', '1250.00'],
      ['R$ 2.000', '2000.00', '2.00'],
    ] as const) {
      const file = `SKU;Nome;Preço\nA;Café;${cell}\nB;Leite;5`
      it(`that their column does not tell are asked for, and errors until then: ${cell} [PANEL-355]`, async () => {
        const { check, checkHtml } = await importOf(ITEMS, file)
        expect(check).to.match(/Novos 1 .*Com erro 1/)
        expect(checkHtml).to.match(/<select name="numeros-2"/)
        const [, select = ''] = /<select name="numeros-2"(.*?)<\/select>/.exec(checkHtml) ?? []
        expect(select).to.not.include('selected')
        expect((await items()).map(({ sku }) => sku)).to.deep.equal(['B'])
      })
      for (const [mark, price] of [
        ['virgula', comma],
        ['ponto', dot],
      ] as const)
        it(`are read as the user says: ${cell}, ${mark} [PANEL-355]`, async () => {
          const query = `?coluna-0=sku&coluna-1=name&coluna-2=price&numeros-2=${mark}`
          const { done } = await importOf(ITEMS, file, query)
          expect(done).to.match(/Criados 2 .*Com erro 0/)
          expect((await items())[0]).to.include({ price })
        })
    }

    it('of quantities are read by the prices beside them [PANEL-355]', async () => {
      await importOf(ITEMS, 'SKU;Nome;Preço;Estoque\nA;Café;18,90;24,000\nB;Leite;5,00;1,500')
      expect((await items()).map(({ stock }) => stock)).to.deep.equal(['24.000', '1.500'])
    })

    for (const cell of ['12.34,5', '1.2.3', '1,2,3', '2,5.0'])
      it(`that are none are errors: ${cell} [PANEL-355]`, async () => {
        expect((await importOf(ITEMS, `SKU;Nome;Preço\nA;Café;${cell}`)).check).to.include('informe um valor válido')
      })
  })

  describe('tables', () => {
    for (const [what, file] of [
      ['sep=; as the first line', 'sep=;\r\nSKU;Nome;Preço\r\nA;Café, moído;18,90'],
      ['sep=, as the first line', 'sep=,\nSKU,Nome,Preço\nA,"Café, moído","18,90"'],
      ['a title above the heads', 'Relatório de produtos\n\nSKU;Nome;Preço\nA;Café, moído;18,90'],
      ['two titles of several cells', 'Loja;25/11/2026;;\nProdutos, ativos;;\nSKU;Nome;Preço\nA;Café, moído;18,90'],
      ['| between cells', 'SKU|Nome|Preço\nA|Café, moído|18,90'],
      ['tabs between cells', 'SKU\tNome\tPreço\nA\tCafé, moído\t18,90'],
      ['marks of required columns', 'SKU*;Nome:;Preço *\nA;Café, moído;18,90'],
    ] as const)
      it(`with ${what} are read [PANEL-356]`, async () => {
        expect((await importOf(ITEMS, file)).done).to.match(/Criados 1/)
        expect((await items())[0]).to.include({ sku: 'A', name: 'Café, moído', price: '18.90' })
      })

    it('number their lines as the spreadsheet does, below sep= and titles [PANEL-356]', async () => {
      const { check } = await importOf(ITEMS, 'sep=;\nProdutos\nSKU;Nome;Preço\nA;Café;dez')
      expect(check).to.match(/Linha Nome O que corrigir 4 Café Preço de venda/)
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
  })

  describe('heads of other programs', () => {
    const CAFE = { name: 'Café', price: '18.90', barcode: '7891234567895' }
    for (const [program, heads, line, expected] of [
      [
        'Bling',
        'ID;Código;Descrição;Unidade;NCM;Origem;Preço;Valor IPI fixo;Observações;Situação;Estoque;Preço de custo;Fornecedor;GTIN/EAN;Descrição Complementar;Tipo do item;CEST',
        '16001;CAF500;Café;UN;0901.21.00;0;18,9000000000;0;;Ativo;24,0000000000;11,4;;7891234567895;;Mercadoria para Revenda;17.096.00',
        { ...CAFE, external_id: '16001', sku: 'CAF500', ncm: '09012100', stock: '24.000', cost: '11.40' },
      ],
      [
        'Tiny',
        'ID;Código (SKU);Descrição;Unidade;Classificação fiscal;Preço;GTIN/EAN;Estoque;Preço de custo;Tipo do produto;Categoria',
        '77;CAF500;Café;UN;0901.21.00;18,90;7891234567895;24;11,40;Simples;Mercearia',
        { ...CAFE, external_id: '77', sku: 'CAF500', type: 'product', category_name: 'Mercearia' },
      ],
      [
        'Omie',
        'Código de Integração;Código do Produto;Descrição do Produto;Código NCM;Código EAN (GTIN);Preço Unitário de Venda;Unidade;Família de Produto;Quantidade em Estoque',
        'I1;P1;Café;0901.21.00;7891234567895;18,90;UN;Mercearia;24',
        { ...CAFE, ncm: '09012100', stock: '24.000' },
      ],
      [
        'WooCommerce',
        'ID,Type,SKU,"GTIN, UPC, EAN, or ISBN",Name,Published,"In stock?",Stock,"Sale price","Regular price",Categories',
        '12,simple,CAF500,7891234567895,Café,1,1,24,15.00,18.90,Mercearia',
        { ...CAFE, external_id: '12', sku: 'CAF500', stock: '24.000', type: 'product' },
      ],
      [
        'WooCommerce without stock',
        'ID,Type,SKU,"GTIN, UPC, EAN, or ISBN",Name,"In stock?","Regular price"',
        '12,variation,CAF500,7891234567895,Café,1,18.90',
        { ...CAFE, stock: null },
      ],
      [
        'Loyverse',
        'Handle,SKU,Name,Category,Sold by weight,Cost,Barcode,Track stock,Available for sale [Loja],Price [Loja],In stock [Loja],Low stock [Loja]',
        'cafe,10001,Café,Mercearia,N,11.40,7891234567895,Y,Y,18.90,24,5',
        { ...CAFE, sku: '10001', cost: '11.40', stock: '24.000', external_id: null },
      ],
      [
        'Square',
        'Reference Handle,Token,Item Name,Variation Name,SKU,Description,Category,GTIN,Price,Default Unit Cost,Current Quantity Loja',
        '#cafe,ABC123,Café,Regular,CAF500,um café,Mercearia,7891234567895,18.90,11.40,24',
        { name: 'Café', price: '18.90', external_id: 'ABC123', gtin: '7891234567895', cost: '11.40' },
      ],
    ] as const)
      it(`are known: products of ${program} [PANEL-356]`, async () => {
        const { done } = await importOf(ITEMS, `${heads}\n${line}`)
        expect(done, done).to.match(/Criados 1 .*Com erro 0/)
        expect((await items())[0]).to.include(expected)
      })

    const ANA = { name: 'Ana', document: '52998224725', phone: '11987654321', email: 'ana@example.com' }
    for (const [program, heads, line, expected] of [
      [
        'Bling',
        'ID;Código;Nome;Fantasia;Endereço;Número;Complemento;Bairro;CEP;Cidade;UF;Contatos;Fone;Fax;Celular;E-mail;Web Site;Tipo pessoa;CNPJ / CPF;IE / RG;Observações',
        '9;C1;Ana;;Rua A;10;;Centro;01310-100;São Paulo;SP;;;;(11) 98765-4321;ana@example.com;;Pessoa Física;529.982.247-25;;vip',
        { ...ANA, external_id: '9', notes: 'vip', person_type: 'PF' },
      ],
      [
        'Tiny',
        'ID;Código;Nome;Fantasia;Endereço;Número;Bairro;CEP;Cidade;Estado;Observações do contato;Fone;Celular;E-mail;Tipo pessoa;CPF / CNPJ',
        '9;C1;Ana;;Rua A;10;Centro;01310-100;São Paulo;São Paulo;vip;(11) 98765-4321;;ana@example.com;F;529.982.247-25',
        { ...ANA, external_id: '9', notes: 'vip', person_type: 'PF' },
      ],
      [
        'Omie',
        'Código de Integração;Razão Social;Nome Fantasia;CPF;CNPJ;Telefone;E-mail;Endereço;Número;Bairro;Estado;Cidade;CEP',
        'I1;Ana;;529.982.247-25;;11987654321;ana@example.com;Rua A;10;Centro;SP;São Paulo;01310100',
        { ...ANA, external_id: 'I1' },
      ],
      [
        'Loyverse',
        'Customer code,Customer name,Email,Phone,Address,City,Postal code,Note,CPF',
        'C1,Ana,ana@example.com,11987654321,Rua A,São Paulo,01310100,vip,529.982.247-25',
        { ...ANA, external_id: 'C1', notes: 'vip' },
      ],
      [
        'Square',
        'Reference ID,First Name,Last Name,Email Address,Phone Number,Company Name,Street Address 1,City,State,Postal Code,Memo,CPF',
        'C1,Ana,Dias,ana@example.com,11987654321,,Rua A,São Paulo,SP,01310100,vip,529.982.247-25',
        { ...ANA, name: 'Ana Dias', external_id: 'C1', notes: 'vip' },
      ],
      [
        'Omie with DDD',
        'Código de Integração;Razão Social;CNPJ / CPF;DDD;Telefone;E-mail;Endereço;Cidade;Estado;CEP',
        'I1;Ana;529.982.247-25;11;98765-4321;ana@example.com;Rua A;São Paulo;BR:SP;01310-100',
        ANA,
      ],
    ] as const)
      it(`are known: contacts of ${program} [PANEL-356]`, async () => {
        const { done } = await importOf(CUSTOMERS, `${heads}\n${line}`)
        expect(done, done).to.match(/Criados 1 .*Com erro 0/)
        const [ana] = await customers()
        expect(ana).to.include(expected)
        expect(ana?.address).to.include({ street: 'Rua A', city: 'São Paulo', zip: '01310100' })
      })

    it('may have several columns for a phone, and no two documents in a line [PANEL-356]', async () => {
      const file =
        'Nome;Fone;Celular;CPF;CNPJ\nAna;;11987654321;;\nRui;1133334444;;;\nEva;;;529.982.247-25;12.345.678/0001-95'
      const { check } = await importOf(CUSTOMERS, file)
      expect(check).to.include('vale a primeira coluna preenchida')
      expect(check).to.include('há dois documentos')
      expect((await customers()).map(({ phone }) => phone)).to.deep.equal(['11987654321', '1133334444'])
    })
  })

  it('take SEM GTIN as no GTIN, and as no barcode [ITEM-12]', async () => {
    const file = 'SKU;Nome;Preço;EAN;cEAN\nA1;Café;1,00;SEM GTIN;SEM GTIN\nA2;Chá;2,00;SEM GTIN;7891234567895'
    const { done } = await importOf(ITEMS, file)
    expect(done).to.match(/Criados 2/)
    const codes = (await items()).map(({ barcode, gtin }) => [barcode, gtin])
    expect(codes).to.have.deep.members([
      [null, null],
      [null, '7891234567895'],
    ])
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

  it('that are no text are refused [PANEL-354]', async () => {
    const { html } = await uploadFile({ api, user }, ITEMS, Buffer.from([0xff, 0xfe, 0, 0, 0x41, 0, 0, 0]))
    expect(plainText(html)).to.include('não é um arquivo CSV')
  })
})
