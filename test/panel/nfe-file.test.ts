import { expect } from 'chai'
import iconv from 'iconv-lite'
import { createNfeXml, type NfeXmlOptions } from '#demo/companies/demo-seed.ts'
import { formatDocumentNumber } from '#domain/prices.ts'
import { isRefusal } from '#ledger/command.ts'
import { type Nfe, readNfe } from '#panel/import/nfe-file.ts'

const BUYER = '11222333000181'
const LINE = { cProd: 'A1', xProd: 'Açúcar "União" 1 kg', qCom: '10.0000', vProd: '45.00' }

const xmlOf = (fields: Partial<NfeXmlOptions> = {}): string =>
  createNfeXml({ buyer: BUYER, lines: [LINE], ...fields }).xml

const read = (content: string | Buffer) => readNfe(Buffer.from(content as string), BUYER, async () => {})

async function note(content: string | Buffer): Promise<Nfe> {
  const nfe = await read(content)
  if (isRefusal(nfe)) throw new Error(JSON.stringify(nfe))
  return nfe
}

const told = async (content: string | Buffer): Promise<string> => {
  const nfe = await read(content)
  return isRefusal(nfe) ? JSON.stringify(nfe.details) : 'read'
}

describe('file of an NF-e', () => {
  it('reads number, supplier, lines and instalments', async () => {
    const nfe = await note(
      xmlOf({
        bills: [
          ['2026-02-10', '45'],
          [null, '0.00'],
          [null, '5.10'],
        ],
      }),
    )
    expect(nfe).to.deep.include({
      ...{ number: '1234', series: '1', issuedOn: '2026-01-10', isTest: false, buyer: BUYER },
      supplier: {
        ...{ document: '11444777000161', name: 'Atacado São Jorge & Filhos Ltda', tradeName: 'Atacado São Jorge' },
      },
      bills: [
        { due_date: '2026-02-10', amount: '45.00' },
        { due_date: '2026-01-10', amount: '5.10' },
      ],
    })
    expect(nfe.lines[0]).to.deep.include({
      number: '1',
      code: 'A1',
      name: LINE.xProd,
      unit: 'UN',
      gtin: null,
      taxedGtin: null,
    })
  })

  it('adds freight, insurance, other costs, IPI and ST to the value, less the discount [STOCK-1272]', async () => {
    const more = { vDesc: '5.01', vFrete: '1.10', vSeg: '0.20', vOutro: '0.03', vIPI: '2.25', vICMSST: '4.4' }
    const nfe = await note(
      xmlOf({
        lines: [
          { ...LINE, ...more },
          { ...LINE, vUnCom: '4.5000000001', vProd: '45.0000000001' },
        ],
      }),
    )
    expect(nfe.lines.map(({ cost }) => formatDocumentNumber(cost))).to.deep.equal(['47.97', '45.0000000001'])
  })

  it('reads prefixes, byte order marks and code pages, whatever the declaration says', async () => {
    const xml = xmlOf()
    const latin = xml.replace('UTF-8', 'ISO-8859-1')
    const prefixed = xml.replace(/<(\/?)(?=[a-z])/gi, '<$1n:').replaceAll('xmlns=', 'xmlns:n=')
    for (const [name, content] of Object.entries({
      bom: `\uFEFF${xml}`,
      'blanks before': `\r\n  ${xml}`,
      'no declaration': xml.replace(/<\?xml[^>]*\?>/, ''),
      prefixed,
      latin: iconv.encode(latin, 'latin1'),
      'UTF-8 under the name of Latin-1': latin,
      'Windows under the name of UTF-8': iconv.encode(xml, 'windows-1252'),
      'UTF-16': iconv.encode(xml.replace('UTF-8', 'UTF-16'), 'utf16', { addBOM: true }),
      references: xml.replace('São', 'S&#227;o').replace('Açúcar', 'A&#xE7;úcar'),
      cdata: xml.replace(/<xProd>[^<]*</, `<xProd><![CDATA[${LINE.xProd}]]><`),
    })) {
      const nfe = await note(content)
      expect([nfe.supplier.tradeName, nfe.lines[0]?.name], name).to.deep.equal(['Atacado São Jorge', LINE.xProd])
    }
  })

  it('refuses what is no authorized NF-e of layout 4.00 for this company [STOCK-1273]', async () => {
    const xml = xmlOf()
    const bare = /<NFe.*<\/NFe>/.exec(xml)?.[0] ?? ''
    const other = createNfeXml({ buyer: BUYER, lines: [LINE], number: 99 }).accessKey
    for (const [name, content, message] of [
      ['empty', '', 'não é um XML'],
      ['text', 'a;b;c\n'.repeat(50), 'não é um XML'],
      ['cut', xml.slice(0, -20), 'não é um XML'],
      ['html', `<!-- ${'x'.repeat(99)} --><html><body/></html>`, 'não é um XML'],
      ['bare note', bare, 'não tem o protocolo'],
      ['no protocol', xml.replace(/<protNFe.*<\/protNFe>/, ''), 'não tem o protocolo'],
      ['cancelled', xmlOf({ cStat: '101' }), 'cancelada'],
      ['denied', xmlOf({ cStat: '110' }), 'não está autorizada'],
      ['no state', xml.replace('<cStat>100</cStat>', ''), 'não está autorizada'],
      ['old layout', xmlOf({ version: '3.10' }), 'leiaute 3.10'],
      ['NFC-e', xmlOf({ model: '65' }), 'modelo 65'],
      ['other buyer', xmlOf({ buyer: '12345678000195' }), '12.345.678/0001-95'],
      ['no buyer', xml.replace(/<dest>.*<\/dest>/, ''), 'outro comprador'],
      [
        'wrong digit',
        xml.replace(/(\d{43})(\d)(?=["<])/g, (_, key, digit) => key + ((Number(digit) + 1) % 10)),
        'chave de acesso errada',
      ],
      ['protocol of another', xml.replace(/<chNFe>\d+/, `<chNFe>${other}`), 'protocolo de outra nota'],
      ['other number', xml.replace('<nNF>1234', '<nNF>1235'), 'diferentes dos da chave'],
      ['two notes', xml.replace('<protNFe', `${bare}<protNFe`), 'mais de uma nota'],
      ['two values', xml.replace('<vProd>45.00</vProd>', '<vProd>45.00</vProd><vProd>1</vProd>'), 'vProd repetido'],
      ['no quantity', xml.replace('<qCom>10.0000</qCom>', ''), 'não tem prod/qCom'],
      ['letters', xmlOf({ lines: [{ ...LINE, vProd: '4e5' }] }), 'não é um número'],
      ['comma', xmlOf({ lines: [{ ...LINE, vProd: '45,00' }] }), 'não é um número'],
      ['zero', xmlOf({ lines: [{ ...LINE, qCom: '0' }] }), 'quantidade zero'],
      ['discount', xmlOf({ lines: [{ ...LINE, vDesc: '45.01' }] }), 'desconto maior'],
      ['no lines', xmlOf({ lines: [] }), 'não tem itens'],
      ['bad day', xmlOf({ bills: [['2026-02-31', '1.00']] }), 'vencimento que não existe'],
      ['bad bill', xmlOf({ bills: [['2026-02-28', '1.001']] }), 'sem valor válido'],
      ['event', xml.replaceAll('nfeProc', 'procEventoNFe'), 'é um evento'],
      ['encoding', xml.replace('UTF-8', 'shift_jis'), 'codificação shift_jis'],
    ] as const)
      expect(await told(content), name).to.include(message)
    expect(await told(xmlOf({ cStat: '150' }))).to.equal('read')
  })

  it('refuses any DTD, and bounds entities, elements, depth, lines and bytes without holding others up', async () => {
    const bomb = '<!DOCTYPE a [<!ENTITY b "x"><!ENTITY c "&b;&b;">]>'
    const xml = xmlOf()
    for (const before of [bomb, '<!doctype x SYSTEM "file:///etc/passwd">'])
      expect(await told(xml.replace('<nfeProc', `${before}<nfeProc`))).to.include('DTD')
    expect(await told(xml.replace('Açúcar', '&b;'))).to.include('não é um XML')
    expect(await told(xml.replace('<ide>', '<a>'.repeat(100)))).to.include('não é um XML')
    const lines = (count: number) => Array.from({ length: count }, () => LINE)
    expect((await note(xmlOf({ lines: lines(990) }))).lines).to.have.length(990)
    expect(await told(xmlOf({ lines: lines(991) }))).to.include('mais de 990 itens')
    expect(await told(xmlOf({ bills: Array.from({ length: 121 }, () => [null, '1.00'] as const) }))).to.include(
      'mais de 120',
    )
    expect(await told(Buffer.alloc(5_000_001, ' '))).to.include('mais de 5 MB')
    expect(await told(xml.replace('<ide>', `${'<a/>'.repeat(300_001)}<ide>`))).to.include('elementos demais')
    const long = 'x'.repeat(100_000)
    expect((await note(xmlOf({ lines: [{ ...LINE, xProd: long }] }))).lines[0]?.name).to.have.length(120)
  })
})
