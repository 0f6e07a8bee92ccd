import { CancelOrderInput } from '#commands/orders/cancel-order.ts'
import { formatDateTime } from '#domain/brazilian-format.ts'
import { canBePaid } from '#domain/orders.ts'
import { boundedText } from '#domain/text.ts'
import { httpStatusOf } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import { cancelWithProvider } from '#payments/cancel-order.ts'
import type { OrderObject } from '#projections/orders.ts'
import { reasonField } from '../forms/form.ts'
import { Cancelled } from '../ui/cancelled.tsx'
import { formPages, obstaclePage } from '../ui/form-pages.tsx'
import { ButtonLink } from '../ui/parts.tsx'
import { obstacleToRefund } from './order-refund.tsx'
import { ORDERS_PATH, orderOf } from './orders.tsx'

const PAID = 'O pedido já foi pago: em vez de cancelar, estorne o pagamento.'

function obstacleOf(order: OrderObject): string | null {
  if (canBePaid(order)) return null
  if (order.cancelled_at !== null) return 'O pedido já está cancelado.'
  return order.status === 'paid' ? PAID : 'O pedido já foi pago e estornado.'
}

const title = ({ id }: OrderObject) => `Cancelar pedido ${id}`
const back = ({ id }: OrderObject) => `${ORDERS_PATH}/${id}`

/** The alternative for a paid order, if the role allows it. */
const RefundButton = ({ order }: { readonly order: OrderObject }) =>
  obstacleToRefund(order) === null ? (
    <ButtonLink to={`${back(order)}/devolver`} isMain>
      Estornar pagamento
    </ButtonLink>
  ) : null

export const orderCancellation = formPages({
  path: `${ORDERS_PATH}/:id/cancelar`,
  access: 'cancel_all',
  section: 'store',
  subject: orderOf,
  obstacle: obstacleOf,
  instead: (order) => <RefundButton order={order} />,
  title,
  intro: () => (
    <p>
      O pedido deixa de aceitar pagamentos e as cobranças pendentes são canceladas no provedor. Se um pagamento for
      aprovado mesmo assim, o pedido fica pago, com um alerta.
    </p>
  ),
  label: 'Cancelar pedido',
  isDangerous: true,
  back,
  before: (order, { readModel }) => (
    <Cancelled when={['Data do pedido', formatDateTime(order.created_at, readModel.timezone)]} of={order} />
  ),
  fields: () => ({ reason: reasonField('Fica no histórico do pedido.') }),
  schema: CancelOrderInput.omit({ id: true }).extend({ reason: boundedText(500) }),
  async act(submission, order, { reason }) {
    const { context, acting, idempotency } = submission
    const orderId = order.id
    const answer = await cancelWithProvider(context.payments, { acting, idempotency: idempotency(), orderId, reason })
    if (!isRefusal(answer)) return { to: back(order), flash: 'pedido-cancelado' }
    if (answer.refused !== 'order_already_paid') return answer
    const paid = (await orderOf(submission)) ?? order
    const instead = <RefundButton order={paid} />
    return { ...obstaclePage(title(order), PAID, back(order), instead), status: httpStatusOf(answer.refused) }
  },
})
