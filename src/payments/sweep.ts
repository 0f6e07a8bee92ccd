import type { Pool } from 'pg'
import { refusePayment } from '#commands/order-attempts.ts'
import type { Vault } from '#crypto/vault.ts'
import { isPending } from '#domain/order-states.ts'
import { isRecordingCompany } from '#ledger/ledgers.ts'
import { asSystem, runAsSystem } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { createRoundRobin, type Repetition, type RoundRobin, repeat, roundRobinOrder } from '#lib/background-loops.ts'
import { type LogError, Unavailable } from '#lib/errors.ts'
import { isOutage } from '#postgres/database.ts'
import { companysTimeSql } from '#projections/companies.ts'
import { isPaymentOpen, type PaymentObject, type RefundObject } from '#projections/order-payments.ts'
import { findStore } from '#queries/company-queries.ts'
import {
  applyPayment,
  type ExpectedPayment,
  endOtherMode,
  isOfOtherMode,
  matchesOrder,
  OTHER_MODE,
} from './notifications.ts'
import {
  type PaymentProvider,
  type ProviderAccount,
  type ProviderPayment,
  ProviderUnavailable,
} from './provider-port.ts'
import { refundAtProvider } from './refund-order.ts'
import { accountAt } from './store-connections.ts'

/** Order to poll, leased to this process. */
interface SweepClaim {
  readonly company_id: number
  readonly orderId: number
  readonly storeAlias: string
  readonly reference: string
  readonly totalCents: number
  /** Recorded payments. */
  readonly payments: readonly PaymentObject[]
  readonly refunds: readonly RefundObject[]
  /** Cancelled by its store. */
  readonly isCancelled: boolean
  /** Company time, by the database's clock. */
  readonly polledAt: string
  /** Whether it was leased because a payment expired. */
  readonly isExpired: boolean
}

/** Columns of leased orders. */
const CLAIMED = `
    select o.company_id, o.id as "orderId", o.store_alias as "storeAlias", o.total_cents as "totalCents",
           o.provider_reference as reference, o.doc -> 'payments' as payments, o.doc -> 'refunds' as refunds,
           o.doc ->> 'cancelled_at' is not null as "isCancelled", ${companysTimeSql('clock_timestamp()')} as "polledAt"
    from claimed join orders o on o.company_id = claimed.company_id and o.id = claimed.order_id
    join companies c on c.company_id = o.company_id`

/** Upper bound for one order: two provider calls for each of its payments, and waits for slots. */
const LEASE_SECONDS = 300
const LEASE = `(select clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}) as ends) lease`
/** Time after the last poll of the schedule, for polls missed in an outage. */
const GRACE_SECONDS = 86_400

/** A subquery rather than a join, so that orders are found by their time and not by company. */
const IS_OF_TEST = '(select is_test from companies own where own.company_id = o.company_id)'

/** Parts of a statement: the rows of `waiting` that are leased, the oldest of each company first, companies in turn. */
const dueInTurn = (column: string, limit: string, after: string): string => `ranked as (
      select *, row_number() over (partition by company_id order by ${column}) as place from waiting
    ), due as (
      select * from ranked where place <= ${limit} order by place, ${roundRobinOrder('company_id', after)} limit ${limit}
    )`

/**
 * Leases orders with a scheduled poll since their latest attempt. Missed polls become one. The upsert lets one process
 * win; it runs in key order, which excludes deadlocks. Uses `now()`, which an index can be searched for: only recent
 * orders are read.
 */
const CLAIM = {
  name: 'claim_payment_sweeps',
  text: `
    with waiting as materialized (
      select o.company_id, o.id, o.attempted_at, m.passes
      from orders o
      cross join lateral (
        select width_bucket(extract(epoch from now() - o.attempted_at)::float8, $1::float8[]) as passes
      ) m
      left join payment_sweeps w on w.company_id = o.company_id and w.order_id = o.id and w.attempted_at = o.attempted_at
        and w.attempted_at > now() - make_interval(secs => $2)
      where o.attempted_at > now() - make_interval(secs => $2)
        and m.passes > coalesce(w.passes, 0)
        and (w.next_poll_at is null or w.next_poll_at < now()) and ${isRecordingCompany('o.company_id')}
        and o.store_alias not in (select unnest($5::text[])) and ${IS_OF_TEST} = $4
      order by o.attempted_at
    ), ${dueInTurn('attempted_at', '$3', '$6')}, claimed as (
      insert into payment_sweeps as w (company_id, order_id, attempted_at, claimed_passes, next_poll_at, leased_until)
      select company_id, id, attempted_at, passes, lease.ends, lease.ends
      from due cross join ${LEASE} order by company_id, id
      on conflict (company_id, order_id) do update
        set attempted_at = excluded.attempted_at, claimed_passes = excluded.claimed_passes, next_poll_at = excluded.next_poll_at,
            leased_until = excluded.leased_until,
            passes = case when w.attempted_at = excluded.attempted_at then w.passes else 0 end
        where (w.next_poll_at is null or w.next_poll_at < clock_timestamp())
          and (w.attempted_at <> excluded.attempted_at or w.passes < excluded.claimed_passes)
      returning company_id, order_id
    )
    ${CLAIMED}`,
}

