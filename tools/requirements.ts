import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'

/** A rule of docs/requirements; `page` is the file's name there. */
export interface Rule {
  readonly id: string
  readonly page: string
  readonly words: number
}

/** Where rules are named: in `file`, in a comment, or in the title of a test with those of the `describe`s around it. */
export interface Citation {
  readonly ids: readonly string[]
  readonly file: string
  readonly title?: string
}

export interface Requirements {
  readonly rules: readonly Rule[]
  readonly tests: readonly Citation[]
  readonly comments: readonly Citation[]
}

const FOLDER = 'docs/requirements'
const TABLE = 'tests.md'
const TESTS = ['test', 'clients/typescript/test', 'examples/test']
const CODE = ['src', 'commands', 'projections', 'queries', 'demo']
const ID = /\b[A-Z]+-\d+\b/g
const MAX_WORDS = 30
/** What looks like an id in a comment, and is none. */
const STANDARD = /^(?:UTF|SHA|ADR)-/

/** Rules of one page: lines `- **SALE-7** …`. */
export const rulesIn = (page: string, text: string): Rule[] =>
  Array.from(text.matchAll(/^- \*\*([A-Z]+-\d+)\*\* (\S.*)$/gm), ([, id = '', rule = '']) => ({
    id,
    page,
    words: rule.trim().split(/\s+/).length,
  }))

/** Titles of `it` and `describe` that name rules, as `[SALE-7]` or `[SALE-7, SALE-8]`; indentation tells what is around what. */
export function citationsInTitles(file: string, text: string): Citation[] {
  const callOrEnd = /^([ \t]*)(?:\}\)|(?:it|describe)\(\s*(['"`])((?:\\.|(?!\2)[^\\])*)\2)/gm
  const cited = /\s*\[([A-Z]+-\d+(?:, [A-Z]+-\d+)*)\]/g
  let around: { indent: number; title: string }[] = []
  const found: Citation[] = []
  for (const [, { length: indent } = '', , raw] of text.matchAll(callOrEnd)) {
    around = around.filter((one) => one.indent < indent)
    if (raw === undefined) continue
    around.push({ indent, title: shown(raw.replace(cited, '')) })
    const ids = Array.from(raw.matchAll(cited), ([, list = '']) => list.split(', ')).flat()
    if (ids.length > 0) found.push({ ids, file, title: around.map(({ title }) => title).join(' › ') })
  }
  return found
}

/** A title as its source says it, for people. */
const shown = (source: string): string => source.replace(/\$\{[^}]*\}/g, '…').replace(/\\(.)/g, '$1')

/** Whatever looks like an id in a comment, of TypeScript or of SQL. */
export function citationsInComments(file: string, text: string): Citation[] {
  const comments = text.match(/^\s*(?:\/?\*|--).*|(?<!:)\/\/.*|\/\*.*/gm) ?? []
  const ids = comments.flatMap((comment) => comment.match(ID) ?? []).filter((id) => !STANDARD.test(id))
  return ids.length > 0 ? [{ ids, file }] : []
}

/** What is wrong with rules and citations, one line each. */
export function faultsOf({ rules, tests, comments }: Requirements): string[] {
  const known = new Set(rules.map(({ id }) => id))
  const tested = new Set(tests.flatMap(({ ids }) => ids))
  const twice = rules.filter(({ id }, index) => rules.findIndex((rule) => rule.id === id) < index)
  return [
    ...twice.map(({ id, page }) => `${FOLDER}/${page}: ${id} is defined twice`),
    ...rules
      .filter(({ words }) => words > MAX_WORDS)
      .map(({ id, page, words }) => `${FOLDER}/${page}: ${id} has ${words} words: a rule has ${MAX_WORDS} at most`),
    ...[...tests, ...comments].flatMap(({ ids, file }) =>
      ids.filter((id) => !known.has(id)).map((id) => `${file}: there is no rule ${id}`),
    ),
    ...rules.filter(({ id }) => !tested.has(id)).map(({ id, page }) => `${FOLDER}/${page}: no test cites ${id}`),
  ]
}

/** Which tests prove which rule, page by page, as Markdown. */
export function tableOfTests({ rules, tests }: Requirements): string {
  const sections = [...new Set(rules.map(({ page }) => page))].map((page) => {
    const rows = rules.filter((rule) => rule.page === page).map(({ id }) => `| ${id} | ${testsOf(id, tests)} |`)
    return `## [${page.replace('.md', '')}](${page})\n\n| Rule | Tests |\n|---|---|\n${rows.join('\n')}\n`
  })
  return `# Rules and tests\n\nWritten by \`npm run docs\` from the titles of tests.\n\n${sections.join('\n')}`
}

function testsOf(id: string, tests: readonly Citation[]): string {
  const citing = tests.filter(({ ids }) => ids.includes(id))
  const files = [...new Set(citing.map(({ file }) => file))]
  return files
    .map((file) => {
      const titles = citing.filter((test) => test.file === file).map(({ title = '' }) => title.replace(/[|<]/g, '\\$&'))
      return `[${file.replace(/^test\//, '')}](../../${file}): ${titles.join('; ')}`
    })
    .join('<br>')
}

/** Reads the rules, and all that cites them. */
export async function readRequirements(): Promise<Requirements> {
  const pages = (await filesIn([FOLDER], /\.md$/)).filter(({ file }) => !file.endsWith(`/${TABLE}`))
  const tests = await filesIn(TESTS, /\.ts$/)
  const code = await filesIn(CODE, /\.(?:tsx?|sql)$/)
  return {
    rules: pages.flatMap(({ file, text }) => rulesIn(relative(FOLDER, file), text)),
    tests: tests.flatMap(({ file, text }) => citationsInTitles(file, text)),
    comments: code.flatMap(({ file, text }) => citationsInComments(file, text)),
  }
}

async function filesIn(folders: readonly string[], name: RegExp): Promise<{ file: string; text: string }[]> {
  const paths = await Promise.all(
    folders.map(async (folder) => (await readdir(folder, { recursive: true })).map((path) => join(folder, path))),
  )
  const files = paths.flat().filter((path) => name.test(path))
  return Promise.all(files.sort().map(async (file) => ({ file, text: await readFile(file, 'utf8') })))
}
