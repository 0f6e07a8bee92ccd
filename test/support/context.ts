import { type Context, createProgress } from '#cli/verb.ts'
import { type Config, readConfig } from '#config/config.ts'
import { readerOfCore } from '#service/command-reader.ts'
import type { Core } from '#service/core.ts'

/** Context of CLI verbs on an open core. */
export const contextOf = (core: Core, config: Config = readConfig({})): Context => ({
  config,
  json: false,
  progress: createProgress({ stream: process.stderr, isShown: false, clock: () => 0 }),
  core: async () => core,
  reader: async () => readerOfCore(core),
  addresses: () => Promise.reject(new Error('the core is open')),
})
