import { CancelOrderInput } from '#commands/orders/cancel-order.ts'
import { canBePaid } from '#domain/orders.ts'
import { isRefusal } from '#ledger/command.ts'
import { cancelWithProvider } from '#payments/cancel-order.ts'
import { paragraph } from '../forms/kinds.ts'
import { formPages } from '../ui/form-pages.tsx'
import { orderOf, PATH } from './orders.tsx'

const PAID = 'O pedido já foi pago: devolva o pagamento no provedor.'

export const orderCancellation = formPages({
  path: `${PATH}/:id/cancelar`,
  section: 'store',
  subject: orderOf,
  obstacle: (order) => (order.cancelled_at !== null ? 'O pedido já está cancelado.' : canBePaid(order) ? null : PAID),
  title: ({ id }) => `Cancelar pedido ${id}`,
  intro: () => (
    <p>
      O pedido não aceita mais tentativas de pagamento, e o que espera no provedor é cancelado lá. Um pagamento que for
      aprovado mesmo assim deixa o pedido pago, com um alarme.
    </p>
  ),
  label: 'Cancelar pedido',
  isDangerous: true,
  back: ({ id }) => `${PATH}/${id}`,
  fields: () => ({ reason: { label: 'Motivo', kind: paragraph, columns: 12, hint: 'Fica no histórico do pedido.' } }),
  schema: CancelOrderInput.omit({ id: true }),
  problem: ({ refused }) => (refused === 'order_already_paid' ? PAID : undefined),
  async act({ context, acting, idempotency }, { id: orderId }, { reason = null }) {
    const answer = await cancelWithProvider(context, { acting, idempotency: idempotency(), orderId, reason })
    return isRefusal(answer) ? answer : { to: `${PATH}/${orderId}`, flash: 'pedido-cancelado' }
  },
})
