import { type Sandbox, startSandbox } from '#demo/provider-sandbox/sandbox-console.tsx'
import { openTestCore } from '../support/test-core.ts'
import { until } from '../support/wait.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { openCompanies } from './companies.ts'
import type { Dice } from './dice.ts'
import { type Load, startLoad } from './load.ts'
import { expectWhole } from './verify.ts'

/** Surroundings of the service under test: a payment provider and a webhook receiver. */
export interface Surroundings {
  readonly sandbox: Sandbox
  readonly receiver: Receiver
  /** Settings of a service that uses them, with large quotas. */
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
/** Generous for a busy machine. */
const PATIENCE = { timeout_ms: 120_000, interval_ms: 2 }

export interface Drama {
  readonly surroundings: Surroundings
  readonly dice: Dice
  /** Database URL that bypasses the faults. */
  readonly databaseUrl: string
  /** Address of the service for clients. */
  readonly baseUrl: () => string
  /** Address that bypasses the faults, for the final checks. */
  readonly directUrl?: () => string
}

/** Waits for a number of further answers. */
export type Moment = (answers: number) => Promise<void>

/**
 * Starts clients, lets `faults` break things at chosen moments, and waits until every call is answered. Then compares
 * all answers with ledger, tables and deliveries.
 */
export async function play(drama: Drama, faults: (moment: Moment, load: Load) => Promise<void>): Promise<Load> {
  const { surroundings, databaseUrl, dice, baseUrl, directUrl = baseUrl } = drama
  const shops = await openCompanies(databaseUrl, SHOPS, surroundings.receiver.url)
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
  const core = await openTestCore(databaseUrl)
  try {
    const { sandbox, receiver } = surroundings
    const payments = () => sandbox.book.all()
    const aftermath = { url: directUrl(), core, caller: load.caller, payments, received: receiver.received }
    await expectWhole(aftermath, load.books)
  } finally {
    await core.close()
  }
  return load
}
