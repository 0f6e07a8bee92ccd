import type { Pool } from 'pg'
import type { Writer } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/unavailable.ts'
import { isOutage } from '#postgres/outage.ts'
import { findStore } from '#queries/stores/find-store.ts'
import { applyPayment } from './apply-payment.ts'
import { fits } from './fits.ts'
import {
  type PaymentProvider,
  type ProviderAccount,
  type ProviderPayment,
  ProviderUnavailable,
} from './provider-port.ts'
import { claimSweeps, endSweep, type SweepClaim } from './sweep-claims.ts'

/** Longest and shortest time between two looks for what is due. */
const SLOWEST_MS = 30_000
const FASTEST_MS = 1_000

/** Half of the shortest time between two moments of the schedule: none is late by much, however close they are. */
function everyMs(schedule: readonly number[]): number {
  const gaps = schedule.map((at, n) => at - (schedule[n - 1] ?? 0))
  return Math.min(SLOWEST_MS, Math.max(FASTEST_MS, (Math.min(...gaps) * 1000) / 2))
}

/** Orders leased at a time, all of them looked at side by side: a few of the provider client's places. */
const BATCH = 8

export interface SweepOptions {
  readonly pool: Pool
  readonly writer: Writer
  readonly provider: PaymentProvider
  /** Seconds after the attempt, ascending. */
  readonly schedule: readonly number[]
  readonly log: (message: string, error: unknown) => void
}

export interface Sweep {
  /** Waits for what is under way and starts nothing more. */
  stop(): Promise<void>
}

/**
 * Notifications can be lost. The sweep asks the provider about every order that somebody tried to pay, at growing intervals,
 * and finds what no notification told: payments whose creation was never answered, too. Any number of processes share it.
 */
export function startSweep(options: SweepOptions, every_ms = everyMs(options.schedule)): Sweep {
  const stopping = new AbortController()
  let running: Promise<unknown> = Promise.resolve()
  const turn = async () => {
    await sweepOnce(options, stopping.signal).catch((error: unknown) =>
      options.log('the sweep over payments failed', error),
    )
    timer.refresh()
  }
  const timer = setTimeout(() => {
    running = turn()
  }, every_ms)
  timer.unref()
  return {
    async stop() {
      stopping.abort()
      await running
      clearTimeout(timer)
    },
  }
}

/** Deals with everything that is due now. Returns how many payments were applied. Ends early when the provider or the database is down. */
export async function sweepOnce(options: SweepOptions, stopping: AbortSignal): Promise<number> {
  let applied = 0
  while (!stopping.aborted) {
    const claims = await claimSweeps(options.pool, options.schedule, BATCH)
    if (claims.length === 0) break
    const results = await Promise.all(claims.map((claim) => deal(options, claim)))
    for (const result of results) applied += result ?? 0
    if (results.includes(null)) break
  }
  return applied
}

/** Looks at one order. Null when it could not: it stays due. */
async function deal(options: SweepOptions, claim: SweepClaim): Promise<number | null> {
  let applied: number | null = null
  try {
    applied = await lookAt(options, claim)
  } catch (error) {
    options.log(`the payments of order ${claim.orderId} could not be looked at`, error)
    // Anything else, as wrong credentials, would be the same in a minute: the order waits for its next moment.
    if (!isPassing(error)) applied = 0
  }
  await endSweep(options.pool, claim, { isDone: applied !== null })
  return applied
}

async function lookAt({ pool, writer, provider }: SweepOptions, claim: SweepClaim): Promise<number> {
  const { companyId, orderId, storeAlias, reference, totalCents } = claim
  const store = await findStore(pool, storeAlias)
  if (!store) throw new Error(`order ${orderId} is of a store that is not there`)
  const { sandbox } = store
  const account = { accessToken: store.accessToken ?? '', sandbox }
  let applied = 0
  for await (const payment of paymentsOf(provider, account, claim)) {
    if (!fits(payment, { reference, totalCents, sandbox })) continue
    const result = await applyPayment(writer, { companyId, orderId, requestId: null }, payment)
    if ('outcome' in result && result.outcome === 'applied') applied += 1
  }
  return applied
}

const isPassing = (error: unknown): boolean =>
  error instanceof ProviderUnavailable || error instanceof Unavailable || isOutage(error)

/**
 * The payments of an order as the provider has them. Those that are known here are asked for by id; the provider's search, which
 * may lag behind, is for attempts that nothing was heard of.
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
