import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

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
