import { setTimeout as delay } from 'node:timers/promises'
import { announceVersion, watchVersion } from '#ledger/rebuild/version.ts'
import type { Core } from './core.ts'
import type { Log } from './log.ts'

type Versioned = Pick<Core, 'pool' | 'model'>

/** Handover from processes of one version to those of a newer one. */
export interface RollingUpgrade {
  /** Whether a newer version serves, so that this process must stop serving. */
  isOver(): boolean
  /** The tables were replaced: this process refuses writes from now on. */
  onReplaced(): void
  /** Watches for a newer version until it is stopped. */
  watch(core: Versioned): { stop(): Promise<void> }
  /** Resolves when no process of the previous version may still answer reads; writes wait for it. */
  untilWritable(): Promise<void>
  /** Announces that this process serves. */
  succeed(core: Versioned): void
}

interface SuccessionOptions {
  /** Whether this process answers reads. */
  readonly isApi: boolean
  readonly log: Log
  /** The process should end. */
  readonly onEnd: () => void
}

/**
 * Without a serving successor within this time there may be nothing that answers reads. The process then ends, and its
 * next start reports the reason.
 */
const SUCCESSOR_WITHIN_MS = 60_000

/**
 * After its tables were replaced, a process refuses writes and continues to answer reads from the old tables, which are
 * still the newest published state. Once a process of the newer version serves, it refuses everything and ends
 * (OPS-37).
 */
export function createRollingUpgrade({ isApi, log, onEnd }: SuccessionOptions): RollingUpgrade {
  let isReplaced = false
  let isOver = false
  let writable: Promise<void> = Promise.resolve()
  const end = () => {
    if (isOver) return
    isOver = true
    onEnd()
  }
  const onReplaced = () => {
    if (isReplaced) return
    isReplaced = true
    log('a newer version has replaced the tables: this process ends', new Error('older than the tables'))
    if (isApi) setTimeout(end, SUCCESSOR_WITHIN_MS).unref()
    else end()
  }
  return {
    isOver: () => isOver,
    onReplaced,
    watch: ({ pool, model }) =>
      watchVersion(pool, model, {
        onReplaced,
        onServed: end,
        onError: (error) => log('the version of the tables could not be read', error),
      }),
    untilWritable: () => writable,
    succeed({ pool, model }) {
      // If Postgres is unreachable, a process misses the announcement, but cannot read either.
      writable = announceVersion(pool, model)
        .then((wait_ms) => delay<void>(wait_ms))
        .catch((error: unknown) => log('the version of the tables could not be announced', error))
    },
  }
}