/**
 * Leases orders with an expired pending payment, regardless of the schedule; `sooner` covers test companies with a
 * moved clock. They stay due until the provider has ended the payment, and are retried after RETRY_SECONDS.
 */
const CLAIM_EXPIRED = {
  name: 'claim_expired_orders',
  text: `
    with expired as materialized (
      select o.company_id, o.id, o.attempted_at, o.expires_at, o.store_alias
      from orders o
      where o.expires_at > now() - make_interval(secs => $1) and o.expires_at <= now() and ${IS_OF_TEST} = $3
      order by o.expires_at
    ), sooner as (
      select o.company_id, o.id, o.attempted_at, o.expires_at, o.store_alias
      from companies c
      join orders o on o.company_id = c.company_id and o.expires_at > now() and o.expires_at <= ${companysTimeSql('now()')}
      where c.clock_ahead_ms > 0 and c.is_test = $3
    ), waiting as (
      select o.* from (select * from expired union all select * from sooner) o
      left join payment_sweeps w on w.company_id = o.company_id and w.order_id = o.id
      where (w.next_poll_at is null or w.next_poll_at < now()) and ${isRecordingCompany('o.company_id')}
        and o.store_alias not in (select unnest($4::text[]))
    ), ${dueInTurn('expires_at', '$2', '$5')}, claimed as (
      insert into payment_sweeps as w (company_id, order_id, attempted_at, claimed_passes, next_poll_at, leased_until)
      select company_id, id, attempted_at, 0, lease.ends, lease.ends
      from due cross join ${LEASE} order by company_id, id
      on conflict (company_id, order_id) do update
        set next_poll_at = excluded.next_poll_at, leased_until = excluded.leased_until, claimed_passes = w.passes
        where w.next_poll_at is null or w.next_poll_at < clock_timestamp()
      returning company_id, order_id
    )
    ${CLAIMED}`,
}

interface ClaimShare {
  readonly limit: number
  readonly companies: RoundRobin
  /** Orders of test companies, or of all others. */
  readonly isTest: boolean
  /** Aliases of stores that are left out. */
  readonly failing: readonly string[]
}

const windowOf = (schedule: readonly number[]): number => (schedule.at(-1) ?? 0) + GRACE_SECONDS

/** `schedule`: seconds after the attempt, ascending. */
export async function claimSweeps(
  pool: Pool,
  schedule: readonly number[],
  { limit, companies, isTest, failing }: ClaimShare,
): Promise<SweepClaim[]> {
  const values = [schedule, windowOf(schedule), limit, isTest, failing]
  const rows = await companies.take<SweepClaim>(pool, CLAIM, values)
  return rows.map((claim) => ({ ...claim, isExpired: false }))
}

async function claimExpired(
  pool: Pool,
  schedule: readonly number[],
  { limit, companies, isTest, failing }: ClaimShare,
): Promise<SweepClaim[]> {
  const rows = await companies.take<SweepClaim>(pool, CLAIM_EXPIRED, [windowOf(schedule), limit, isTest, failing])
  return rows.map((claim) => ({ ...claim, isExpired: true }))
}

/** Delay before a failed order is polled again, so that others come first. */
const RETRY_SECONDS = 120

/** Releases the lease: marks the poll as done, or leaves it for a retry. */
async function endSweep(
  pool: Pool,
  { company_id: companyId, orderId, isExpired }: SweepClaim,
  { isDone }: { readonly isDone: boolean },
): Promise<void> {
  await pool.query({
    name: 'end_payment_sweep',
    text: `update payment_sweeps set next_poll_at = case when $3 and not $4 then null else clock_timestamp() + make_interval(secs => ${RETRY_SECONDS}) end,
               leased_until = null, passes = case when $3 then claimed_passes else passes end
           where company_id = $1 and order_id = $2`,
    values: [companyId, orderId, isDone, isExpired],
  })
}

/** Bounds of the polling interval. */
const SLOWEST_MS = 30_000
const FASTEST_MS = 1_000

