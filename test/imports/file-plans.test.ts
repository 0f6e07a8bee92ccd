import { expect } from 'chai'
import iconv from 'iconv-lite'
import type { ChosenMarks } from '#panel/import/import-lines.ts'
import { fullReader } from '#queries/reader.ts'
import { type PlannedFile, planFile } from '../support/planned-file.ts'
import { useCompany } from '../support/use-api.ts'

const values = ({ records }: PlannedFile, field: string) => records.map((record) => record[field])

/** Plans files for a company without records. */
function usePlans() {
  const { api, company } = useCompany()
  const plan = (kind: 'items' | 'customers', content: string | Buffer, marks?: ChosenMarks) =>
    planFile(fullReader(api.core.pool, company.id), kind, content, marks)
  return {
    ofItems: (content: string | Buffer, marks?: ChosenMarks) => plan('items', content, marks),
    ofCustomers: (content: string | Buffer) => plan('customers', content),
  }
}

describe('cells of an imported file', () => {
  const { ofItems } = usePlans()

  for (const [what, file, cell] of [
    ['a price with an unquoted comma', 'SKU,Nome,Preço,Estoque\nA1,Café,18,90,24', '24'],
    ['an unquoted comma before an untitled column', 'SKU,Nome,Preço,Estoque,\nA1,Café,18,90,24', '24'],
    ['an unquoted semicolon in a name', 'SKU;Nome;Preço\nA1;Café; moído;18,90', '18,90'],
  ] as const)
    it(`without a column make ${what} an error of its line [PANEL-350]`, async () => {
      const { errors, records } = await ofItems(file)
      expect(errors).to.have.length(1)
      expect(errors[0]).to.include(`sobra "${cell}"`)
      expect(records).to.deep.equal([])
    })

  it('without a column are harmless if they are empty [PANEL-350]', async () => {
    const { records, errors } = await ofItems('SKU;Nome;Preço\nA1;Café;18,90;;;\nA2;Leite;5,00')
    expect([records.length, errors.length]).to.deep.equal([2, 0])
  })

  for (const [what, file] of [
    ['a CRLF head and LF lines', 'SKU;Nome;Preço\r\nA;a;1,00\nB;b;2,00\nC;c;3,00\nD;d;4,00\n'],
    ['an LF head and CRLF lines', 'SKU;Nome;Preço\nA;a;1,00\r\nB;b;2,00\r\nC;c;3,00\r\nD;d;4,00'],
    ['CR, LF and CRLF', 'SKU;Nome;Preço\rA;a;1,00\nB;"b";2,00\r\nC;c;3,00\rD;d;4,00\r\n'],
  ] as const)
    it(`in lines with ${what} are all read [PANEL-352]`, async () => {
      const { records, errors } = await ofItems(file)
      expect([records.length, errors.length]).to.deep.equal([4, 0])
    })

  for (const [what, file, right] of [
    ['before a quoted cell', 'SKU;Nome;Preço\r\nA;"Tubo;1,00\nB;"b";2,00\nC;c;3,00\nD;d;4,00\n', ['B', 'C', 'D']],
    [
      'before another open quote',
      'SKU;Nome;Preço\nA;"Tubo;1,00\nB;b;2,00\nC;c;3,00\nD;"d x";4,00\nE;e;5,00\n',
      ['B', 'C', 'D', 'E'],
    ],
  ] as const)
    it(`with an open quote ${what} are an error of their line, and no other [PANEL-352]`, async () => {
      const plan = await ofItems(file)
      expect(plan.errors).to.have.length(1)
      expect(plan.errors[0]).to.match(/^2 .*as aspas de uma célula não se fecham nesta linha/)
      expect(values(plan, 'sku')).to.deep.equal(right)
    })

  it('with quotes in the quotes of a cell are read, or an error where they have two readings [PANEL-352]', async () => {
    const file = 'SKU,Nome,Preço\nA,"TV 42" LED",1\nB,"TV 42"" LED",1\nC,TV 42" LED,1\nD,"Café "forte" 1 kg",1'
    const plan = await ofItems(file)
    expect(plan.errors.join()).to.match(/^5 .*há aspas dentro das aspas de uma célula/)
    expect(values(plan, 'name')).to.deep.equal(['TV 42" LED', 'TV 42" LED', 'TV 42" LED'])
  })
})

