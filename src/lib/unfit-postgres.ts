/** What DATABASE_URL leads to cannot keep what the service promises; the message is for whoever runs it. */
export class UnfitPostgres extends Error {
  override readonly name = 'UnfitPostgres'
}
