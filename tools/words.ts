import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { houseFaultsOf, staleNamesOf } from './house.ts'

const FOLDERS = ['src', 'commands', 'projections', 'queries']

/** Further folders with Portuguese texts. */
const PORTUGUESE_FOLDERS = ['demo', 'docs/guias']
const PHRASES = 'tools/refused-portuguese.txt'

/** Words of docs/style.md that return most easily, also within an identifier such as `askNobody`. */
const REFUSED = /nobody|whoever|somebody/i

/** Numbers and times for people have one home, in Brazilian form. */
const FORMATS = /\.toFixed\(|\.toLocaleString\(|Intl\.(?:Number|DateTime)Format/
const FORMATS_AT_HOME = /^src\/domain\//

const EXPORTED = /^export (?:declare |abstract |async )*(?:type|interface|class|function\*?|const|enum) ([\w$]+)/gm

/** Functions are named by verb and object. */
const WITHOUT_VERB = /^[a-z]\w*Of$/

/** Refused words by line, formats of their own, functions named `…Of`, and exported names that two files of TypeScript declare. Scripts of the browser stand alone. */
export function wordFaultsOf(files: ReadonlyMap<string, string>): string[] {
  const faults: string[] = []
  const declaredIn = new Map<string, string>()
  for (const [path, text] of files) {
    for (const [index, line] of text.split('\n').entries()) {
      const word = REFUSED.exec(line)?.[0]
      if (word) faults.push(`${path}:${index + 1}: "${word}": name the thing of the system instead (docs/style.md)`)
    }
    if (!/\.tsx?$/.test(path)) continue
    if (FORMATS.test(text) && !FORMATS_AT_HOME.test(path))
      faults.push(`${path}: formats a number or time by itself: use src/domain/person-values.ts`)
    for (const name of exportedNames(text)) {
      if (WITHOUT_VERB.test(name))
        faults.push(`${path}: exports ${name}: name a function by verb and object (docs/style.md)`)
      const other = declaredIn.get(name)
      if (other) faults.push(`${path}: exports ${name}, as ${other} does: exported names are unique (docs/style.md)`)
      else declaredIn.set(name, path)
    }
  }
  return faults
}

/** A refused Portuguese phrase, and what a product says instead. */
export interface RefusedPhrase {
  readonly pattern: RegExp
  readonly instead: string
}

/** Reads the list of refused phrases. A blank matches a line break too, because texts of pages are wrapped. */
export const parseRefusedPhrases = (list: string): RefusedPhrase[] =>
  list
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [phrase = '', instead = ''] = line.split('\t')
      if (instead === '') throw new Error(`${PHRASES}: "${phrase}" has no tab and no text to say instead`)
      return { pattern: new RegExp(phrase.replaceAll(' ', '\\s+'), 'gu'), instead }
    })

/** Refused Portuguese phrases by file and line. Comments are English, so that whole files are searched. */
export function portugueseFaultsOf(files: ReadonlyMap<string, string>, phrases: readonly RefusedPhrase[]): string[] {
  const faults: string[] = []
  for (const [path, text] of files) {
    for (const { pattern, instead } of phrases) {
      for (const { 0: found, index } of text.matchAll(pattern)) {
        const line = text.slice(0, index).split('\n').length
        faults.push(`${path}:${line}: "${found.replace(/\s+/g, ' ')}": say "${instead}" (${PHRASES})`)
      }
    }
  }
  return faults
}

/** Words that an engineer on call would have to translate. */
const REFUSED_IN_LOGS = /\bwho\b|what (?:is|was)|could not be|\basked\b|\btold\b|in vain|vouch/
const LOG_CALL =
  /(?<!console\.|Math\.)\b(?:log|warn|logger\.(?:info|warn|error))\(\s*(?:\{[^}]*\},\s*)?(['"`])((?:\\.|(?!\1).)+)\1/g

/** Log lines of the service that are not `component: what happened` in plain words. */
export function logFaultsOf(files: ReadonlyMap<string, string>): string[] {
  return [...files].flatMap(([path, text]) =>
    Array.from(text.matchAll(LOG_CALL), ([, , message = '']) => message)
      .filter((message) => !/^[a-zA-Z][\w -]*: \S/.test(message) || REFUSED_IN_LOGS.test(message))
      .map((message) => `${path}: log "${message}": write \`component: what happened\`, with identifiers as fields`),
  )
}

const HELP_TEXT = /\b(summary|details):\s*'((?:[^'\\]|\\.)+)'/g