describe('codes that a spreadsheet took for numbers', () => {
  const { ofItems, ofCustomers } = usePlans()

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
      const key = head === 'Código' ? 'Nome;Código' : `Código;Nome;${head}`
      const line = head === 'Código' ? `Café;${cell}` : `K;Café;${cell}`
      const { errors, records } = await ofItems(`${key}\n${line}`)
      expect(errors).to.have.length(1)
      expect(errors[0]).to.include(`"${cell}"`)
      expect(records).to.deep.equal([])
    })

  for (const [head, cell] of [
    ['Telefone', '11987654321.0'],
    ['Telefone', '1,1987654321E+10'],
    ['Celular', '(11) 98765-4321,0'],
    ['CPF', '52998224725.0'],
    ['CEP', '1310100.0'],
    ['Código externo', '1E+05'],
  ] as const)
    it(`are an error of the line of a person: ${head} ${cell} [PANEL-353]`, async () => {
      const { errors, records } = await ofCustomers(`Nome;${head}\nAna;"${cell}"`)
      expect([records.length, errors.length]).to.deep.equal([0, 1])
    })

  it('are not read beyond the length of any field [VAL-741]', async () => {
    const { errors } = await ofCustomers(`Nome;Telefone;CPF\nAna;${'9'.repeat(4_900)};${'1.'.repeat(2_000)}`)
    expect(errors).to.have.length(1)
    expect(errors[0]).to.include('é longo demais')
  })

  for (const [head, cell, field, value] of [
    ['SKU', '="00017"', 'sku', '00017'],
    ['SKU', '"=""00017"""', 'sku', '00017'],
    ['EAN', "'0789000000009", 'barcode', '0789000000009'],
    ['Código', '="A-1"', 'external_id', 'A-1'],
    ['EAN', '="7891234567895"', 'barcode', '7891234567895'],
  ] as const)
    it(`are read as the text that was meant: ${head} ${cell} [PANEL-353]`, async () => {
      const { records } = await ofItems(`${head};Nome;Preço\n${cell};Café;="18,90"`)
      expect(records).to.have.length(1)
      expect(records[0]).to.include({ [field]: value, price: '18.90' })
    })

  it('have no invisible characters [IMPORT-823]', async () => {
    const file =
      'Nome;Fone;CPF;Código\nAna;\u202a(11)\u00a098765\u20114321\u202c;529.982.247\u201025\u200b;C\u200b1\nRui;+55\u200e11\u20602222\u20133333;;'
    const { records, errors } = await ofCustomers(file)
    expect(errors).to.deep.equal([])
    expect(records[0]).to.include({ phone: '11987654321', document: '52998224725', external_id: 'C1' })
    expect(records[1]).to.include({ phone: '551122223333' })
    const codes =
      'EAN;Nome;Preço\n7891234567895;Café;1,00\n\u200b7891234567895;Café;1,00\n7891234567895\ufeff;Café;1,00\n789 1234\u2011567895;Café;1,00'
    const items = await ofItems(codes)
    expect([items.records.length, items.errors.length]).to.deep.equal([1, 3])
  })

  it('that stand for nothing are empty [VAL-910]', async () => {
    const none = ['SEM GTIN', 'sem gtin', '-', '--', 'N/A', 'null', '0', '0000000000000', '\u2014', ' - ', 'SEM EAN']
    const file = `Nome;Preço;EAN;GTIN;NCM;Categoria\n${none.map((cell, n) => `Item ${n};1,00;${cell};${cell};${cell === '0' ? '00000000' : '-'};${n % 2 === 0 ? '-' : '0'}`).join('\n')}`
    const { records } = await ofItems(file)
    expect(records).to.have.length(11)
    for (const item of records)
      for (const field of ['barcode', 'gtin', 'ncm', 'category']) expect(item[field] ?? null, field).to.equal(null)
    const people =
      'Nome;CPF;Fone;E-mail;CEP;Número;Código\nAna;000.000.000-00;(00) 0000-0000;-;00000-000;0;0\nRui;NÃO INFORMADO;n/d;n/a;--;S/N;(vazio)'
    const persons = (await ofCustomers(people)).records
    expect(persons).to.have.length(2)
    for (const person of persons)
      for (const field of ['document', 'phone', 'email', 'external_id']) expect(person[field] ?? null).to.equal(null)
  })
})

