/**
 * The database belongs to another version of this program and was not, or cannot be, migrated. The message is for
 * operators.
 */
export class IncompatibleVersion extends Error {
  override readonly name = 'OtherVersion'
}
