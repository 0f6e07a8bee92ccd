import { z } from 'zod'
import { ORDER_STATUSES } from '#domain/orders.ts'
import { ORDER_ALARMS } from '#events/orders.ts'
import type { PaymentObject } from '#projections/order-payments.ts'
import type { OrderObject } from '#projections/orders.ts'
import { Amount, NullableText, RecordId, Timestamp } from '../formats.ts'
import { lineExamples, lineShape } from './sales.ts'

/** An order as a request sends it. */
export const orderExample = {
  store_alias: 'minha-loja',
  external_id: 'LOJA-2001',
  customer: { name: 'Maria da Silva', email: 'maria@exemplo.com.br', document: '52998224725' },
  items: [
    { catalog_item_id: 9, quantity: '2' },
    { description: 'Embalagem para presente', quantity: '1', unit_price: '3.50' },
  ],
  delivery_fee: '8.70',
}

/** A payment as a request sends it; the token is the provider's, of a card. */
export const payExample = {
  payment_method_id: 'pix',
  payer_email: 'maria@exemplo.com.br',
}

const paymentExample = {
  attempt_id: '5f0c9a62-8b1e-5c3a-9f43-2b8f5d1c7e90',
  provider_payment_id: '1325908722',
  provider_status: 'approved',
  status_detail: 'accredited',
  status: 'paid',
  payment_method_id: 'pix',
  amount: '50.00',
  commission_percentage: '5.00',
  live_mode: true,
  refusal: null,
  started_at: '2026-11-21T08:20:01.007-03:00',
  updated_at: '2026-11-21T08:21:40.512-03:00',
}

/** The same order as answers show it, paid. */
const shownExample = {
  id: 57,
  external_id: 'LOJA-2001',
  store_alias: 'minha-loja',
  provider_reference: 'order-57-019aa6c3-7d2e-7b1a-9c54-3f0e8d6a1b42',
  status: 'paid',
  customer: orderExample.customer,
  items: lineExamples,
  subtotal: '41.30',
  delivery_fee: '8.70',
  total: '50.00',
  payment: paymentExample,
  payments: [paymentExample],
  commission: { percentage: '5.00', amount: '2.50', store_amount: '47.50', reversed_at: null },
  alarms: [],
  released_at: '2026-11-21T08:21:40.512-03:00',
  refunded_at: null,
  created_at: '2026-11-21T08:17:15.123-03:00',
  updated_at: '2026-11-21T08:21:40.512-03:00',
}

const OrderCustomer = z
  .strictObject({ name: z.string(), email: NullableText, document: NullableText })
  .meta({ id: 'OrderCustomer' })

const OrderItem = z.strictObject(lineShape).meta({ id: 'OrderItem' })

const OrderPayment = z
  .strictObject({
    attempt_id: z.uuid().nullable(),
    provider_payment_id: NullableText,
    provider_status: NullableText,
    status_detail: NullableText,
    status: z.enum(ORDER_STATUSES),
    payment_method_id: NullableText,
    amount: Amount,
    commission_percentage: Amount,
    live_mode: z.boolean().nullable(),
    refusal: NullableText,
    started_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'OrderPayment' }) satisfies z.ZodType<PaymentObject>

const Commission = z
  .strictObject({
    percentage: Amount,
    amount: Amount,
    store_amount: Amount,
    reversed_at: Timestamp.nullable(),
  })
  .meta({ id: 'Commission' })

const OrderAlarm = z
  .strictObject({ code: z.enum(ORDER_ALARMS), provider_payment_id: z.string(), raised_at: Timestamp })
  .meta({ id: 'OrderAlarm' })

export const Order = z
  .strictObject({
    id: RecordId,
    external_id: NullableText,
    store_alias: z.string(),
    provider_reference: z.string(),
    status: z.enum(ORDER_STATUSES),
    customer: OrderCustomer,
    items: z.array(OrderItem),
    subtotal: Amount,
    delivery_fee: Amount,
    total: Amount,
    payment: OrderPayment.nullable(),
    payments: z.array(OrderPayment),
    commission: Commission.nullable(),
    alarms: z.array(OrderAlarm),
    released_at: Timestamp.nullable(),
    refunded_at: Timestamp.nullable(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'Order', examples: [shownExample] }) satisfies z.ZodType<OrderObject>
