import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Where package.json is. Files that are read as they are stay in src/ and are not copied to dist/, which lies one level deeper. */
export function projectRoot(): string {
  let folder = import.meta.dirname
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder)
    if (parent === folder) throw new Error('no package.json above the program')
    folder = parent
  }
  return folder
}
