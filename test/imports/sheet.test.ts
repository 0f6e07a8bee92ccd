import { expect } from 'chai'
import { MAX_LINES, readSheet } from '#imports/sheet.ts'
import { isRefusal } from '#ledger/command.ts'

/** The tests wait for nobody else. */
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

  it('is read in UTF-8, with a mark or without, and as Windows saves it [PANEL-180]', async () => {
    const text = 'Nome\nPão'
    for (const bytes of [Buffer.from(text), Buffer.from(`\ufeff${text}`), Buffer.from(text, 'latin1')])
      expect(await cells(bytes)).to.deep.equal([['Nome'], ['Pão']])
  })

  it('tells lines as a spreadsheet counts them, and passes over empty ones', async () => {
    const sheet = await readSheet(bytesOf('Nome;SKU\nA;1\n;\nB;2\n'), pause)
    expect(isRefusal(sheet) ? null : sheet.lines.map(({ number }) => number)).to.deep.equal([2, 4])
  })

  it('gives back what our own files keep from being a formula', async () => {
    expect(await cells("Nome\n'=1+1\n'-A\n'tis")).to.deep.equal([['Nome'], ['=1+1'], ['-A'], ["'tis"]])
  })

  it('is refused where it is none, empty, or too large [PANEL-180]', async () => {
    expect(await refused('PK\u0003\u0004\0\0')).to.include('salve a planilha como CSV')
    expect(await refused('Nome\n')).to.include('não tem linhas')
    expect(await refused('')).to.include('não tem linhas')
    expect(await refused('Nome\n"aberta')).to.include('aspas')
    expect(await refused(`Nome\n${'A\n'.repeat(MAX_LINES)}`)).to.equal('read')
    expect(await refused(`Nome\n${'A\n'.repeat(MAX_LINES + 1)}`)).to.include('5.000 linhas')
    expect(await refused(`${';'.repeat(60)}\n1`)).to.include('60 colunas')
  })
})
