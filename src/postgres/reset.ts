import { readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { findPostmaster, startEmbedded } from './embedded.ts'

/** `npm run reset`: empties the data directory, after stopping a server that a killed service left there. */
async function reset(dataDir: string): Promise<string> {
  const entries = await readdir(dataDir).catch((): string[] => [])
  if (entries.length === 0) return `${dataDir} is empty already`
  // DATA_DIR could be any folder; only files of this service are removed.
  if (!entries.includes('postgres-password')) throw new Error(`${dataDir} is not a data directory of this service`)
  // Takes over the server of a killed process to stop it; refused while its owner is alive.
  if (await findPostmaster(join(dataDir, 'postgres'))) await (await startEmbedded({ dataDir })).stop()
  // The folder itself stays: in a container it is mounted, and its parent belongs to another user.
  await Promise.all((await readdir(dataDir)).map((name) => rm(join(dataDir, name), { recursive: true })))
  return `${dataDir} is empty`
}

try {
  console.log(await reset(resolve(process.env.DATA_DIR ?? 'data')))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