/** Half of the smallest gap of the schedule, within the bounds, so that no poll is late by much. */
export function sweepIntervalMs(schedule: readonly number[]): number {
  const gaps = schedule.map((at, n) => at - (schedule[n - 1] ?? 0))
  return Math.min(SLOWEST_MS, Math.max(FASTEST_MS, (Math.min(...gaps) * 1000) / 2))
}

/** Orders leased at a time and polled in parallel; they take a few of the provider client's slots. */
const BATCH = 6
/** The same of orders with an expired payment, so that a backlog of the schedule does not delay them. */
const EXPIRED_BATCH = 2
/** A run ends after this number of failing accounts: the provider itself is unavailable, and the next run goes on behind them. */
const MAX_FAILING_ACCOUNTS = 64

export interface SweepOptions {
  readonly pool: Pool
  readonly vault: Vault
  readonly writer: Writer
  readonly provider: PaymentProvider
  /** Seconds after the attempt, ascending. */
  readonly schedule: readonly number[]
  readonly log: LogError
}

/**
 * Notifications can be lost. The sweep polls the provider for every order with an attempt, at growing intervals, and
 * finds missed changes, including payments with an unanswered creation. Any number of processes share it.
 */
export const startSweep = (given: SweepOptions, every_ms = sweepIntervalMs(given.schedule)): Repetition =>
  repeat(createSweep(given, limitOutages), every_ms, (error) => given.log('payments: sweep failed, will retry', error))

/** An outage fails every run; it is logged every 15 minutes. */
const OUTAGE_LOGGED_MS = 900_000

function limitOutages(log: SweepOptions['log']): SweepOptions['log'] {
  let loggedAt = Number.NEGATIVE_INFINITY
  return (message, error, fields) => {
    const now = performance.now()
    if (isTransient(error) && now - loggedAt < OUTAGE_LOGGED_MS) return
    if (isTransient(error)) loggedAt = now
    log(message, error, fields)
  }
}

/** For test companies: their sandbox runs only during a trial, so its absence is not an error of the service. */
const withoutAbsence =
  (log: SweepOptions['log']): SweepOptions['log'] =>
  (message, error, fields) => {
    if (!(error instanceof ProviderUnavailable)) log(message, error, fields)
  }

/**
 * Runs over everything that is due. Orders of test companies have a lane of their own: their sandbox may be unavailable
 * while the provider answers.
 */
export function createSweep(
  options: SweepOptions,
  logOf = (log: SweepOptions['log']) => log,
): (stopping: AbortSignal) => Promise<number> {
  const lanes = [false, true].map((isTest) => {
    const log = logOf(options.log)
    return createLane({ ...options, log: isTest ? withoutAbsence(log) : log }, isTest)
  })
  return async (stopping) => {
    const applied = await Promise.all(lanes.map((run) => run(stopping)))
    return applied.reduce((sum, count) => sum + count)
  }
}

/** One run over everything that is due now. Returns how many payments were applied. */
export const sweepOnce = (options: SweepOptions, stopping: AbortSignal): Promise<number> =>
  createSweep(options)(stopping)

/**
 * A run over the due orders of live or of test companies. Companies take turns. A store with a failing account is left
 * out for the rest of the run, because each of its orders would wait for the same time-out; all other stores go on.
 */
function createLane(options: SweepOptions, isTest: boolean): (stopping: AbortSignal) => Promise<number> {
  const [scheduled, expired] = [createRoundRobin(), createRoundRobin()]
  const { pool, schedule } = options
  return async (stopping) => {
    const failing = new Set<string>()
    let applied = 0
    while (!stopping.aborted && failing.size < MAX_FAILING_ACCOUNTS) {
      const share = { isTest, failing: [...failing] }
      const claims = [
        ...(await claimSweeps(pool, schedule, { ...share, limit: BATCH, companies: scheduled })),
        ...(await claimExpired(pool, schedule, { ...share, limit: EXPIRED_BATCH, companies: expired })),
      ]
      if (claims.length === 0) break
      const results = await Promise.all(claims.map((claim) => pollOrder(options, claim)))
      for (const [position, result] of results.entries()) {
        if (result === null) failing.add((claims[position] as SweepClaim).storeAlias)
        else applied += result
      }
    }
    return applied
  }
}

