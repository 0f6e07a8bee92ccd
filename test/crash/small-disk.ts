import { spawnSync } from 'node:child_process'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** A separate file system, small enough to be filled. */
export interface SmallDisk {
  /** Uses up the remaining space. */
  fill(): Promise<void>
  /** Frees the space. */
  free(): Promise<void>
  unmount(): void
}

/** Size of a cluster and its log (80 MB), and of what each run leaves behind. */
const CLUSTER_MIB = 400
const RUN_MIB = 10
const PIECE = Buffer.alloc(64 * 1024)

/** Mounts a file system on `directory` that is large enough for `runs`; returns the reason if it cannot. */
export function mountSmallDisk(directory: string, runs: number): SmallDisk | string {
  if (process.platform !== 'linux') return `no small file system can be mounted on ${process.platform}`
  const options = ['-t', 'tmpfs', '-o', `size=${CLUSTER_MIB + runs * RUN_MIB}m,mode=755`, 'tmpfs', directory]
  const { status, error, stderr } = spawnSync('mount', options, { encoding: 'utf8' })
  if (status !== 0)
    return `no small file system can be mounted (${(error?.message ?? stderr).trim().split('\n', 1)[0]})`
  const ballast = join(directory, 'ballast')
  return {
    async fill() {
      const file = await open(ballast, 'a')
      try {
        for (let size = PIECE.length; size >= 1; ) {
          const { bytesWritten } = await file.write(PIECE, 0, size).catch(() => ({ bytesWritten: 0 }))
          if (bytesWritten === 0) size >>= 1
        }
      } finally {
        await file.close()
      }
    },
    free: () => rm(ballast, { force: true }),
    unmount() {
      spawnSync('umount', ['--lazy', directory])
    },
  }
}
