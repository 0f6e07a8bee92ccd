import { readFile, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { findPostmaster, startEmbedded } from '#postgres/embedded.ts'

/** Owner's URL of the running embedded server on `dataDir`, or null; starts nothing. */
export async function findEmbedded(dataDir: string): Promise<string | null> {
  const root = await realpath(dataDir).catch(() => null)
  if (!root) return null
  const server = await findPostmaster(join(root, 'postgres'))
  if (!server) return null
  const lock = await readFile(join(root, 'postgres', 'postmaster.pid'), 'utf8')
  if (lock.split('\n')[7]?.trim() !== 'ready') return null
  const password = (await readFile(join(root, 'postgres-password'), 'utf8')).trim()
  return `postgres://tillbook:${password}@127.0.0.1:${server.port}/tillbook`
}

/** Stops a server that a killed process left running on `dataDir`. @throws DataDirInUse if a living process owns it */
export async function stopLeftOver(dataDir: string): Promise<void> {
  if (await findPostmaster(join(dataDir, 'postgres'))) await (await startEmbedded({ dataDir })).stop()
}

export const serverPid = async (dataDir: string): Promise<number | undefined> =>
  (await findPostmaster(join(dataDir, 'postgres')))?.pid
