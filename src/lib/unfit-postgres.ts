/** The server of DATABASE_URL cannot keep the service's guarantees. The message is for operators. */
export class UnsupportedPostgres extends Error {
  override readonly name = 'UnfitPostgres'
}
