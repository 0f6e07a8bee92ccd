import type { QueryConfig } from 'pg'

/**
 * What a statement looks at of a table, where it is less than all of it. Nothing comes of that now; as of a moment of the
 * past only so much is made of what was then (decision 37).
 */
export type Look =
  /** Of any row, but neither its busy columns (`Past`) nor its `revision` and `changed_at`. */
  | 'columns'
  /** The same, and all there is of the rows that it answers, each with its id as `key_id`. */
  | 'answered'
  /** Rows with these ids. */
  | readonly number[]
  /** Rows with the ids that this statement answers, each as `id`. */
  | Looking

/** A statement and what it looks at, by table; of the other tables that it names, at everything. */
export interface Looking extends QueryConfig {
  readonly looks: Readonly<Record<string, Look>>
}

/** The driver makes nothing of `looks`. */
export const looking = (statement: Looking): QueryConfig => statement
