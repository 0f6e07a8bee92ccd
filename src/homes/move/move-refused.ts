/** The obstacle to a migration; nothing was changed, or changes were undone. */
export type Obstacle =
  /** A precondition of both servers is missing. */
  'settings' | 'rights' | 'versions' | 'company' | 'busy' | 'replication' | 'differs' | 'slow'

export class MoveRefused extends Error {
  override readonly name = 'MoveRefused'
  constructor(
    readonly obstacle: Obstacle,
    message: string,
  ) {
    super(message)
  }
}
