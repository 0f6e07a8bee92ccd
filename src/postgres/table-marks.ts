/**
 * Stands before and after a table's name in a statement whose tables have rules (queries/tables.ts). Postgres takes it
 * for a part of the name, so a statement that no reader has rendered fails.
 */
export const MARK = '§'

export const markTable = (name: string): string => `${MARK}${name}${MARK}`

/** The statement on the tables themselves, for transactions and programs, which see everything. */
export const plainSql = (text: string): string => text.replaceAll(MARK, '')
