import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { createElement } from 'preact'
import { renderToString } from 'preact-render-to-string'
import * as z from 'zod'
import { GuideMarkdown, guidePage } from '#api/docs/docs-guides.tsx'
import { eventReference, eventsOfArea, shapesOfEvents } from '#api/docs/docs-webhooks.tsx'
import { GUIDES, readGuide, withSnippets } from '#api/docs/guides.tsx'
import { type CliCommand, COMMANDS, find } from '#cli/commands.ts'
import { EVENT_AREAS, EVENT_TYPES } from '#events/catalogue.ts'
import { eventType, listSubjectKinds, money, newVersion, personal, quantity, text } from '#events/event-definitions.ts'
import { houseFaultsOf, staleNamesOf } from '../../tools/house.ts'
import { citationsInComments, citationsInTitles, faultsOf, rulesIn, tableOfTests } from '../../tools/requirements.ts'
import {
  columnFaultsOf,
  helpFaultsOf,
  logFaultsOf,
  pageFaultsOf,
  parseRefusedPhrases,
  portugueseFaultsOf,
  sqlFaultsOf,
  titleFaultsOf,
  wordFaultsOf,
} from '../../tools/words.ts'

/** Scripts of npm that pages name. */
const SCRIPTS: Readonly<Record<string, string>> = Object.assign(
  {},
  ...['.', 'examples', 'clients/typescript'].map(
    (folder) => JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')).scripts,
  ),
)

