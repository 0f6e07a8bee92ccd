import { expect } from 'chai'
import fc from 'fast-check'
import { csvRow } from '#domain/text.ts'
import { type CsvLimits, createCsvReader } from '#panel/import/sheet.ts'
import { explore, TITLE } from '../support/random.ts'

const LIMITS: CsvLimits = { columns: 5, cellLength: 20, rowLength: 60 }

/** All rows of a text, or the limit that ended the parsing. */
function rowsOf(text: string, delimiter = ';', limits = LIMITS) {
  const reader = createCsvReader(text, delimiter, limits)
  const rows: string[][] = []
  for (let row = reader.next(); row !== null; row = reader.next()) {
    if (typeof row === 'string') return row
    rows.push(row)
  }
  return rows
}

describe(`CSV parser (${TITLE})`, () => {
  for (const [what, text, rows] of [
    ['rows that end with LF, CRLF and CR', 'a;b\nc\r\nd\re', [['a', 'b'], ['c'], ['d'], ['e']]],
    ['no row behind the last line end', 'a\n', [['a']]],
    ['empty rows', '\n\r\n;\n', [[''], [''], ['', '']]],
    ['an empty cell behind the last delimiter', 'a;', [['a', '']]],
    ['cells without the blanks around them', '  a ;\tb\t; "c" ', [['a', 'b', 'c']]],
    ['quotes around delimiters and line ends', '"a;b";"c\r\nd"', [['a;b', 'c\r\nd']]],
    ['doubled quotes within quotes', '"a ""b"" c";""""', [['a "b" c', '"']]],
    ['quotes amid a text', 'Tubo 3/4";5" x 2"', [['Tubo 3/4"', '5" x 2"']]],
    ['quotes around a part of a cell', '"Tubo" 3/4;"a"b"c"', [['"Tubo" 3/4', '"a"b"c"']]],
  ] as const)
    it(`parses ${what} [PANEL-180]`, () => {
      expect(rowsOf(text)).to.deep.equal(rows)
    })

  it('detects a tab as the delimiter [PANEL-180]', () => {
    expect(rowsOf('a\t\tb', '\t')).to.deep.equal([['a', '', 'b']])
  })

  it('round-trips any written cells [PANEL-180]', async () => {
    const cell = fc
      .array(fc.constantFrom(...'a1 é;,\t\r\n"\'=\u00a0'), { maxLength: 8 })
      .map((characters) => characters.join('').trim())
    await explore(
      fc.property(fc.array(fc.array(cell, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 5 }), (rows) => {
        expect(rowsOf(rows.map(csvRow).join(''))).to.deep.equal(rows)
      }),
      300,
    )
  })

  for (const [fault, text] of [
    ['columns', 'a\n1;2;3;4;5;6'],
    ['columns', ';'.repeat(100_000)],
    ['cell', `a\n${'x'.repeat(21)}`],
    ['cell', ' '.repeat(100_000)],
    ['row', `${'x'.repeat(19)};${'x'.repeat(19)};${'x'.repeat(19)};x`],
    ['quotes', '"never closed'],
    ['quotes', `"${'x'.repeat(100_000)}"`],
    ['quotes', '""'.repeat(100_001)],
  ] as const)
    it(`stops at the limit of ${fault}, in ${JSON.stringify(text.slice(0, 12))}… [PANEL-321]`, () => {
      const reader = createCsvReader(text, ';', LIMITS)
      let last = reader.next()
      while (typeof last === 'object' && last !== null) last = reader.next()
      expect(last).to.equal(fault)
      expect(reader.position).to.be.below(LIMITS.rowLength + LIMITS.cellLength)
    })

  it('parses any text to its end, with no more rows than characters [PANEL-321]', async () => {
    await explore(
      fc.property(fc.array(fc.constantFrom(...'a;\n\r" \t'), { maxLength: 60 }), (characters) => {
        const text = characters.join('')
        const reader = createCsvReader(text, ';', LIMITS)
        let rows = 0
        for (let row = reader.next(); typeof row === 'object' && row !== null; row = reader.next()) rows += 1
        expect(rows).to.be.at.most(text.length)
      }),
      300,
      1,
    )
  })
})
