import * as z from 'zod'
import { isPaid, leftToRestock, type PaidPayment, RefundInput, refundableCents } from '#commands/order-attempts.ts'
import { findSurplus, KeepSurplusInput, keepSurplus } from '#commands/order-charge.ts'
import { CancelOrderInput } from '#commands/order-commands.ts'
import { fromCents, fromThousandths } from '#domain/money.ts'
import { canBePaid } from '#domain/order-states.ts'
import { formatCents, formatDateTime, formatMoney, formatUnits } from '#domain/person-values.ts'
import type { Refusal } from '#domain/refusals.ts'
import { boundedText } from '#domain/text.ts'
import { toHttpStatus } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Answer } from '#ledger/write/idempotency.ts'
import { cancelWithProvider } from '#payments/notifications.ts'
import { ProviderUnavailable } from '#payments/provider-port.ts'
import { refundOrder, repeatRefund } from '#payments/refund-order.ts'
import type { CustomerOfReceivable } from '#projections/finance.ts'
import type { OrderObject } from '#projections/orders.ts'
import { getAccount, receivableListing } from '#queries/account-queries.ts'
import { findUnits, itemsWithStock } from '#queries/item-queries.ts'
import * as kinds from '../forms/input-kinds.ts'
import { type Fields, formText, reasonField } from '../forms/panel-form.ts'
import type { PageContext, PanelRoute, Redirect } from '../panel-route.ts'
import { buttonRoute, formPages, obstaclePage, runAndRedirect } from '../ui/form-pages.tsx'
import { Cancelled } from '../ui/head.tsx'
import { ButtonLink } from '../ui/page-parts.tsx'
import type { Account } from './account-parts.tsx'
import { SEARCHED_CUSTOMER } from './debtor-pages.tsx'
import { loadOrder, ORDERS_PATH, SURPLUS_PATH } from './order-lists.tsx'
import { partyField } from './person-form.tsx'

/** Refundable payments with the remaining amount in cents. */
const refundable = (order: OrderObject): { payment: PaidPayment; left: number }[] =>
  order.payments
    .filter(isPaid)
    .map((payment) => ({ payment, left: refundableCents(payment, order) }))
    .filter(({ left }) => left > 0)

/** Why an order cannot be refunded; null if it can. */
export function obstacleToRefund(order: OrderObject): string | null {
  if (!order.payments.some(isPaid)) return 'O pedido não tem pagamento a estornar.'
  return refundable(order).length > 0 ? null : 'Todo o valor do pedido já foi estornado ou está em processamento.'
}

async function fieldsOf(order: OrderObject, { readModel }: PageContext): Promise<Fields> {
  const payments = refundable(order)
  const left = payments.map(({ left }) => formatCents(left)).join(' ou ')
  return {
    ...(payments.length > 1 && {
      provider_payment_id: {
        label: 'Pagamento',
        kind: kinds.choiceInput(
          payments.map(({ payment, left }) => ({
            value: payment.provider_payment_id,
            label: `${payment.provider_payment_id}: restam ${formatCents(left)}`,
          })),
        ),
        isRequired: true,
        columns: 12,
      },
    }),
    amount: {
      label: 'Valor',
      kind: kinds.amountInput,
      hint: `Deixe em branco para estornar tudo (${left}).`,
      columns: 12,
    },
    ...(await restockFields(order, readModel)),
  }
}

/** Quantity to restock of each item with tracked stock. */
async function restockFields(order: OrderObject, { reader }: PageContext['readModel']): Promise<Fields> {
  const names = new Map(order.items.map(({ catalog_item_id, description }) => [catalog_item_id, description]))
  const ids = [...names.keys()].filter((id) => id !== null).filter((id) => leftToRestock(order, id) > 0)
  const kept = ids.length === 0 ? new Set<number>() : await itemsWithStock(reader, ids)
  const shown = ids.filter((id) => kept.has(id))
  const units = await findUnits(reader, order.items)
  return Object.fromEntries(
    shown.map((id, at) => [
      `restock.${id}`,
      {
        label: names.get(id) ?? '',
        kind: kinds.quantityInput,
        hint: `Até ${formatUnits(fromThousandths(leftToRestock(order, id)), units.get(id))}.`,
        ...(at === 0 && { group: 'Quantidades que voltam ao estoque' }),
      },
    ]),
  )
}

