import { CancelOrderInput, cancelOrder } from '#commands/orders/cancel-order.ts'
import { paragraph } from '../forms/kinds.ts'
import { formPages, runAndRedirect } from '../ui/form-pages.tsx'
import { isOpen, orderOf, PATH } from './orders.tsx'

const PAID = 'O pedido já foi pago: devolva o pagamento no provedor.'

export const orderCancellation = formPages({
  path: `${PATH}/:id/cancelar`,
  section: 'store',
  subject: orderOf,
  obstacle: (order) => (order.cancelled_at !== null ? 'O pedido já está cancelado.' : isOpen(order) ? null : PAID),
  title: ({ id }) => `Cancelar pedido ${id}`,
  intro: () => (
    <p>
      O pedido não aceita mais tentativas de pagamento. O provedor não é avisado: se um pagamento pendente ainda for
      aprovado lá, o pedido fica pago, com um alarme.
    </p>
  ),
  label: 'Cancelar pedido',
  isDangerous: true,
  back: ({ id }) => `${PATH}/${id}`,
  fields: () => ({ reason: { label: 'Motivo', kind: paragraph, columns: 12, hint: 'Fica no histórico do pedido.' } }),
  schema: CancelOrderInput.omit({ id: true }),
  problem: ({ refused }) => (refused === 'order_already_paid' ? PAID : undefined),
  act: (submission, { id }, input) =>
    runAndRedirect(submission, cancelOrder, { ...input, id }, { to: `${PATH}/${id}`, flash: 'pedido-cancelado' }),
})
