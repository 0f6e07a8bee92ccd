import { type Core, type CoreOptions, openCore } from '#service/core.ts'
import { masterKeys } from './master-key.ts'

/** A core without interfaces, silent but for `options`. */
export const openTestCore = (databaseUrl: string, options: Partial<CoreOptions> = {}): Promise<Core> =>
  openCore({ masterKeys, databaseUrl, queryConnections: 4, log: () => {}, onOutdated: () => {}, ...options })