/** Converts quantities by item to a list, without empty and zero ones. */
const RefundForm = z.preprocess((typed) => {
  const { restock, ...rest } = typed as { restock?: Record<string, string | null> | null }
  const back = Object.entries(restock ?? {}).filter(([, quantity]) => /[1-9]/.test(quantity ?? ''))
  return { ...rest, restock: back.map(([id, quantity]) => ({ catalog_item_id: Number(id), quantity })) }
}, RefundInput)
type RefundForm = z.infer<typeof RefundInput>

/** Maps a refusal to the form's fields: `restock[0].quantity` becomes the field of that item. */
function ofForm(refusal: Refusal, { restock }: RefundForm): Refusal {
  const { fields, ...details } = refusal.details ?? {}
  if (fields === undefined) return refusal
  const named = Object.entries(fields as Record<string, string[]>).map(([name, messages]) => {
    const [, at] = /^restock\[(\d+)\]/.exec(name) ?? []
    return [at === undefined ? name : `restock.${restock?.[Number(at)]?.catalog_item_id}`, messages]
  })
  return { ...refusal, details: { ...details, fields: Object.fromEntries(named) } }
}

/** The provider's own words. */
function problemOf({ refused, details }: Refusal): string | undefined {
  if (refused !== 'refund_refused') return undefined
  const causes = (details?.causes ?? []) as readonly { code: string; description: string }[]
  if (causes[0]?.code === 'refund_found') return `Nada foi estornado agora: ${causes[0].description}.`
  return `O provedor recusou o estorno e nada foi estornado: ${causes.map(({ code, description }) => `${description} (${code})`).join('; ')}.`
}

/** Where the browser goes after a refund request. */
async function outcomeOf(
  orderId: number,
  ask: () => Promise<Answer | Refusal | null>,
): Promise<Redirect | Refusal | null> {
  const to = `${ORDERS_PATH}/${orderId}`
  try {
    const answer = await ask()
    if (answer !== null && isRefusal(answer)) return answer
    return {
      to,
      flash: answer === null ? 'sem-alteracao' : isInProcess(answer) ? 'estorno-em-processamento' : 'devolvido',
    }
  } catch (error) {
    // The refund is recorded and retried until the provider answers.
    if (error instanceof ProviderUnavailable) return { to, flash: 'devolucao-pendente' }
    throw error
  }
}

const isInProcess = ({ record }: Answer): boolean =>
  (record as OrderObject).refunds.some(({ status }) => status === 'pending')

/** Hidden field with the id of a refund. */
export const REFUND = 'devolucao'

