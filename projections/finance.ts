import { dateInZone, inZone } from '#domain/instant.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { type PaymentAmounts, sumReceived } from '#domain/payment-rules.ts'
import type { Metadata } from '#domain/record-values.ts'
import { searchText } from '#domain/text.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { RecordView } from '#ledger/projection.ts'
import { byKey, byPk, type Ref, type Table, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef, getTimezone, ownCompany } from './companies.ts'
import {
  changedColumns,
  existing,
  INDEX_BY_CHANGE,
  INDEX_BY_DELETION,
  INDEX_BY_PAST,
  projection,
  withMore,
} from './define-projection.ts'
import { erasing } from './people.ts'
import { type RecordRow, recordHandlers } from './record-handlers.ts'

type Created = DataOf<'ReceivableCreated'>
type Paid = DataOf<'ReceivablePaymentReceived'>
type Reversed = DataOf<'ReceivablePaymentReversed'>

type AccountHead = Pick<Created, 'external_id' | 'description' | 'amount' | 'due_date'>

/** Writable fields common to receivables and payables. */
export type AccountFields = AccountHead & { readonly metadata: Metadata | null }

/** Initial fields of an account: its own, the counterparty's (`P`), and its origin. */
export type AccountStart<P> = AccountFields & P & Pick<Created, 'origin' | 'sale_id'>

/** As its event records it: one of several accounts names its group. */
export type NewAccount<P> = AccountStart<P> & Pick<Created, 'installment'>

/** Without metadata if there are none. */
type RecordedAccount<P> = { id: number } & AccountHead &
  P &
  Pick<Created, 'origin' | 'sale_id' | 'installment' | 'metadata'>

/** A payment of an account. Its id is the revision of its event. */
export interface AccountPayment extends PaymentAmounts {
  id: number
  kind: Paid['kind']
  /** What changed hands. */
  received: string
  payment_method: string | null
  paid_at: string
  /** Accounting date: day of `paid_at` in the company's time zone. */
  paid_on: string
  /** Number of the receipt; several accounts paid together share one. */
  receipt: number
  /** Cash session of the till that received it, by the till's name of it. */
  cash_session_id: string | null
  /** Order by whose link it was paid. */
  order_id: number | null
  created_at: string
  reversed_at: string | null
  reversal_reason: string | null
}

/**
 * Receivable or payable as the API returns it, without `is_overdue`, which depends on the clock and is never stored.
 * `P`: fields of the counterparty, named as of the last change.
 */
export type AccountObject<P> = { id: number } & AccountStart<P> & {
    installment: NonNullable<Created['installment']> | null
    /** Settled once nothing is open. */
    status: 'pending' | 'settled'
    /** What standing payments cover; with `open_amount` it adds up to the amount. */
    paid_amount: string
    open_amount: string
    /** Of the last payment of a settled account. */
    paid_at: string | null
    payment_method: string | null
    /** Accounting date: day of `paid_at` in the company's time zone. */
    settled_on: string | null
    /** In the order of their recording. */
    payments: readonly AccountPayment[]
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
  open_cents: number
  /** By how much the amount was lowered so far. */
  reduced_cents: number
  due_date: string
  settled_on: string | null
  installment_group: number | null
  /** Description and external id. */
  search: string
}

export type AccountRow<P> = RecordRow<AccountObject<P>> & AccountColumns

function accountTable<P>(name: 'receivables' | 'payables'): Table<AccountRow<P>> {
  return table<AccountRow<P>>(name, {
    about: `All ${name} of companies; amounts in cents.`,
    columns: {
      company_id: 'bigint',
      id: 'bigint',
      external_id: 'text',
      party_id: 'bigint',
      origin: 'text',
      status: 'text',
      amount_cents: 'bigint',
      open_cents: 'bigint',
      reduced_cents: 'bigint',
      due_date: 'date',
      settled_on: 'date',
      installment_group: 'bigint',
      search: 'text',
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
      '(company_id, installment_group, id) where installment_group is not null',
      '(company_id, party_id, id) where party_id is not null',
      // Open accounts of a person.
      `(company_id, party_id, id) where ${IS_OPEN}`,
    ],
    past: { id: 'id' },
  })
}

/** Money that was received or paid for accounts; a reversal is a row of its own, on the day of its payment. */
interface AccountPaymentRow {
  company_id: number
  /** The event that recorded it: the id of a payment. */
  revision: number
  account_id: number
  kind: Paid['kind']
  /** Negative for a reversal. */
  received_cents: number
  paid_on: string
  payment_method: string | null
  receipt_number: number
  /** The payment that it reverses. */
  reverses: number | null
}