describe('phones of an imported file', () => {
  const { ofCustomers } = usePlans()

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
    it(`may be several in a cell, of which the first counts: ${cell} [IMPORT-823]`, async () => {
      const plan = await ofCustomers(`Nome;Fone\nAna;"${cell}"`)
      expect(plan.warnings.join()).to.include(`"${cell}" tem mais de um número; vale`)
      expect(values(plan, 'phone')).to.deep.equal([phone])
    })

  for (const [cell, phone] of [
    ['+55 11 98765 4321', '5511987654321'],
    ['0 11 98765-4321', '011987654321'],
    ['+49 30 1234 5678 90', '4930123456789' + '0'],
    ['0800 123 4567', '08001234567'],
  ] as const)
    it(`may be in parts: ${cell} [IMPORT-823]`, async () => {
      const plan = await ofCustomers(`Nome;Fone\nAna;${cell}`)
      expect(plan.warnings).to.deep.equal([])
      expect(values(plan, 'phone')).to.deep.equal([phone])
    })

  it('may have columns of their own, and no line has two documents [PANEL-356]', async () => {
    const file =
      'Nome;Fone;Celular;CPF;CNPJ\nAna;;11987654321;;\nRui;1133334444;;;\nEva;;;529.982.247-25;12.345.678/0001-95'
    const plan = await ofCustomers(file)
    expect(plan.errors.join()).to.include('há dois documentos')
    expect(values(plan, 'phone')).to.deep.equal(['11987654321', '1133334444'])
  })
})

describe('encodings of an imported file', () => {
  const { ofItems, ofCustomers } = usePlans()

  const HEAD = 'Nome;Observações\n'
  const NAME = 'Café “São João” – nº 1 €'
  const windows = (text: string) => iconv.encode(text, 'win1252')

  for (const [what, bytes] of [
    ['windows-1252', windows(`${HEAD}${NAME};ž`)],
    ['UTF-8', Buffer.from(`${HEAD}${NAME};ž`)],
    ['UTF-16LE with a byte order mark', Buffer.from(`\ufeff${HEAD}${NAME};ž`, 'utf16le')],
    ['UTF-16BE with a byte order mark', Buffer.from(`\ufeff${HEAD}${NAME};ž`, 'utf16le').swap16()],
  ] as const)
    it(`are recognised: ${what} [PANEL-354]`, async () => {
      expect((await ofCustomers(bytes)).records[0]).to.include({ name: NAME, notes: 'ž' })
    })

  it('leave no control character in a name or a note [PANEL-354]', async () => {
    for (const text of ['Caf\x81;x', 'Ana;Caf\x8d', 'Rui;\x9d']) {
      const { errors, records } = await ofCustomers(Buffer.from(`${HEAD}${text}é`, 'latin1'))
      expect(errors.join()).to.include('não pode conter caracteres de controle')
      expect(records).to.deep.equal([])
    }
  })

  it('of files that are no text are refused [PANEL-354]', async () => {
    const { errors } = await ofItems(Buffer.from([0xff, 0xfe, 0, 0, 0x41, 0, 0, 0]))
    expect(errors.join()).to.include('não é um arquivo CSV')
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
      const plan = await ofCustomers(bytes)
      expect(plan.errors).to.have.length(1)
      expect(plan.errors[0]).to.include('tem caracteres que não puderam ser lidos')
      expect(values(plan, 'name')).to.deep.equal(names)
    })
})

