import { z } from 'zod'
import { PAYMENT_KINDS } from '#events/companies.ts'
import type { PaymentTypeObject } from '#projections/payment-types.ts'
import type { SaleObject } from '#projections/sales.ts'
import { Amount, NullableText, RecordId, ThreeDecimals, Timestamp } from '../formats.ts'

/** A sale as a request sends it: one item of the catalog, one that is in none, and change from cash. */
export const saleExample = {
  external_id: 'PEDIDO-1001',
  customer_external_id: 'CLI-001',
  sold_at: '2026-11-21T08:17:15-03:00',
  delivery_fee: '5.00',
  items: [
    { catalog_item_external_id: 'CAFE-500', quantity: '2' },
    { description: 'Embalagem para presente', quantity: '1', unit_price: '3.50' },
  ],
  payments: [{ payment_type_id: 1, amount: '50.00' }],
}

/** Lines as answers show them. */
export const lineExamples = [
  {
    catalog_item_id: 9,
    external_id: 'CAFE-500',
    description: 'Café torrado 500 g',
    quantity: '2.000',
    unit_price: '18.90',
    total: '37.80',
  },
  {
    catalog_item_id: null,
    external_id: null,
    description: 'Embalagem para presente',
    quantity: '1.000',
    unit_price: '3.50',
    total: '3.50',
  },
]

/** The same sale as answers show it. */
const shownExample = {
  id: 981,
  external_id: 'PEDIDO-1001',
  offline_id: null,
  status: 'completed',
  origin: 'api',
  customer: { id: 17, external_id: 'CLI-001', name: 'Maria da Silva' },
  sold_at: '2026-11-21T08:17:15.000-03:00',
  items: lineExamples.map((line) => ({ ...line, discount: '0.00' })),
  payments: [{ payment_type_id: 1, name: 'Dinheiro', amount: '50.00', surcharge: '0.00', net: '50.00' }],
  subtotal: '41.30',
  discount: '0.00',
  delivery_fee: '5.00',
  total: '46.30',
  change: '3.70',
  fiscal_document: null,
  cancelled_at: null,
  cancel_reason: null,
  created_at: '2026-11-21T08:17:15.123-03:00',
  updated_at: '2026-11-21T08:17:15.123-03:00',
}

const paymentTypeExample = {
  id: 1,
  name: 'Dinheiro',
  kind: 'cash',
  is_cash: true,
  fee_percentage: '0.00',
  accepts_api: true,
  due_days: 30,
}

/** A customer or supplier as it was called when the record was made. */
export const Party = z.strictObject({ id: RecordId, external_id: NullableText, name: z.string() }).meta({ id: 'Party' })

/** Fields of a line of a sale or an order. */
export const lineShape = {
  catalog_item_id: RecordId.nullable(),
  external_id: NullableText,
  description: z.string(),
  quantity: ThreeDecimals,
  unit_price: Amount,
  total: Amount,
}

const SaleItem = z.strictObject({ ...lineShape, discount: Amount }).meta({ id: 'SaleItem' })

const SalePayment = z
  .strictObject({ payment_type_id: RecordId, name: z.string(), amount: Amount, surcharge: Amount, net: Amount })
  .meta({ id: 'SalePayment' })

const FiscalDocument = z
  .strictObject({ status: z.literal('authorized'), number: z.string(), issued_at: Timestamp })
  .meta({ id: 'FiscalDocument' })

export const Sale = z
  .strictObject({
    id: RecordId,
    external_id: NullableText,
    offline_id: NullableText,
    status: z.enum(['completed', 'cancelled']),
    origin: z.enum(['api', 'pdv', 'system']),
    customer: Party.nullable(),
    sold_at: Timestamp,
    items: z.array(SaleItem),
    payments: z.array(SalePayment),
    subtotal: Amount,
    discount: Amount,
    delivery_fee: Amount,
    total: Amount,
    change: Amount,
    fiscal_document: FiscalDocument.nullable(),
    cancelled_at: Timestamp.nullable(),
    cancel_reason: NullableText,
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'Sale', examples: [shownExample] }) satisfies z.ZodType<SaleObject>

/** There are few, so they come in one answer without pages. */
export const PaymentType = z
  .strictObject({
    id: RecordId,
    name: z.string(),
    kind: z.enum(PAYMENT_KINDS),
    is_cash: z.boolean(),
    fee_percentage: Amount,
    accepts_api: z.boolean(),
    reason: z.string().optional(),
    due_days: z.int().min(0),
  })
  .meta({ id: 'PaymentType', examples: [paymentTypeExample] }) satisfies z.ZodType<PaymentTypeObject>
