import { workInTurn } from '#background/round-robin.ts'
import { rest } from '#lib/rest.ts'
import { retry } from '#lib/retry.ts'
import { companyIdOfStream } from '../envelope.ts'
import { ensureLedger } from '../ledgers.ts'
import { blockFor, companiesPending, unblock } from '../missing-keys.ts'
import type { Note, OutsideStore } from '../port.ts'
import { type CatchUpOptions, catchUpCompany } from '../write/catch-up.ts'
import {
  type CheckpointTracker,
  readSubscriptionCheckpoint,
  trackCheckpoint,
  writeSubscriptionCheckpoint,
} from './checkpoint-tracker.ts'

/** A writer applies its own events within this time. If a company lags longer, its writer has crashed. */
const BEHIND_MS = 1000
const TICK_MS = 250

export interface CatchUpSubscriptionOptions extends CatchUpOptions {
  readonly store: OutsideStore
  readonly log: (message: string, error: unknown) => void
}

/** Applies all events appended to an external store, even if no process writes any more. */
export interface CatchUpSubscription {
  /** Known number of companies that lag. */
  lag(): number
  stop(): Promise<void>
}

/**
 * Applies all events after the checkpoint, before this process writes: the read model may be restored from an older
 * copy than the store, and ids in the store must not be assigned again. Returns the highest company id found; 0 if
 * nothing was new.
 */
export async function catchUpAll(options: CatchUpSubscriptionOptions): Promise<number> {
  const after = await readSubscriptionCheckpoint(options.pool)
  const tracker = trackCheckpoint(after)
  let highest = 0
  for await (const note of options.store.notes(after)) {
    take(tracker, note)
    highest = Math.max(highest, companyIdOfStream(note.stream) ?? 0)
  }
  const failures: unknown[] = []
  for (const companyId of await companiesPending(options.pool)) await apply(companyId)
  for (const [companyId, revision] of await look(options, tracker))
    if (await apply(companyId)) tracker.applied(companyId, revision, performance.now())
  if (failures.length > 0) throw failures[0]
  const checkpoint = tracker.checkpoint()
  if (checkpoint !== null) await writeSubscriptionCheckpoint(options.pool, checkpoint)
  return highest

  /** A failure of one company does not stop the others. */
  async function apply(companyId: number): Promise<boolean> {
    try {
      return await applyOrBlock(options, companyId, { waits: true })
    } catch (error) {
      failures.push(error)
      return false
    }
  }
}

/**
 * Applies a company's events. If they cannot be opened, the company becomes read-only and its new events are not
 * tracked: they are retried periodically and applied once they can be opened. False while another process has locked
 * the ledger.
 */
async function applyOrBlock(
  options: CatchUpSubscriptionOptions,
  companyId: number,
  { waits }: { readonly waits: boolean },
): Promise<boolean> {
  try {
    const isLevel = await catchUpCompany(options, companyId, { waits })
    if (isLevel) await unblock(options.pool, companyId, 'pending')
    return isLevel
  } catch (error) {
    const blocked = await blockFor(error, options.pool)
    if (!blocked) throw error
    if (blocked === true) options.log('a company is read-only: keys of persons are missing', error)
    return true
  }
}

/** Pause between retries for companies that are read-only. */
const BLOCKED_RETRY_MS = 10_000

/** Subscribes to the store until stopped. The subscription only tracks notes, and restarts if it breaks. */
export function startCatchUpSubscription(options: CatchUpSubscriptionOptions): CatchUpSubscription {
  const stopping = new AbortController()
  const { signal } = stopping
  let tracker: CheckpointTracker = trackCheckpoint(null)
  // Both loops run until the abort; a subscription that ends is restarted.
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
    const after = await readSubscriptionCheckpoint(options.pool)
    tracker = trackCheckpoint(after)
    for await (const note of options.store.subscribe(after, signal)) {
      take(tracker, note)
      onProgress()
    }
  })
  const applying = keepUp(async (onProgress) => {
    let retriedAt = performance.now()
    for (let written: string | null = null; !signal.aborted; onProgress()) {
      await rest(TICK_MS, signal)
      await applyLate(options, tracker)
      if (performance.now() - retriedAt >= BLOCKED_RETRY_MS) {
        retriedAt = performance.now()
        await applyInTurn(options, await companiesPending(options.pool))
      }
      const checkpoint = tracker.checkpoint()
      if (checkpoint !== null && checkpoint !== written) await writeSubscriptionCheckpoint(options.pool, checkpoint)
      written = checkpoint
    }
  })
  return {
    lag: () => [...tracker.behind(performance.now() - BEHIND_MS).keys()].length,
    async stop() {
      stopping.abort()
      await Promise.all([subscribing, applying])
    },
  }
}

function take(tracker: CheckpointTracker, note: Note): void {
  const companyId = companyIdOfStream(note.stream)
  if (companyId !== null) tracker.add(companyId, note, performance.now())
}

/** Catches up companies that lag too long, unless another process does. */
async function applyLate(options: CatchUpSubscriptionOptions, tracker: CheckpointTracker): Promise<void> {
  const behind = await look(options, tracker)
  const late = tracker.behind(performance.now() - BEHIND_MS)
  await applyInTurn(
    options,
    [...behind.keys()].filter((companyId) => late.has(companyId)),
    (companyId) => tracker.applied(companyId, behind.get(companyId) as number, performance.now()),
  )
}

/** A failure of one company does not stop the others. */
function applyInTurn(
  options: CatchUpSubscriptionOptions,
  companyIds: readonly number[],
  onApplied: (companyId: number) => void = () => {},
): Promise<void> {
  const apply = async (companyId: number) => {
    if (await applyOrBlock(options, companyId, { waits: false })) onApplied(companyId)
    return 'done' as const
  }
  const onError = (error: unknown) => options.log('events of the event store could not be applied', error)
  return workInTurn(companyIds, apply, { onError })
}

/**
 * Companies with unapplied notes, with the last noted revision; the others are dropped, and those that have left for
 * another installation. A new company gets its ledger. One that is being imported is looked at again later.
 */
async function look(
  { pool }: CatchUpSubscriptionOptions,
  tracker: CheckpointTracker,
): Promise<ReadonlyMap<number, number>> {
  const noted = tracker.behind()
  if (noted.size === 0) return noted
  const { rows } = await pool.query<NotedCompany>({ ...NOTED, values: [[...noted.keys()]] })
  const behind = new Map<number, number>()
  for (const { companyId, revision, isArriving, hasLeft } of rows) {
    const last = noted.get(companyId) as number
    if (isArriving) continue
    if (hasLeft || revision !== null) tracker.applied(companyId, hasLeft ? last : (revision ?? -1), performance.now())
    else await ensureLedger(pool, companyId)
    if (!hasLeft && (revision ?? -1) < last) behind.set(companyId, last)
  }
  return behind
}

interface NotedCompany {
  readonly companyId: number
  /** Null if the company has no ledger here. */
  readonly revision: number | null
  /** Closed without an event: it is being imported. */
  readonly isArriving: boolean
  /** An outside store keeps its stream. */
  readonly hasLeft: boolean
}

const NOTED = {
  name: 'noted_companies',
  text: `select asked.id as "companyId", l.revision, coalesce(l.closed_at is not null and l.revision < 0, false) as "isArriving",
           l.company_id is null and exists (
             select from ops.company_moves m where m.company_id = asked.id and m.state = 'removed') as "hasLeft"
         from unnest($1::bigint[]) as asked(id) left join ops.ledgers l on l.company_id = asked.id`,
}
