import { expect } from 'chai'
import { decoded, MAX_LINES, readSheet } from '#imports/sheet.ts'
import { isRefusal } from '#ledger/command.ts'

describe('table from a spreadsheet', () => {
  const cells = (text: string) => {
    const sheet = readSheet(text)
    if (isRefusal(sheet)) throw new Error(JSON.stringify(sheet))
    return [sheet.heads, ...sheet.lines.map((line) => line.cells)]
  }
  const refused = (text: string) => {
    const sheet = readSheet(text)
    return isRefusal(sheet) ? JSON.stringify(sheet.details?.fields) : 'read'
  }

  for (const delimiter of [';', ',', '\t'])
    it(`is parsed with ${JSON.stringify(delimiter)} between cells [PANEL-180]`, () => {
      const text = `${['Nome', 'Preço'].join(delimiter)}\r\n${['"Café; 500 g, torrado"', '"18,90"'].join(delimiter)}`
      expect(cells(text)).to.deep.equal([
        ['Nome', 'Preço'],
        ['Café; 500 g, torrado', '18,90'],
      ])
    })

  it('is decoded as UTF-8, with or without a BOM, and as Windows-1252 [PANEL-180]', () => {
    const text = 'Nome\nPão'
    for (const bytes of [Buffer.from(text), Buffer.from(`\ufeff${text}`), Buffer.from(text, 'latin1')])
      expect(cells(decoded(bytes))).to.deep.equal([['Nome'], ['Pão']])
  })

  it('numbers lines like a spreadsheet, and skips empty ones', () => {
    const sheet = readSheet('Nome;SKU\nA;1\n;\nB;2\n')
    expect(isRefusal(sheet) ? null : sheet.lines.map(({ number }) => number)).to.deep.equal([2, 4])
  })

  it('restores texts that our exports protect from formula evaluation', () => {
    expect(cells("Nome\n'=1+1\n'-A\n'tis")).to.deep.equal([['Nome'], ['=1+1'], ['-A'], ["'tis"]])
  })

  it('is refused if it is not a table, empty, or too large [PANEL-180]', () => {
    expect(refused('PK\u0003\u0004\0\0')).to.include('salve a planilha como CSV')
    expect(refused('Nome\n')).to.include('não tem linhas')
    expect(refused('')).to.include('não tem linhas')
    expect(refused('Nome\n"aberta')).to.include('aspas')
    expect(refused(`Nome\n${'A\n'.repeat(MAX_LINES)}`)).to.equal('read')
    expect(refused(`Nome\n${'A\n'.repeat(MAX_LINES + 1)}`)).to.include('5.000 linhas')
    expect(refused(`${';'.repeat(60)}\n1`)).to.include('60 colunas')
  })
})