/** Refunds a payment in full or in part, with restocked items, and retries unanswered refunds. */
export const orderRefundPages: readonly PanelRoute[] = [
  ...formPages({
    path: `${ORDERS_PATH}/:id/devolver`,
    section: 'store',
    access: 'refund_orders',
    subject: loadOrder,
    obstacle: obstacleToRefund,
    title: ({ id }) => `Estornar pagamento do pedido ${id}`,
    intro: () => (
      <p>
        O valor será estornado ao cliente e a comissão será devolvida proporcionalmente. Esta ação não pode ser
        desfeita.
      </p>
    ),
    label: 'Estornar',
    isDangerous: true,
    showsChanges: true,
    back: ({ id }) => `${ORDERS_PATH}/${id}`,
    fields: fieldsOf,
    schema: RefundForm,
    problem: problemOf,
    act: ({ context, acting, idempotency, note }, { id: orderId }, refund) =>
      outcomeOf(orderId, async () => {
        const answer = await refundOrder(context.payments, { acting, idempotency: idempotency(), orderId, refund })
        return isRefusal(answer) ? ofForm(answer, refund) : note(answer)
      }),
  }),
  buttonRoute({
    path: `${ORDERS_PATH}/:id/pedir-devolucao`,
    section: 'store',
    access: 'refund_orders',
    subject: loadOrder,
    act: ({ context, acting, form }, { id: orderId }) =>
      outcomeOf(orderId, () => repeatRefund(context.payments, { acting, orderId, refundId: formText(form, REFUND) })),
  }),
]

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
  subject: loadOrder,
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
  before: (order, visit) =>
    Cancelled({
      visit,
      when: ['Data do pedido', formatDateTime(order.created_at, visit.readModel.timezone)],
      of: order,
    }),
  fields: () => ({ reason: reasonField('Fica no histórico do pedido.') }),
  schema: CancelOrderInput.omit({ id: true }).extend({ reason: boundedText(500) }),
  async act(submission, order, { reason }) {
    const { context, acting, idempotency } = submission
    const orderId = order.id
    const answer = await cancelWithProvider(context.payments, { acting, idempotency: idempotency(), orderId, reason })
    if (!isRefusal(answer)) return { to: back(order), flash: 'pedido-cancelado' }
    if (answer.refused !== 'order_already_paid') return answer
    const paid = (await loadOrder(submission)) ?? order
    const instead = <RefundButton order={paid} />
    return { ...obstaclePage(title(order), PAID, back(order), instead), status: toHttpStatus(answer.refused) }
  },
})

/** A charge with what it brought beyond its account, in cents. */
interface Surplus {
  readonly order: OrderObject
  readonly account: Account<CustomerOfReceivable>
  readonly cents: number
}

async function surplusOf(visit: PageContext): Promise<Surplus | null> {
  const { reader, today } = visit.readModel
  const order = await loadOrder(visit)
  const { record } = order?.receivable_id ? await getAccount(reader, receivableListing, order.receivable_id, today) : {}
  if (!order || !record) return null
  const account = JSON.parse(record) as Surplus['account']
  const receipt = account.payments.find(({ order_id, reversed_at }) => order_id === order.id && reversed_at === null)
  return { order, account, cents: findSurplus(order, receipt?.excess ?? '0.00')?.cents ?? 0 }
}

const orderPath = ({ order }: Surplus): string => `${ORDERS_PATH}/${order.id}`

/** Keeps what a charge brought beyond its account as store credit of the customer. */
export const surplusPages: readonly PanelRoute[] = formPages({
  path: SURPLUS_PATH,
  section: 'store',
  access: 'refund_orders',
  subject: surplusOf,
  obstacle: ({ cents, order: { surplus_credit } }) => {
    if (cents > 0) return null
    return surplus_credit ? 'O valor a mais já é crédito do cliente.' : 'Esta cobrança não trouxe valor a mais.'
  },
  title: () => 'Guardar como crédito do cliente',
  intro: ({ cents }) => (
    <p>
      O link trouxe <strong>{formatMoney(fromCents(cents))}</strong> a mais do que a conta devia. O valor vira crédito
      de troca, que paga compras no caixa. Se o pagamento for estornado ou contestado depois, o crédito é retirado.
    </p>
  ),
  label: 'Guardar como crédito',
  back: orderPath,
  fields: async (surplus, visit) => ({
    customer_id: {
      ...(await partyField(visit, SEARCHED_CUSTOMER, { path: `${orderPath(surplus)}/credito` })),
      label: 'Cliente do crédito',
      hint:
        surplus.account.customer_name === null
          ? 'Procure pelo nome, CPF, CNPJ ou telefone.'
          : `Se vazio, ${surplus.account.customer_name}.`,
    },
  }),
  schema: KeepSurplusInput.omit({ id: true }),
  act: (submission, surplus, input) =>
    runAndRedirect(
      submission,
      keepSurplus,
      { ...input, id: surplus.order.id },
      { to: orderPath(surplus), flash: 'credito-guardado' },
    ),
})
