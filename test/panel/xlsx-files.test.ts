import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import { readWorkbook } from '#panel/import/workbook.ts'
import type { Cell } from '#panel/panel-route.ts'
import { xlsxStream } from '#panel/xlsx-files.ts'
import { filesIn } from '../support/zip.ts'

const LIMITS = { rows: 100, columns: 20, cellLength: 100 }

describe('XLSX files', () => {
  const made = (rows: readonly (readonly Cell[])[], maxRows?: number): Promise<Buffer> =>
    buffer(xlsxStream('a & b', { heads: ['Nome', 'Valor'], rows: Readable.from(rows) }, new Date(0), maxRows))
  const read = async (file: Buffer) => {
    const workbook = await readWorkbook(file, LIMITS, async () => {})
    if (typeof workbook === 'string') throw new Error(workbook)
    return workbook
  }
  const cellsOf = async (rows: readonly (readonly Cell[])[], maxRows?: number) =>
    (await read(await made(rows, maxRows))).rows.map(({ cells }) => cells)

  it('has numbers, amounts, days and times as such [FIG-1286]', async () => {
    const row = [
      7,
      { decimal: '1234.50' },
      { decimal: '-0.05' },
      { local: '2026-02-28' },
      { local: '2026-11-29T10:22:00-03:00' },
    ]
    expect((await cellsOf([row]))[1]).to.deep.equal(['7', '1234,5', '-0,05', '28/02/2026', '29/11/2026 10:22'])
    const sheet = (await filesIn(await made([row]))).get('xl/worksheets/sheet1.xml')
    expect(sheet).to.contain('<c s="1"><v>1234.50</v></c>').and.contain('<c s="2"><v>46081</v></c>')
  })

  it('has no formulas: texts stay what they are [FIG-1286]', async () => {
    const texts = [
      '=1+1',
      '+5',
      '-x',
      '@a',
      '<b>&"',
      'a_x000D_b',
      'a\u0001b',
      '35261112345678000195650010000000011000000019',
    ]
    const file = await made([texts, [null, undefined, '', 'fim']])
    const { sheet, rows } = await read(file)
    expect(sheet).to.equal('a & b')
    expect(rows[1]?.cells).to.deep.equal(texts)
    expect(rows[2]?.cells).to.deep.equal(['', '', '', 'fim'])
    expect((await filesIn(file)).get('xl/worksheets/sheet1.xml')).not.to.match(/<f[ >]/)
  })

  it('ends at the rows of a sheet, and says so [FIG-1286]', async () => {
    const rows = [[1], [2], [3]]
    const [, ...all] = await cellsOf(rows, 4)
    expect(all).to.deep.equal([['1'], ['2'], ['Há mais linhas: o arquivo CSV tem todas.']])
    expect((await cellsOf(rows, 5)).slice(1)).to.deep.equal([['1'], ['2'], ['3']])
  })

  it('fails with its rows', async () => {
    async function* broken(): AsyncGenerator<Cell[]> {
      yield ['a']
      throw new Error('read failed')
    }
    const stream = xlsxStream('x', { heads: ['Nome'], rows: broken() }, new Date(0))
    const failed = await buffer(stream).then(
      () => null,
      (error: Error) => error.message,
    )
    expect(failed).to.equal('read failed')
  })
})
