import * as z from 'zod'
import { DELIVERY_METHODS, DELIVERY_STATES, DISPUTE_STATUSES, ORDER_STATUSES } from '#domain/order-states.ts'
import { ONLINE_METHODS } from '#domain/payment-rules.ts'
import { ORDER_ALARMS } from '#events/order-events.ts'
import { type PaymentObject, REFUND_STATUSES, type RefundObject } from '#projections/order-payments.ts'
import type { ShownOrder } from '#queries/order-queries.ts'
import { Amount, ContractMetadata, ContractRecordId, NullableText, ThreeDecimals, Timestamp } from '#records/field.ts'
import { Address } from '#records/persons.ts'
import { lineExamples, lineShape } from './sale-routes.ts'

/** Customer of an order without a customer record. */
export const customerExample = {
  name: 'Maria da Silva',
  email: 'maria@exemplo.com.br',
  document: '52998224725',
  phone: '11987654321',
}

/** Where an order goes. */
export const addressExample = {
  zip: '01310100',
  street: 'Av. Paulista',
  number: '1578',
  complement: null,
  district: 'Bela Vista',
  city: 'São Paulo',
  state: 'SP',
}

const paymentExample = {
  attempt_id: '5f0c9a62-8b1e-5c3a-9f43-2b8f5d1c7e90',
  method: 'card',
  provider_payment_id: '1325908722',
  provider_status: 'approved',
  provider_status_detail: 'accredited',
  status: 'paid',
  status_detail: 'Pagamento aprovado.',
  payment_method_id: 'visa',
  amount: '50.00',
  refunded: '20.00',
  dispute: null,
  commission_percentage: '5.00',
  expires_at: null,
  pix: null,
  boleto: null,
  card: { last_four: '6351', brand: 'visa', installments: 2 },
  live_mode: true,
  provider_updated_at: '2026-11-21T09:02:11.004-03:00',
  refusal: null,
  started_at: '2026-11-21T08:20:01.007-03:00',
  updated_at: '2026-11-21T08:21:40.512-03:00',
}

/** Paid and partly refunded. */
const orderExample = {
  id: 57,
  external_id: 'LOJA-2001',
  store_alias: 'minha-loja',
  provider_reference: 'order-57-019aa6c3-7d2e-7b1a-9c54-3f0e8d6a1b42',
  status: 'paid',
  customer: { id: null, external_id: null, ...customerExample },
  items: lineExamples,
  subtotal: '41.30',
  delivery_fee: '8.70',
  total: '50.00',
  delivery: {
    method: 'delivery',
    due_at: '2026-11-21T12:00:00.000-03:00',
    address: addressExample,
  },
  delivery_state: 'out_for_delivery',
  receivable_id: null,
  metadata: null,
  payment: paymentExample,
  payments: [paymentExample],
  commission: { percentage: '5.00', amount: '2.50', store_amount: '47.50', refunded: '1.00', reversed_at: null },
  refunded_total: '20.00',
  store_net: '28.50',
  partially_refunded: true,
  dispute: null,
  refunds: [
    {
      refund_id: 'b0a6a0c4-6a2e-5f0e-9d5b-8d7f3c1e2a90',
      provider_payment_id: '1325908722',
      provider_refund_id: '1325910023',
      amount: '20.00',
      status: 'completed',
      refusal: null,
      restock: [{ catalog_item_id: 9, quantity: '1.000' }],
      requested_at: '2026-11-21T09:02:10.480-03:00',
      completed_at: '2026-11-21T09:02:11.131-03:00',
    },
  ],
  alarms: [],
  sale_id: 981,
  goods_out: [{ catalog_item_id: 9, quantity: '1.000' }],
  released_at: '2026-11-21T08:21:40.512-03:00',
  dispatched_at: '2026-11-21T11:20:00.000-03:00',
  delivered_at: null,
  refunded_at: null,
  cancelled_at: null,
  cancel_reason: null,
  forgotten_at: null,
  created_at: '2026-11-21T08:17:15.123-03:00',
  updated_at: '2026-11-21T08:21:40.512-03:00',
  payment_url: null,
}

const OrderCustomer = z
  .strictObject({
    id: ContractRecordId.nullable(),
    external_id: NullableText,
    name: NullableText,
    email: NullableText,
    document: NullableText,
    phone: NullableText,
  })
  .meta({ id: 'OrderCustomer' })

const OrderDelivery = z
  .strictObject({ method: z.enum(DELIVERY_METHODS), due_at: Timestamp.nullable(), address: Address.nullable() })
  .meta({ id: 'OrderDelivery' })

