import * as z from 'zod'
import { ForgetInput, forgetPerson } from '#commands/forget-person.ts'
import { RefundInput } from '#commands/order-attempts.ts'
import { KeepSurplusInput, keepSurplus } from '#commands/order-charge.ts'
import {
  AcknowledgeAlarmInput,
  acknowledgeAlarm,
  CancelOrderInput,
  deliverOrder,
  dispatchOrder,
  OrderInput,
  placeOrder,
  undoDelivery,
} from '#commands/order-commands.ts'
import { NOTIFICATION_OUTCOMES } from '#domain/order-states.ts'
import { ONLINE_METHODS } from '#domain/payment-rules.ts'
import { limitedText } from '#domain/text.ts'
import { pathId, withId } from '#http/paths.ts'
import { cancelWithProvider } from '#payments/notifications.ts'
import { PayInput, type PaymentOptionsObject, paymentOptions, payOrder } from '#payments/pay-order.ts'
import { refundOrder } from '#payments/refund-order.ts'
import {
  getOrder,
  getOrderByExternalId,
  listNotifications,
  listOrders,
  type NotificationObject,
} from '#queries/order-queries.ts'
import { Amount, ContractRecordId, queryShape, Timestamp } from '#records/field.ts'
import { ORDER_FILTERS } from '#records/list-filters.ts'
import { actionRoute, commandRoute, type Route, readRoute, repeatableActionRoute, single } from '../api-route.ts'
import { pageSchema, singleSchema } from '../contract/contract-document.ts'
import { addressExample, customerExample, OrderShape } from './order-shape.ts'
import { answerPage, getByExternalRoute, getRoute, listRoute, pageQuery } from './record-routes.ts'

/** Request example of an order. */
const orderExample = {
  store_alias: 'minha-loja',
  external_id: 'LOJA-2001',
  customer: customerExample,
  items: [
    { catalog_item_id: 9, quantity: '2' },
    { description: 'Embalagem para presente', quantity: '1', unit_price: '3.50' },
  ],
  delivery_fee: '8.70',
  delivery: { method: 'delivery', due_at: '2026-11-21T12:00:00-03:00', address: addressExample },
}

/** Request example of a payment; missing data of the payer comes from the order's customer. */
const payExample = {
  method: 'pix',
  payer: { email: 'maria@exemplo.com.br' },
  expires_in_minutes: 60,
}

const InstallmentOption = z
  .strictObject({ installments: z.int().positive(), installment_amount: Amount, total_amount: Amount })
  .meta({ id: 'InstallmentOption' })

const PaymentOptions = z
  .strictObject({
    amount: Amount,
    methods: z.array(z.enum(ONLINE_METHODS)),
    card: z
      .strictObject({ brand: z.string(), installments: z.array(InstallmentOption) })
      .meta({ id: 'CardOptions' })
      .nullable(),
  })
  .meta({
    id: 'PaymentOptions',
    examples: [
      {
        amount: '50.00',
        methods: ['pix', 'card', 'boleto'],
        card: {
          brand: 'visa',
          installments: [
            { installments: 1, installment_amount: '50.00', total_amount: '50.00' },
            { installments: 2, installment_amount: '26.12', total_amount: '52.24' },
          ],
        },
      },
    ],
  }) satisfies z.ZodType<PaymentOptionsObject>

const notificationExample = {
  id: 311,
  received_at: '2026-11-21T08:21:40.480-03:00',
  payload: {
    id: 12345,
    live_mode: true,
    type: 'payment',
    date_created: '2026-11-21T07:21:39.000-04:00',
    user_id: '44444',
    api_version: 'v1',
    action: 'payment.updated',
    data: { id: '1325908722' },
  },
  response: { processed: true, order_id: 57, status: 'paid', message: 'Notificação processada.' },
  http_status: 200,
  duration_ms: 184,
  outcome: 'applied',
}

/** A stored notification of the payment provider. */
const Notification = z
  .strictObject({
    id: ContractRecordId,
    received_at: Timestamp,
    payload: z.unknown(),
    response: z.record(z.string(), z.unknown()).nullable(),
    http_status: z.int().min(100).max(599).nullable(),
    duration_ms: z.int().min(0).nullable(),
    outcome: z.enum(NOTIFICATION_OUTCOMES).nullable(),
  })
  .meta({ id: 'Notification', examples: [notificationExample] }) satisfies z.ZodType<NotificationObject>

