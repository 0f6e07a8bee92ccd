import type { Statement, Transaction } from '#postgres/transaction.ts'

/** What a JSON text says of forgotten persons. */
export interface ErasedText {
  /** Whether it has a record of theirs, or names them, even if nothing of it is left to take. */
  readonly isAbout: boolean
  /** The text without their fields; null where it needs no change. */
  readonly text: string | null
}

/** Takes forgotten persons out of JSON texts. */
export interface TextErasure {
  /** Every text about them has one of these, so that Postgres sends few others. */
  readonly needles: readonly string[]
  redact(text: string): ErasedText
}

interface Texts {
  /** Parameters: company, `needles`, key after which to go on, number of rows. Columns: `key`, in whose order they come, and `text`. */
  readonly find: Statement
  /** Parameters: company, keys, their new texts. */
  readonly write: Statement
  /** Before all keys. */
  readonly first: string
}

/**
 * A condition of `find`: whether a text column has one of the needles, which are no special characters of expressions. Looking
 * for a few takes half as long as an expression, whose time does not grow with their number: 1 to 3 s for 100,000 texts of 2 kB.
 */
export const containsNeedle = (column: string): string =>
  `case when cardinality($2::text[]) <= 8
     then exists (select from unnest($2::text[]) as needle where strpos(${column}, needle) > 0)
     else ${column} ~ (select array_to_string($2::text[], '|')) end`

/** Rows in memory at a time. */
const PAGE = 200

/** Takes forgotten persons out of JSON texts of a company. Returns the keys of all that are about them. */
export async function eraseTexts(
  tx: Transaction,
  companyId: number,
  { find, write, first }: Texts,
  { needles, redact }: TextErasure,
): Promise<string[]> {
  const about: string[] = []
  for (let after = first; ; ) {
    const { rows } = await tx.query<{ key: string; text: string }>(find, [companyId, needles, after, PAGE])
    const changed: [key: string, text: string][] = []
    for (const { key, text } of rows) {
      const redacted = redact(text)
      if (redacted.isAbout) about.push(key)
      if (redacted.text !== null) changed.push([key, redacted.text])
    }
    if (changed.length > 0)
      await tx.query(write, [companyId, changed.map(([key]) => key), changed.map(([, text]) => text)])
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return about
    after = last.key
  }
}