const OrderItem = z.strictObject(lineShape).meta({ id: 'OrderItem' })

const Dispute = z.strictObject({ status: z.enum(DISPUTE_STATUSES), since: Timestamp }).meta({ id: 'Dispute' })

const Pix = z
  .strictObject({
    qr_code: z.string(),
    qr_code_base64: NullableText,
    ticket_url: NullableText,
    expires_at: Timestamp.nullable(),
  })
  .meta({ id: 'Pix' })

const Boleto = z
  .strictObject({
    barcode: z.string(),
    digitable_line: NullableText,
    ticket_url: NullableText,
    due_on: z.iso.date().nullable(),
  })
  .meta({ id: 'Boleto' })

const OrderCard = z
  .strictObject({ last_four: NullableText, brand: z.string(), installments: z.int().positive().nullable() })
  .meta({ id: 'OrderCard' })

const OrderPayment = z
  .strictObject({
    attempt_id: z.uuid().nullable(),
    method: z.enum(ONLINE_METHODS).nullable(),
    provider_payment_id: NullableText,
    provider_status: NullableText,
    provider_status_detail: NullableText,
    status: z.enum(ORDER_STATUSES),
    status_detail: NullableText,
    payment_method_id: NullableText,
    amount: Amount,
    refunded: Amount,
    dispute: Dispute.nullable(),
    commission_percentage: Amount,
    expires_at: Timestamp.nullable(),
    pix: Pix.nullable(),
    boleto: Boleto.nullable(),
    card: OrderCard.nullable(),
    live_mode: z.boolean().nullable(),
    provider_updated_at: Timestamp.nullable(),
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
    refunded: Amount,
    reversed_at: Timestamp.nullable(),
  })
  .meta({ id: 'Commission' })

const StockQuantity = z
  .strictObject({ catalog_item_id: ContractRecordId, quantity: ThreeDecimals })
  .meta({ id: 'StockQuantity' })

const Refund = z
  .strictObject({
    refund_id: z.uuid(),
    provider_payment_id: z.string(),
    provider_refund_id: NullableText,
    amount: Amount,
    status: z.enum(REFUND_STATUSES),
    refusal: NullableText,
    restock: z.array(StockQuantity),
    requested_at: Timestamp,
    completed_at: Timestamp.nullable(),
  })
  .meta({ id: 'Refund' }) satisfies z.ZodType<RefundObject>

const OrderAlarm = z
  .strictObject({
    code: z.enum(ORDER_ALARMS),
    provider_payment_id: z.string(),
    raised_at: Timestamp,
    acknowledged_at: Timestamp.nullable(),
    acknowledged_by: NullableText,
  })
  .meta({ id: 'OrderAlarm' })

/** An order in answers. */
const SurplusCredit = z
  .strictObject({ provider_payment_id: z.string(), customer_id: ContractRecordId, amount: Amount })
  .meta({ id: 'SurplusCredit' })

export const OrderShape = z
  .strictObject({
    id: ContractRecordId,
    external_id: NullableText,
    store_alias: z.string(),
    provider_reference: z.string(),
    status: z.enum(ORDER_STATUSES),
    customer: OrderCustomer,
    items: z.array(OrderItem),
    subtotal: Amount,
    delivery_fee: Amount,
    total: Amount,
    delivery: OrderDelivery.nullable(),
    delivery_state: z.enum(DELIVERY_STATES).nullable(),
    receivable_id: ContractRecordId.nullable(),
    metadata: ContractMetadata,
    payment: OrderPayment.nullable(),
    payments: z.array(OrderPayment),
    commission: Commission.nullable(),
    refunded_total: Amount,
    store_net: Amount.nullable(),
    partially_refunded: z.boolean(),
    dispute: Dispute.nullable(),
    refunds: z.array(Refund),
    alarms: z.array(OrderAlarm),
    surplus_credit: SurplusCredit.optional(),
    sale_id: ContractRecordId.nullable(),
    goods_out: z.array(StockQuantity).nullable(),
    released_at: Timestamp.nullable(),
    dispatched_at: Timestamp.nullable(),
    delivered_at: Timestamp.nullable(),
    refunded_at: Timestamp.nullable(),
    cancelled_at: Timestamp.nullable(),
    cancel_reason: NullableText,
    forgotten_at: Timestamp.nullable(),
    created_at: Timestamp,
    updated_at: Timestamp,
    payment_url: NullableText,
  })
  .meta({ id: 'Order', examples: [orderExample] }) satisfies z.ZodType<ShownOrder>