describe('numbers of an imported file', () => {
  const { ofItems } = usePlans()

  for (const [what, cells, prices] of [
    ['an English column with a decimal point', ['18.900', '2.50'], ['18.90', '2.50']],
    ['an English column with grouped thousands', ['"1,250"', '950.00'], ['1250.00', '950.00']],
    ['a Brazilian column', ['1.250', '"18,9"'], ['1250.00', '18.90']],
    ['both marks in one number', ['"1,250.5"', '1.250'], ['1250.50', '1.25']],
    ['ten decimals', ['"29,9000000000"', '1.250'], ['29.90', '1250.00']],
    ['numbers that are each clear', ['"1.234,56"', '"1,234.56"'], ['1234.56', '1234.56']],
  ] as const)
    it(`are read by their whole column: ${what} [PANEL-355]`, async () => {
      const lines = cells.map((cell, n) => `S${n},Item ${n},${cell}`)
      expect(values(await ofItems(`SKU,Nome,Preço\n${lines.join('\n')}`), 'price')).to.deep.equal(prices)
    })

  for (const [cell, comma, dot] of [
    ['18.900', '18900.00', '18.90'],
    ['1,250', '1.25', '1250.00'],
    ['R$ 2.000', '2000.00', '2.00'],
  ] as const)
    it(`that their column does not tell are errors until the user says: ${cell} [PANEL-355]`, async () => {
      const file = `SKU;Nome;Preço\nA;Café;${cell}\nB;Leite;5`
      const plan = await ofItems(file)
      expect([plan.numbers, plan.errors.length]).to.deep.equal([['price'], 1])
      expect(values(plan, 'sku')).to.deep.equal(['B'])
      for (const [mark, price] of [
        ['comma', comma],
        ['dot', dot],
      ] as const)
        expect(values(await ofItems(file, new Map([[2, mark]])), 'price')).to.deep.equal([price, '5.00'])
    })

  it('of quantities are read by the prices beside them [PANEL-355]', async () => {
    const plan = await ofItems('SKU;Nome;Preço;Estoque\nA;Café;18,90;24,000\nB;Leite;5,00;1,500')
    expect(values(plan, 'stock').map(Number)).to.deep.equal([24, 1.5])
  })

  for (const cell of ['12.34,5', '1.2.3', '1,2,3', '2,5.0'])
    it(`that are none are errors: ${cell} [PANEL-355]`, async () => {
      expect((await ofItems(`SKU;Nome;Preço\nA;Café;${cell}`)).errors.join()).to.include('informe um valor válido')
    })
})

