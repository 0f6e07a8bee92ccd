import type { Pool } from 'pg'
import { type Repetition, repeat } from '#background/repeat.ts'
import { createRoundRobin } from '#background/round-robin.ts'
import { refusePayment } from '#commands/orders/payment-attempts.ts'
import type { Vault } from '#crypto/vault.ts'
import { isPending } from '#domain/orders.ts'
import { asSystem, runAsSystem } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import { isOutage } from '#postgres/outage.ts'
import { isPaymentOpen, type PaymentObject } from '#projections/order-payments.ts'
import { findStore } from '#queries/stores.ts'
import { applyPayment, type ExpectedPayment, matchesOrder } from './apply-payment.ts'
import { endOtherMode, isOfOtherMode, OTHER_MODE } from './other-mode.ts'
import {
  type PaymentProvider,
  type ProviderAccount,
  type ProviderPayment,
  ProviderUnavailable,
} from './provider-port.ts'
import { refundAtProvider } from './refund-order.ts'
import { accountAt } from './store-account.ts'
import { claimExpired, claimSweeps, endSweep, type SweepClaim } from './sweep-claims.ts'

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
  readonly log: (message: string, error: unknown) => void
}

/**
 * Notifications can be lost. The sweep polls the provider for every order with an attempt, at growing intervals, and
 * finds missed changes, including payments with an unanswered creation. Any number of processes share it.
 */
export const startSweep = (given: SweepOptions, every_ms = sweepIntervalMs(given.schedule)): Repetition =>
  repeat(createSweep(given, limitOutages), every_ms, (error) => given.log('payments: sweep failed', error))

/** An outage fails every run; it is logged every 15 minutes. */
const OUTAGE_LOGGED_MS = 900_000

function limitOutages(log: SweepOptions['log']): SweepOptions['log'] {
  let loggedAt = Number.NEGATIVE_INFINITY
  return (message, error) => {
    const now = performance.now()
    if (isTransient(error) && now - loggedAt < OUTAGE_LOGGED_MS) return
    if (isTransient(error)) loggedAt = now
    log(message, error)
  }
}

/** For test companies: their sandbox runs only during a trial, so its absence is not an error of the service. */
const withoutAbsence =
  (log: SweepOptions['log']): SweepOptions['log'] =>
  (message, error) => {
    if (!(error instanceof ProviderUnavailable)) log(message, error)
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
    options.log(`payments: sweep of order ${claim.orderId} failed`, error)
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

/** Ends a payment of an attempt that came out in the other mode, such as one with a lost answer (PAY-52). */
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
