/**
 * The event store or Postgres is unreachable, a queue is full, or this process is outdated. Nothing was promised; retry
 * later.
 */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
}

/** The tenant has used up its share of a common resource; others are still served. */
export class TenantLimitExceeded extends Unavailable {}

/**
 * The database belongs to another version of this program and was not, or cannot be, migrated. The message is for
 * operators.
 */
export class IncompatibleVersion extends Error {
  override readonly name = 'IncompatibleVersion'
}

/** The server of DATABASE_URL cannot keep the service's guarantees. The message is for operators. */
export class UnsupportedPostgres extends Error {
  override readonly name = 'UnsupportedPostgres'
}

/** A step that is refused; nothing was changed. The message is for operators. */
export class StepRefused extends Error {
  override readonly name = 'StepRefused'
  constructor(
    readonly code: string,
    message: string,
    readonly details?: Readonly<Record<string, unknown>>,
  ) {
    super(message)
  }
}