describe('tables of an imported file', () => {
  const { ofItems, ofCustomers } = usePlans()

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
      const { records } = await ofItems(file)
      expect(records).to.have.length(1)
      expect(records[0]).to.include({ sku: 'A', name: 'Café, moído', price: '18.90' })
    })

  it('number their lines as the spreadsheet does, below sep= and titles [PANEL-356]', async () => {
    expect((await ofItems('sep=;\nProdutos\nSKU;Nome;Preço\nA;Café;dez')).errors.join()).to.match(/^4 Preço de venda/)
  })

  it('may have long texts in columns that are not imported [IMPORT-828]', async () => {
    const meta = Array.from({ length: 190 }, (_, n) => `"Meta: _${n}"`).join(',')
    const text = `"<p>${'Descrição ""longa"". '.repeat(2_000)}</p>"`
    const heads = `ID,Name,"Regular price",Description,${meta}`
    const { records, errors } = await ofItems(`${heads}\n1,Café,18.90,${text}\n2,Chá,5,`)
    expect([records.length, errors.length]).to.deep.equal([2, 0])
    const wrong = await ofItems(`Nome;Preço\n"${'x'.repeat(6_000)}";1,00\nMate;2,00`)
    expect(wrong.records).to.have.length(1)
    expect(wrong.errors.join()).to.include('é longo demais')
  })

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
      { ...CAFE, external_id: '77', sku: 'CAF500', type: 'product', category: 'Mercearia' },
    ],
    [
      'Omie',
      'Código de Integração;Código do Produto;Descrição do Produto;Código NCM;Código EAN (GTIN);Preço Unitário de Venda;Unidade;Família de Produto;Quantidade em Estoque',
      'I1;P1;Café;0901.21.00;7891234567895;18,90;UN;Mercearia;24',
      { ...CAFE, ncm: '09012100', stock: '24' },
    ],
    [
      'WooCommerce',
      'ID,Type,SKU,"GTIN, UPC, EAN, or ISBN",Name,Published,"In stock?",Stock,"Sale price","Regular price",Categories',
      '12,simple,CAF500,7891234567895,Café,1,1,24,15.00,18.90,Mercearia',
      { ...CAFE, external_id: '12', sku: 'CAF500', stock: '24', type: 'product' },
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
      { ...CAFE, sku: '10001', cost: '11.40', stock: '24', external_id: null },
    ],
    [
      'Square',
      'Reference Handle,Token,Item Name,Variation Name,SKU,Description,Category,GTIN,Price,Default Unit Cost,Current Quantity Loja',
      '#cafe,ABC123,Café,Regular,CAF500,um café,Mercearia,7891234567895,18.90,11.40,24',
      { name: 'Café', price: '18.90', external_id: 'ABC123', gtin: '7891234567895', cost: '11.40' },
    ],
  ] as const)
    it(`are known: products of ${program} [PANEL-356]`, async () => {
      const { records, errors } = await ofItems(`${heads}\n${line}`)
      expect(errors).to.deep.equal([])
      expect({ stock: null, external_id: null, ...records[0] }).to.include(expected)
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
      const { records, errors } = await ofCustomers(`${heads}\n${line}`)
      expect(errors).to.deep.equal([])
      expect(records[0]).to.include(expected)
      expect(records[0]?.address).to.include({ street: 'Rua A', city: 'São Paulo', zip: '01310100' })
    })

  it('take SEM GTIN as no GTIN, and as no barcode [ITEM-12]', async () => {
    const file = 'SKU;Nome;Preço;EAN;cEAN\nA1;Café;1,00;SEM GTIN;SEM GTIN\nA2;Chá;2,00;SEM GTIN;7891234567895'
    const { records } = await ofItems(file)
    expect(records.map(({ barcode, gtin }) => [barcode ?? null, gtin ?? null])).to.deep.equal([
      [null, null],
      [null, '7891234567895'],
    ])
  })
})

describe('lines of an imported file that are to be confirmed', () => {
  const { ofItems, ofCustomers } = usePlans()

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
    it(`are no record: ${what} [IMPORT-820]`, async () => {
      const plan = await ofItems(`Nome;Código;Preço\nCafé;C1;1,00\n${line}\n`)
      expect(plan.errors).to.deep.equal([])
      expect(plan.doubts).to.have.length(1)
      expect(plan.doubts[0]).to.match(new RegExp(`^3 .*${reason}`))
    })

  it('are none by names that only begin so, and a reason of wrong lines [IMPORT-820]', async () => {
    const file = 'Nome;Preço\nTotal Flex 1 L;1,00\nMédia de café;2,00\nRelatório (bloco);3,00\nTotal;dez'
    const plan = await ofItems(file)
    expect([plan.records.length, plan.doubts.length]).to.deep.equal([3, 0])
    expect(plan.errors.join()).to.match(/^5 "Total" parece ser um total; Preço/)
  })

  it('are alone in a line of a report, and no name with more beside it [IMPORT-820]', async () => {
    const alone = ['28/11/2026 10:05:33', '10:05', 'Grupo: Bebidas', 'Continua...', 'Sistema Loja v1.2', '1 de 3']
    const plan = await ofCustomers(`Nome;Fone\n${alone.join(';\n')};\nAC: Maria;11987654321`)
    expect([plan.records.length, plan.doubts.length]).to.deep.equal([7, 6])
  })

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
    it(`are not on sale: ${head} ${off} [IMPORT-820]`, async () => {
      const plan = await ofItems(`Nome;Preço;${head}\nVelho;1,00;${off}\nNovo;2,00;${on}`)
      expect(values(plan, 'name')).to.deep.equal(['Velho', 'Novo'])
      expect(plan.doubts).to.have.length(1)
      expect(plan.doubts[0]).to.match(/^2 /).and.include(`${head}: ${off}`)
    })
})
