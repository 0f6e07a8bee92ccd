import { randomUUID } from 'node:crypto'
import { link, open, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

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
