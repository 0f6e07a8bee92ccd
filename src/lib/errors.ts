/**
 * The event store or Postgres is unreachable, a queue is full, or this process is outdated. Nothing was promised; retry
 * later.
 */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
}

/** The tenant has used up its share of a common resource; others are still served. */
export class TenantLimitExceeded extends Unavailable {}
