import type { DataOf } from '#events/catalogue.ts'
import { type AccountObject, accountKind, accountTable } from './accounts.ts'
import { projection } from './define.ts'

/** The supplier of a payable; all null where there is none. */
export type SupplierOfPayable = Pick<DataOf<'PayableCreated'>, 'supplier_id' | 'supplier_external_id' | 'supplier_name'>

export type PayableObject = AccountObject<SupplierOfPayable>

/** What is to be paid (spec, Receivable / payable). */
export const payables = accountTable<SupplierOfPayable>('payables')

const { byId, byExternalId, on, view } = accountKind(payables, ({ supplier_id }) => supplier_id)

export const payableById = byId
export const payableByExternalId = byExternalId

export const payablesProjection = projection('payables', [payables], {
  PayableCreated: on.created,
  PayableUpdated: on.updated,
  PayableDeleted: on.deleted,
  PayableRevived: on.revived,
  PayableSettled: on.settled,
})

export const payableView = view
