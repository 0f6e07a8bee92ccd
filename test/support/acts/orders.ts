import fc from 'fast-check'
import {
  CompleteRefundInput,
  completeRefund,
  RefusePaymentInput,
  RefuseRefundInput,
  RequestRefundInput,
  refusePayment,
  refuseRefund,
  requestRefund,
  StartPaymentInput,
  startPayment,
} from '#commands/order-attempts.ts'
import {
  AcknowledgeAlarmInput,
  acknowledgeAlarm,
  CancelOrderInput,
  cancelOrder,
  deliverOrder,
  dispatchOrder,
  MarkOrderInput,
  OrderInput,
  placeOrder,
  undoDelivery,
} from '#commands/order-commands.ts'
import { RecordPaymentInput, recordPayment } from '#commands/order-payment-command.ts'
import { AcceptRefundInput, acceptRefund, SettleRefundInput, settleRefund } from '#commands/order-settlement.ts'
import {
  CreateStoreInput,
  createStore,
  disableStore,
  enableStore,
  SwitchStoreInput,
  UpdateStoreInput,
  updateStore,
} from '#commands/store-commands.ts'
import { attemptId } from '../facts.ts'
import { type Act, maybe, nullable, place } from './act.ts'

/** A secret that no event may contain. */
export const ACCESS_TOKEN = 'APP_USR-SECRETSECRETSECRETSECRET'
export const NOTIFICATION_SECRET = 'SECRETNOTIFICATIONSECRETNOTIFICATION'

/** Few, so that most orders find their store, and several companies meet at an alias. */
const alias = fc.constantFrom('loja-a', 'loja-b')
const percentage = fc.constantFrom('0', '5', '3.33', '100')
const registers_sales = maybe(fc.boolean())
const secrets = {
  access_token: maybe(fc.constant(ACCESS_TOKEN)),
  notification_secret: maybe(fc.constantFrom(NOTIFICATION_SECRET, `${NOTIFICATION_SECRET}-2`)),
}

const line = fc.oneof(
  fc.record({ catalog_item_id: place, quantity: fc.constantFrom('1', '2.345') }),
  fc.record({
    description: fc.constant('Bolo'),
    quantity: fc.constant('1'),
    unit_price: fc.constantFrom('0.00', '18.90'),
  }),
)

const listedRefunds = fc.uniqueArray(
  fc.record({
    id: fc.constantFrom('d1', 'd2', 'd3'),
    amount: fc.constantFrom('0.10', '10.00'),
    status: fc.constantFrom('pending', 'completed', 'refused'),
  }),
  { selector: ({ id }) => id, maxLength: 3 },
)

const attempt = fc.nat({ max: 3 }).map(attemptId)
const payment = fc.record({
  id: place,
  attempt_id: fc.option(attempt),
  provider_payment_id: fc.nat({ max: 3 }).map((n) => `p${n}`),
  provider_status: fc.constantFrom(
    'pending',
    'approved',
    'approved',
    'rejected',
    'cancelled',
    'refunded',
    'in_mediation',
    'charged_back',
    'unheard_of',
  ),
  status_detail: fc.constantFrom(null, 'accredited', 'settled', 'reimbursed', 'expired'),
  live_mode: fc.boolean(),
  refunded: maybe(fc.constantFrom('0.00', '0.10', '10.00')),
  refunds: maybe(listedRefunds),
  changed_at: maybe(fc.nat({ max: 5 }).map((n) => `2026-03-10T12:00:0${n}.000Z`)),
})

