import type { WebhookEvent } from '#events/webhooks.ts'
import { isDeliverable, isSubscribed } from '#events/webhooks.ts'
import { type Envelope, streamOf } from '#ledger/envelope.ts'
import { search } from '#ledger/reading.ts'
import type { OperationContext } from '#ledger/write/operation.ts'
import { apiKeyIdOf } from '#projections/companies.ts'
import type { Endpoint } from './deliveries.ts'
import { type LedgerMessagesCore, renderLedgerMessages } from './ledger-messages.ts'
import { outboundOf, outboundTypes } from './outbound.ts'

/** Bounds of one step. */
export interface StepLimits {
  /** Events of subscribed types that are looked at. */
  readonly stepEvents: number
  /** Events without a stored message: their records may have to be reconstructed. */
  readonly stepRenders: number
}

/** A message to deliver again; `rendered` is null if it is stored already. */
interface ReplayedMessage {
  readonly revision: number
  readonly event: WebhookEvent
  readonly rendered: { readonly id: string; readonly actor: string | null; readonly body: string } | null
}

/** The next messages of a replay. */
export interface ReplayPortion {
  readonly messages: readonly ReplayedMessage[]
  /** Last revision that was looked at. */
  readonly seenTo: number
}

interface PortionRange {
  /** Exclusive. */
  readonly after: number
  readonly until: number
  /** Messages after which the portion ends, with the last event's. */
  readonly room: number
}

/**
 * The messages after a revision that the endpoint subscribes to and may receive: stored ones by name, others rendered
 * from the ledger. Events caused by its own key are skipped (HOOK-10). Runs outside the transaction that queues them.
 */
export async function readPortion(
  core: LedgerMessagesCore,
  companyId: number,
  endpoint: Endpoint,
  { after, until, room }: PortionRange,
  { newId, stepEvents, stepRenders }: StepLimits & { readonly newId: () => string },
): Promise<ReplayPortion> {
  const isWanted = (name: WebhookEvent) => isSubscribed(endpoint.events, name) && isDeliverable(endpoint.scopes, name)
  const range = { fromRevision: after + 1, toRevision: until, types: outboundTypes(isWanted), subject: null }
  const page = await search(core.store, streamOf(companyId), { ...range, limit: stepEvents })
  const events = page.events
    .map(({ json }) => JSON.parse(json) as Envelope)
    .filter(({ actor }) => endpoint.api_key_id === null || apiKeyIdOf(actor) !== endpoint.api_key_id)
  const stored = await storedMessages(core, companyId, events)
  const taken: { readonly event: Envelope; readonly names: readonly WebhookEvent[] }[] = []
  const unstored: number[] = []
  let count = 0
  let { seenTo } = page
  for (const event of events) {
    const names = outboundOf(event, null).filter(isWanted)
    const isStored = names.every((name) => stored.has(`${event.revision} ${name}`))
    if (count >= room || (!isStored && unstored.length === stepRenders)) {
      seenTo = event.revision - 1
      break
    }
    taken.push({ event, names })
    count += names.length
    if (!isStored) unstored.push(event.revision)
  }
  const rendered = await renderLedgerMessages(core, companyId, unstored, until)
  const messages = taken.flatMap(({ event: { revision, id, actor }, names }): ReplayedMessage[] => {
    const found = rendered.get(revision)
    if (!found) return names.map((event) => ({ revision, event, rendered: null }))
    // As in the outbox: the first message of an event has the event's id.
    return found.messages.flatMap(({ event, body }, position) =>
      isWanted(event) ? [{ revision, event, rendered: { id: position === 0 ? id : newId(), actor, body } }] : [],
    )
  })
  return { messages, seenTo }
}

/** Names of the stored messages of these events, as `revision name`. */
async function storedMessages(
  { poolOf }: LedgerMessagesCore,
  companyId: number,
  events: readonly Envelope[],
): Promise<ReadonlySet<string>> {
  const { rows } = await poolOf(companyId).query<{ revision: number; event: string }>({
    name: 'stored_webhook_messages',
    text: 'select revision, event from ops.webhook_messages where company_id = $1 and revision = any($2::bigint[])',
    values: [companyId, events.map(({ revision }) => revision)],
  })
  return new Set(rows.map(({ revision, event }) => `${revision} ${event}`))
}

/** The first messages of a portion, whole events, that fill the room. */
export function cutPortion({ messages, seenTo }: ReplayPortion, room: number): ReplayPortion {
  const end = messages[room - 1]?.revision
  const next = messages.find(({ revision }) => end !== undefined && revision > end)
  if (!next) return { messages, seenTo }
  return { messages: messages.filter(({ revision }) => revision < next.revision), seenTo: next.revision - 1 }
}

/**
 * Stores the rendered messages and queues a delivery of each, with new ids and sequence numbers. False, and nothing is
 * queued, if a stored message was purged since it was found.
 */
export async function queuePortion(
  { tx, companyId, now }: OperationContext,
  webhookId: number,
  { messages }: ReplayPortion,
  newId: () => string,
): Promise<boolean> {
  if (messages.length === 0) return true
  const rendered = messages.flatMap(({ revision, event, rendered }) =>
    rendered ? [{ revision, event, ...rendered }] : [],
  )
  if (rendered.length > 0)
    await tx.query(STORE_MESSAGES, [
      companyId,
      rendered.map(({ id }) => id),
      rendered.map(({ revision }) => revision),
      rendered.map(({ event }) => event),
      rendered.map(({ actor }) => actor),
      rendered.map(({ body }) => body),
      now,
    ])
  const at = [messages.map(({ revision }) => revision), messages.map(({ event }) => event)]
  const { rows } = await tx.query<{ id: string }>(LOCK_MESSAGES, [companyId, ...at])
  if (rows.length < messages.length) return false
  await tx.query(QUEUE_REPLAY, [
    companyId,
    webhookId,
    messages.map(() => newId()),
    rows.map(({ id }) => id),
    messages.map(({ event }) => event),
    messages.map(({ revision }) => revision),
    now,
  ])
  return true
}

const STORE_MESSAGES = {
  name: 'store_replayed_messages',
  text: `insert into webhook_messages (company_id, id, revision, event, actor, body, created_at)
         select $1, m.*, $7 from unnest($2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::text[]) as m
         on conflict (company_id, revision, event) do nothing`,
}

/** Ids of messages in the order of the portion, locked against the purge. */
const LOCK_MESSAGES = {
  name: 'lock_replayed_messages',
  text: `select m.id from unnest($2::bigint[], $3::text[]) with ordinality as wanted(revision, event, position)
         join webhook_messages m on m.company_id = $1 and m.revision = wanted.revision and m.event = wanted.event
         order by wanted.position for key share of m`,
}

const QUEUE_REPLAY = {
  name: 'queue_replay',
  text: `with numbered as (
           insert into webhook_sequences as s (company_id, webhook_id, last_sequence)
           values ($1, $2, cardinality($3::uuid[]))
           on conflict (company_id, webhook_id) do update set last_sequence = s.last_sequence + excluded.last_sequence
           returning last_sequence - cardinality($3::uuid[]) as before)
         insert into webhook_deliveries (company_id, id, webhook_id, message_id, event, revision, sequence,
                                         replay, status, attempts, tries, next_attempt_at, created_at)
         select $1, m.id, $2, m.message_id, m.event, m.revision, n.before + m.position, true, 'pending', '[]', 0, $7, $7
         from numbered n, unnest($3::uuid[], $4::uuid[], $5::text[], $6::bigint[]) with ordinality
           as m(id, message_id, event, revision, position)`,
}
