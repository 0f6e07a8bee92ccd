import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** Folder of package.json. Static files stay in src/ and are not copied to dist/. */
export function projectRoot(): string {
  let folder = import.meta.dirname
  while (!isProject(join(folder, 'package.json'))) {
    const parent = dirname(folder)
    if (parent === folder) throw new Error('no package.json found above the program')
    folder = parent
  }
  return folder
}

const isProject = (manifest: string): boolean =>
  existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).name !== undefined

/**
 * How the command line is started here, with its first words: by npm where the tools of development are, as an
 * installation has none of them.
 */
export function commandLine(words: string, flags: string, root = projectRoot()): string {
  if (existsSync(join(root, 'tools', 'run.cjs')))
    return words === 'demo' ? `npm run -s demo${flags && ` -- ${flags}`}` : `npm run -s tillbook -- ${words} ${flags}`
  const program = relative(process.cwd(), join(root, 'dist', 'src', 'cli', 'main.js'))
  return ['node', program, words, flags].filter((part) => part !== '').join(' ')
}