/** Help of verbs that does not begin with a verb, or speaks in the words that logs refuse. */
export const helpFaultsOf = (files: ReadonlyMap<string, string>): string[] =>
  [...files].flatMap(([path, text]) =>
    Array.from(text.matchAll(HELP_TEXT), ([, kind, help = '']) => ({ kind, help }))
      .filter(({ kind, help }) => REFUSED_IN_LOGS.test(help) || (kind === 'summary' && !/^[a-z-]+s /.test(help)))
      .map(({ help }) => `${path}: help "${help}": begin with a verb, and name the thing`),
  )

const REFUSED_IN_SQL = /calls|notices|stranger|sealing|\bseal_|let_through|asked|told_to/
/** Participles and riddles; a column is a noun. */
const REFUSED_COLUMN =
  /(?:^|_)(?:asked|told|kept|given|passed|fitted|calls|what|carried|lowered)(?:_|$)|^well_|^(?:sent|waiting|ways)$/
/** Columns with a unit or a secret. */
const NEEDS_COMMENT = /(?:^|_)(?:ms|cents|bytes|hash|secrets?|wrapped)$/
const SQL_NAME = /create (?:unlogged )?(?:table|sequence|function) ((?:ops|ledger)\.\w+)/g

const DECLARED_COLUMN = /\b(\w+): '(?:bigint|integer|numeric|text|boolean|timestamptz|date|json|bytea|uuid|sealed)'/g

/** Columns of the read model that are no nouns. */
export const columnFaultsOf = (files: ReadonlyMap<string, string>): string[] =>
  [...files].flatMap(([path, text]) =>
    Array.from(text.matchAll(DECLARED_COLUMN), ([, column = '']) => column)
      .filter((column) => REFUSED_COLUMN.test(column))
      .map((column) => `${path}: column ${column}: use a noun of the pages`),
  )

/** Names of tables and functions that are not those of the product, and tables without a comment. */
export function sqlFaultsOf(files: ReadonlyMap<string, string>): string[] {
  const faults: string[] = []
  for (const [path, text] of files) {
    for (const [statement, name = ''] of text.matchAll(SQL_NAME)) {
      if (REFUSED_IN_SQL.test(name)) faults.push(`${path}: ${name}: use the noun of the pages and the contract`)
      if (/table (?:ops|ledger)/.test(statement) && !text.includes(`comment on table ${name} is '`))
        faults.push(`${path}: ${name} has no comment`)
    }
  }
  for (const [path, text] of files)
    for (const [, table = '', body = ''] of text.matchAll(
      /create (?:unlogged )?table ((?:ops|ledger)\.\w+) \(\n([\s\S]*?)\n\)/g,
    ))
      for (const [, column = ''] of body.matchAll(/^ {2}(\w+) /gm)) {
        if (REFUSED_COLUMN.test(column)) faults.push(`${path}: ${table}.${column}: use a noun of the pages`)
        if (NEEDS_COMMENT.test(column) && !text.includes(`comment on column ${table}.${column} is '`))
          faults.push(`${path}: ${table}.${column} has a unit or a secret, and no comment`)
      }
  return faults
}

const TITLE = /\b(?:it|describe)\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g
const LONGEST_TITLE = 100
const REFUSED_IN_TITLES = /\b(?:whoever|nobody|somebody|drama|dice|shelf)\b/i

/** Titles of tests that are too long or cute; what stands in \${} counts as one character. */
export function titleFaultsOf(files: ReadonlyMap<string, string>): string[] {
  return [...files].flatMap(([path, text]) =>
    Array.from(text.matchAll(TITLE), ([, , title = '']) => title.replace(/\$\{[^}]*\}/g, '…'))
      .filter((title) => title.length > LONGEST_TITLE || REFUSED_IN_TITLES.test(title))
      .map((title) => `${path}: title "${title}": one claim, at most ${LONGEST_TITLE} characters`),
  )
}