/** Polls one order. Null on a transient failure: it stays due. */
async function pollOrder(options: SweepOptions, claim: SweepClaim): Promise<number | null> {
  let applied: number | null = null
  try {
    applied = await applyChanges(options, claim)
  } catch (error) {
    options.log('payments: polling an order failed, will retry', error, {
      company_id: claim.company_id,
      order_id: claim.orderId,
    })
    // Other failures, such as wrong credentials, would repeat at once: the order waits for its next poll.
    if (!isTransient(error)) applied = 0
  }
  await endSweep(options.pool, claim, { isDone: applied !== null })
  return applied
}

/** Completes pending refunds, applies changed payments, and ends expired ones. Returns how many payments were applied. */
async function applyChanges({ pool, vault, writer, provider }: SweepOptions, claim: SweepClaim): Promise<number> {
  const { company_id: companyId, orderId, storeAlias, reference, totalCents } = claim
  const store = await findStore(pool, vault, storeAlias)
  if (!store) throw new Error(`order ${orderId}: store ${storeAlias} not found`)
  const { sandbox } = store
  const account = accountAt(store)
  const expected = { reference, totalCents, sandbox }
  for (const refund of claim.refunds.filter(({ status }) => status === 'pending'))
    await refundAtProvider(
      { writer, provider },
      { acting: asSystem(companyId), orderId, account, expected, isFirst: false },
      refund,
    )
  let applied = 0
  const known = new Set<string | null>()
  for await (const found of paymentsOf(provider, account, claim)) {
    if (!matchesOrder(found, expected)) {
      await endIfOtherMode({ writer, provider }, { claim, account, expected }, found)
      continue
    }
    known.add(found.attemptId)
    const payment = isOver(claim, found) ? await provider.cancelPayment(account, found.id) : found
    const result = await applyPayment(writer, { companyId, orderId, requestId: null }, payment)
    if ('outcome' in result && result.outcome === 'applied') applied += 1
  }
  for (const { attempt_id, provider_payment_id, ...attempt } of claim.payments.filter(isPaymentOpen)) {
    if (attempt_id === null || provider_payment_id !== null || known.has(attempt_id)) continue
    // Safe: a payment that exists after all is found by a later poll, and ended there.
    if (hasExpired(claim, attempt))
      await runAsSystem(writer, companyId, refusePayment, { id: orderId, attempt_id, reason: EXPIRED })
  }
  return applied
}

/** Ends a payment of an attempt that came out in the other mode, such as one with a lost answer. */
async function endIfOtherMode(
  { writer, provider }: Pick<SweepOptions, 'writer' | 'provider'>,
  { claim, account, expected }: { claim: SweepClaim; account: ProviderAccount; expected: ExpectedPayment },
  found: ProviderPayment,
): Promise<void> {
  const attempt_id = found.attemptId
  const isOurs = claim.payments.some((attempt) => attempt.attempt_id === attempt_id && attempt.refusal === null)
  const isOther = isOfOtherMode(found, account) && matchesOrder({ ...found, liveMode: !found.liveMode }, expected)
  if (attempt_id === null || !isOurs || !isOther) return
  await endOtherMode(provider, account, found)
  const refusal = { id: claim.orderId, attempt_id, reason: OTHER_MODE }
  await runAsSystem(writer, claim.company_id, refusePayment, refusal)
}

const EXPIRED = 'o prazo de pagamento terminou'

const hasExpired = ({ polledAt }: SweepClaim, { expires_at }: Pick<PaymentObject, 'expires_at'>): boolean =>
  expires_at !== null && Date.parse(expires_at) <= Date.parse(polledAt)

/** Whether a pending payment must be ended: it has expired, or its order is cancelled. */
function isOver(claim: SweepClaim, payment: ProviderPayment): boolean {
  if (!isPending(payment.status)) return false
  const known = claim.payments.find(
    ({ provider_payment_id, attempt_id }) =>
      provider_payment_id === payment.id || (attempt_id !== null && attempt_id === payment.attemptId),
  )
  return claim.isCancelled || (known !== undefined && hasExpired(claim, known))
}

const isTransient = (error: unknown): boolean =>
  error instanceof ProviderUnavailable || error instanceof Unavailable || isOutage(error)

/**
 * Payments of an order at the provider. Known ones are fetched by id; the search, which may lag behind, is only for
 * attempts without a payment id.
 */
async function* paymentsOf(
  provider: PaymentProvider,
  account: ProviderAccount,
  { reference, payments }: SweepClaim,
): AsyncGenerator<ProviderPayment> {
  const ids = payments.flatMap(({ provider_payment_id: id }) => id ?? [])
  for (const id of ids) {
    const payment = await provider.getPayment(account, id)
    if (payment) yield payment
  }
  if (ids.length === payments.length) return
  for (const payment of await provider.findPayments(account, reference)) if (!ids.includes(payment.id)) yield payment
}
