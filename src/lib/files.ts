import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { link, open, rename, rm, writeFile } from 'node:fs/promises'
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

/** Writes a file atomically (write, fsync, rename), mode 0600. */
export const writeFileAtomically = (path: string, content: string | Buffer): Promise<void> =>
  throughDraft(path, content, (draft) => rename(draft, path))

/** Creates a file atomically and keeps an existing one: of two concurrent calls the first wins. */
export const createFileAtomically = (path: string, content: string | Buffer): Promise<void> =>
  throughDraft(path, content, (draft) =>
    link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    }),
  )

async function throughDraft(
  path: string,
  content: string | Buffer,
  place: (draft: string) => Promise<void>,
): Promise<void> {
  const draft = `${path}.${randomUUID()}`
  try {
    await writeFile(draft, content, { mode: 0o600, flag: 'wx', flush: true })
    await place(draft)
  } finally {
    await rm(draft, { force: true })
  }
  await fsyncFolder(dirname(path))
}

/** Makes a new name durable. Windows has no such call and needs none. */
export async function fsyncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
