import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Where the project's package.json is. Files that are read as they are stay in src/ and are not copied to dist/, whose own names nothing. */
export function projectRoot(): string {
  let folder = import.meta.dirname
  while (!isProject(join(folder, 'package.json'))) {
    const parent = dirname(folder)
    if (parent === folder) throw new Error('no package.json above the program')
    folder = parent
  }
  return folder
}

const isProject = (manifest: string): boolean =>
  existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).name !== undefined
