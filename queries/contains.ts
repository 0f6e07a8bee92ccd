import { nameKey } from '#domain/text.ts'

/** The pattern of names that contain a text, for `like` on a column of name keys: neither case nor spacing matters. */
export function containing(text: string): string {
  return `%${nameKey(text).replace(/[\\%_]/g, '\\$&')}%`
}