/** Orders are created and paid here; later changes come from the payment provider. */
export const orderRoutes: readonly Route[] = [
  listRoute({
    path: '/orders',
    scope: 'orders:read',
    operation: 'listOrders',
    summary: 'Lista os pedidos',
    ofLedger: true,
    record: OrderShape,
    filters: queryShape(ORDER_FILTERS),
    list: listOrders,
  }),
  getByExternalRoute({
    path: '/orders/by-external/:external_id',
    scope: 'orders:read',
    operation: 'getOrderByExternalId',
    summary: 'Mostra o pedido com este external_id',
    record: OrderShape,
    get: getOrderByExternalId,
    fromReplica: true,
  }),
  getRoute({
    path: '/orders/:id',
    scope: 'orders:read',
    operation: 'getOrder',
    summary: 'Mostra um pedido',
    record: OrderShape,
    get: getOrder,
    fromReplica: true,
  }),
  commandRoute({
    method: 'post',
    path: '/orders',
    scope: 'orders:write',
    operation: 'createOrder',
    summary: 'Registra um pedido a pagar',
    description:
      'Enquanto não é pago, um pedido não move estoque nem é venda. Quando é pago, o serviço registra a venda e baixa o estoque, se a loja não o dispensa (`registers_sales`).',
    body: OrderInput.meta({ id: 'OrderInput' }),
    example: orderExample,
    reply: singleSchema(OrderShape),
    refusals: ['duplicate_resource', 'person_forgotten'],
    command: placeOrder,
    input: (_params, body) => body,
  }),
  repeatableActionRoute({
    path: '/orders/:id/cancel',
    scope: 'orders:write',
    operation: 'cancelOrder',
    summary: 'Cancela um pedido que não foi pago',
    description:
      'O pedido não aceita novas tentativas de pagamento. O que espera no provedor é cancelado lá antes: se foi aprovado nesse meio-tempo, a resposta é 409 e o pedido fica pago; se for aprovado depois, fica pago com um alerta. Cancelar de novo responde 200 com o pedido como está.',
    body: CancelOrderInput.omit({ id: true }),
    example: { reason: 'Desistência do cliente' },
    status: 200,
    reply: singleSchema(OrderShape),
    refusals: ['order_already_paid', 'provider_configuration_invalid'],
    act({ acting, idempotency, params, body, ...payments }) {
      const orderId = pathId(params.id)
      if (orderId === null) return null
      return cancelWithProvider(payments, { acting, idempotency, orderId, reason: body.reason ?? null })
    },
  }),
  commandRoute({
    method: 'post',
    path: '/orders/:id/forget',
    scope: 'orders:write',
    operation: 'forgetOrder',
    summary: 'Exclui os dados pessoais de quem comprou',
    description:
      'Esta ação não pode ser desfeita: nome, contatos, documento e endereço de entrega do comprador e os dados de quem pagou passam a `null` em toda parte. Um pedido que espera pagamento ainda precisa deles: 409 `retention_required`.',
    status: 200,
    body: ForgetInput.omit({ queue: true }).meta({ id: 'ForgetOrderInput' }),
    example: { ground: 'holder_request', reason: 'Protocolo 2026-118' },
    reply: singleSchema(OrderShape),
    refusals: ['retention_required'],
    command: forgetPerson,
    input: (params, body, { retentionYears: retention_years }) =>
      withId(params, { kind: 'order' as const, ...body, retention_years }),
  }),
  actionRoute({
    path: '/orders/:id/payments',
    scope: 'orders:write',
    operation: 'payOrder',
    summary: 'Inicia um pagamento do pedido no provedor',
    description:
      'Responde com o pedido, que traz em `payment` o código do Pix, a linha do boleto ou o cartão. O que falta em `payer` vem do cliente do pedido: o e-mail é sempre exigido e, para um boleto, também documento e endereço inteiro. Os dados de quem paga vão ao provedor e não são guardados. Um pedido que ainda não foi pago aceita novas tentativas, cada uma com a sua `Idempotency-Key`, que é obrigatória: repetir a chamada com ela, também depois de um 503, nunca cobra duas vezes.',
    body: PayInput.meta({ id: 'PayInput' }),
    example: payExample,
    reply: singleSchema(OrderShape),
    refusals: [
      'amount_limit',
      'order_already_paid',
      'person_forgotten',
      'payment_refused',
      'provider_configuration_invalid',
    ],
    act({ acting, idempotency, params, body, ...payments }) {
      const orderId = pathId(params.id)
      if (orderId === null) return null
      return payOrder(payments, { acting, idempotency, orderId, payment: body })
    },
  }),
  actionRoute({
    path: '/orders/:id/refunds',
    scope: 'orders:write',
    operation: 'refundOrder',
    summary: 'Estorna um pagamento do pedido, inteiro ou em parte',
    description:
      'Responde com o pedido. O estorno está `completed`, ou `pending` enquanto o provedor o processa (Pix): consulte o pedido para saber o resultado. Sem `amount`, estorna o que resta do pagamento. A `Idempotency-Key` é obrigatória: repetir a chamada com ela, também depois de um 503, estorna uma só vez.',
    body: RefundInput.meta({ id: 'RefundInput' }),
    example: { amount: '20.00', restock: [{ catalog_item_id: 9, quantity: '1' }] },
    reply: singleSchema(OrderShape),
    refusals: ['amount_limit', 'order_not_paid', 'refund_refused', 'provider_configuration_invalid'],
    act({ acting, idempotency, params, body, ...payments }) {
      const orderId = pathId(params.id)
      if (orderId === null) return null
      return refundOrder(payments, { acting, idempotency, orderId, refund: body })
    },
  }),
  commandRoute({
    method: 'post',
    path: '/orders/:id/dispatch',
    scope: 'orders:write',
    operation: 'dispatchOrder',
    summary: 'Marca que um pedido pago saiu para entrega, ou está pronto para retirar',
    description: 'Como `/deliver`. Um pedido já entregue fica como está.',
    status: 200,
    reply: singleSchema(OrderShape),
    refusals: ['order_not_paid'],
    command: dispatchOrder,
    input: (params) => withId(params, {}),
  }),
  commandRoute({
    method: 'post',
    path: '/orders/:id/deliver',
    scope: 'orders:write',
    operation: 'deliverOrder',
    summary: 'Marca um pedido pago como entregue',
    description: 'Não move estoque nem gera venda. Marcar de novo responde 200 com o pedido como está.',
    status: 200,
    reply: singleSchema(OrderShape),
    refusals: ['order_not_paid'],
    command: deliverOrder,
    input: (params) => withId(params, {}),
  }),
  commandRoute({
    method: 'post',
    path: '/orders/:id/undeliver',
    scope: 'orders:write',
    operation: 'undoOrderDelivery',
    summary: 'Desfaz as marcas de saída e de entrega de um pedido',
    description:
      'Para marcas postas por engano: `dispatched_at` e `delivered_at` voltam a ser nulos. Dinheiro e estoque ficam como estão. Sem marcas, responde 200 com o pedido como está.',
    status: 200,
    reply: singleSchema(OrderShape),
    command: undoDelivery,
    input: (params) => withId(params, {}),
  }),
  commandRoute({
    method: 'post',
    path: '/orders/:id/alarms/:provider_payment_id/acknowledge',
    scope: 'orders:write',
    operation: 'acknowledgeOrderAlarm',
    summary: 'Marca como lido o alerta que um pagamento do pedido causou',
    description:
      'Fica registrado quem leu e quando; `GET /orders?alarm=open` deixa de listar o pedido quando não há outro. Marcar de novo responde 200 com o pedido como está.',
    status: 200,
    reply: singleSchema(OrderShape),
    command: acknowledgeAlarm,
    input: ({ id, provider_payment_id = '' }) => {
      const named = AcknowledgeAlarmInput.safeParse({ id: pathId(id), provider_payment_id })
      return named.data ?? null
    },
  }),
  commandRoute({
    method: 'post',
    path: '/orders/:id/surplus-credit',
    scope: 'orders:write',
    operation: 'keepOrderSurplus',
    summary: 'Guarda o que uma cobrança trouxe a mais como crédito de troca do cliente',
    description:
      'Do pagamento que trouxe mais do que a conta devia (alerta `account_overpaid`), o que não foi estornado. Marca o alerta como lido. Repetível: o crédito é dado uma vez. Se o dinheiro voltar depois, o crédito é retirado.',
    body: KeepSurplusInput.omit({ id: true }).meta({ id: 'SurplusCreditInput' }),
    example: { customer_id: 7 },
    status: 200,
    reply: singleSchema(OrderShape),
    refusals: ['person_forgotten'],
    command: keepSurplus,
    input: (params, body) => withId(params, body),
  }),
  readRoute({
    path: '/orders/:id/payment-options',
    scope: 'orders:read',
    operation: 'getPaymentOptions',
    summary: 'Mostra como o pedido pode ser pago no provedor',
    description:
      'Pergunta ao provedor, a cada chamada, que meios a conta da loja aceita e, com `bin`, em quantas parcelas o cartão paga o total do pedido.',
    query: z.strictObject({
      bin: limitedText(20)
        .regex(/^\d{6,8}$/, 'deve ter os 6 a 8 primeiros dígitos do cartão')
        .optional(),
    }),
    reply: singleSchema(PaymentOptions),
    refusals: ['provider_configuration_invalid'],
    async read({ pool, vault, provider, caller, params, query }) {
      const orderId = pathId(params.id)
      if (orderId === null) return null
      const options = await paymentOptions({ pool, vault, provider }, { ...caller, orderId, bin: query.bin })
      return options && { body: single(JSON.stringify(options)) }
    },
  }),
  readRoute({
    path: '/orders/:id/notifications',
    scope: 'orders:read',
    operation: 'listOrderNotifications',
    summary: 'Lista as notificações do provedor de pagamento sobre um pedido',
    description:
      'Todas as que chegaram ao endereço do pedido, na ordem da chegada, também as recusadas e as que falharam. São guardadas por 400 dias.',
    query: pageQuery({}),
    reply: pageSchema(Notification),
    async read({ reader, paymentLinks, params, query }) {
      const order = pathId(params.id)
      if (order === null || !(await getOrder(reader, order, { paymentLinks })).record) return null
      const page = await listNotifications(reader, order, query)
      return answerPage(page, query.limit)
    },
  }),
]