/** Most words of pages, by the beginning of their path; all pages together have MOST_WORDS. */
const PAGE_BOUNDS: readonly (readonly [path: string, words: number])[] = [
  ['README.md', 700],
  ['SECURITY.md', 1_500],
  ['CONTRIBUTING.md', 1_200],
  ['docs/ARCHITECTURE.md', 2_000],
  ['docs/performance.md', 1_500],
  ['docs/requirements/', 18_000],
]
const LONGEST_DECISION = 700
const LONGEST_PAGE = 4_500
const MOST_WORDS = 80_000

const wordsIn = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length

/** Pages that have outgrown their bound. */
export function pageFaultsOf(files: ReadonlyMap<string, string>): string[] {
  const counts = [...files].map(([path, text]) => [path, wordsIn(text)] as const)
  const sumOf = (prefix: string) =>
    counts.filter(([path]) => path.startsWith(prefix)).reduce((sum, [, words]) => sum + words, 0)
  return [
    ...[...PAGE_BOUNDS, ['', MOST_WORDS] as const]
      .filter(([prefix, most]) => sumOf(prefix) > most)
      .map(([prefix, most]) => `${prefix || 'all pages'}: ${sumOf(prefix)} words, at most ${most}`),
    ...counts
      .filter(([path, words]) => path.startsWith('docs/decisions/') && words > LONGEST_DECISION)
      .map(([path, words]) => `${path}: ${words} words, a decision has at most ${LONGEST_DECISION}`),
    ...counts
      .filter(([, words]) => words > LONGEST_PAGE)
      .map(([path, words]) => `${path}: ${words} words, a page has at most ${LONGEST_PAGE}`),
  ]
}

/** Overloads of a function count once. */
function exportedNames(text: string): Set<string> {
  return new Set(Array.from(text.matchAll(EXPORTED), ([, name = '']) => name))
}

async function readFiles(folders: readonly string[]): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  for (const folder of folders) {
    const names = await readdir(folder, { recursive: true })
    for (const name of names.filter((each) => /\.(?:tsx?|js|css|sql|md)$/.test(each)).sort()) {
      const path = join(folder, name)
      files.set(path, await readFile(path, 'utf8'))
    }
  }
  return files
}

/** Committed pages: those at the root, below docs, and one of each client and folder of examples. */
async function readPages(): Promise<Map<string, string>> {
  const pages = [...(await readFiles(['docs']))].filter(([path]) => path.endsWith('.md') && !path.endsWith('/tests.md'))
  const others = [
    'README.md',
    'SECURITY.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    'deploy/README.md',
    'examples/README.md',
  ]
  const clients = ['clients/typescript/README.md', 'clients/generated/README.md']
  const read = [...others, ...clients].map(async (path) => [path, await readFile(path, 'utf8')] as const)
  return new Map([...pages, ...(await Promise.all(read))])
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sources = await readFiles(FOLDERS)
  const texts = new Map([...sources, ...(await readFiles(PORTUGUESE_FOLDERS))])
  const phrases = parseRefusedPhrases(await readFile(PHRASES, 'utf8'))
  const migrations = new Map([...sources].filter(([path]) => path.startsWith('src/postgres/migrations/')))
  const service = new Map([...sources].filter(([path]) => path.startsWith('src/') && !path.startsWith('src/cli/')))
  const product = new Map([...texts, ...(await readFiles(['till']))].filter(([path]) => /\.(?:tsx?|sql)$/.test(path)))
  const others = await readFiles(['test', 'bench', 'tools'])
  const faults = [
    ...wordFaultsOf(sources),
    ...houseFaultsOf(new Map([...product].filter(([path]) => /\.tsx?$/.test(path)))),
    ...staleNamesOf(product, new Set([...product.keys(), ...others.keys()].map((path) => basename(path)))),
    ...portugueseFaultsOf(texts, phrases),
    ...logFaultsOf(service),
    ...helpFaultsOf(new Map([...sources].filter(([path]) => path === 'src/cli/commands.ts'))),
    ...sqlFaultsOf(migrations),
    ...columnFaultsOf(new Map([...sources].filter(([path]) => path.startsWith('projections/')))),
    ...titleFaultsOf(await readFiles(['test', 'clients/typescript/test', 'examples/test'])),
    ...pageFaultsOf(await readPages()),
  ]
  for (const fault of faults) {
    console.error(fault)
    process.exitCode = 1
  }
}