const fencesOf = (text: string) => [...text.matchAll(/^```[\s\S]*?^```$/gm)].map(([fence]) => fence)
const withoutFences = (text: string) => text.replace(/^```[\s\S]*?^```$/gm, '')
const levelsOf = (text: string) => [...withoutFences(text).matchAll(/^(#+) /gm)].map(([, marks = '']) => marks.length)
const rowsOf = (text: string) => withoutFences(text).match(/^\|.*\|$/gm) ?? []
/** Names of fields, codes and paths that both languages share. */
const namesOf = (text: string) =>
  new Set([...withoutFences(text).matchAll(/`([A-Za-z]+(?:[_.-][A-Za-z]+)+)`/g)].map(([, name = '']) => name))
const paragraphsOf = (text: string) =>
  withoutFences(text)
    .split(/\n{2,}/)
    .filter((block) => /^[^#|<\s]/.test(block))

describe('guides in Portuguese', () => {
  for (const { name, title } of GUIDES) {
    const english = readFileSync(`docs/${name}.md`, 'utf8')
    const written = readFileSync(`docs/guias/${name}.md`, 'utf8')
    const portuguese = readGuide(name, 'pt-BR')

    it(`${name} has the very snippets of the English one, and none of its own [HTTP-52]`, () => {
      expect(fencesOf(english)).to.have.length.above(4)
      expect(fencesOf(portuguese)).to.deep.equal(fencesOf(english))
      expect(written).to.not.include('```')
    })

    it(`${name} is whole: the same headings, tables, paragraphs and names [HTTP-52]`, () => {
      expect(levelsOf(portuguese)).to.deep.equal(levelsOf(english))
      expect(rowsOf(portuguese)).to.have.length(rowsOf(english).length)
      expect(paragraphsOf(portuguese)).to.have.length(paragraphsOf(english).length)
      expect([...namesOf(portuguese)]).to.have.members([...namesOf(english)])
      expect(portuguese).to.match(new RegExp(`^# ${title}$`, 'm'))
    })

    it(`${name} shows every heading and snippet on its page, in both languages [HTTP-52]`, () => {
      for (const [language, text] of [
        ['pt-BR', portuguese],
        ['en', english],
      ] as const) {
        const page = guidePage(name, language)
        expect(page).to.match(new RegExp(`^<!doctype html>\\n<html lang="${language}">`))
        expect(page.match(/<h[23] id=/g)).to.have.length(levelsOf(text).length - 1)
        const shown = [...page.matchAll(/<pre tabindex="0"><code>([\s\S]*?)<\/code><\/pre>/g)].map(
          ([, code = '']) => code,
        )
        const wanted = fencesOf(text).map((fence) => fence.replace(/^```.*\n|```$/g, ''))
        expect(shown).to.deep.equal(wanted.map(escaped))
        expect(withoutCode(page)).to.not.match(/```|\*\*|\]\(|<!-- /)
      }
    })
  }

  it('refuses a place without a snippet [HTTP-52]', () => {
    const english = '# A\n\n## One\n\n```sh\nfirst\n```\n'
    expect(withSnippets('<!-- snippet: One -->\n', english)).to.equal('```sh\nfirst\n```\n')
    for (const text of ['<!-- snippet: Two -->', '<!-- snippet: One -->\n<!-- snippet: One -->'])
      expect(() => withSnippets(text, english)).to.throw('no further snippet')
  })
})

const escaped = (code: string): string =>
  code.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const withoutCode = (page: string): string => page.replace(/<code>[\s\S]*?<\/code>/g, '')

describe('Markdown of guides', () => {
  const rendered = (text: string) =>
    renderToString(
      createElement(GuideMarkdown, { text, linkTo: (target: string) => (target === 'no.md' ? null : target) }),
    )

  it('leaves the title and comments out, and gives headings their anchors [HTTP-52]', () => {
    expect(rendered('# T\n\n<!-- a -->\n## Olá, `x`\n')).to.equal(
      '<div><h2 id="olá-x">Olá, <code>x</code></h2>\n</div>',
    )
  })

  it('makes code reachable by keyboard [HTTP-52]', () => {
    expect(rendered('```sh\na\n\nb <c>\n```\n')).to.include('<pre tabindex="0"><code>a\n\nb &lt;c&gt;\n</code></pre>')
  })

  it('renders links, and names the files that it cannot link [HTTP-52]', () => {
    expect(rendered('a [b `c`](d#e) [f](no.md) *g*')).to.include(
      '<p>a <a href="d#e">b <code>c</code></a> f (<code>no.md</code>) <em>g</em></p>',
    )
  })

  it('shows HTML as text and makes no link of a script [HTTP-52]', () => {
    expect(rendered('<b title="x">& [a](javascript:b)')).to.include(
      '<p>&lt;b title=&quot;x&quot;&gt;&amp; [a](javascript:b)</p>',
    )
  })
})

const PAGES = [
  ...readdirSync('.').filter((file) => file.endsWith('.md')),
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join('docs', file)),
  ...['clients/typescript', 'examples', 'deploy'].map((folder) => `${folder}/README.md`),
]

/** Anchor that renderers generate for a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/`|\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-')

function anchorsOf(page: string): string[] {
  const text = readFileSync(page, 'utf8').replace(/^```[\s\S]*?^```/gm, '')
  return Array.from(text.matchAll(/^#+ (.+)$/gm), ([, heading = '']) => anchorOf(heading))
}

/** Links of a page to other files and headings of this repository. */
function linksOf(page: string): string[] {
  const text = readFileSync(page, 'utf8').replace(/^```[\s\S]*?^```|`[^`\n]*`/gm, '')
  return Array.from(text.matchAll(/\]\(([^)\s]+)\)/g), ([, target = '']) => target).filter(
    (target) => !/^(?:https?|mailto):/.test(target),
  )
}

function isBroken(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  if (!existsSync(target)) return true
  return anchor !== undefined && !anchorsOf(target).includes(anchor)
}

describe('links of the documentation', () => {
  for (const page of PAGES) {
    it(`${page} links to files and headings that exist`, () => {
      expect(linksOf(page).filter((link) => isBroken(page, link))).to.deep.equal([])
    })
  }
})

/** Code of a page: fenced and indented blocks, and code within lines. */
const codeOf = (text: string): string[] =>
  Array.from(text.matchAll(/^```[^\n]*\n([\s\S]*?)^ *```$|^ {4,}(\S.*)$|`([^`\n]+)`/gm), ([, block, line, inline]) =>
    (block ?? line ?? inline ?? '').replace(/\\\n\s*/g, ' '),
  )

/** Words of each call of the command line in code: `tillbook VERB …` alone, or behind `tillbook --`. */
const callsIn = (code: string): string[][] =>
  Array.from(
    code.matchAll(/(?:^\$? *|tillbook )tillbook (?!--)|\btillbook -- /gm),
    ({ index = 0, 0: start }) =>
      code
        .slice(index + start.length)
        .split(/[\n|;)>]|&&|#/)[0]
        ?.trim()
        .split(/\s+/) ?? [],
  ).filter(([verb = '']) => /^[a-z][a-z-]+$/.test(verb) && verb !== 'help')

/** What the command line or package.json does not know of a page's commands. */
function commandFaultsOf(text: string): string[] {
  const faults: string[] = []
  for (const code of codeOf(text)) {
    for (const words of callsIn(code)) {
      const found = find(words)
      if ('candidates' in found) {
        if (found.candidates.length === Object.keys(COMMANDS).length) faults.push(`no verb: ${words.join(' ')}`)
        continue
      }
      const { flags } = COMMANDS[found.name] as CliCommand
      for (const word of found.rest) {
        const flag = /^--([a-z][\w-]*)/.exec(word)?.[1]
        if (flag && flag !== 'json' && !Object.hasOwn(flags, flag)) faults.push(`${found.name}: no flag --${flag}`)
      }
    }
    for (const [, script = ''] of code.matchAll(/\bnpm run (?:-s |--prefix \S+ )*([a-z][\w:-]*)/g))
      if (!Object.hasOwn(SCRIPTS, script)) faults.push(`no npm script ${script}`)
  }
  return faults
}

/** Paths of this repository that code of a page names; not those with a placeholder. */
const pathsIn = (text: string): string[] =>
  codeOf(text).flatMap((code) =>
    Array.from(
      code.matchAll(
        /(?<![\w./:-])(?:src|commands|projections|queries|test|tools|deploy|examples|clients|bench|demo|till|verifier|docs)\/[\w./-]*\w(?![\w<*{}…])/g,
      ),
      ([path]) => path,
    ),
  )

describe('files that the documentation names', () => {
  for (const page of PAGES) {
    it(`${page} names files that exist`, () => {
      const paths = pathsIn(readFileSync(page, 'utf8')).filter(
        (path) => !/^docs\/(?:eventos|settings|permissoes|guias|guides|webhooks|postman|recursos)\b/.test(path),
      )
      expect(paths.filter((path) => !existsSync(path))).to.deep.equal([])
    })
  }
})

describe('commands of the documentation', () => {
  for (const page of PAGES) {
    it(`${page} names verbs, flags and scripts that exist`, () => {
      expect(commandFaultsOf(readFileSync(page, 'utf8'))).to.deep.equal([])
    })
  }

  it('finds an unknown verb, flag and script', () => {
    const page =
      '`tillbook key make --name x`\n\n    npm run -s tillbook -- ledger seal --every\n\n```sh\nnpm run nothing\n```\n'
    expect(commandFaultsOf(page.replace('key make', 'keys'))).to.deep.equal([
      'no verb: keys --name x',
      'ledger seal: no flag --every',
      'no npm script nothing',
    ])
  })
})

describe('SECURITY.md', () => {
  it('names existing tests for every threat', async () => {
    const text = await readFile('SECURITY.md', 'utf8')
    const named = [...text.matchAll(/`(test\/[\w./-]+)`/g)].map(([, path = '']) => path)
    expect(named).to.have.length.above(15)
    for (const path of named) await access(path)
    const [, threats = ''] = /\| Who \|.*\n\|[-|]*\n((?:\|.*\n)+)/.exec(text) ?? []
    const rows = threats.trim().split('\n')
    expect(rows).to.have.length.above(10)
    for (const row of rows) expect(row).to.match(/`test\/[^`]+` \|$/)
  })
})

const PAGE = '# Sales\n\nProse of SALE-9.\n\n- **SALE-1** A sale adds up.\n- **SALE-6** It is kept.\n'
const TEST = `describe('sales [SALE-6]', () => {
  describe('payments', () => {
    it("must sum to the total: not one's own | share [SALE-1, SALE-6]", () => {})
  })
  for (const kind of KINDS) {
    it(\`are \${kind} [UTF-8] [SALE-1]\`, () => {})
  }
  it('need no rule', () => call('SALE-7'))
})
`

describe('requirements check', () => {
  const rules = rulesIn('sales.md', PAGE)
  const tests = citationsInTitles('test/sales.test.ts', TEST)

  it('reads rules from lines that begin with an id', () => {
    expect(rules.map(({ id }) => id)).to.deep.equal(['SALE-1', 'SALE-6'])
  })

  it('reads citations in test titles, without the ids of surrounding titles', () => {
    expect(tests.map(({ ids, title }) => [title, ...ids])).to.deep.equal([
      ['sales', 'SALE-6'],
      ["sales › payments › must sum to the total: not one's own | share", 'SALE-1', 'SALE-6'],
      ['sales › are …', 'UTF-8', 'SALE-1'],
    ])
  })

  it('reads citations in comments, but not in code', () => {
    const code = [
      '/** Up to the cent (SALE-1), in UTF-8. */',
      ' * as SALE-6 says',
      "const id = 'SALE-3' // (SALE-4)",
      "get('https://x/SALE-5')",
    ]
    expect(citationsInComments('a.ts', code.join('\n'))).to.deep.equal([
      { ids: ['SALE-1', 'SALE-6', 'SALE-4'], file: 'a.ts' },
    ])
    expect(citationsInComments('a.ts', "call('SALE-1')")).to.deep.equal([])
  })

  it('reports a rule of more than 30 words', () => {
    const long = rulesIn('x.md', `- **SALE-4** ${'word '.repeat(31)}\n- **SALE-5** ${'word '.repeat(30)}\n`)
    const tested = [{ ids: ['SALE-4', 'SALE-5'], file: 'a.test.ts' }]
    expect(faultsOf({ rules: long, tests: tested, comments: [] })).to.deep.equal([
      'docs/requirements/x.md: SALE-4 has 31 words: a rule has 30 at most',
    ])
  })

  it('reports unknown, untested and duplicate rules', () => {
    const comments = [{ ids: ['SALE-8'], file: 'a.ts' }]
    const doubled = [...rules, ...rulesIn('x.md', '- **SALE-1** Again.\n- **SALE-3** Alone.\n')]
    expect(faultsOf({ rules: doubled, tests, comments })).to.deep.equal([
      'docs/requirements/x.md: SALE-1 is defined twice',
      'test/sales.test.ts: there is no rule UTF-8',
      'a.ts: there is no rule SALE-8',
      'docs/requirements/x.md: no test cites SALE-3',
    ])
  })

  it('writes a table of rules with their tests', () => {
    const table = tableOfTests({ rules, tests, comments: [] })
    expect(table).to.include('| SALE-6 | [sales.test.ts](../../test/sales.test.ts): sales; sales › payments › must sum')
    expect(table).to.include('own \\| share')
  })
})

describe('tools/words.ts', () => {
  const faultsOf = (...files: [path: string, text: string][]) => wordFaultsOf(new Map(files))

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

  it('reports an exported function that is named by its object alone', () => {
    const text = 'export const unitCostOf = () => 0\nexport const PRICES_OF = 1\nconst partOf = 1\n'
    expect(faultsOf(['src/a.ts', text])).to.deep.equal([
      'src/a.ts: exports unitCostOf: name a function by verb and object (docs/style.md)',
    ])
  })

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

  it('refuses help that does not begin with a verb, or says who was to be what', () => {
    const help = (text: string) => helpFaultsOf(of('commands.ts', text))
    expect(help("summary: 'lists the companies',\n details: 'Ended ones too.'")).to.deep.equal([])
    expect(help("summary: 'a company',\n details: 'Whoever was to be told who it is.'")).to.have.length(2)
  })

  it('refuses a table by a private name, or without a comment', () => {
    const commented = "create table ops.sessions (\n);\ncomment on table ops.sessions is 'Sessions.';\n"
    expect(sqlFaultsOf(of('a.sql', commented))).to.deep.equal([])
    expect(sqlFaultsOf(of('a.sql', 'create table ops.seal_rounds (\n);\n'))).to.have.length(2)
    const column = (name: string) => of('a.sql', commented.replace('(\n)', `(\n  ${name} bigint\n)`))
    expect(sqlFaultsOf(column('emailed_at'))).to.deep.equal([])
    for (const name of ['told_at', 'passed', 'well_since']) expect(sqlFaultsOf(column(name)), name).to.have.length(1)
    const declared = (name: string) => columnFaultsOf(of('a.ts', `columns: { ${name}: 'bigint' },`))
    expect([...declared('waiting'), ...declared('carried_by')]).to.have.length(2)
    expect(declared('awaiting_sale')).to.deep.equal([])
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
    expect(pageFaultsOf(of('docs/webhooks.md', 'word '.repeat(4_501)))).to.have.length(1)
  })
})

const LONG = '\n'.repeat(40)

describe('names and sizes of files', () => {
  it('may repeat neither a base name nor be small for one importer', () => {
    const files = new Map([
      ['projections/stores.ts', `import { a } from '#domain/small.ts'${LONG}`],
      ['src/domain/small.ts', 'export const a = 1\n'],
      ['src/cli/stores.ts', LONG],
    ])
    expect(houseFaultsOf(files)).to.deep.equal([
      'src/cli/stores.ts has the name of projections/stores.ts: rename one',
      'src/domain/small.ts has 1 lines and is imported by projections/stores.ts alone: join them',
    ])
  })

  it('may be small for two importers, or for one that loads it late', () => {
    const files = new Map([
      ['src/a.ts', `import { a } from './small.ts'\nconst late = () => import('./late.ts')${LONG}`],
      ['src/b.ts', `import { a } from './small.ts'${LONG}`],
      ['src/small.ts', ''],
      ['src/late.ts', ''],
    ])
    expect(houseFaultsOf(files)).to.deep.equal([])
  })

  it('may be named in a comment only while they exist', () => {
    const text = '/** As in gone.ts. */\nconst a = 1 // and b.ts\n'
    expect(staleNamesOf(new Map([['src/a.ts', text]]), new Set(['a.ts', 'b.ts']))).to.deep.equal([
      'src/a.ts: a comment names gone.ts, which does not exist',
    ])
  })
})

describe('event catalogue', () => {
  it('lists every type with its version and subject', () => {
    const catalogue = eventReference(EVENT_AREAS)
      .map(({ text }) => text())
      .join('\n')
    for (const [name, type] of Object.entries(EVENT_TYPES)) {
      const subjects = listSubjectKinds(type).map((kind) => `\`${kind}/{id}\``)
      expect(catalogue).to.include(`## ${name}\n\nVersão ${type.version}, de ${subjects.join(', ')}.`)
    }
  })

  it('lists every field, and marks personal ones with all their parts [LEDGER-5]', () => {
    const Moved = eventType('thing', {
      note: text.nullable(),
      price: money,
      who: personal(z.strictObject({ name: text }), 'identity'),
      parts: z.array(z.strictObject({ kind: z.enum(['a', 'b']), quantity })),
      changes: z.strictObject({ name: personal(text, 'contact', { kind: 'customer', id: 'id' }) }).partial(),
    })
    const rows = eventsOfArea('x', { Moved })
      .split('\n')
      .filter((line) => line.startsWith('| `'))
    expect(rows).to.deep.equal([
      '| `id` | inteiro |  |',
      '| `note` | texto ou nulo |  |',
      '| `price` | decimal em texto, 2 casas |  |',
      '| `who` | objeto ou nulo | **pessoal** (identity) |',
      '| `who.name` | texto | **pessoal** (identity) |',
      '| `parts` | lista de objeto |  |',
      '| `parts[].kind` | um de `a`, `b` |  |',
      '| `parts[].quantity` | decimal em texto com sinal, 3 casas |  |',
      '| `changes` | objeto |  |',
      '| `changes.name` | texto ou nulo | opcional, **pessoal** (contact de `customer/{id}`) |',
    ])
  })

  it('shows former versions, newest first', () => {
    const first = eventType('thing', { note: text })
    const second = newVersion(first, { notes: z.array(text) }, ({ id, note }) => ({ id, notes: [note] }))
    const Noted = newVersion(second, { notes: z.array(text), price: money }, (data) => ({ ...data, price: '0.00' }))
    const lines = eventsOfArea('x', { Noted }).split('\n')
    expect(lines.filter((line) => /^(#|Versão|Não é mais|\| `)/.test(line)).slice(1)).to.deep.equal([
      '## Noted',
      'Versão 3, de `thing/{id}`.',
      '| `id` | inteiro |  |',
      '| `notes` | lista de texto |  |',
      '| `price` | decimal em texto, 2 casas |  |',
      '### Noted, versão 2',
      'Não é mais gravada.',
      '| `id` | inteiro |  |',
      '| `notes` | lista de texto |  |',
      '### Noted, versão 1',
      'Não é mais gravada.',
      '| `id` | inteiro |  |',
      '| `note` | texto |  |',
    ])
  })

  it('gives each version of an event a line that changes with its shape', () => {
    const first = eventType('thing', { note: text })
    const Noted = newVersion(first, { note: text.nullable() }, (data) => data)
    const lines = shapesOfEvents({ Noted })
    expect(lines.map((line) => line.replace(/ [0-9a-f]{12}$/, ''))).to.deep.equal([
      'event Noted 1 thing',
      'event Noted 2 thing',
    ])
    expect(lines[0]?.split(' ').at(-1)).to.not.equal(lines[1]?.split(' ').at(-1))
    expect(Object.keys(EVENT_TYPES)).to.deep.equal(Object.values(EVENT_AREAS).flatMap((types) => Object.keys(types)))
  })
})
