import type { Transaction } from '#postgres/transaction.ts'
import type { Envelope } from './envelope.ts'
import type { OpenLedger } from './ledgers.ts'
import { ensure, type Loading, render } from './projection.ts'
import type { AnyRef } from './table.ts'
import type { Changes, Rows } from './working-set.ts'

/**
 * Makes what an event gives rise to beside the read model: rows of `ops`, as the deliveries of a webhook. They are made once, in
 * the transaction that applies the event, whoever applies it; a rebuild makes none (HOOK-11).
 */
export interface Reactor {
  /**
   * The rows that `react` reads, told from those that are always loaded; null when the event concerns nobody. `next` is the
   * event that follows it in the ledger, at least where the same command has made both.
   */
  refs(rows: Rows, event: Envelope, next: Envelope | null): readonly AnyRef[] | null
  /** `record` is the JSON text of the event's subject as it is after the event; '' when it is gone. `made` is of what follows. */
  react(rows: Changes, event: Envelope, record: string, made: Reaction): void
  /** Looks by statements, before any row is written, for what `finish` needs of rows that are about to change. */
  look?(tx: Transaction, companyId: number, event: Envelope): Promise<readonly string[]>
  /** What it does by statements, where no key names the rows; run when all rows are written, and before COMMIT. `seen` is what `look` found. */
  finish?(tx: Transaction, companyId: number, event: Envelope, seen: readonly string[]): Promise<void>
}

/** What rows that follow from an event are made with. */
export interface Reaction {
  readonly companyId: number
  readonly newId: () => string
  /** Postgres's clock: what is due, is due by it, whatever time the event was recorded at (LEDGER-22). */
  readonly now: string
}

export interface ReactionContext extends Loading {
  readonly tx: Transaction
  readonly reactors: readonly Reactor[]
  readonly newId: () => string
}

/** Makes what follows from an event that was just projected, unless it was made before. */
export async function reactTo(
  event: Envelope,
  next: Envelope | null,
  ledger: OpenLedger,
  reacting: ReactionContext,
): Promise<void> {
  if (event.revision <= ledger.reactedRevision) return
  const rows = reacting.set.of(ledger.companyId)
  const made = { companyId: ledger.companyId, newId: reacting.newId, now: ledger.now }
  for (const reactor of reacting.reactors) {
    const refs = reactor.refs(rows, event, next)
    if (!refs) continue
    await ensure(reacting, ledger.companyId, refs)
    // As of the event: what the clock changes is told as it was then.
    const at = { companyId: ledger.companyId, now: event.recorded_at }
    reactor.react(rows, event, await render(event.subject, at, reacting), made)
    ledger.hasReacted = true
    const { look, finish } = reactor
    const seen = look ? await look(reacting.tx, ledger.companyId, event) : []
    if (finish) ledger.finishing.push((tx) => finish(tx, ledger.companyId, event, seen))
  }
}
