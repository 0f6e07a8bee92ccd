import { inZone } from '#domain/instant.ts'
import { addAmounts, fromBigCents, toBigCents } from '#domain/money.ts'
import type { EventOf } from '#events/catalogue.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import { companyRef } from './companies.ts'
import { type ChangedFields, changedColumns, INDEX_BY_CHANGE, projection, stamp } from './define-projection.ts'

/** Store credit of a customer. */
interface CustomerCreditRow extends ChangedFields {
  company_id: number
  /** The customer's. */
  id: number
  /** Any size; negative after sales of tills that took more than there was. */
  balance: string
}

const customerCredits = table<CustomerCreditRow>('customer_credits', {
  about: 'Balance of store credit of each customer, in reais.',
  columns: { company_id: 'bigint', id: 'bigint', balance: 'numeric', ...changedColumns },
  keys: { pk: ['company_id', 'id'] },
  indexes: [INDEX_BY_CHANGE],
  past: { id: 'id' },
})

export const creditByCustomer = (customerId: number) => byPk(customerCredits, customerId)

/** Store credit of a loaded customer. */
export const getCreditBalance = (rows: Rows, customerId: number): string =>
  rows.get(creditByCustomer(customerId))?.balance ?? '0.00'

export const CREDIT_MOVEMENTS = ['return', 'sale', 'cancel', 'surplus'] as const

/** Movement of a customer's store credit. Rows are only added. */
interface CreditMovementRow {
  company_id: number
  /** The event that recorded it. */
  revision: number
  customer_id: number
  kind: (typeof CREDIT_MOVEMENTS)[number]
  /** Signed, as all amounts of credit. */
  amount: string
  balance: string
  /** The record that moved it, as `sale/981`. */
  document: string
  occurred_at: string
}

const creditMovements = table<CreditMovementRow>('credit_movements', {
  about: 'Movements of store credit, in reais.',
  columns: {
    company_id: 'bigint',
    revision: 'bigint',
    customer_id: 'bigint',
    kind: 'text',
    amount: 'numeric',
    balance: 'numeric',
    document: 'text',
    occurred_at: 'timestamptz',
  },
  keys: { pk: ['company_id', 'revision'] },
  indexes: ['(company_id, customer_id, revision)'],
  past: { id: 'revision', isFixed: true },
})

type Moving =
  | EventOf<'SaleReturned'>
  | EventOf<'ReturnReversed'>
  | EventOf<'OfflineSaleCompleted'>
  | EventOf<'SaleCancelled'>
  | EventOf<'OrderSurplusCredited'>

/** Handler of events that give credit (sign 1) or take it. Few sales have any. */
const moving = <E extends Moving>(kind: CreditMovementRow['kind'], sign: 1 | -1, timeOf: (event: E) => string) => ({
  refs: ({ data }: E) => (data.credit ? [creditByCustomer(data.credit.customer_id)] : []),
  apply(rows: Changes, event: E) {
    const { credit } = event.data
    if (!credit) return
    const { company_id } = companyRef(rows)
    const { customer_id: id } = credit
    const amount = fromBigCents(BigInt(sign) * toBigCents(credit.amount))
    const balance = addAmounts(getCreditBalance(rows, id), amount)
    rows.put(customerCredits, { company_id, id, balance, ...stamp(event) })
    rows.add(creditMovements, {
      ...{ company_id, customer_id: id, kind, amount, balance },
      revision: event.revision,
      document: event.subject,
      occurred_at: timeOf(event),
    })
  },
})

export const storeCreditProjection = projection('store_credit', [customerCredits, creditMovements], {
  SaleReturned: moving('return', 1, ({ data }: EventOf<'SaleReturned'>) => data.returned_at),
  ReturnReversed: moving('return', -1, ({ recorded_at }: EventOf<'ReturnReversed'>) => recorded_at),
  OfflineSaleCompleted: moving('sale', -1, ({ data }: EventOf<'OfflineSaleCompleted'>) => data.sold_at),
  OrderSurplusCredited: moving('surplus', 1, ({ recorded_at }: EventOf<'OrderSurplusCredited'>) => recorded_at),
  SaleCancelled: moving('cancel', 1, ({ recorded_at }: EventOf<'SaleCancelled'>) => recorded_at),
})

/** A movement as the API returns it. */
export interface CreditMovementObject {
  readonly id: number
  readonly kind: CreditMovementRow['kind']
  readonly amount: string
  readonly balance: string
  readonly document: string
  readonly occurred_at: string
}

export const creditMovementObject = (
  row: Omit<CreditMovementRow, 'company_id'>,
  timezone: string,
): CreditMovementObject => ({
  id: row.revision,
  kind: row.kind,
  amount: row.amount,
  balance: row.balance,
  document: row.document,
  occurred_at: inZone(new Date(row.occurred_at).toISOString(), timezone),
})
