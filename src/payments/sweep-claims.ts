import type { Pool } from 'pg'
import { deleteInBatches } from '#postgres/purge.ts'
import type { PaymentObject } from '#projections/order-payments.ts'

/** An order to ask the provider about, leased to this process. */
export interface SweepClaim {
  readonly companyId: number
  readonly orderId: number
  readonly storeAlias: string
  readonly reference: string
  readonly totalCents: number
  /** As they are known. */
  readonly payments: readonly PaymentObject[]
}

/** Longest time that an order is dealt with: two calls of the provider for each of its payments, and waiting for a turn. */
const LEASE_SECONDS = 300
/** After the last moment of the schedule, for what was down when it came. */
const GRACE_SECONDS = 86_400

/**
 * Leases orders that a moment of the schedule has come for since their latest attempt to pay. Moments that were missed
 * become one. Of several processes the upsert lets one win; it is in the order of the key, so that none waits for another in a
 * circle. The time is `now()`, which an index can be searched for: only the latest orders are looked at, of however many.
 */
const CLAIM = {
  name: 'claim_payment_sweeps',
  text: `
    with due as (
      select o.company_id, o.id, o.attempted_at, m.passes
      from orders o
      cross join lateral (
        select width_bucket(extract(epoch from now() - o.attempted_at)::float8, $1::float8[]) as passes
      ) m
      left join payment_sweeps w on w.company_id = o.company_id and w.order_id = o.id and w.attempted_at = o.attempted_at
        and w.attempted_at > now() - make_interval(secs => $2)
      where o.attempted_at > now() - make_interval(secs => $2)
        and m.passes > coalesce(w.passes, 0)
        and (w.leased_until is null or w.leased_until < now())
      order by o.attempted_at
      limit $3
    ), claimed as (
      insert into payment_sweeps as w (company_id, order_id, attempted_at, claimed_passes, leased_until)
      select company_id, id, attempted_at, passes, clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
      from due order by company_id, id
      on conflict (company_id, order_id) do update
        set attempted_at = excluded.attempted_at, claimed_passes = excluded.claimed_passes, leased_until = excluded.leased_until,
            passes = case when w.attempted_at = excluded.attempted_at then w.passes else 0 end
        where (w.leased_until is null or w.leased_until < clock_timestamp())
          and (w.attempted_at <> excluded.attempted_at or w.passes < excluded.claimed_passes)
      returning company_id, order_id
    )
    select o.company_id as "companyId", o.id as "orderId", o.store_alias as "storeAlias", o.total_cents as "totalCents",
           o.provider_reference as reference, o.doc -> 'payments' as payments
    from claimed c join orders o on o.company_id = c.company_id and o.id = c.order_id`,
}

/** `schedule`: seconds after the attempt, ascending. */
export async function claimSweeps(pool: Pool, schedule: readonly number[], limit: number): Promise<SweepClaim[]> {
  const window = (schedule.at(-1) ?? 0) + GRACE_SECONDS
  const { rows } = await pool.query<SweepClaim>({ ...CLAIM, values: [schedule, window, limit] })
  return rows
}

/** Before an order is looked at again that could not be: others come first. */
const RETRY_SECONDS = 120

/** Ends the lease: the moment is dealt with, or will be taken again. */
export async function endSweep(
  pool: Pool,
  { companyId, orderId }: SweepClaim,
  { isDone }: { readonly isDone: boolean },
): Promise<void> {
  await pool.query({
    name: 'end_payment_sweep',
    text: `update payment_sweeps set leased_until = case when $3 then null else clock_timestamp() + make_interval(secs => ${RETRY_SECONDS}) end,
               passes = case when $3 then claimed_passes else passes end
           where company_id = $1 and order_id = $2`,
    values: [companyId, orderId, isDone],
  })
}

const KEPT_DAYS = 30

/** Forgets orders that have not been tried to be paid for long. Returns how many. */
export const purgeSweeps = (pool: Pool): Promise<number> =>
  deleteInBatches(
    pool,
    `delete from payment_sweeps where (company_id, order_id) in (
       select company_id, order_id from payment_sweeps
       where attempted_at < now() - make_interval(days => $1) limit $2 for update skip locked)`,
    [KEPT_DAYS],
  )
