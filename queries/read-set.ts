import type { QueryConfig } from 'pg'

/**
 * What a statement reads of a table, if less than all of it. Only as-of queries use it: they reconstruct just these
 * rows (ADR-0016).
 */
export type ReadScope =
  /** Any row, but neither hot columns (`Past`) nor `revision` and `changed_at`. */
  | 'columns'
  /** As 'columns', plus the complete rows that it answers, each with its id as `key_id`. */
  | 'answered'
  /** Rows with these ids. */
  | readonly number[]
  /** Rows whose ids this statement answers, each as `id`. */
  | ReadSetQuery

/** A statement with its read set by table. Of other tables that it names it reads everything. */
export interface ReadSetQuery extends QueryConfig {
  readonly readSet: Readonly<Record<string, ReadScope>>
}

/** The driver ignores `readSet`. */
export const withReadSet = (statement: ReadSetQuery): QueryConfig => statement
