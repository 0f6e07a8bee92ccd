import type { Vault } from '#lib/vault.ts'
import { listen } from '#postgres/listener.ts'
import { createPool } from '#postgres/pool.ts'
import { createDispatcher, type DispatcherOptions } from './dispatcher.ts'
import { DELIVERIES_CHANNEL, type DeliveryNotifier } from './notifier.ts'
import { writeReplays } from './replays.ts'
import { createSender } from './sender.ts'
import { type SwitchOff, watchEndpoints } from './watch.ts'

export interface WebhookOptions {
  readonly databaseUrl: string
  readonly vault: Vault
  /** Where the tables of the read model are looked for; the live ones by default. */
  readonly readSchemas?: readonly string[]
  /** Of this process, if commands run in it: their deliveries need not wait for what Postgres announces. */
  readonly notifier?: DeliveryNotifier
  readonly switchOff: SwitchOff
  /** Seconds until each of the retries. */
  readonly retrySeconds: readonly number[]
  readonly switchOffHours: number
  readonly allowPrivate: boolean
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /** 0 up to but excluding 1. */
  readonly random: () => number
  readonly newId: () => string
  /** How often deliveries are looked for, should nothing announce them; a second by default. */
  readonly poll_ms?: number
  /** Hears of attempts as they are recorded. */
  readonly onRecorded?: DispatcherOptions['onRecorded']
  readonly log: (message: string, error: unknown) => void
}

const POLL_MS = 1_000

/** Of a whole attempt (HOOK-17). */
const TIMEOUT_MS = 10_000
/** For the beginning of the answer's body, which is waited for when the status is known. */
const BODY_MS = 1_000
/** One takes deliveries, one records results, one watches endpoints, one writes replays. */
const CONNECTIONS = 4
/**
 * Less than the second after which Postgres looks for deadlocks: where the dispatcher and a command wait for each other,
 * it is the dispatcher that gives up, and tries again.
 */
const LOCK_TIMEOUT_MS = 500

/** Delivers webhooks until it is stopped; any number of processes may do so on one database. */
export function startWebhooks(options: WebhookOptions): { stop(): Promise<void> } {
  const {
    databaseUrl,
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
  const watch = watchEndpoints({ pool, switchOff, switchOffHours, log })
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
  const replays = writeReplays({ pool, newId, onQueued: dispatcher.wake, poll_ms, log })
  const wake = () => {
    dispatcher.wake()
    replays.now()
  }
  const unsubscribe = notifier?.onNotify(wake)
  const listener = listen({
    databaseUrl,
    channel: DELIVERIES_CHANNEL,
    application_name: 'tillbook listener',
    onNotification: wake,
    onError: (error) => log('deliveries are found by polling only: nothing can be listened to', error),
  })
  return {
    async stop() {
      unsubscribe?.()
      await listener.close()
      await replays.stop()
      await dispatcher.stop()
      await watch.stop()
      await sender.close()
      await pool.end()
    },
  }
}
