import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The folder that has the package.json. What is not compiled (.sql, .css, .js for browsers) is read where it is written,
 * below src/, also by the program that runs from dist/, which lies one level deeper.
 */
export function projectRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder)
    if (parent === folder) throw new Error('no package.json above the program')
    folder = parent
  }
  return folder
}
