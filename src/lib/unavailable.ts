/** The event store or Postgres cannot be reached, a queue is full, or this process is too old: nothing is promised, try again later. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
}

/** The caller has its share of what all share; others are served. */
export class ShareTaken extends Unavailable {}
