import type { Pool } from 'pg'
import { recordsEvents } from '#background/migration-condition.ts'
import { type Repetition, repeat } from '#background/repeat.ts'
import { createRoundRobin, type RoundRobin, roundRobinOrder } from '#background/round-robin.ts'
import { invalid, type Refusal, refuse } from '#domain/refusal.ts'
import { type OperationContext, operate } from '#ledger/write/operation.ts'
import { presentReplay, REPLAY_JSON } from '#queries/webhooks.ts'
import { findEndpoint, type ReplayResult, replayMessages } from './deliveries.ts'

/** Bounds of replays: per step, pending, and per day (HOOK-42). */
export interface ReplayLimits {
  /** Deliveries queued, and messages scanned, per step: the company's commands wait for a step. */
  readonly stepDeliveries: number
  readonly stepLooks: number
  /** Pending deliveries of any origin at which a replay pauses. */
  readonly pendingOfEndpoint: number
  readonly pendingOfCompany: number
  /** Per company and calendar day. */
  readonly perDay: number
}

export const REPLAY_LIMITS: ReplayLimits = {
  stepDeliveries: 500,
  stepLooks: 5_000,
  pendingOfEndpoint: 2_000,
  pendingOfCompany: 10_000,
  perDay: 100_000,
}

/** Start of a replay: after a revision, or at a moment (UTC); by default the first stored message. */
interface ReplayWanted {
  readonly id: number
  readonly after?: number | undefined
  readonly since?: string | undefined
}

/**
 * Requests a replay of all stored messages after a revision (exclusive) or since a moment (inclusive), up to the
 * present revision; dispatchers queue the deliveries. Returns the replay; refuses a second one while one is running.
 */
export async function startReplay(operating: OperationContext, wanted: ReplayWanted): Promise<string | Refusal> {
  const { id, after = -1, since } = wanted
  if (wanted.after !== undefined && since !== undefined) return invalid('since', 'não vai junto com after')
  const endpoint = await findEndpoint(operating, id)
  if ('refused' in endpoint) return endpoint
  const { tx, companyId, now } = operating
  const begin = since === undefined ? after : await lastBefore(operating, since)
  const { rows } = await tx.query<{ record: object }>(START, [companyId, id, begin, now])
  const [started] = rows
  return started ? JSON.stringify(presentReplay(started.record, endpoint.timezone)) : refuse('replay_running')
}

/**
 * The revision before the first message stored since a moment, by binary search: about twenty messages are read,
 * however many are stored.
 */
async function lastBefore({ tx, companyId }: OperationContext, since: string): Promise<number> {
  const next = async (revision: number) => (await tx.query<ReplayRow>(NEXT_KEPT, [companyId, revision, since])).rows[0]
  let begin = (await next(-1))?.first ?? 0
  let end = (await tx.query<{ revision: number }>(LEDGER_END, [companyId])).rows[0]?.revision ?? -1
  // Invariant: messages before `begin` are older, messages after `end` are not.
  while (begin <= end) {
    const middle = begin + Math.floor((end - begin) / 2)
    const kept = await next(middle)
    if (kept?.is_older) begin = kept.first + 1
    else end = middle - 1
  }
  return begin - 1
}

interface ReplayRow {
  /** Revision of the first stored message from a revision on. */
  readonly first: number
  readonly is_older: boolean
}

const NEXT_KEPT = {
  name: 'next_kept_webhook_message',
  text: `select revision as first, created_at < $3::timestamptz as is_older from webhook_messages
         where company_id = $1 and revision >= $2 order by revision limit 1`,
}

const LEDGER_END = { name: 'end_of_ledger', text: 'select revision from ledgers where company_id = $1' }

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
  readonly pending_of_endpoint: number
  readonly pending_of_company: number
  readonly made_today: number
  readonly day_ends_at: string
}

/** Pause of a replay while too many deliveries are pending. */
const WAIT_SECONDS = 1

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

/**
 * Runs a step of the next company's replay that has waited longest. A step is one transaction under the ledger's lock: a
 * crash neither loses nor repeats it. Returns whether deliveries were queued; null if no replay is due.
 */
export async function stepReplay(
  pool: Pool,
  newId: () => string,
  { limits = REPLAY_LIMITS, companies = createRoundRobin(), onError = rethrow }: StepOptions = {},
): Promise<boolean | null> {
  const [due] = await companies.take<Due>(pool, NEXT_DUE, [])
  if (!due) return null
  const { company_id: companyId, webhook_id: id } = due
  try {
    let queued = 0
    await operate(pool, { companyId, idempotency: undefined }, async (operating) => {
      queued = await step(operating, id, newId, limits)
      return ''
    })
    return queued > 0
  } catch (error) {
    await pool.query({ ...WAIT, values: [companyId, id, null, FAILED_WAIT_SECONDS] })
    onError(error)
    return false
  }
}

