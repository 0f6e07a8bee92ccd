/** What keeps a company from moving; nothing has changed, or what has is undone. */
export type Obstacle =
  /** What both servers need is not there. */
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