export const orderActs = {
  createStore: {
    kind: 'store',
    weight: 3,
    command: createStore,
    schema: CreateStoreInput,
    input: fc.record({ alias, commission_percentage: percentage, sandbox: fc.boolean(), registers_sales, ...secrets }),
  },
  updateStore: {
    kind: 'store',
    weight: 1,
    command: updateStore,
    schema: UpdateStoreInput,
    input: fc.record({ alias, commission_percentage: maybe(percentage), registers_sales, ...secrets }),
  },
  disableStore: {
    kind: 'store',
    weight: 1,
    command: disableStore,
    schema: SwitchStoreInput,
    input: fc.record({ alias }),
  },
  enableStore: {
    kind: 'store',
    weight: 2,
    command: enableStore,
    schema: SwitchStoreInput,
    input: fc.record({ alias }),
  },
  placeOrder: {
    kind: 'order',
    weight: 4,
    command: placeOrder,
    schema: OrderInput,
    input: fc.record({
      store_alias: alias,
      external_id: fc.oneof(fc.constant(undefined), fc.constantFrom('a', 'b')),
      customer: fc.record({ name: fc.constantFrom('Ana', 'João'), email: nullable(fc.constant('a@example.com')) }),
      items: fc.array(line, { minLength: 1, maxLength: 3 }),
      delivery_fee: maybe(fc.constant('5.00')),
      delivery: maybe(
        fc.constantFrom(
          { method: 'pickup' as const, due_at: '2026-03-11T12:00:00.000Z' },
          { method: 'delivery' as const, address: { street: 'Rua Um', district: 'Centro', city: 'Recife' } },
        ),
      ),
    }),
  },
  cancelOrder: {
    kind: 'order',
    weight: 1,
    command: cancelOrder,
    schema: CancelOrderInput,
    input: fc.record({ id: place, reason: nullable(fc.constant('Desistência')) }),
  },
  startPayment: {
    kind: 'order',
    weight: 4,
    command: startPayment,
    schema: StartPaymentInput,
    input: fc.record({
      id: place,
      attempt_id: attempt,
      idempotency_key: fc.constantFrom(null, 'k', 'l'),
      payment_method_id: fc.constantFrom('pix', 'visa'),
      expires_in_minutes: maybe(fc.constantFrom(31, 60)),
    }),
  },
  refusePayment: {
    kind: 'order',
    weight: 1,
    command: refusePayment,
    schema: RefusePaymentInput,
    input: fc.record({ id: place, attempt_id: attempt, reason: fc.constant('3034: Invalid card') }),
  },
  requestRefund: {
    kind: 'order',
    weight: 3,
    command: requestRefund,
    schema: RequestRefundInput,
    input: fc.record({
      id: place,
      refund_id: fc.nat({ max: 3 }).map((n) => attemptId(n + 10)),
      idempotency_key: fc.constantFrom('k', 'l', 'm'),
      amount: maybe(fc.constantFrom('0.10', '10.00')),
      restock: maybe(fc.array(fc.record({ catalog_item_id: place, quantity: fc.constant('1') }), { maxLength: 2 })),
    }),
  },
  refuseRefund: {
    kind: 'order',
    weight: 1,
    command: refuseRefund,
    schema: RefuseRefundInput,
    input: fc.record({
      id: place,
      refund_id: fc.nat({ max: 3 }).map((n) => attemptId(n + 10)),
      reason: fc.constant('2063'),
    }),
  },
  settleRefund: {
    kind: 'order',
    weight: 2,
    command: settleRefund,
    schema: SettleRefundInput,
    input: fc.record({
      id: place,
      refund_id: fc.nat({ max: 3 }).map((n) => attemptId(n + 10)),
      listed: listedRefunds,
      refusal: fc.constantFrom(null, '2063'),
    }),
  },
  acceptRefund: {
    kind: 'order',
    weight: 1,
    command: acceptRefund,
    schema: AcceptRefundInput,
    input: fc.record({
      id: place,
      refund_id: fc.nat({ max: 3 }).map((n) => attemptId(n + 10)),
      provider_refund_id: fc.constantFrom('d1', 'd2'),
    }),
  },
  completeRefund: {
    kind: 'order',
    weight: 2,
    command: completeRefund,
    schema: CompleteRefundInput,
    input: fc.record({
      id: place,
      refund_id: fc.nat({ max: 3 }).map((n) => attemptId(n + 10)),
      provider_refund_id: fc.constant('d1'),
    }),
  },
  dispatchOrder: {
    kind: 'order',
    weight: 1,
    command: dispatchOrder,
    schema: MarkOrderInput,
    input: fc.record({ id: place }),
  },
  deliverOrder: {
    kind: 'order',
    weight: 1,
    command: deliverOrder,
    schema: MarkOrderInput,
    input: fc.record({ id: place }),
  },
  undoDelivery: {
    kind: 'order',
    weight: 1,
    command: undoDelivery,
    schema: MarkOrderInput,
    input: fc.record({ id: place }),
  },
  acknowledgeAlarm: {
    kind: 'order',
    weight: 1,
    command: acknowledgeAlarm,
    schema: AcknowledgeAlarmInput,
    input: fc.record({ id: place, provider_payment_id: fc.nat({ max: 3 }).map((n) => `p${n}`) }),
  },
  recordPayment: { kind: 'order', weight: 6, command: recordPayment, schema: RecordPaymentInput, input: payment },
} satisfies Record<string, Act>
