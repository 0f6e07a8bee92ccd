import { open, readFile, rename } from 'node:fs/promises'
import type { PositionStore } from './changes.ts'

/** Stores a position in a file, written atomically. */
export const positionFile = (path: string): PositionStore => ({
  load: () =>
    readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    }),
  async save(position) {
    const file = await open(`${path}.new`, 'w')
    try {
      await file.writeFile(position)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(`${path}.new`, path)
  },
})