/** Returns the number of queued deliveries. */
async function step(
  operating: OperationContext,
  id: number,
  newId: () => string,
  limits: ReplayLimits,
): Promise<number> {
  const { tx, companyId, now } = operating
  const { pendingOfEndpoint, pendingOfCompany, perDay } = limits
  const { rows } = await tx.query<Running>(LOOK, [companyId, id, now, pendingOfEndpoint, pendingOfCompany])
  const [running] = rows
  // Another process took the step.
  if (!running) return 0
  const isOver = running.made_today >= perDay
  const room = Math.min(
    limits.stepDeliveries,
    pendingOfEndpoint - running.pending_of_endpoint,
    pendingOfCompany - running.pending_of_company,
    perDay - running.made_today,
  )
  if (room <= 0) {
    await tx.query(WAIT, [companyId, id, isOver ? running.day_ends_at : null, WAIT_SECONDS])
    return 0
  }
  const { last_revision: after, until_revision: until } = running
  const wanted = { id, after, until }
  const answer = await replayMessages(operating, wanted, newId, { maxMessages: room, maxLooks: limits.stepLooks })
  if (typeof answer !== 'string') {
    const isGone = answer.refused === 'not_found' || answer.refused === 'webhook_disabled'
    await (isGone ? tx.query(CANCEL, [companyId, id, now]) : tx.query(WAIT, [companyId, id, null, WAIT_SECONDS]))
    return 0
  }
  const { deliveries, last_revision, has_more } = JSON.parse(answer) as ReplayResult
  const reached = has_more && last_revision !== null ? last_revision : until
  await tx.query(ADVANCE, [companyId, id, reached, deliveries, now])
  if (deliveries > 0) await tx.query(COUNT_DAY, [companyId, running.day_ends_at, deliveries])
  return deliveries
}

const NEXT_DUE = {
  name: 'next_due_webhook_replay',
  text: `select company_id, webhook_id from webhook_replays where next_step_at <= clock_timestamp() and ${recordsEvents('company_id')}
         order by ${roundRobinOrder('company_id', '$1')}, next_step_at limit 1`,
}

/** Counts pending deliveries up to the bound only. */
const LOOK = {
  name: 'look_at_webhook_replay',
  text: `select r.last_revision, r.until_revision,
           (select count(*) from (
             select from webhook_deliveries d where d.status = 'pending' and d.company_id = $1 and d.webhook_id = $2 limit $4) as of_endpoint) as pending_of_endpoint,
           (select coalesce(sum(counted), 0)::bigint from webhooks w cross join lateral (
             select count(*) as counted from (
               select from webhook_deliveries d where d.status = 'pending' and d.company_id = w.company_id and d.webhook_id = w.id limit $5) as pending) as of_endpoint
            where w.company_id = $1) as pending_of_company,
           case when y.day_ends_at > $3::timestamptz then y.deliveries else 0 end as made_today,
           case when y.day_ends_at > $3::timestamptz then y.day_ends_at else ops.end_of_day($3::timestamptz, c.timezone) end as day_ends_at
         from webhook_replays r join companies c on c.company_id = r.company_id
         left join webhook_replay_days y on y.company_id = r.company_id
         where r.company_id = $1 and r.webhook_id = $2 and r.next_step_at <= clock_timestamp()
         for update of r`,
}

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

interface ReplaysOptions {
  readonly pool: Pool
  readonly newId: () => string
  /** Called when deliveries were queued. */
  readonly onQueued: () => void
  /** Polling interval for replays without a notification. */
  readonly poll_ms: number
  readonly log: (message: string, error: unknown) => void
}

/** Runs replays while it runs; any number of processes may do so on one database. */
export function writeReplays({ pool, newId, onQueued, poll_ms, log }: ReplaysOptions): Repetition {
  const companies = createRoundRobin()
  const onError = (error: unknown) => log('webhooks: replay step failed', error)
  return repeat(
    async (stopping) => {
      while (!stopping.aborted) {
        const made = await stepReplay(pool, newId, { companies, onError })
        if (made === null) return
        if (made) onQueued()
      }
    },
    poll_ms,
    onError,
  )
}
