import { z } from 'zod'
import { OrderInput, placeOrder } from '#commands/orders/place-order.ts'
import { ORDER_STATUSES } from '#domain/orders.ts'
import { ExternalId, text } from '#domain/text.ts'
import { pathId } from '#http/paths.ts'
import { PayInput, payOrder } from '#payments/pay-order.ts'
import { getOrder, listOrders } from '#queries/orders.ts'
import { singleOf } from '../contract/envelopes.ts'
import { Order, orderExample, payExample } from '../contract/records/orders.ts'
import { action, type Route, write } from '../route.ts'
import { getRoute, listRoute } from './record-routes.ts'

/** Orders are placed and paid; what becomes of them, the payment provider tells (ORDER-8). */
export const orderRoutes: readonly Route[] = [
  listRoute({
    path: '/orders',
    scope: 'orders:read',
    operation: 'listOrders',
    summary: 'Lista os pedidos',
    ofLedger: true,
    record: Order,
    filters: {
      status: z.enum(ORDER_STATUSES).optional(),
      store_alias: text(60).optional(),
      external_id: ExternalId.optional(),
    },
    list: listOrders,
  }),
  getRoute({
    path: '/orders/:id',
    scope: 'orders:read',
    operation: 'getOrder',
    summary: 'Mostra um pedido',
    record: Order,
    get: getOrder,
  }),
  write({
    method: 'post',
    path: '/orders',
    scope: 'orders:write',
    operation: 'createOrder',
    summary: 'Registra um pedido a pagar',
    description: 'Um pedido não move estoque nem gera venda: registre a venda ao entregar a mercadoria.',
    body: OrderInput.meta({ id: 'OrderInput' }),
    example: orderExample,
    reply: singleOf(Order),
    refusals: ['duplicate_resource'],
    command: placeOrder,
    input: (_params, body) => body,
  }),
  action({
    path: '/orders/:id/payments',
    scope: 'orders:write',
    operation: 'payOrder',
    summary: 'Inicia um pagamento do pedido no provedor',
    description:
      'Responde com o pedido. Um pedido que ainda não foi pago aceita novas tentativas. Use uma `Idempotency-Key`: repetir a chamada com ela, também depois de um 503, nunca cobra duas vezes.',
    body: PayInput.meta({ id: 'PayInput' }),
    example: payExample,
    reply: singleOf(Order),
    refusals: ['order_already_paid', 'payment_refused', 'provider_configuration_invalid'],
    act({ caller, requestId, idempotency, params, body, ...payments }) {
      const orderId = pathId(params.id)
      if (orderId === null) return null
      const { companyId, keyId } = caller
      const paying = { companyId, actor: `api_key/${keyId}`, requestId, idempotency, orderId, payment: body }
      return payOrder(payments, paying)
    },
  }),
]
