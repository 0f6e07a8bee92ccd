import { dateInZone, inZone } from '#domain/instant.ts'
import { toCents } from '#domain/money.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { RecordView } from '#ledger/projection.ts'
import { byKey, byPk, type Ref, type Table, table } from '#ledger/table.ts'
import { ownCompany, timezoneOf } from './companies.ts'
import { changedColumns, INDEX_BY_CHANGE, INDEX_BY_DELETION, INDEX_BY_PAST, projection, withMore } from './define.ts'
import { erasing } from './erasures.ts'
import { type RecordRow, recordHandlers } from './records.ts'

type Created = DataOf<'ReceivableCreated'>
type Settled = DataOf<'ReceivableSettled'>

/** Writable fields common to receivables and payables. */
export type AccountFields = Pick<Created, 'external_id' | 'description' | 'amount' | 'due_date'>

/** Initial fields of an account: its own, the counterparty's (`P`), and its origin. */
export type AccountStart<P> = AccountFields & P & Pick<Created, 'origin' | 'sale_id'>

/**
 * Receivable or payable as the API returns it, without `is_overdue`, which depends on the clock and is never stored.
 * `P`: fields of the counterparty, named as of the last change.
 */
export type AccountObject<P> = { id: number } & AccountStart<P> & {
    status: 'pending' | 'settled'
    paid_at: string | null
    payment_method: Settled['payment_method'] | null
    /** Accounting date: day of `paid_at` in the company's time zone. */
    settled_on: string | null
    created_at: string
    updated_at: string
  }

/** SQL of a partial index: pending accounts with a counterparty. */
export const IS_OPEN = "party_id is not null and status = 'pending' and deleted_at is null"

interface AccountColumns {
  /** Customer or supplier. */
  party_id: number | null
  origin: Created['origin']
  status: 'pending' | 'settled'
  amount_cents: number
  due_date: string
  settled_on: string | null
}

export type AccountRow<P> = RecordRow<AccountObject<P>> & AccountColumns

function accountTable<P>(name: 'receivables' | 'payables'): Table<AccountRow<P>> {
  return table<AccountRow<P>>(name, {
    columns: {
      company_id: 'bigint',
      id: 'bigint',
      external_id: 'text',
      party_id: 'bigint',
      origin: 'text',
      status: 'text',
      amount_cents: 'bigint',
      due_date: 'date',
      settled_on: 'date',
      deleted_at: 'timestamptz',
      ...changedColumns,
      doc: 'json',
    },
    keys: { pk: ['company_id', 'id'], external: ['company_id', 'external_id'] },
    indexes: [
      INDEX_BY_CHANGE,
      INDEX_BY_DELETION,
      INDEX_BY_PAST,
      '(company_id, status, due_date)',
      '(company_id, settled_on) where settled_on is not null',
      '(company_id, party_id, id) where party_id is not null',
      // Open accounts of a person.
      `(company_id, party_id, id) where ${IS_OPEN}`,
    ],
    past: { id: 'id' },
  })
}

/** Lookups, event handlers and view of the accounts of a table. */
function accountKind<P>(accounts: Table<AccountRow<P>>, partyIdOf: (party: P) => number | null) {
  const byId = (id: number) => byPk(accounts, id)
  const handlers = recordHandlers<{ id: number } & AccountStart<P>, AccountObject<P>, AccountColumns>({
    table: accounts,
    byId,
    create: (data, at) =>
      withMore(data, {
        status: 'pending' as const,
        paid_at: null,
        payment_method: null,
        settled_on: null,
        created_at: at,
        updated_at: at,
      }),
    columnsOf: (doc) => ({
      party_id: partyIdOf(doc),
      origin: doc.origin,
      status: doc.status,
      amount_cents: toCents(doc.amount),
      due_date: doc.due_date,
      settled_on: doc.settled_on,
    }),
  })
  const settled = handlers.changing<Settled>((doc, { paid_at, payment_method, settled_on }, zone) => ({
    ...doc,
    status: 'settled',
    paid_at: inZone(paid_at, zone),
    payment_method,
    settled_on,
  }))
  return {
    byId,
    byExternalId: (externalId: string) => byKey(accounts, 'external', externalId),
    on: { ...handlers, settled },
    view: accountView(byId),
  }
}

/**
 * JSON text of the account with `is_overdue` appended. Spliced as the list's SQL does it, so that both give the same
 * bytes.
 */
function accountView<P>(byId: (id: number) => Ref<AccountRow<P>>): RecordView {
  return {
    refs: (id) => [byId(id), ownCompany],
    render(rows, id, now) {
      const row = rows.get(byId(id))
      if (!row || row.deleted_at) return null
      const isOverdue = row.status === 'pending' && row.due_date < dateInZone(now, timezoneOf(rows))
      return `${JSON.stringify(row.doc).slice(0, -1)},"is_overdue":${isOverdue}}`
    },
  }
}

/** Customer of a receivable; all null if it has none. */
export type CustomerOfReceivable = Pick<
  DataOf<'ReceivableCreated'>,
  'customer_id' | 'customer_external_id' | 'customer_name'
>

export type ReceivableObject = AccountObject<CustomerOfReceivable>

export const receivables = accountTable<CustomerOfReceivable>('receivables')

const receivable = accountKind(receivables, ({ customer_id }) => customer_id)

export const receivableById = receivable.byId
export const receivableByExternalId = receivable.byExternalId

export const receivablesProjection = projection('receivables', [receivables], {
  ReceivableCreated: receivable.on.created,
  ReceivableUpdated: receivable.on.updated,
  ReceivableDeleted: receivable.on.deleted,
  ReceivableRevived: receivable.on.revived,
  ReceivableSettled: receivable.on.settled,
  PersonForgotten: erasing({ kind: 'receivable', table: 'receivables', idColumns: { customer: 'party_id' } }),
})

export const receivableView = receivable.view

/** Supplier of a payable; all null if it has none. */
export type SupplierOfPayable = Pick<DataOf<'PayableCreated'>, 'supplier_id' | 'supplier_external_id' | 'supplier_name'>

export type PayableObject = AccountObject<SupplierOfPayable>

export const payables = accountTable<SupplierOfPayable>('payables')

const payable = accountKind(payables, ({ supplier_id }) => supplier_id)

export const payableById = payable.byId
export const payableByExternalId = payable.byExternalId

export const payablesProjection = projection('payables', [payables], {
  PayableCreated: payable.on.created,
  PayableUpdated: payable.on.updated,
  PayableDeleted: payable.on.deleted,
  PayableRevived: payable.on.revived,
  PayableSettled: payable.on.settled,
  PersonForgotten: erasing({ kind: 'payable', table: 'payables', idColumns: { supplier: 'party_id' } }),
})

export const payableView = payable.view
