/**
 * A recursive part of statements, `address(company_id, webhook_id, next_attempt_at)`: each address that deliveries wait for,
 * with the earliest of them. It jumps from one address to the next in webhook_deliveries_due, so that the length of a
 * backlog does not matter.
 */
export const WAITING_ADDRESSES = `address as (
  (select company_id, webhook_id, next_attempt_at from webhook_deliveries
   where status = 'pending' order by webhook_id, next_attempt_at limit 1)
  union all
  select next.* from address a cross join lateral (
    select company_id, webhook_id, next_attempt_at from webhook_deliveries d
    where d.status = 'pending' and d.webhook_id > a.webhook_id order by d.webhook_id, d.next_attempt_at limit 1) as next
)`
