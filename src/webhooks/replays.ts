import { isDeepStrictEqual } from 'node:util'
import type { Pool } from 'pg'
import { recordsEvents } from '#background/records-events.ts'
import { type Repetition, repeat } from '#background/repeat.ts'
import { createRoundRobin, type RoundRobin, roundRobinOrder } from '#background/round-robin.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { type OperationContext, operate } from '#ledger/write/operation.ts'
import { asSystem } from '#ledger/write/run.ts'
import type { Transaction } from '#postgres/transaction.ts'
import { presentReplay, REPLAY_JSON } from '#queries/webhooks.ts'
import { type Endpoint, findEndpoint } from './deliveries.ts'
import type { LedgerMessagesCore } from './ledger-messages.ts'
import { cutPortion, queuePortion, type ReplayPortion, readPortion, type StepLimits } from './replay-messages.ts'

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
  text: `select company_id, webhook_id from webhook_replays where next_step_at <= clock_timestamp() and ${recordsEvents('company_id')}
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
  const onError = (error: unknown) => log('webhooks: replay step failed', error)
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
