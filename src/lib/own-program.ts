import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { projectRoot } from './project-root.ts'

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
