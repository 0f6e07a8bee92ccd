import { type Sandbox, startSandbox } from '#demo/provider-sandbox/server.ts'
import { openCore } from '#service/core.ts'
import { masterKeys } from '../support/master-key.ts'
import { until } from '../support/wait.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'
import type { Dice } from './dice.ts'
import { type Load, startLoad } from './load.ts'
import { openShops } from './shop.ts'
import { expectWhole } from './verify.ts'

/** What a service of the crash suite is surrounded by: a payment provider, and a receiver of webhooks. */
export interface Surroundings {
  readonly sandbox: Sandbox
  readonly receiver: Receiver
  /** Settings of a service that knows them, with its quotas out of the way. */
  readonly env: Record<string, string>
  close(): Promise<void>
}

export async function startSurroundings(): Promise<Surroundings> {
  const sandbox = await startSandbox({ port: 0, secret: null })
  const receiver = await startReceiver()
  return {
    sandbox,
    receiver,
    env: {
      SEED_DEMO: 'false',
      WEBHOOK_ALLOW_PRIVATE: 'true',
      WEBHOOK_RETRY_SECONDS: '1,1,1,1,1',
      PAYMENT_PROVIDER_URL: sandbox.url,
      QUOTA_PER_MINUTE: '1000000',
      QUOTA_PER_DAY: '1000000',
      QUOTA_BYTES_PER_DAY: '1000000000000',
      SYNC_QUOTA_PER_MINUTE: '1000000',
      LOG_LEVEL: 'warn',
    },
    async close() {
      await sandbox.close()
      await receiver.close()
    },
  }
}

const SHOPS = 2
/** Generous: the machine may have much else to do. */
const PATIENCE = { timeout_ms: 120_000, interval_ms: 2 }

export interface Drama {
  readonly surroundings: Surroundings
  readonly dice: Dice
  /** Where the database is reached without the faults. */
  readonly databaseUrl: string
  /** Where clients find the service. */
  readonly baseUrl: () => string
  /** Where it is reached without the faults, in the end. */
  readonly directUrl?: () => string
}

/** The moments of a run: each waits for a number of answers after the one before. */
export type Moment = (answers: number) => Promise<void>

/**
 * Puts clients on a service, lets `faults` break things at moments of their choice, and waits until all is answered. Then
 * everything that anybody was told is held against ledger, tables and deliveries.
 */
export async function play(drama: Drama, faults: (moment: Moment, load: Load) => Promise<void>): Promise<Load> {
  const { surroundings, databaseUrl, dice, baseUrl, directUrl = baseUrl } = drama
  const shops = await openShops(databaseUrl, SHOPS, surroundings.receiver.url)
  const load = startLoad(baseUrl, shops, dice.fork())
  const moment: Moment = async (answers) => {
    const { caller } = load
    const enough = caller.answers() + answers
    await until(() => load.hasFailed() || caller.answers() >= enough, { ...PATIENCE, what: `${answers} answers` })
  }
  try {
    await faults(moment, load)
  } finally {
    await load.stop()
  }
  for (const shard of new Set(shops.map((shop) => shop.databaseUrl))) {
    const ofShard = new Map([...load.books].filter(([shop]) => shop.databaseUrl === shard))
    const core = await openCore({
      masterKeys,
      databaseUrl: shard,
      queryConnections: 4,
      log: () => {},
      onOutdated: () => {},
    })
    try {
      const { sandbox, receiver } = surroundings
      const payments = () => sandbox.book.all()
      const aftermath = { url: directUrl(), core, caller: load.caller, payments, received: receiver.received }
      await expectWhole(aftermath, ofShard)
    } finally {
      await core.close()
    }
  }
  return load
}
