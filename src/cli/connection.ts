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

/** Where the data are; to be given up in the end. */
export interface OpenPostgres {
  readonly databaseUrl: string
  readonly ownerUrl: string | undefined
  stop(): Promise<void>
}

/**
 * The database that DATABASE_URL names, or the embedded one: that of a running service is shared, so that whoever of the two
 * ends last takes it down; without one it runs for the time of the command.
 */
export async function openPostgres(config: Config): Promise<OpenPostgres> {
  const [{ startEmbedded }, { assertFit }] = await Promise.all([
    import('#postgres/embedded.ts'),
    import('#postgres/requirements.ts'),
  ])
  const embedded = config.DATABASE_URL === undefined ? await startEmbedded({ dataDir: config.DATA_DIR }) : null
  const stop = async () => embedded?.stop()
  const databaseUrl = embedded?.url ?? config.DATABASE_URL ?? ''
  try {
    await assertFit(databaseUrl, { undurable: config.ALLOW_UNDURABLE_POSTGRES, newId: uuidv7 })
  } catch (error) {
    await stop()
    throw error
  }
  return { databaseUrl, ownerUrl: embedded?.ownerUrl ?? config.DATABASE_OWNER_URL, stop }
}

async function open(config: Config, upgrades: boolean): Promise<{ core: Core; close(): Promise<void> }> {
  const [{ coreSettings, openCore }, { createForgottenList }] = await Promise.all([
    import('#service/core.ts'),
    import('#wiping/forgotten-list.ts'),
  ])
  const { databaseUrl, ownerUrl, stop } = await openPostgres(config)
  try {
    let hasForgotten = false
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
        await stop()
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}
