import type { AsOfCore } from '#integrity/audit/as-of.ts'
import { type Load, withRowsAfter } from '#integrity/audit/rows-after.ts'
import { type Envelope, streamOf } from '#ledger/envelope.ts'
import { pickNewest } from '#ledger/reading.ts'
import type { PoolOf } from '#postgres/shared-pool.ts'
import { withPaymentLinks } from '#projections/payment-links.ts'
import { type OutboundMessage, renderMessages } from './messages.ts'

/** Dependencies of messages of past events. */
export interface LedgerMessagesCore extends AsOfCore {
  readonly poolOf: PoolOf
}

/** An opened event in its newest version, with its messages. */
interface EventMessages {
  readonly event: Envelope
  readonly messages: readonly OutboundMessage[]
}

/**
 * Renders the messages of events from the ledger, by revision (ascending), with rows as they were right after each
 * event. The event after the last one counts up to revision `head`. Event stream and replays share it (HOOK-26).
 * Each event may need rows reconstructed at its revision. @throws PastUnavailable
 */
export async function renderLedgerMessages(
  core: LedgerMessagesCore,
  companyId: number,
  revisions: readonly number[],
  head: number,
): Promise<ReadonlyMap<number, EventMessages>> {
  // The next event may affect the message of an event.
  const picked = [...new Set(revisions.flatMap((revision) => [revision, Math.min(revision + 1, head)]))]
  const newest = new Map<number, Envelope>()
  for await (const event of pickNewest(core, streamOf(companyId), picked)) newest.set(event.revision, event)
  const model = withPaymentLinks(core.model, core.paymentLinks)
  const rendered = new Map<number, EventMessages>()
  for (const revision of revisions) {
    const event = newest.get(revision) as Envelope
    const next = newest.get(revision + 1) ?? null
    const read = (load: Load) => renderMessages(model, event, next, load)
    rendered.set(revision, { event, messages: (await withRowsAfter(core, companyId, revision, read)) ?? [] })
  }
  return rendered
}
