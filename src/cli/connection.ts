import { v7 as uuidv7 } from 'uuid'
import { type Config, readConfig } from '#config/config.ts'
import type { Core } from '#service/core.ts'
import type { Context } from './verb.ts'

/** One command after the other needs one connection, and a list may be read meanwhile. */
const CONNECTIONS = 2

/** A context with what has to be closed in the end. */
export interface OpenContext extends Context {
  close(): Promise<void>
}

/** Opens the data only when a verb asks for it: not every verb needs it, and a wrong flag must not start a server. */
export function createContext(env: Readonly<Record<string, string | undefined>>): OpenContext {
  const config = readConfig(env)
  let opening: ReturnType<typeof open> | undefined
  return {
    config,
    async core({ upgrades } = { upgrades: false }) {
      opening ??= open(config, upgrades)
      return (await opening).core
    },
    async close() {
      await (await opening?.catch(() => undefined))?.close()
    },
  }
}

/**
 * The database that DATABASE_URL names, or the embedded one: that of a running service is shared, so that whoever of the two
 * ends last takes it down; without one it runs for the time of the command.
 */
async function open(config: Config, upgrades: boolean): Promise<{ core: Core; close(): Promise<void> }> {
  const [{ startEmbedded }, { assertFit }, { coreSettings, openCore }, { createForgottenList }] = await Promise.all([
    import('#postgres/embedded.ts'),
    import('#postgres/requirements.ts'),
    import('#service/core.ts'),
    import('#wiping/forgotten-list.ts'),
  ])
  const embedded = config.DATABASE_URL === undefined ? await startEmbedded({ dataDir: config.DATA_DIR }) : null
  try {
    const databaseUrl = embedded?.url ?? config.DATABASE_URL ?? ''
    const ownerUrl = embedded?.ownerUrl ?? config.DATABASE_OWNER_URL
    let hasForgotten = false
    await assertFit(databaseUrl, { undurable: config.ALLOW_UNDURABLE_POSTGRES, newId: uuidv7 })
    const core = await openCore({
      databaseUrl,
      ownerUrl,
      ...coreSettings(config),
      queryConnections: CONNECTIONS,
      applicationName: 'tillbook command',
      upgrades,
      onKeyMade: (source) =>
        console.error(`A master key was made in ${source}: keep a copy of it apart from the database.`),
      // A failure reaches the verb as well, and is told from there.
      log: () => {},
      onOutdated: () => {},
      onForgotten: () => {
        hasForgotten = true
      },
    })
    return {
      core,
      async close() {
        if (hasForgotten)
          await createForgottenList({ pool: core.pool, dataDir: config.DATA_DIR, onError: () => {} }).sync()
        await core.close()
        await embedded?.stop()
      },
    }
  } catch (error) {
    await embedded?.stop()
    throw error
  }
}
