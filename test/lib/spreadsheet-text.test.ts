import { expect } from 'chai'
import fc from 'fast-check'
import { neutralizeFormulas, restoreFormulas } from '#domain/text.ts'
import { explore, TITLE } from '../support/random.ts'

/** Characters of texts and formulas. */
const characters = fc.constantFrom(...'=+-@＝＋－＠,;\t\r\n"a1 \'é')

/** Cells by any delimiter. */
const cellsIn = (text: string): string[] => text.split(/[,;\t\r\n]/)

describe(`texts for spreadsheets (${TITLE})`, () => {
  const texts = fc.array(characters, { maxLength: 12 }).map((all) => all.join(''))

  it('contain no formula after any delimiter that begins a cell [PANEL-144]', async () => {
    await explore(
      fc.property(texts, (text) => {
        for (const cell of cellsIn(neutralizeFormulas(text)).slice(1)) expect(cell).to.not.match(/^"*[=+\-@＝＋－＠]/)
        expect(neutralizeFormulas(text)).to.not.match(/^[=+\-@＝＋－＠\t\r\n]/)
      }),
      300,
    )
  })

  it('round-trip, unless they already had an apostrophe as escape [PANEL-144]', async () => {
    const plain = texts.map((text) => text.replaceAll("'", ''))
    await explore(
      fc.property(plain, (text) => {
        expect(restoreFormulas(neutralizeFormulas(text))).to.equal(text)
      }),
      300,
      1,
    )
  })

  for (const [name, text] of Object.entries({
    delimiters: ','.repeat(200_000),
    quotes: `,${'"'.repeat(200_000)}=`,
    both: ',"='.repeat(70_000),
    formulas: '='.repeat(200_000),
  }))
    it(`of ${name} take time proportional to their length [PANEL-144]`, () => {
      // Quadratic time would take minutes.
      expect(restoreFormulas(neutralizeFormulas(text))).to.equal(text)
    })
})
