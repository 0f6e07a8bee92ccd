/** The event store or Postgres cannot be reached, or a queue is full: nothing is promised, try again later. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
}
