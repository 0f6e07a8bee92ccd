import { basename, dirname, join } from 'node:path'

const FOLDERS = ['src', 'commands', 'projections', 'queries', 'demo', 'till']

/** Names of files that stand for the same thing in every folder. */
const EVERYWHERE = new Set(['index', 'routes'])

/** A file below this many lines that one other file imports joins it. */
const SMALLEST = 40

/** Imports whose file is loaded with the importing one; `import()` is a reason to stand alone. */
const IMPORT = /\bfrom '((?:\.{1,2}\/|#)[^']+)'/g

const nameOf = (path: string): string => basename(path).replace(/\.tsx?$/, '')

function pathOf(file: string, specifier: string): string {
  if (!specifier.startsWith('#')) return join(dirname(file), specifier)
  const path = specifier.slice(1)
  return FOLDERS.includes(path.split('/')[0] as string) ? path : `src/${path}`
}

const COMMENT = /(?:^|\s)(?:\/\/|\/?\*+|--) (.*)$/gm
const FILE_NAME = /(?<![\w.{}/$*-])(?:[\w.-]+\/)*([\w-]+\.(?:tsx?|sql))\b/g

/** Files that comments name and that do not exist; `names` are the base names of all files. */
export const staleNamesOf = (files: ReadonlyMap<string, string>, names: ReadonlySet<string>): string[] =>
  [...files].flatMap(([path, text]) =>
    [...text.matchAll(COMMENT)].flatMap(([, comment = '']) =>
      [...comment.matchAll(FILE_NAME)]
        .filter(([, name]) => !names.has(name as string))
        .map(([file]) => `${path}: a comment names ${file}, which does not exist`),
    ),
  )

/** What makes files hard to find: a name that two have, and a small file that only one other needs. */
export function houseFaultsOf(files: ReadonlyMap<string, string>): string[] {
  const faults: string[] = []
  const named = new Map<string, string>()
  const importers = new Map<string, string[]>()
  for (const [path, text] of files) {
    const name = nameOf(path)
    const other = named.get(name)
    if (other && !EVERYWHERE.has(name)) faults.push(`${path} has the name of ${other}: rename one`)
    named.set(name, path)
    for (const imported of new Set(
      [...text.matchAll(IMPORT)].map(([, specifier]) => pathOf(path, specifier as string)),
    ))
      importers.set(imported, [...(importers.get(imported) ?? []), path])
  }
  for (const [path, text] of files) {
    const [importer, ...others] = importers.get(path) ?? []
    const lines = text.split('\n').length - 1
    if (importer && others.length === 0 && lines < SMALLEST)
      faults.push(`${path} has ${lines} lines and is imported by ${importer} alone: join them`)
  }
  return faults
}
