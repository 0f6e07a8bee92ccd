import { createProgress } from '#cli/progress.ts'
import type { Context } from '#cli/verb.ts'
import { type Config, readConfig } from '#config/config.ts'
import { DEFAULT_SHARD } from '#config/databases.ts'
import type { Core } from '#service/core.ts'
import { readerOfCore } from '#service/reader.ts'

/** Context of CLI verbs on one open shard. */
export const contextOf = (core: Core, config: Config = readConfig({})): Context => ({
  config,
  json: false,
  progress: createProgress({ stream: process.stderr, isShown: false, clock: () => 0 }),
  core: async () => core,
  coreOf: async () => core,
  shards: async () => [{ name: DEFAULT_SHARD, core }],
  reader: async () => readerOfCore(core),
  readerOf: async () => readerOfCore(core),
  readers: async () => [{ name: DEFAULT_SHARD, reader: readerOfCore(core) }],
  addresses: () => Promise.reject(new Error('there is one shard')),
  directory: () => Promise.reject(new Error('there is one shard')),
})
