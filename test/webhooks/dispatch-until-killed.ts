import { v7 as uuidv7 } from 'uuid'
import { configuredMasterKeys } from '#crypto/master-keys.ts'
import { createVault } from '#crypto/vault.ts'
import { startWebhooks } from '#webhooks/webhook-loops.ts'

const keys = configuredMasterKeys([Buffer.from(process.env.MASTER_KEY ?? '', 'base64')], 'MASTER_KEY')

/** Delivers pending webhooks of DATABASE_URL until the process is killed. */
startWebhooks({
  databaseUrl: process.env.DATABASE_URL ?? '',
  vault: createVault(keys),
  switchOff: async () => {},
  retrySeconds: [60],
  switchOffHours: 24,
  allowPrivate: true,
  clock: Date.now,
  random: Math.random,
  newId: uuidv7,
  log: (message, error) => console.error(message, error),
})

// Ends the process if its parent ends.
process.stdin.resume().on('end', () => process.exit())
