import { z } from 'zod'
import { PAYMENT_METHODS } from '#domain/payment-method.ts'
import { ACCOUNT_ORIGINS } from '#events/accounts.ts'
import type { PayableObject, ReceivableObject } from '#projections/finance.ts'
import type { Summary as SummaryObject } from '#queries/finance/summary.ts'
import { Amount, Balance, Day, NullableText, RecordId, Timestamp } from '../formats.ts'

/** A receivable as a request sends it. */
export const receivableExample = {
  external_id: 'REC-2026-11',
  description: 'Mensalidade de novembro',
  customer_external_id: 'CLI-001',
  amount: '150.00',
  due_date: '2026-11-30',
}

/** A payable as a request sends it. */
export const payableExample = {
  external_id: 'NF-4711',
  description: 'Café em grão, nota 4711',
  supplier_external_id: 'FOR-001',
  amount: '1140.00',
  due_date: '2026-12-10',
}

/** A settlement as a request sends it. */
export const settlementExample = { paid_at: '2026-11-28T10:00:00-03:00', payment_method: 'pix', amount: '150.00' }

const method = z.enum(PAYMENT_METHODS)

const head = {
  id: RecordId,
  external_id: NullableText,
  origin: z.enum(ACCOUNT_ORIGINS),
  description: z.string(),
}

const tail = {
  amount: Amount,
  due_date: Day,
  sale_id: RecordId.nullable(),
  status: z.enum(['pending', 'settled']),
  paid_at: Timestamp.nullable(),
  payment_method: method.nullable(),
  settled_on: Day.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
  is_overdue: z.boolean(),
}

/** What the answers to both examples have in common. */
const shown = {
  origin: 'api',
  sale_id: null,
  status: 'pending',
  paid_at: null,
  payment_method: null,
  settled_on: null,
  created_at: '2026-11-21T08:17:15.123-03:00',
  updated_at: '2026-11-21T08:17:15.123-03:00',
  is_overdue: false,
} as const

const customer = { customer_id: RecordId.nullable(), customer_external_id: NullableText, customer_name: NullableText }

export const Receivable = z.strictObject({ ...head, ...customer, ...tail }).meta({
  id: 'Receivable',
  examples: [{ id: 41, ...receivableExample, customer_id: 17, customer_name: 'Maria da Silva', ...shown }],
}) satisfies z.ZodType<ReceivableObject>

const supplier = { supplier_id: RecordId.nullable(), supplier_external_id: NullableText, supplier_name: NullableText }

export const Payable = z.strictObject({ ...head, ...supplier, ...tail }).meta({
  id: 'Payable',
  examples: [{ id: 52, ...payableExample, supplier_id: 9, supplier_name: 'Distribuidora Bom Grão Ltda', ...shown }],
}) satisfies z.ZodType<PayableObject>

const Sum = z.strictObject({ count: z.int().min(0), amount: Amount }).meta({ id: 'Sum' })

const AccountSums = z.strictObject({ pending: Sum, overdue: Sum, settled: Sum }).meta({ id: 'AccountSums' })

const SaleSums = z.strictObject({ count: z.int().min(0), gross: Amount, cancelled: Sum }).meta({ id: 'SaleSums' })

const none = { count: 0, amount: '0.00' }

export const Summary = z
  .strictObject({
    from: Day,
    to: Day,
    receivables: AccountSums,
    payables: AccountSums,
    sales: SaleSums,
    balance: Balance,
  })
  .meta({
    id: 'Summary',
    examples: [
      {
        from: '2026-11-01',
        to: '2026-11-21',
        receivables: {
          pending: { count: 3, amount: '450.00' },
          overdue: { count: 1, amount: '150.00' },
          settled: { count: 2, amount: '300.00' },
        },
        payables: { pending: none, overdue: none, settled: { count: 1, amount: '1140.00' } },
        sales: { count: 12, gross: '1830.40', cancelled: none },
        balance: '-840.00',
      },
    ],
  }) satisfies z.ZodType<SummaryObject>

export const PaymentMethodName = z
  .strictObject({ code: method, name: z.string() })
  .meta({ id: 'PaymentMethod', examples: [{ code: 'pix', name: 'Pix' }] })
