import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { readPassword, SUPERUSER } from '#postgres/cluster.ts'
import { findPostmaster } from '#postgres/postmaster.ts'
import { urlOf } from '#postgres/supervision.ts'

/** The owner's URL of the embedded server that runs on `dataDir`, or null; nothing is started. */
export async function findEmbedded(dataDir: string): Promise<string | null> {
  const home = await realpath(dataDir).catch(() => null)
  if (!home) return null
  const server = await findPostmaster(join(home, 'postgres'))
  return server?.ready
    ? urlOf({
        role: SUPERUSER,
        password: await readPassword(home, { create: false }),
        port: server.port,
        database: 'tillbook',
      })
    : null
}
