import { expect } from 'chai'
import { readSheet, type Sheet } from '#imports/sheet.ts'
import { isRefusal } from '#ledger/command.ts'
import { type XlsxCell, xlsx } from '../support/xlsx.ts'

const pause = async () => {}

describe('a workbook', () => {
  const read = async (file: Promise<Buffer>): Promise<Sheet> => {
    const sheet = await readSheet(await file, pause)
    if (isRefusal(sheet)) throw new Error(JSON.stringify(sheet))
    return sheet
  }
  const cellsOf = async (...file: Parameters<typeof xlsx>) =>
    (await read(xlsx(...file))).lines.map(({ cells }) => cells)
  const refusalOf = async (file: Promise<Buffer> | Buffer) => {
    const sheet = await readSheet(await file, pause)
    return isRefusal(sheet) ? JSON.stringify(sheet.details?.fields) : 'read'
  }
  /** The only cell of the only line. */
  const shown = async (xml: string, formats: readonly string[] = [], is1904 = false) =>
    (await cellsOf([['Nome'], [{ xml }]], { formats, is1904 }))[0]?.[0]

  it('is a table of its first visible sheet, which it names [IMPORT-827]', async () => {
    const sheets =
      '<sheet name="Oculta" sheetId="1" state="hidden" r:id="rId2"/><sheet name="Plan1" sheetId="2" r:id="rId1"/><sheet name="Plan2" sheetId="3" r:id="rId2"/>'
    const sheet = await read(
      xlsx(
        [
          ['Nome', 'Preço'],
          ['Café', 18.9],
          [null, null],
          ['Chá & mate', 5],
        ],
        { sheets },
      ),
    )
    expect(sheet.heads).to.deep.equal(['Nome', 'Preço'])
    expect(sheet.lines).to.deep.equal([
      { number: 2, cells: ['Café', '18,9'] },
      { number: 4, cells: ['Chá & mate', '5'] },
    ])
    expect(sheet.origin).to.deep.equal({ encoding: null, sheet: 'Plan1', otherSheets: 1 })
  })

  for (const [what, xml, formats, expected] of [
    ['a number', '<c><v>7891234567895</v></c>', [], '7891234567895'],
    ['a sum with a rounding error', '<c><v>0.30000000000000004</v></c>', [], '0,3'],
    ['a number with exponent', '<c><v>1.5E-3</v></c>', [], '0,0015'],
    ['three decimals, which could be thousands', '<c><v>1.25</v></c>', ['0.000'], '1,25'],
    ['a weight', '<c><v>1.125</v></c>', [], '1,1250'],
    ['a code that has lost digits', '<c><v>12345678901234567890</v></c>', [], '1,23457E+19'],
    ['a price shown without decimals', '<c s="1"><v>18.9</v></c>', ['"R$" #,##0'], '18,9'],
    ['a code with zeros', '<c s="1"><v>18</v></c>', ['00000'], '00018'],
    ['a CPF', '<c s="1"><v>1234567890</v></c>', ['000"."000"."000\\-00'], '012.345.678-90'],
    ['a postal code', '<c s="1"><v>1310100</v></c>', ['00000\\-000'], '01310-100'],
    ['a date', '<c s="1"><v>46354</v></c>', ['dd/mm/yyyy'], '28/11/2026'],
    ['a date in another format', '<c s="1"><v>46354</v></c>', ['[$-416]d "de" mmmm "de" yyyy'], '28/11/2026'],
    ['a date and time', '<c s="1"><v>46354.5</v></c>', ['dd/mm/yy hh:mm'], '28/11/2026 12:00'],
    ['a time', '<c s="1"><v>0.75</v></c>', ['hh:mm'], '18:00'],
    ['an ISO date', '<c t="d"><v>2026-11-28T00:00:00</v></c>', [], '28/11/2026'],
    ['a percent', '<c s="1"><v>0.125</v></c>', ['0.00%'], '12,50%'],
    ['a whole percent', '<c s="1"><v>0.2</v></c>', ['0%'], '20%'],
    ['true', '<c t="b"><v>1</v></c>', [], 'VERDADEIRO'],
    ['false', '<c t="b"><v>0</v></c>', [], 'FALSO'],
    ['an error', '<c t="e"><v>#N/A</v></c>', [], '#N/A'],
    ['a formula', '<c><f>A1*2</f><v>37.8</v></c>', [], '37,8'],
    ['a formula with a text', '<c t="str"><f>A1&amp;"x"</f><v>Café</v></c>', [], 'Café'],
    ['a text that is digits', '<c t="inlineStr"><is><t>00017</t></is></c>', [], '00017'],
    [
      'a text of several formats',
      '<c t="inlineStr"><is><r><t>Pão </t></r><r><t>francês</t></r></is></c>',
      [],
      'Pão francês',
    ],
    ['a line end', '<c t="inlineStr"><is><t>a_x000A_b</t></is></c>', [], 'a\nb'],
  ] as const)
    it(`shows ${what} as people see it [IMPORT-827]`, async () => {
      expect(await shown(xml, formats)).to.equal(expected)
    })

  it('counts the days of the other calendar, and knows formats without a pattern [IMPORT-827]', async () => {
    expect(await shown('<c s="1"><v>44892</v></c>', ['dd/mm/yyyy'], true)).to.equal('28/11/2026')
    const styles = '<styleSheet><cellXfs><xf numFmtId="14"/><xf numFmtId="9"/></cellXfs></styleSheet>'
    const cells: XlsxCell[] = [{ xml: '<c s="0"><v>46354</v></c>' }, { xml: '<c s="1"><v>0.5</v></c>' }]
    expect(await cellsOf([['Dia', 'Taxa'], cells], { parts: { 'xl/styles.xml': styles } })).to.deep.equal([
      ['28/11/2026', '50%'],
    ])
  })

  it('may have prefixes, positions, gaps and phonetic texts [IMPORT-827]', async () => {
    const sheet =
      '<x:worksheet xmlns:x="m"><x:sheetData><x:row r="3"><x:c r="B3" t="s"><x:v>0</x:v></x:c></x:row><x:row r="7"><x:c r="B7"><x:v>1</x:v></x:c><x:c r="D7"><x:v>2</x:v></x:c></x:row></x:sheetData></x:worksheet>'
    const texts = '<sst><si><t>Nome</t><rPh><t>no-me</t></rPh></si></sst>'
    const file = xlsx([], { parts: { 'xl/worksheets/sheet1.xml': sheet, 'xl/sharedStrings.xml': texts } })
    const { heads, lines } = await read(file)
    expect(heads).to.deep.equal(['', 'Nome'])
    expect(lines).to.deep.equal([{ number: 7, cells: ['', '1', '', '2'] }])
  })

  const row = (cells: string) =>
    `<worksheet><sheetData><row><c t="s"><v>0</v></c></row>${cells}</sheetData></worksheet>`
  const sheetOf = (content: string) => xlsx([['Nome']], { parts: { 'xl/worksheets/sheet1.xml': content } })

  for (const [what, file, refusal] of [
    ['5,001 lines', () => xlsx([['Nome'], ...Array.from({ length: 5_001 }, () => ['A'])]), '5.000 linhas'],
    ['a cell in column 201', () => sheetOf(row('<row><c r="GS2"><v>1</v></c></row>')), '200 colunas'],
    ['a million empty rows', () => sheetOf(row('<row/>'.repeat(1_000_000))), 'linhas e células demais'],
    ['a million empty cells', () => sheetOf(row(`<row>${'<c/>'.repeat(1_000_000)}</row>`)), 'linhas e células demais'],
    ['40 MB of blanks', () => sheetOf(row(' '.repeat(40_000_000))), 'grande demais'],
    [
      'long texts that many cells share',
      () =>
        xlsx([['Nome'], ...Array.from({ length: 400 }, () => Array(10).fill({ xml: '<c t="s"><v>1</v></c>' }))], {
          parts: { 'xl/sharedStrings.xml': `<sst><si><t>Nome</t></si><si><t>${'x'.repeat(5_000)}</t></si></sst>` },
        }),
      'grande demais',
    ],
    ['elements within elements', () => sheetOf(row('<a>'.repeat(100_000))), 'não é uma planilha'],
    [
      '100,000 attributes',
      () => sheetOf(row(`<row ${Array.from({ length: 100_000 }, (_, n) => `a${n}=""`).join(' ')}/>`)),
      'não é uma planilha',
    ],
    [
      'an entity of its own',
      () => sheetOf(`<!DOCTYPE x [<!ENTITY a "aaaa">]>${row('<row><c t="str"><v>&a;</v></c></row>')}`),
      'não é uma planilha',
    ],
    ['no sheet', () => xlsx([], { sheets: '' }), 'não é uma planilha'],
    [
      'a sheet that is missing',
      () => xlsx([], { sheets: '<sheet name="x" sheetId="1" r:id="rId9"/>' }),
      'não é uma planilha',
    ],
    ['half of its bytes', async () => (await xlsx([['Nome'], ['A']])).subarray(0, 900), 'não é uma planilha'],
    ['the form of an old or encrypted one', async () => Buffer.from('d0cf11e0a1b11ae1', 'hex'), 'sem senha'],
    ['titles alone', () => xlsx([['Nome']]), 'não tem linhas'],
  ] as const)
    it(`with ${what} is refused [IMPORT-827]`, async () => {
      expect(await refusalOf(file())).to.include(refusal)
    })

  it('may have empty cells and rows beyond the limits [IMPORT-827]', async () => {
    const cells = `<row><c r="A2"><v>1</v></c><c r="XFD2" s="0"/></row>${'<row/>'.repeat(20_000)}`
    expect(await refusalOf(sheetOf(row(cells)))).to.equal('read')
  })

  it('is read in slices [IMPORT-827]', async () => {
    let pauses = 0
    const rows = [['Nome'], ...Array.from({ length: 4_000 }, (_, n) => [`Item ${n} ${'x'.repeat(n % 97)}`, n])]
    await readSheet(await xlsx(rows), async () => void pauses++)
    expect(pauses).to.be.above(20)
  })
})
