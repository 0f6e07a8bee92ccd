import { once } from 'node:events'
import { join } from 'node:path'
import { openAuthority } from '#demo/time-stamp-authority/authority.ts'
import { serveAuthority } from '#demo/time-stamp-authority/server.ts'
import { portOf, type Verbs } from './verb.ts'

const DEFAULT_PORT = '4002'

/** Runs until it is stopped. */
export const verbs: Verbs<'time-stamp-authority'> = {
  'time-stamp-authority': {
    async run({ config }, { port = DEFAULT_PORT, folder }) {
      const listening = portOf(port)
      const authority = await openAuthority({ folder: folder ?? join(config.DATA_DIR, 'time-stamp-authority') })
      const running = await serveAuthority(authority, listening)
      process.stdout.write(`SEAL_TSA_URL=${running.url}\nSEAL_TSA_CA_FILE=${authority.caFile}\n`)
      await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
      await running.close()
      return undefined
    },
  },
}
