import { inZone } from '#domain/instant.ts'
import type { WebhookEvent } from '#events/webhooks.ts'
import { channelOf, type Envelope } from '#ledger/envelope.ts'
import { type ReadModel, viewOf } from '#ledger/projection.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { ownCompany, timezoneOf } from '#projections/companies.ts'
import { dataOf, dataRefs, outboundOf, shownItemRefs } from './outbound.ts'

/** An outbound message; `body` is sent byte for byte. */
export interface OutboundMessage {
  readonly event: WebhookEvent
  readonly body: string
}

/** The body of a delivery (HOOK-9); `data` is JSON text. */
export function bodyOf(
  event: WebhookEvent,
  { recorded_at, origin }: Pick<Envelope, 'recorded_at' | 'origin'>,
  data: string,
  timezone: string,
): string {
  const head = JSON.stringify({ event, occurred_at: inZone(recorded_at, timezone), origin: channelOf(origin) })
  return `${head.slice(0, -1)},"data":${data}}`
}

/**
 * Renders the messages of an opened event in its newest version; `next` as for `outboundOf`. `load` returns rows as
 * they were right after the event.
 */
export async function renderMessages(
  model: ReadModel,
  event: Envelope,
  next: Envelope | null,
  load: (refs: readonly AnyRef[]) => Promise<Rows>,
): Promise<readonly OutboundMessage[]> {
  const names = outboundOf(event, next)
  if (names.length === 0) return []
  const { view, id } = viewOf(model, event.subject)
  const own = await load([ownCompany, ...view.refs(id), ...shownItemRefs(event)])
  const rows = await load([...(view.refsMore?.(own, id) ?? []), ...dataRefs(own, event)])
  const record = view.render(rows, id, event.recorded_at) ?? ''
  return names.flatMap((name) => {
    const data = dataOf(name, rows, event, record)
    return data === null ? [] : [{ event: name, body: bodyOf(name, event, data, timezoneOf(rows)) }]
  })
}
