import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import { retry } from '#lib/retry.ts'
import { companyOf } from '../envelope.ts'
import { ensureLedger } from '../ledgers.ts'
import type { Note, OutsideStore } from '../port.ts'
import { type CatchUpOptions, catchUpCompany } from '../write/catch-up.ts'
import { type CheckpointTracker, readCheckpoint, trackCheckpoint, writeCheckpoint } from './checkpoint-tracker.ts'

/** A writer applies its own events within this; who stays behind for longer has crashed, or lives elsewhere. */
const BEHIND_MS = 1000
const TICK_MS = 250

export interface FollowerOptions extends CatchUpOptions {
  readonly store: OutsideStore
  readonly log: (message: string, error: unknown) => void
}

/** Sees to it that whatever is appended to a store outside Postgres is applied, also where nobody writes any more. */
export interface Follower {
  /** Companies that stay behind, as far as is known. */
  lag(): number
  stop(): Promise<void>
}

/**
 * Applies everything that the store holds after the checkpoint, before this process writes: the read model may come from
 * an older copy than the store, and ids that the store has seen must not be given out again.
 */
export async function catchUpAll(options: FollowerOptions): Promise<void> {
  const after = await readCheckpoint(options.pool)
  const tracker = trackCheckpoint(after)
  for await (const note of options.store.notes(after)) take(tracker, note)
  for (const [companyId, revision] of await stillBehind(options.pool, tracker)) {
    await catchUpCompany(options, companyId, { waits: true })
    tracker.applied(companyId, revision, performance.now())
  }
  const checkpoint = tracker.checkpoint()
  if (checkpoint !== null) await writeCheckpoint(options.pool, checkpoint)
}

/** Follows the store for as long as the process lives; the subscription only notes, and begins anew when it breaks. */
export function follow(options: FollowerOptions): Follower {
  const stopping = new AbortController()
  const { signal } = stopping
  let tracker: CheckpointTracker = trackCheckpoint(null)
  // Neither ever comes to an end: a subscription that does is begun anew.
  const keepUp = (work: (onProgress: () => void) => Promise<void>) =>
    retry(
      signal,
      async (onProgress) => {
        await work(onProgress)
        return 'again'
      },
      (error) => options.log('following the event store was interrupted', error),
    )
  const subscribing = keepUp(async (onProgress) => {
    const after = await readCheckpoint(options.pool)
    tracker = trackCheckpoint(after)
    for await (const note of options.store.subscribe(after, signal)) {
      take(tracker, note)
      onProgress()
    }
  })
  const applying = keepUp(async (onProgress) => {
    for (let written: string | null = null; !signal.aborted; onProgress()) {
      await delay(TICK_MS, undefined, { signal }).catch(() => {})
      await applyLate(options, tracker)
      const checkpoint = tracker.checkpoint()
      if (checkpoint !== null && checkpoint !== written) await writeCheckpoint(options.pool, checkpoint)
      written = checkpoint
    }
  })
  return {
    lag: () => tracker.behind(performance.now() - BEHIND_MS).size,
    async stop() {
      stopping.abort()
      await Promise.all([subscribing, applying])
    },
  }
}

function take(tracker: CheckpointTracker, note: Note): void {
  const companyId = companyOf(note.stream)
  if (companyId !== null) tracker.add(companyId, note, performance.now())
}

/** Whoever has been behind for too long is caught up, unless somebody else is at it. */
async function applyLate(options: FollowerOptions, tracker: CheckpointTracker): Promise<void> {
  await stillBehind(options.pool, tracker)
  for (const [companyId, revision] of tracker.behind(performance.now() - BEHIND_MS)) {
    if (await catchUpCompany(options, companyId, { waits: false }))
      tracker.applied(companyId, revision, performance.now())
  }
}

/** Forgets those of whom everything noted is applied. A company that this Postgres has never heard of gets its ledger. */
async function stillBehind(pool: Pool, tracker: CheckpointTracker): Promise<Map<number, number>> {
  const companies = [...tracker.behind().keys()]
  if (companies.length === 0) return tracker.behind()
  const { rows } = await pool.query<{ company_id: number; revision: number }>({
    name: 'revisions_of',
    text: 'select company_id, revision from ops.ledgers where company_id = any($1::bigint[])',
    values: [companies],
  })
  const revisions = new Map(rows.map((row) => [row.company_id, row.revision]))
  for (const companyId of companies) {
    const revision = revisions.get(companyId)
    if (revision === undefined) await ensureLedger(pool, companyId)
    else tracker.applied(companyId, revision, performance.now())
  }
  return tracker.behind()
}
