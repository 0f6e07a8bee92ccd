import type { Refusal } from '#domain/refusal.ts'
import { Unavailable } from '#lib/errors.ts'
import type { AnyTable } from '../table.ts'
import type { WorkingSet } from '../working-set.ts'

/** Reserves names that are unique across databases, before anything is appended (SHARD-24). */
export interface NameReserver {
  /** Tables with rows that have globally unique names. */
  readonly tables: readonly AnyTable[]
  /**
   * Reserves the names of rows that a group is about to write. @throws NameTaken, StaleDecision, or the error that
   * prevented the reservation
   */
  reserve(rows: readonly ReservedRow[]): Promise<void>
}

export interface ReservedRow {
  readonly table: AnyTable
  readonly row: object
  /** Whether the row is known to be new to its table. */
  readonly isNew: boolean
}

/** Another row has the name already. The request that writes this row gets this answer. */
export class NameTaken extends Error {
  override readonly name = 'NameTaken'
  constructor(
    readonly row: object,
    readonly refusal: Refusal,
  ) {
    super('a name is taken')
  }
}

/** The data behind the decision has changed and is visible now: a retry of the decision uses it. */
export class StaleDecision extends Unavailable {}

/** The names of a group could not be reserved. Requests without such names are not affected. */
export class ReservationFailed extends Error {
  override readonly name = 'NotReserved'
}

/** @throws NameTaken, StaleDecision, ReservationFailed */
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
