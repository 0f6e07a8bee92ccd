import type { Config } from '#config/config.ts'
import { loadMasterKeys } from '#crypto/master-keys.ts'
import { attestorNames } from '#integrity/attestors/configured-attestors.ts'
import { sealDirectoryOf } from '#integrity/proofs/checkpoint-files.ts'

/** Core options from the settings. */
export const coreSettings = (config: Config) => ({
  publicUrl: config.PUBLIC_URL,
  eventStoreUrl: config.EVENTSTORE_URL,
  dataDir: config.DATA_DIR,
  masterKeys: loadMasterKeys(config),
  seals: { directory: sealDirectoryOf(config), keyFile: config.SEAL_KEY_FILE },
  attestors: attestorNames(config),
  asOfTimeoutMs: config.AS_OF_SECONDS * 1000,
})
