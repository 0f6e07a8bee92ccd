import { isAscii } from 'node:buffer'
import { expect } from 'chai'
import { isRefusal } from '#ledger/command.ts'
import { MAX_LINES, readSheet, type Sheet } from '#panel/import/sheet.ts'
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

describe('a table from a spreadsheet', () => {
  const bytesOf = (content: string | Buffer) => Buffer.from(content as string)
  const cells = async (content: string | Buffer) => {
    const sheet = await readSheet(bytesOf(content), pause)
    if (isRefusal(sheet)) throw new Error(JSON.stringify(sheet))
    return [sheet.heads, ...sheet.lines.map((line) => line.cells)]
  }
  const refused = async (text: string) => {
    const sheet = await readSheet(bytesOf(text), pause)
    return isRefusal(sheet) ? JSON.stringify(sheet.details?.fields) : 'read'
  }

  for (const delimiter of [';', ',', '\t'])
    it(`is read with ${JSON.stringify(delimiter)} between cells [PANEL-180]`, async () => {
      const text = `${['Nome', 'Preço'].join(delimiter)}\r\n${['"Café; 500 g, torrado"', '"18,90"'].join(delimiter)}`
      expect(await cells(text)).to.deep.equal([
        ['Nome', 'Preço'],
        ['Café; 500 g, torrado', '18,90'],
      ])
    })

  it('is read in UTF-8, with or without a byte order mark, and in the Windows encoding [PANEL-180]', async () => {
    const text = 'Nome\nPão'
    for (const bytes of [Buffer.from(text), Buffer.from(`\ufeff${text}`), Buffer.from(text, 'latin1')])
      expect(await cells(bytes)).to.deep.equal([['Nome'], ['Pão']])
  })

  it('numbers lines like a spreadsheet, and skips empty ones', async () => {
    const sheet = await readSheet(bytesOf('Nome;SKU\nA;1\n;\nB;2\n'), pause)
    expect(isRefusal(sheet) ? null : sheet.lines.map(({ number }) => number)).to.deep.equal([2, 4])
  })

  it('restores cells that our exports escape against formulas', async () => {
    expect(await cells("Nome\n'=1+1\n'-A\n'tis")).to.deep.equal([['Nome'], ['=1+1'], ['-A'], ["'tis"]])
  })

  it('is refused if it is not a table, empty, or too large [PANEL-180]', async () => {
    expect(await refused('PK\u0003\u0004\0\0')).to.include('não é uma planilha XLSX que se possa ler')
    for (const other of ['a\0b', '\ufeff<html><table>\n<tr><td>Nome\n', '\n<?xml version="1.0"?>\n<Workbook>\n<Row>'])
      expect(await refused(other), other).to.include('salve a planilha como XLSX ou CSV')
    expect(await refused('Nome\n')).to.include('não tem linhas')
    expect(await refused('')).to.include('não tem linhas')
    expect(await refused('Nome\n"aberta')).to.include('aspas')
    expect(await refused(`Nome\n${'A\n'.repeat(MAX_LINES)}`)).to.equal('read')
    expect(await refused(`Nome\n${'A\n'.repeat(MAX_LINES + 1)}`)).to.include('5.000 linhas')
    expect(await refused(`${';'.repeat(200)}\n1`)).to.include('200 colunas')
    expect(await refused(`Nome${';'.repeat(199)}\n1`)).to.equal('read')
  })

  /** Files that would take seconds or much memory if they were read as a whole. */
  const HOSTILE: Readonly<Record<string, readonly [content: string | Buffer, refusal: string]>> = {
    '600 KB of delimiters and line ends': [';\n'.repeat(300_000), 'não tem linhas'],
    '900 KB of line ends': ['\n'.repeat(900_000), 'não tem linhas'],
    '1 MB of quotes': ['"'.repeat(1_000_000), 'aspas'],
    '1 MB of doubled quotes': ['""""'.repeat(250_000), 'aspas'],
    'rows of doubled quotes': ['""""\n'.repeat(200_000), '5.000 linhas'],
    'a cell of 1 MB': [`Nome\n${'x'.repeat(1_000_000)}`, 'mais de 131.072 caracteres (linha 2)'],
    'a head of 1 MB': [`${'('.repeat(1_000_000)}\nx`, 'mais de 131.072 caracteres (linha 1)'],
    '100,000 columns': [`Nome;SKU\n${';'.repeat(100_000)}`, '200 colunas (linha 2)'],
    '2 MB of accents as Windows saves them': [Buffer.alloc(2_000_000, 0xe9), 'mais de 131.072 caracteres'],
    'a row of 270 KB': [`Nome\n${`${'x'.repeat(90_000)};`.repeat(3)}`, 'mais de 262.144 caracteres (linha 2)'],
  }

  for (const [what, [content, refusal]] of Object.entries(HOSTILE))
    it(`with ${what} is refused, in slices and no further than the limit [PANEL-321]`, async () => {
      let pauses = 0
      const bytes = bytesOf(content)
      const sheet = await readSheet(bytes, async () => void pauses++)
      expect(isRefusal(sheet) ? JSON.stringify(sheet.details?.fields) : 'read').to.include(refusal)
      // Decoding takes 16 KiB at a time, and so does reading up to the limit; some more are for the delimiters.
      const least = isAscii(bytes) ? 4 : bytes.length / 16_384
      expect(pauses).to.be.within(least, bytes.length / 4_096 + 10)
    })

  it('yields in proportion to its length [PANEL-321]', async () => {
    let pauses = 0
    const counting = async () => void pauses++
    await readSheet(bytesOf(`Nome\n${'Café\n'.repeat(4_000)}${'\n'.repeat(1_000_000)}`), counting)
    expect(pauses).to.be.within(100, 300)
  })
})
