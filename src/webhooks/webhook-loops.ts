import type { Vault } from '#crypto/vault.ts'
import { listenToChannel } from '#postgres/listener.ts'
import { createPool } from '#postgres/pool.ts'
import { createDispatcher, type DispatcherOptions } from './delivery.ts'
import { monitorEndpoints, type SwitchOff } from './endpoint-health.ts'
import type { LedgerMessagesCore } from './event-feed.ts'
import { DELIVERIES_CHANNEL, type DeliveryNotifier } from './outbox.ts'
import { writeReplays } from './replays.ts'
import { createSender } from './sender.ts'
import { watchStockChanges } from './stock-changes.ts'

export interface WebhookOptions {
  readonly databaseUrl: string
  /** Reads the events of replays; without it this process writes none. */
  readonly core?: LedgerMessagesCore
  readonly vault: Vault
  /** Schemas of the read model; the live one by default. */
  readonly readSchemas?: readonly string[]
  /** Notifier of the writer in the same process: its deliveries need no round trip through Postgres. */
  readonly notifier?: DeliveryNotifier
  readonly switchOff: SwitchOff
  /** Retry schedule: seconds before each retry. */
  readonly retrySeconds: readonly number[]
  readonly switchOffHours: number
  readonly allowPrivate: boolean
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /** In [0, 1). */
  readonly random: () => number
  readonly newId: () => string
  /** Polling interval for deliveries without a notification; one second by default. */
  readonly poll_ms?: number
  /** Called with recorded attempts. */
  readonly onRecorded?: DispatcherOptions['onRecorded']
  readonly log: (message: string, error: unknown) => void
}

const POLL_MS = 1_000

/** Of a whole attempt (HOOK-17). */
const TIMEOUT_MS = 10_000
/** For the start of the answer's body after the status. */
const BODY_MS = 1_000
/** One each to lease deliveries, record results, monitor endpoints, run replays and queue stock changes. */
const CONNECTIONS = 5
/**
 * Below Postgres's deadlock time-out of one second: in a deadlock with a command the dispatcher gives up and retries.
 */
const LOCK_TIMEOUT_MS = 500

/** Delivers webhooks until stopped; any number of processes may do so on one database. */
export function startWebhooks(options: WebhookOptions): { stop(): Promise<void> } {
  const {
    databaseUrl,
    core,
    notifier,
    newId,
    poll_ms = POLL_MS,
    retrySeconds,
    switchOffHours,
    switchOff,
    allowPrivate,
    clock,
    random,
    log,
  } = options
  const pool = createPool(databaseUrl, {
    max: CONNECTIONS,
    keyLookupsOnly: true,
    ...(options.readSchemas && { read_schemas: options.readSchemas }),
    lock_timeout_ms: LOCK_TIMEOUT_MS,
    application_name: 'tillbook webhooks',
  })
  const sender = createSender({ timeout_ms: TIMEOUT_MS, allowPrivate, clock })
  const watch = monitorEndpoints({ pool, switchOff, switchOffHours, log })
  const dispatcher = createDispatcher({
    pool,
    vault: options.vault,
    sender,
    attempt_ms: TIMEOUT_MS + BODY_MS,
    poll_ms,
    retrySeconds,
    clock,
    random,
    onGone: watch.gone,
    onRecorded: options.onRecorded,
    log,
  })
  const replays = core && writeReplays({ pool, core, newId, onQueued: dispatcher.wake, poll_ms, log })
  const stocks = watchStockChanges({ pool, newId, onQueued: dispatcher.wake, poll_ms, log })
  const wake = () => {
    dispatcher.wake()
    replays?.now()
    stocks.now()
  }
  const unsubscribe = notifier?.onNotify(wake)
  const listener = listenToChannel({
    databaseUrl,
    channel: DELIVERIES_CHANNEL,
    application_name: 'tillbook listener',
    onNotification: (sender) => {
      if (sender === null || sender !== notifier?.sender) wake()
    },
    onError: (error) => log('webhooks: no notifications; deliveries are found by polling only', error),
  })
  return {
    async stop() {
      unsubscribe?.()
      await listener.close()
      await replays?.stop()
      await stocks.stop()
      await dispatcher.stop()
      await watch.stop()
      await sender.close()
      await pool.end()
    },
  }
}
