import { join } from 'node:path'
import type { Config } from '#config/config.ts'
import { repeat } from '#lib/repeat.ts'
import { loadSealKey } from './seal-key.ts'
import { type SealRoundOptions, sealMoved } from './sealing.ts'
import type { Ledgers } from './verify.ts'

const HOUR_MS = 3_600_000

/** Where the service keeps its own seals, a file of JSON Lines per company. */
export const sealDirectoryOf = ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string => join(DATA_DIR, 'seals')

/** Seals ledgers that have moved every SEAL_EVERY_HOURS, beginning now; without that setting, never. */
export function sealOnSchedule(
  { pool, store }: Ledgers,
  config: Pick<Config, 'DATA_DIR' | 'SEAL_KEY_FILE' | 'SEAL_EVERY_HOURS'>,
  options: Omit<SealRoundOptions, 'isStopped'>,
): { stop(): Promise<void> } {
  if (config.SEAL_EVERY_HOURS === undefined) return { stop: async () => {} }
  let stopped = false
  const directory = sealDirectoryOf(config)
  const now = () => new Date().toISOString()
  const round = async () => {
    const key = await loadSealKey(config.SEAL_KEY_FILE)
    await sealMoved({ pool, store, key, directory, now }, { ...options, isStopped: () => stopped })
  }
  const repetition = repeat(round, config.SEAL_EVERY_HOURS * HOUR_MS, options.onError)
  return {
    stop() {
      stopped = true
      return repetition.stop()
    },
  }
}
