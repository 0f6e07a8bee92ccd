import type { DataOf } from '#events/catalogue.ts'
import { type AccountObject, accountKind, accountTable } from './accounts.ts'
import { projection } from './define.ts'

/** The customer of a receivable; all null where there is none. */
export type CustomerOfReceivable = Pick<
  DataOf<'ReceivableCreated'>,
  'customer_id' | 'customer_external_id' | 'customer_name'
>

export type ReceivableObject = AccountObject<CustomerOfReceivable>

/** What is to be received (spec, Receivable / payable). */
export const receivables = accountTable<CustomerOfReceivable>('receivables')

const { byId, byExternalId, on, view } = accountKind(receivables, ({ customer_id }) => customer_id)

export const receivableById = byId
export const receivableByExternalId = byExternalId

export const receivablesProjection = projection('receivables', [receivables], {
  ReceivableCreated: on.created,
  ReceivableUpdated: on.updated,
  ReceivableDeleted: on.deleted,
  ReceivableRevived: on.revived,
  ReceivableSettled: on.settled,
})

export const receivableView = view
