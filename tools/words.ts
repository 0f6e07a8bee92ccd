import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

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

/** Refused words by line, formats of their own, and exported names that two files of TypeScript declare. Scripts of the browser stand alone. */
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sources = await readFiles(FOLDERS)
  const texts = new Map([...sources, ...(await readFiles(PORTUGUESE_FOLDERS))])
  const phrases = parseRefusedPhrases(await readFile(PHRASES, 'utf8'))
  for (const fault of [...wordFaultsOf(sources), ...portugueseFaultsOf(texts, phrases)]) {
    console.error(fault)
    process.exitCode = 1
  }
}
