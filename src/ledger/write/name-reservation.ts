import type { Refusal } from '#domain/refusal.ts'
import { Unavailable } from '#lib/errors.ts'
import type { AnyTable } from '../table.ts'
import type { WorkingSet } from '../working-set.ts'

/** Makes names known, which are unique beyond this database, before anything is appended (HOME-24). */
export interface NameReserver {
  /** Whose changed rows have such names. */
  readonly tables: readonly AnyTable[]
  /** Rows that a group is about to write. @throws NameTaken, Outdated, or whatever keeps it from being known */
  reserve(rows: readonly ReservedRow[]): Promise<void>
}

export interface ReservedRow {
  readonly table: AnyTable
  readonly row: object
  /** Whether it is known to be new to its table. */
  readonly isNew: boolean
}

/** A row has a name that is somebody else's: whose row it is gets this answer. */
export class NameTaken extends Error {
  override readonly name = 'NameTaken'
  constructor(
    readonly row: object,
    readonly refusal: Refusal,
  ) {
    super('a name is taken')
  }
}

/** What was decided on has changed, and is there now: whoever decides again sees it. */
export class StaleDecision extends Unavailable {}

/** Names of a group could not be reserved, which is nothing to those of the group that have none. */
export class ReservationFailed extends Error {
  override readonly name = 'NotReserved'
}

/** @throws NameTaken, Outdated, ReservationFailed */
export async function reserveNames({ tables, reserve }: NameReserver, set: WorkingSet): Promise<void> {
  const rows = tables.flatMap((table) => set.changedOf<object>(table).map((changed) => ({ table, ...changed })))
  if (rows.length === 0) return
  try {
    await reserve(rows)
  } catch (error) {
    if (error instanceof NameTaken || error instanceof StaleDecision) throw error
    throw new ReservationFailed('names could not be reserved', { cause: error })
  }
}
