import type { Pool } from 'pg'
import { rest, retry, workInTurn } from '#lib/background-loops.ts'
import { Unavailable } from '#lib/errors.ts'
import { companyIdOfStream } from '../command.ts'
import { ensureLedger, raiseCompanyIds } from '../ledgers.ts'
import type { Note, OutsideStore } from '../port.ts'
import { blockFor, companiesPending, unblock } from '../sealed-fields.ts'
import { type CatchUpOptions, catchUpCompany } from '../write/attempt.ts'

/** Position of the store when a note arrived. Positions cannot be compared, so `order` counts the notes. */
interface Mark {
  readonly order: number
  readonly position: string | null
}

/** A company with events that may not be applied yet. */
interface Behind {
  /** Revision of the last note. */
  revision: number
  /** Start of the lag (ms of a monotonic clock), and the store's position then: everything before it is applied. */
  since_ms: number
  since: Mark
  /** State at the last check. Once the company has applied this revision, its lag counts from that check. */
  seen: { readonly revision: number; readonly at_ms: number; readonly mark: Mark }
}

/** Progress of a subscription. Memory is bounded by the number of companies. Times are those of a monotonic clock. */
interface CheckpointTracker {
  add(companyId: number, note: Note, now_ms: number): void
  /**
   * Companies with notes that are not known to be applied, with the last noted revision; only those behind since
   * `before_ms` or earlier.
   */
  behind(before_ms?: number): Map<number, number>
  /** Records that a company's read model has reached a revision. */
  applied(companyId: number, revision: number, now_ms: number): void
  /** The position up to which all events are applied; null for the beginning. */
  checkpoint(): string | null
}

/** Tracks the events after a position. */
function trackCheckpoint(after: string | null): CheckpointTracker {
  const companies = new Map<number, Behind>()
  let last: Mark = { order: 0, position: after }
  return {
    add(companyId, { revision, position }, now_ms) {
      const known = companies.get(companyId)
      if (known) known.revision = Math.max(known.revision, revision)
      else {
        const seen = { revision, at_ms: now_ms, mark: last }
        companies.set(companyId, { revision, since_ms: now_ms, since: last, seen })
      }
      last = { order: last.order + 1, position }
    },
    behind(before_ms = Number.POSITIVE_INFINITY) {
      const late = [...companies].filter(([, { since_ms }]) => since_ms <= before_ms)
      return new Map(late.map(([companyId, { revision }]) => [companyId, revision]))
    },
    applied(companyId, revision, now_ms) {
      const known = companies.get(companyId)
      if (!known) return
      if (known.revision <= revision) {
        companies.delete(companyId)
        return
      }
      if (known.seen.revision > revision) return
      known.since_ms = known.seen.at_ms
      known.since = known.seen.mark
      known.seen = { revision: known.revision, at_ms: now_ms, mark: last }
    },
    checkpoint() {
      let first = last
      for (const { since } of companies.values()) if (since.order < first.order) first = since
      return first.position
    },
  }
}

const NAME = 'follower'

/** The position up to which all events of the store are applied; null before the first. */
export async function readSubscriptionCheckpoint(pool: Pool): Promise<string | null> {
  const { rows } = await pool.query<{ position: string }>(
    'select position from ops.subscription_checkpoints where name = $1',
    [NAME],
  )
  return rows[0]?.position ?? null
}

async function writeSubscriptionCheckpoint(pool: Pool, position: string): Promise<void> {
  await pool.query(
    `insert into ops.subscription_checkpoints (name, position) values ($1, $2)
     on conflict (name) do update set position = excluded.position`,
    [NAME, position],
  )
}

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
    if (blocked === true) options.log('ledger: company is read-only, keys of persons are missing', error)
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
      (error) => options.log('event store: subscription interrupted, will retry', error),
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
  const onError = (error: unknown) => options.log('event store: applying events failed, will retry', error)
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

/** Work that must be done before a process may write to an external store. */
export interface Preparation {
  isDone(): boolean
  /** @throws Unavailable */
  assertDone(): void
  /** Resolves after the first attempt, successful or not. */
  readonly tried: Promise<void>
  stop(): Promise<void>
}

/**
 * Applies the store's events beyond the read model, and raises the sequence of company ids above all ids in the store.
 * Retries until the store can be reached; reads are served meanwhile.
 */
export function prepare(
  options: CatchUpSubscriptionOptions,
  /** Rejects a store with other ledgers. */
  assertOwn: () => Promise<void>,
): Preparation {
  const stopping = new AbortController()
  let isDone = false
  let tried = () => {}
  const first = new Promise<void>((resolve) => {
    tried = resolve
  })
  const preparing = retry(
    stopping.signal,
    async () => {
      try {
        await assertOwn()
        await raiseCompanyIds(options.pool, [await catchUpAll(options)])
        isDone = true
        return 'done'
      } finally {
        tried()
      }
    },
    (error) => options.log('event store: catch-up failed, will retry', error),
  )
  return {
    isDone: () => isDone,
    assertDone() {
      if (!isDone) throw new Unavailable('the event store has not been caught up with')
    },
    tried: first,
    async stop() {
      stopping.abort()
      await preparing
    },
  }
}
