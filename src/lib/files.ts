import { randomUUID } from 'node:crypto'
import { link, open, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Puts a file in its place at once and complete, on disk and for its owner's eyes only: at any moment it is the old one or the new one. */
export const replaceFile = (path: string, content: string | Buffer): Promise<void> =>
  throughDraft(path, content, (draft) => rename(draft, path))

/** The same, but leaves a file that is there already: of two that create one, the first wins. */
export const createFile = (path: string, content: string | Buffer): Promise<void> =>
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
  await syncFolder(dirname(path))
}

/** A name is on disk with its folder. Windows has no such call, and needs none. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
