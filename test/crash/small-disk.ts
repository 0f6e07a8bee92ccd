import { spawnSync } from 'node:child_process'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** A file system of its own, so small that it can be filled. */
export interface SmallDisk {
  /** Takes all the space that is left. */
  fill(): Promise<void>
  /** Gives it back. */
  free(): Promise<void>
  unmount(): void
}

/** Room for a cluster and the log that it keeps (80 MB), and for what each run leaves behind. */
const CLUSTER_MIB = 400
const RUN_MIB = 10
const PIECE = Buffer.alloc(64 * 1024)

/** Mounts one on `directory` that is large enough for so many runs; where that cannot be done, the reason. */
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
