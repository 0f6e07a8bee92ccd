/** The database is of another version of this program, which was not asked to bring it up to date, or cannot; the message is for operators. */
export class OtherVersion extends Error {
  override readonly name = 'OtherVersion'
}
