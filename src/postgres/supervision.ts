import { retry } from '#lib/retry.ts'
import type { Share } from './share.ts'

/** A server that ran for so long was well: when it is lost, it is started again at once and with all attempts. */
const STEADY_MS = 5_000
/** With the patience that grows to 15 seconds, about ten minutes. */
const ATTEMPTS = 40

export interface SupervisionOptions {
  /** Starts the server again, or adopts the one that another process has started meanwhile. */
  readonly again: (signal: AbortSignal) => Promise<Share>
  readonly onTrouble: (message: string, error: unknown) => void
  /** It could not be brought back. */
  readonly onGivenUp: () => void
  readonly attempts?: number
  readonly steady_ms?: number
}

/** Watches over a share in a server. */
export interface Supervision {
  /** Starts nothing any more. The share, if there is one, is the caller's to give up. */
  stop(): Promise<Share | null>
}

/**
 * Brings the server back whenever the share is lost, with growing patience, also when it comes up and is soon lost again.
 * Every process that uses the server does so: one of them starts it, the others adopt it.
 */
export function supervise(first: Share, options: SupervisionOptions): Supervision {
  const { again, onTrouble, onGivenUp, attempts = ATTEMPTS, steady_ms = STEADY_MS } = options
  const stopping = new AbortController()
  const { signal } = stopping
  let share: Share | null = first
  let attempt = 0

  async function watch(onProgress: () => void): Promise<'done' | 'again'> {
    if (!share) {
      if (attempt === attempts) return giveUp()
      attempt += 1
      share = await again(signal)
    }
    const since = performance.now()
    if (!(await isLost(share, signal))) return 'done'
    share = null
    if (performance.now() - since >= steady_ms) {
      attempt = 0
      onProgress()
    }
    onTrouble('the embedded Postgres was lost, and is started again', new Error('its connection has ended'))
    return 'again'
  }

  function giveUp(): 'done' {
    onTrouble('the embedded Postgres is given up', new Error(`${attempt} attempts to start it again were in vain`))
    onGivenUp()
    return 'done'
  }

  const watching = retry(signal, watch, (error) => onTrouble('the embedded Postgres could not be started again', error))
  return {
    async stop() {
      stopping.abort()
      await watching
      return share
    },
  }
}

/** False when the signal came first. */
async function isLost({ lost }: Share, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false
  const aborted = new Promise<false>((resolve) =>
    signal.addEventListener('abort', () => resolve(false), { once: true }),
  )
  return Promise.race([lost.then(() => true), aborted])
}
