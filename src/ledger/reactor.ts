import type { Transaction } from '#postgres/transaction.ts'
import type { Envelope } from './envelope.ts'
import type { OpenLedger } from './ledgers.ts'
import { ensure, type Loading, render } from './projection.ts'
import type { AnyRef } from './table.ts'
import type { Changes, Rows } from './working-set.ts'

/**
 * Creates the consequences of an event outside the read model: rows of `ops` such as webhook deliveries. They are
 * created once, in the transaction that applies the event, by a writer or by catch-up; a rebuild creates none
 * (HOOK-11).
 */
export interface Reactor {
  /**
   * The rows that `react` reads, derived from rows that are always loaded; null if the event has no consequences.
   * `next` is the following event of the ledger, at least if the same command created both.
   */
  refs(rows: Rows, event: Envelope, next: Envelope | null): readonly AnyRef[] | null
  /**
   * `record` is the JSON text of the event's subject after the event; '' if it was deleted. `made` collects the
   * consequences.
   */
  react(rows: Changes, event: Envelope, record: string, made: Reaction): void
  /** Reads, before any row is written, what `finish` needs of rows that are about to change. */
  look?(tx: Transaction, companyId: number, event: Envelope): Promise<readonly string[]>
  /**
   * Changes rows without a known key by statements, after all rows are written and before COMMIT. `seen` is the result
   * of `look`.
   */
  finish?(tx: Transaction, companyId: number, event: Envelope, seen: readonly string[]): Promise<void>
}

/** Values for the rows that a reaction creates. */
export interface Reaction {
  readonly companyId: number
  readonly newId: () => string
  /** W3C trace context of the request that caused the event; absent if it had none, and in catch-up. */
  readonly traceparent?: string | undefined
  /** Postgres's clock. Due times follow it, independent of the event's recorded time (LEDGER-22). */
  readonly now: string
}

export interface ReactionContext extends Loading {
  readonly tx: Transaction
  readonly reactors: readonly Reactor[]
  readonly newId: () => string
  readonly traceparent?: string | undefined
}

/** Runs the reactors for an event that was just projected, unless they have run before. */
export async function reactTo(
  event: Envelope,
  next: Envelope | null,
  ledger: OpenLedger,
  reacting: ReactionContext,
): Promise<void> {
  if (event.revision <= ledger.reactedRevision) return
  const rows = reacting.set.of(ledger.companyId)
  const { newId, traceparent } = reacting
  const made = { companyId: ledger.companyId, newId, now: ledger.now, traceparent }
  for (const reactor of reacting.reactors) {
    const refs = reactor.refs(rows, event, next)
    if (!refs) continue
    await ensure(reacting, ledger.companyId, refs)
    // As of the event: values that depend on the clock are those of its time.
    const at = { companyId: ledger.companyId, now: event.recorded_at }
    reactor.react(rows, event, await render(event.subject, at, reacting), made)
    ledger.hasReacted = true
    const { look, finish } = reactor
    const seen = look ? await look(reacting.tx, ledger.companyId, event) : []
    if (finish) ledger.finishing.push((tx) => finish(tx, ledger.companyId, event, seen))
  }
}
