import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import {
  logFaultsOf,
  pageFaultsOf,
  parseRefusedPhrases,
  portugueseFaultsOf,
  sqlFaultsOf,
  titleFaultsOf,
  wordFaultsOf,
} from '../../tools/words.ts'

const faultsOf = (...files: [path: string, text: string][]) => wordFaultsOf(new Map(files))

describe('tools/words.ts', () => {
  it('passes files without refused words and with unique exported names', () => {
    const faults = faultsOf(
      ['src/a.ts', '/** Refuses a retry. */\nexport const refuseRetry = () => {}\nconst rows = 1\n'],
      ['src/b.ts', 'export type Rows = string\nconst rows = 2\nconst refuseRetry = null\n'],
    )
    expect(faults).to.deep.equal([])
  })

  it('reports a refused word in a comment, with file and line', () => {
    const [fault, ...others] = faultsOf(['src/a.ts', 'const rows = 1\n// Whoever retries waits.\n'])
    expect(fault).to.include('src/a.ts:2: "Whoever"')
    expect(others).to.deep.equal([])
  })

  for (const name of ['askNobody', 'OF_NOBODY', 'Somebody']) {
    it(`reports the refused word within the identifier ${name}`, () => {
      expect(faultsOf(['src/a.ts', `const ${name} = 1\n`])).to.have.length(1)
    })
  }

  for (const kind of ['type', 'interface', 'class', 'function', 'const', 'async function']) {
    it(`reports an exported ${kind} under the name of an export of another file`, () => {
      const faults = faultsOf(['src/a.ts', 'export interface Row {}\n'], ['queries/b.ts', `export ${kind} Row\n`])
      expect(faults).to.deep.equal([
        'queries/b.ts: exports Row, as src/a.ts does: exported names are unique (docs/style.md)',
      ])
    })
  }

  for (const text of ['(1.5).toFixed(2)', 'n.toLocaleString()', "new Intl.NumberFormat('pt-BR')"]) {
    it(`reports a file that formats a number by itself: ${text} [PANEL-372]`, () => {
      expect(faultsOf(['src/panel/a.ts', `const shown = ${text}\n`])).to.have.length(1)
      expect(faultsOf(['src/domain/person-values.ts', `const shown = ${text}\n`])).to.deep.equal([])
    })
  }

  it('counts overloads of one function once', () => {
    const text = 'export function read(id: number): string\nexport function read(id: string): string\n'
    expect(faultsOf(['src/a.ts', text])).to.deep.equal([])
  })
})

describe('tools/refused-portuguese.txt', () => {
  const phrases = parseRefusedPhrases(readFileSync('tools/refused-portuguese.txt', 'utf8'))
  const faultsIn = (text: string) => portugueseFaultsOf(new Map([['src/panel/a.tsx', text]]), phrases)

  it('refuses a phrase that is wrapped, with file, line and what to say instead [PANEL-373]', () => {
    expect(faultsIn('const a = 1\n<p>\n  Este serviço não\n  envia e-mails.\n</p>\n')).to.deep.equal([
      'src/panel/a.tsx:3: "Este serviço não envia e-mails": say "O envio de e-mail não está configurado." (tools/refused-portuguese.txt)',
    ])
  })

  it('refuses a label without refusing the same word in a sentence [PANEL-373]', () => {
    expect(faultsIn("{ head: 'O quê' }")).to.have.length(1)
    expect(faultsIn("{ hint: 'Diga o quê e por quê.' }")).to.deep.equal([])
  })

  it('refuses none of the texts that it proposes [PANEL-373]', () => {
    expect(phrases.map(({ instead }) => faultsIn(`'${instead}'`))).to.deep.equal(phrases.map(() => []))
  })
})

describe('words of logs, SQL, titles and pages', () => {
  const of = (path: string, text: string) => new Map([[path, text]])

  it('refuses a log line without its component, or with a relative clause', () => {
    expect(logFaultsOf(of('src/a.ts', "log('privacy: erasure failed, will retry', error)"))).to.deep.equal([])
    for (const line of ["log('erasure failed', error)", "logger.info({ size }, 'privacy: who was to be forgotten')"])
      expect(logFaultsOf(of('src/a.ts', line)), line).to.have.length(1)
  })

  it('refuses a table by a private name, or without a comment', () => {
    const commented = "create table ops.sessions (\n);\ncomment on table ops.sessions is 'Sessions.';\n"
    expect(sqlFaultsOf(of('a.sql', commented))).to.deep.equal([])
    expect(sqlFaultsOf(of('a.sql', 'create table ops.seal_rounds (\n);\n'))).to.have.length(2)
    const column = (name: string) => of('a.sql', commented.replace('(\n)', `(\n  ${name} bigint\n)`))
    expect(sqlFaultsOf(column('emailed_at'))).to.deep.equal([])
    for (const name of ['told_at', 'passed', 'well_since']) expect(sqlFaultsOf(column(name)), name).to.have.length(1)
  })

  it('refuses a title of more than 100 characters, where an expression counts as one', () => {
    const title = (text: string) => `it(${'`'}${text}${'`'}, () => {})`
    expect(titleFaultsOf(of('a.test.ts', title('x'.repeat(101))))).to.have.length(1)
    expect(titleFaultsOf(of('a.test.ts', title(`${'x'.repeat(99)}\${${'y'.repeat(30)}}`)))).to.deep.equal([])
  })

  it('refuses a page that outgrows its bound', () => {
    expect(pageFaultsOf(of('README.md', 'word '.repeat(700)))).to.deep.equal([])
    expect(pageFaultsOf(of('README.md', 'word '.repeat(701)))).to.deep.equal(['README.md: 701 words, at most 700'])
    expect(pageFaultsOf(of('docs/decisions/1.md', 'word '.repeat(701)))).to.have.length(1)
  })
})