const paymentTable = (name: 'receivable_payments' | 'payable_payments'): Table<AccountPaymentRow> =>
  table<AccountPaymentRow>(name, {
    about: 'Payments of accounts, reversed ones included; amounts in cents.',
    columns: {
      company_id: 'bigint',
      revision: 'bigint',
      account_id: 'bigint',
      kind: 'text',
      received_cents: 'bigint',
      paid_on: 'date',
      payment_method: 'text',
      receipt_number: 'bigint',
      reverses: 'bigint',
    },
    keys: { pk: ['company_id', 'revision'] },
    indexes: ['(company_id, paid_on)', '(company_id, receipt_number)'],
    past: { id: 'revision', isFixed: true },
  })

const NOTHING = '0.00'

/** Payments that are not reversed. */
export const standingPayments = ({ payments }: Pick<AccountObject<unknown>, 'payments'>): AccountPayment[] =>
  payments.filter(({ reversed_at }) => reversed_at === null)

/** The account with what follows from its payments. */
function withPayments<P>(doc: AccountObject<P>): AccountObject<P> {
  const covering = standingPayments(doc).filter(({ amount }) => amount !== NOTHING)
  const paid = covering.reduce((sum, { amount }) => sum + toCents(amount), 0)
  const open = toCents(doc.amount) - paid
  const last = open === 0 ? covering.at(-1) : undefined
  return {
    ...doc,
    status: open === 0 ? 'settled' : 'pending',
    paid_amount: fromCents(paid),
    open_amount: fromCents(open),
    paid_at: last?.paid_at ?? null,
    payment_method: last?.payment_method ?? null,
    settled_on: last?.paid_on ?? null,
  }
}

type Recorded<T> = { readonly revision: number; readonly recorded_at: string; readonly data: T }

function paymentOf({ revision, recorded_at, data }: Recorded<Paid>, zone: string): AccountPayment {
  const { kind, amount, interest, fine, discount, excess, payment_method, paid_at, paid_on, receipt } = data
  return {
    id: revision,
    kind,
    amount,
    interest,
    fine,
    discount,
    excess,
    received: kind === 'return' ? NOTHING : fromCents(sumReceived(data)),
    payment_method,
    paid_at: inZone(paid_at, zone),
    paid_on,
    receipt: receipt ?? revision,
    cash_session_id: data.cash_session_id ?? null,
    order_id: data.order_id ?? null,
    created_at: inZone(recorded_at, zone),
    reversed_at: null,
    reversal_reason: null,
  }
}

function addPaymentRow(
  rows: Changes,
  payments: Table<AccountPaymentRow>,
  { revision, data }: Recorded<{ id: number }>,
  { kind, received, paid_on, payment_method, receipt, id }: AccountPayment,
): void {
  const isReversal = id !== revision
  const cents = toCents(received)
  rows.add(payments, {
    company_id: companyRef(rows).company_id,
    revision,
    account_id: data.id,
    kind,
    received_cents: isReversal ? -cents + 0 : cents,
    paid_on,
    payment_method,
    receipt_number: receipt,
    reverses: isReversal ? id : null,
  })
}

/** Handlers of payments and reversals, which change the account and add a row of their own. */
function paymentHandlers<P>(
  payments: Table<AccountPaymentRow>,
  byId: (id: number) => Ref<AccountRow<P>>,
  changing: <E extends { readonly id: number }>(
    alter: (doc: AccountObject<P>, data: E, zone: string, event: Recorded<E>) => AccountObject<P>,
  ) => {
    refs(event: Recorded<{ id: number }>): readonly Ref<AccountRow<P>>[]
    apply(rows: Changes, event: Recorded<E>): void
  },
) {
  const paid = changing<Paid>((doc, _data, zone, event) => ({
    ...doc,
    payments: [...doc.payments, paymentOf(event, zone)],
  }))
  const reversed = changing<Reversed>((doc, { payment_id, reason }, zone, { recorded_at }) => ({
    ...doc,
    payments: doc.payments.map((each) =>
      each.id === payment_id ? { ...each, reversed_at: inZone(recorded_at, zone), reversal_reason: reason } : each,
    ),
  }))
  const paymentWith = (rows: Changes, accountId: number, id: number): AccountPayment => {
    const found = existing(rows, byId(accountId)).doc.payments.find((each) => each.id === id)
    if (!found) throw new Error(`account ${accountId} has no payment ${id}`)
    return found
  }
  return {
    paid: {
      ...paid,
      apply(rows: Changes, event: Recorded<Paid>) {
        paid.apply(rows, event)
        addPaymentRow(rows, payments, event, paymentWith(rows, event.data.id, event.revision))
      },
    },
    reversed: {
      ...reversed,
      apply(rows: Changes, event: Recorded<Reversed>) {
        reversed.apply(rows, event)
        addPaymentRow(rows, payments, event, paymentWith(rows, event.data.id, event.data.payment_id))
      },
    },
  }
}

