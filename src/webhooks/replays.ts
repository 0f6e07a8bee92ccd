import { isDeepStrictEqual } from 'node:util'
import type { Pool } from 'pg'
import { type Refusal, refuse } from '#domain/refusals.ts'
import { isDeliverable, isSubscribed, type WebhookEvent } from '#events/catalogue.ts'
import { type Envelope, streamName } from '#ledger/command.ts'
import { isRecordingCompany } from '#ledger/ledgers.ts'
import { search } from '#ledger/port.ts'
import { asSystem, type OperationContext, operate } from '#ledger/write/run.ts'
import { createRoundRobin, type Repetition, type RoundRobin, repeat, roundRobinOrder } from '#lib/background-loops.ts'
import type { Transaction } from '#postgres/transaction.ts'
import { parseKeyActor } from '#projections/companies.ts'
import { presentReplay, REPLAY_JSON } from '#queries/webhook-queries.ts'
import { type LedgerMessagesCore, renderLedgerMessages } from './event-feed.ts'
import { outboundTypes, toOutboundEvents } from './outbox.ts'
import { type Endpoint, findEndpoint } from './redelivery.ts'

/** Bounds of one step. */
interface StepLimits {
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
interface ReplayPortion {
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
 * from the ledger. Events caused by its own key are skipped. Runs outside the transaction that queues them.
 */
async function readPortion(
  core: LedgerMessagesCore,
  companyId: number,
  endpoint: Endpoint,
  { after, until, room }: PortionRange,
  { newId, stepEvents, stepRenders }: StepLimits & { readonly newId: () => string },
): Promise<ReplayPortion> {
  const isWanted = (name: WebhookEvent) => isSubscribed(endpoint.events, name) && isDeliverable(endpoint.scopes, name)
  const range = { fromRevision: after + 1, toRevision: until, types: outboundTypes(isWanted), subject: null }
  const page = await search(core.store, streamName(companyId), { ...range, limit: stepEvents })
  const events = page.events
    .map(({ json }) => JSON.parse(json) as Envelope)
    .filter(({ actor }) => endpoint.api_key_id === null || parseKeyActor(actor) !== endpoint.api_key_id)
  const stored = await storedMessages(core, companyId, events)
  const taken: { readonly event: Envelope; readonly names: readonly WebhookEvent[] }[] = []
  const unstored: number[] = []
  let count = 0
  let { seenTo } = page
  for (const event of events) {
    const names = toOutboundEvents(event, null).filter(isWanted)
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
function cutPortion({ messages, seenTo }: ReplayPortion, room: number): ReplayPortion {
  const end = messages[room - 1]?.revision
  const next = messages.find(({ revision }) => end !== undefined && revision > end)
  if (!next) return { messages, seenTo }
  return { messages: messages.filter(({ revision }) => revision < next.revision), seenTo: next.revision - 1 }
}

/**
 * Stores the rendered messages and queues a delivery of each, with new ids and sequence numbers. False, and nothing is
 * queued, if a stored message was purged since it was found.
 */
async function queuePortion(
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

/** Bounds of replays: per step, pending, and per day (HOOK-42). */
export interface ReplayLimits extends StepLimits {
  /** Pending deliveries of any origin at which a replay pauses. */
  readonly pendingOfEndpoint: number
  readonly pendingOfCompany: number
  /** Per company and calendar day. */
  readonly perDay: number
}

export const REPLAY_LIMITS: ReplayLimits = {
  stepEvents: 100,
  stepRenders: 20,
  pendingOfEndpoint: 2_000,
  pendingOfCompany: 10_000,
  perDay: 100_000,
}

/** Endpoint, and revision after which its replay begins; by default the whole ledger. */
interface ReplayStart {
  readonly id: number
  readonly after?: number | undefined
}

/**
 * Requests a replay of all events after a revision (exclusive), up to the present one; dispatchers queue the deliveries.
 * Returns the replay; refuses a second one while one is running.
 */
export async function startReplay(operating: OperationContext, start: ReplayStart): Promise<string | Refusal> {
  const { id, after = -1 } = start
  const { tx, companyId, now } = operating
  const endpoint = await findEndpoint(operating, id)
  if ('refused' in endpoint) return endpoint
  const { rows } = await tx.query<{ record: object }>(START, [companyId, id, after, now])
  const [started] = rows
  return started ? JSON.stringify(presentReplay(started.record, endpoint.timezone)) : refuse('replay_running')
}

/** A running replay is not replaced. */
const START = {
  name: 'start_webhook_replay',
  text: `insert into webhook_replays as t (company_id, webhook_id, after_revision, until_revision, last_revision, status, requested_at, next_step_at)
         select $1, $2, $3, revision, $3, 'running', $4, clock_timestamp() from ledgers where company_id = $1
         on conflict (company_id, webhook_id) do update set after_revision = excluded.after_revision,
           until_revision = excluded.until_revision, last_revision = excluded.last_revision, deliveries = 0,
           status = 'running', requested_at = excluded.requested_at, finished_at = null, next_step_at = excluded.next_step_at
           where t.status <> 'running'
         returning ${REPLAY_JSON} as record`,
}

interface Due {
  readonly company_id: number
  readonly webhook_id: number
}

interface Running {
  readonly last_revision: number
  readonly until_revision: number
  /** Persons erased since the request. */
  readonly erasures: number
  readonly pending_of_endpoint: number
  readonly pending_of_company: number
  readonly made_today: number
  readonly day_ends_at: string
}

/** Pause of a replay while too many deliveries are pending. */
const WAIT_SECONDS = 1

/** Each commit with deliveries asks for a look; it comes ten times a second at most. */
const REST_MS = 100

/** Delay after a failed step; the other replays continue. */
const FAILED_WAIT_SECONDS = 60

interface StepOptions {
  readonly limits?: ReplayLimits
  /** Position of the round-robin, so that companies get equal shares, however many replays each of them runs. */
  readonly companies?: RoundRobin
  /** Called when a step failed and was postponed; by default the error is thrown. */
  readonly onError?: (error: unknown) => void
}

const rethrow = (error: unknown): never => {
  throw error
}

/** What replays are written with. */
export interface ReplayWriting {
  /** For the statements of replays, which wait for no other. */
  readonly pool: Pool
  /** Reads ledgers and records. */
  readonly core: LedgerMessagesCore
  readonly newId: () => string
}

/**
 * Runs a step of the next company's replay that has waited longest. A bounded portion of messages is read first; one
 * transaction under the ledger's lock then queues it: a crash neither loses nor repeats it. Returns whether deliveries
 * were queued; null if no replay is due.
 */
export async function stepReplay(
  writing: ReplayWriting,
  { limits = REPLAY_LIMITS, companies = createRoundRobin(), onError = rethrow }: StepOptions = {},
): Promise<boolean | null> {
  const { pool } = writing
  const [due] = await companies.take<Due>(pool, NEXT_DUE, [])
  if (!due) return null
  const { company_id: companyId, webhook_id: id } = due
  try {
    const prepared = await prepare(writing, due, limits)
    let queued = 0
    await operate(pool, asSystem(companyId), async (operating) => {
      queued = await step(operating, id, prepared, writing.newId, limits)
      return ''
    })
    return queued > 0
  } catch (error) {
    await pool.query({ ...WAIT, values: [companyId, id, null, FAILED_WAIT_SECONDS] })
    onError(error)
    return false
  }
}

/** Messages of a step, with the states that they were read at. */
interface PreparedStep {
  readonly running: Running
  readonly endpoint: Endpoint
  readonly portion: ReplayPortion
}

/** Null if the step has nothing to queue: it ends, or waits. */
async function prepare(
  { pool, core, newId }: ReplayWriting,
  { company_id: companyId, webhook_id: id }: Due,
  limits: ReplayLimits,
): Promise<PreparedStep | null> {
  const values = [companyId, id, null, limits.pendingOfEndpoint, limits.pendingOfCompany]
  const [running] = (await pool.query<Running>({ ...LOOK, values })).rows
  if (!running) return null
  const room = roomOf(running, limits)
  const tx: Transaction = {
    query: (statement, parameters = []) => pool.query({ ...statement, values: [...parameters] }),
  }
  const endpoint = await findEndpoint({ tx, companyId }, id)
  if (room <= 0 || 'refused' in endpoint) return null
  const range = { after: running.last_revision, until: running.until_revision, room }
  return { running, endpoint, portion: await readPortion(core, companyId, endpoint, range, { ...limits, newId }) }
}

const roomOf = (running: Running, { pendingOfEndpoint, pendingOfCompany, perDay }: ReplayLimits): number =>
  Math.min(
    pendingOfEndpoint - running.pending_of_endpoint,
    pendingOfCompany - running.pending_of_company,
    perDay - running.made_today,
  )

/** Returns the number of queued deliveries. */
async function step(
  operating: OperationContext,
  id: number,
  prepared: PreparedStep | null,
  newId: () => string,
  limits: ReplayLimits,
): Promise<number> {
  const { tx, companyId, now } = operating
  const values = [companyId, id, now, limits.pendingOfEndpoint, limits.pendingOfCompany]
  const [running] = (await tx.query<Running>(LOOK_AND_LOCK, values)).rows
  // Another process took the step.
  if (!running) return 0
  const endpoint = await findEndpoint(operating, id)
  if ('refused' in endpoint) {
    const isGone = endpoint.refused === 'not_found' || endpoint.refused === 'webhook_disabled'
    await (isGone ? tx.query(CANCEL, [companyId, id, now]) : tx.query(WAIT, [companyId, id, null, WAIT_SECONDS]))
    return 0
  }
  const room = roomOf(running, limits)
  if (room <= 0) {
    const isOver = running.made_today >= limits.perDay
    await tx.query(WAIT, [companyId, id, isOver ? running.day_ends_at : null, WAIT_SECONDS])
    return 0
  }
  // The next step reads again what another process queued, what the endpoint now gets, or what an erasure has emptied.
  if (!prepared || !isCurrent(prepared, running, endpoint)) return 0
  const portion = cutPortion(prepared.portion, room)
  if (!(await queuePortion(operating, id, portion, newId))) return 0
  const { length: count } = portion.messages
  await tx.query(ADVANCE, [companyId, id, portion.seenTo, count, now])
  if (count > 0) await tx.query(COUNT_DAY, [companyId, running.day_ends_at, count])
  return count
}

const isCurrent = ({ running: before, endpoint: former }: PreparedStep, running: Running, endpoint: Endpoint) =>
  running.last_revision === before.last_revision &&
  running.until_revision === before.until_revision &&
  running.erasures === before.erasures &&
  isDeepStrictEqual(endpoint, former)

const NEXT_DUE = {
  name: 'next_due_webhook_replay',
  text: `select company_id, webhook_id from webhook_replays where next_step_at <= clock_timestamp() and ${isRecordingCompany('company_id')}
         order by ${roundRobinOrder('company_id', '$1')}, next_step_at limit 1`,
}

/** Counts pending deliveries up to the bound only. */
const LOOK = {
  name: 'look_at_webhook_replay',
  text: `select r.last_revision, r.until_revision, r.erasures,
           (select count(*) from (
             select from webhook_deliveries d where d.status = 'pending' and d.company_id = $1 and d.webhook_id = $2 limit $4) as of_endpoint) as pending_of_endpoint,
           (select coalesce(sum(counted), 0)::bigint from webhooks w cross join lateral (
             select count(*) as counted from (
               select from webhook_deliveries d where d.status = 'pending' and d.company_id = w.company_id and d.webhook_id = w.id limit $5) as pending) as of_endpoint
            where w.company_id = $1) as pending_of_company,
           case when y.day_ends_at > clock.now then y.deliveries else 0 end as made_today,
           case when y.day_ends_at > clock.now then y.day_ends_at else ops.end_of_day(clock.now, c.timezone) end as day_ends_at
         from webhook_replays r join companies c on c.company_id = r.company_id
         cross join (select coalesce($3::timestamptz, clock_timestamp()) as now) as clock
         left join webhook_replay_days y on y.company_id = r.company_id
         where r.company_id = $1 and r.webhook_id = $2 and r.next_step_at <= clock_timestamp()`,
}

const LOOK_AND_LOCK = { name: 'lock_webhook_replay', text: `${LOOK.text} for update of r` }

const WAIT = {
  name: 'put_webhook_replay_off',
  text: `update webhook_replays set next_step_at = coalesce($3::timestamptz, clock_timestamp() + make_interval(secs => $4))
         where company_id = $1 and webhook_id = $2`,
}

const CANCEL = {
  name: 'cancel_webhook_replay',
  text: `update webhook_replays set status = 'cancelled', next_step_at = null, finished_at = $3
         where company_id = $1 and webhook_id = $2`,
}

const ADVANCE = {
  name: 'advance_webhook_replay',
  text: `update webhook_replays set last_revision = $3, deliveries = deliveries + $4,
           status = case when $3 < until_revision then 'running' else 'finished' end,
           next_step_at = case when $3 < until_revision then clock_timestamp() end,
           finished_at = case when $3 < until_revision then null else $5::timestamptz end
         where company_id = $1 and webhook_id = $2`,
}

const COUNT_DAY = {
  name: 'count_replayed_deliveries',
  text: `insert into webhook_replay_days as y (company_id, day_ends_at, deliveries) values ($1, $2, $3)
         on conflict (company_id) do update set day_ends_at = excluded.day_ends_at,
           deliveries = excluded.deliveries + case when y.day_ends_at = excluded.day_ends_at then y.deliveries else 0 end`,
}

interface ReplaysOptions extends ReplayWriting {
  /** Called when deliveries were queued. */
  readonly onQueued: () => void
  /** Polling interval for replays without a notification. */
  readonly poll_ms: number
  readonly log: (message: string, error: unknown) => void
}

/** Runs replays while it runs; any number of processes may do so on one database. */
export function writeReplays({ onQueued, poll_ms, log, ...writing }: ReplaysOptions): Repetition {
  const companies = createRoundRobin()
  const onError = (error: unknown) => log('webhooks: replay step failed, will retry', error)
  return repeat(
    async (stopping) => {
      while (!stopping.aborted) {
        const made = await stepReplay(writing, { companies, onError })
        if (made === null) return
        if (made) onQueued()
      }
    },
    poll_ms,
    onError,
    REST_MS,
  )
}
