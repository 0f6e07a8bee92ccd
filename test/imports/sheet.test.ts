import { isAscii } from 'node:buffer'
import { expect } from 'chai'
import { MAX_LINES, readSheet } from '#imports/sheet.ts'
import { isRefusal } from '#ledger/command.ts'

/** The tests have no concurrent work to yield to. */
const pause = async () => {}

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
