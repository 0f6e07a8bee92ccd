import type { EventName, EventOf } from '#events/catalogue.ts'
import type { Handler, Projection, RecordView } from '#ledger/projection.ts'
import type { AnyRef, AnyTable, Ref } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import type { Transaction } from '#postgres/transaction.ts'

/** What one type of event does to rows. `refs` names every row that `apply` gets; `erase` is for those that no key names. */
interface TypedHandler<N extends EventName> {
  refs?(event: EventOf<N>): readonly AnyRef[]
  apply?(rows: Changes, event: EventOf<N>): void
  erase?(tx: Transaction, companyId: number, event: EventOf<N>): Promise<void>
}

type Handlers = { readonly [N in EventName]?: TypedHandler<N> }

/** Declares a read model. The company's row (projections/companies.ts) is always loaded. */
export function projection(name: string, tables: readonly AnyTable[], handlers: Handlers): Projection {
  const on: Record<string, Handler> = {}
  for (const [type, handler] of Object.entries(handlers) as [string, TypedHandler<never>][]) {
    const { erase } = handler
    on[type] = {
      refs: (event) => handler.refs?.(event as never) ?? [],
      apply: (rows, event) => {
        handler.apply?.(rows, event as never)
      },
      ...(erase && { erase: (tx, companyId, event) => erase(tx, companyId, event as never) }),
    }
  }
  return { name, tables, on }
}

/** Columns of every row that lists go by: the revision and the time of its last change. */
export interface Changed {
  revision: number
  changed_at: string
}

export const changedColumns = { revision: 'bigint', changed_at: 'timestamptz' } as const

/** Index for lists with `updated_since`, which go by (time and revision of the last change, id). */
export const BY_CHANGE = '(company_id, changed_at, revision, id)'

/** Index for what was changed since a revision and was there already, of tables that grow with events. */
export const BY_PAST = '(company_id, revision, first_revision) where first_revision < revision'

/** Index for lists by name. Code points, whatever the collation of the database: sort keys are made for that. */
export const BY_NAME = '(company_id, sort_key collate "C", id)'

/** Index for lists of deleted records. */
export const BY_DELETION = '(company_id, deleted_at, id) where deleted_at is not null'

export const stamp = (event: { revision: number; recorded_at: string }): Changed => ({
  revision: event.revision,
  changed_at: event.recorded_at,
})

/** A row that the event says must be there. */
export function existing<R>(rows: Rows, ref: Ref<R>): Readonly<R> {
  const row = rows.get(ref)
  if (!row) throw new Error(`row ${ref.table.name} ${ref.values.join('/')} does not exist`)
  return row
}

/** The view of records that are shown just as their row's `doc` says, while they are not deleted. */
export function docView<R extends { doc: object; deleted_at?: string | null }>(
  byId: (id: number) => Ref<R>,
): RecordView {
  return {
    refs: (id) => [byId(id)],
    render(rows, id) {
      const row = rows.get(byId(id))
      return row && !row.deleted_at ? JSON.stringify(row.doc) : null
    },
  }
}

/**
 * An object with more members at its end. Not `{ ...object, ...more }`: Node 20 takes two microseconds for each member that
 * a spread adds, which for a receivable is as much as the rest of its replay.
 */
export const withMore = <T extends object, M extends object>(object: T, more: M): T & M =>
  Object.assign({}, object, more)
