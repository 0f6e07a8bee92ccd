/** The obstacle to a migration; nothing was changed, or changes were undone. */
export type MigrationObstacle =
  /** A precondition of both servers is missing. */
  'settings' | 'rights' | 'versions' | 'company' | 'busy' | 'replication' | 'differs' | 'slow'

export class MigrationRefused extends Error {
  override readonly name = 'MoveRefused'
  constructor(
    readonly obstacle: MigrationObstacle,
    message: string,
  ) {
    super(message)
  }
}