/** Lookups, event handlers and view of the accounts of a table. */
function accountKind<P>(
  accounts: Table<AccountRow<P>>,
  payments: Table<AccountPaymentRow>,
  partyIdOf: (party: P) => number | null,
) {
  const byId = (id: number) => byPk(accounts, id)
  const handlers = recordHandlers<RecordedAccount<P>, AccountObject<P>, AccountColumns>({
    table: accounts,
    byId,
    empty: { metadata: null } as Partial<AccountObject<P>>,
    create: (data, at) =>
      withMore(data, {
        metadata: data.metadata ?? null,
        installment: data.installment ?? null,
        status: 'pending' as const,
        paid_amount: NOTHING,
        open_amount: data.amount,
        paid_at: null,
        payment_method: null,
        settled_on: null,
        payments: [],
        created_at: at,
        updated_at: at,
      }),
    derive: withPayments,
    columnsOf: (doc, before) => ({
      party_id: partyIdOf(doc),
      origin: doc.origin,
      status: doc.status,
      amount_cents: toCents(doc.amount),
      open_cents: toCents(doc.open_amount),
      reduced_cents: before ? before.reduced_cents + Math.max(before.amount_cents - toCents(doc.amount), 0) : 0,
      due_date: doc.due_date,
      settled_on: doc.settled_on,
      installment_group: doc.installment?.group ?? null,
      search: searchText(doc.description, doc.external_id),
    }),
  })
  return {
    byId,
    byExternalId: (externalId: string) => byKey(accounts, 'external', externalId),
    on: { ...handlers, ...paymentHandlers(payments, byId, handlers.changing) },
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
      const isOverdue = row.status === 'pending' && row.due_date < dateInZone(now, getTimezone(rows))
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

export const receivablePayments = paymentTable('receivable_payments')

const receivable = accountKind(receivables, receivablePayments, ({ customer_id }) => customer_id)

export const receivableById = receivable.byId
export const receivableByExternalId = receivable.byExternalId

export const receivablesProjection = projection('receivables', [receivables, receivablePayments], {
  ReceivableCreated: receivable.on.created,
  ReceivableUpdated: receivable.on.updated,
  ReceivableDeleted: receivable.on.deleted,
  ReceivableRevived: receivable.on.revived,
  ReceivablePaymentReceived: receivable.on.paid,
  ReceivablePaymentReversed: receivable.on.reversed,
  // The payments before it have settled the account.
  ReceivableSettled: {},
  PersonForgotten: erasing({ kind: 'receivable', table: 'receivables', idColumns: { customer: 'party_id' } }),
})

export const receivableView = receivable.view

/** Supplier of a payable; all null if it has none. */
export type SupplierOfPayable = Pick<DataOf<'PayableCreated'>, 'supplier_id' | 'supplier_external_id' | 'supplier_name'>

export type PayableObject = AccountObject<SupplierOfPayable>

export const payables = accountTable<SupplierOfPayable>('payables')

export const payablePayments = paymentTable('payable_payments')

const payable = accountKind(payables, payablePayments, ({ supplier_id }) => supplier_id)

export const payableById = payable.byId
export const payableByExternalId = payable.byExternalId

export const payablesProjection = projection('payables', [payables, payablePayments], {
  PayableCreated: payable.on.created,
  PayableUpdated: payable.on.updated,
  PayableDeleted: payable.on.deleted,
  PayableRevived: payable.on.revived,
  PayablePaymentMade: payable.on.paid,
  PayablePaymentReversed: payable.on.reversed,
  PayableSettled: {},
  PersonForgotten: erasing({ kind: 'payable', table: 'payables', idColumns: { supplier: 'party_id' } }),
})

export const payableView = payable.view
