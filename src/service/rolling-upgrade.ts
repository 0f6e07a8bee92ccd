import { setTimeout as delay } from 'node:timers/promises'
import { announceVersion, watchVersion } from '#ledger/rebuild/version.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { Core } from './core.ts'
import type { Log } from './log.ts'

type Versioned = Pick<Core, 'pool' | 'model'>

/** How processes of one version hand over to those of a newer one. */
export interface RollingUpgrade {
  /** Whether a newer version serves, so that this process must not any more. */
  isOver(): boolean
  /** The tables were replaced: nothing can be written here from now on. */
  onReplaced(): void
  /** Looks for it until it is stopped. */
  watch(core: Versioned): { stop(): Promise<void> }
  /** The writer, whose writes wait while processes of the version before may still answer reads. */
  held(writer: Writer): Writer
  /** This process serves from now on. */
  succeed(core: Versioned): void
}

interface SuccessionOptions {
  /** Whether this process is read from. */
  readonly isApi: boolean
  readonly log: Log
  /** It is time to go. */
  readonly onEnd: () => void
}

/** A newer version that does not come to serve leaves nobody to read from: then an end, and a start, tell why. */
const SUCCESSOR_WITHIN_MS = 60_000

/**
 * After its tables were replaced a process refuses writes and goes on answering reads from what they held, which is still the
 * newest that anybody was told, until a process of the newer version serves; then it refuses everything and ends (OPS-37).
 */
export function createRollingUpgrade({ isApi, log, onEnd }: SuccessionOptions): RollingUpgrade {
  let isReplaced = false
  let isOver = false
  let writable: Promise<unknown> = Promise.resolve()
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
    held: (writer) => ({
      idle: writer.idle,
      async run(request) {
        await writable
        return writer.run(request)
      },
    }),
    succeed({ pool, model }) {
      // A process that cannot be told of it, because Postgres is away, cannot read either.
      writable = announceVersion(pool, model)
        .then((wait_ms) => delay(wait_ms))
        .catch((error: unknown) => log('the version of the tables could not be announced', error))
    },
  }
}
