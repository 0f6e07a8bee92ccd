import { findSurplus, KeepSurplusInput, keepSurplus } from '#commands/order-charge.ts'
import { fromCents } from '#domain/money.ts'
import { formatMoney } from '#domain/person-values.ts'
import type { CustomerOfReceivable } from '#projections/finance.ts'
import type { OrderObject } from '#projections/orders.ts'
import { getAccount, receivableListing } from '#queries/account-queries.ts'
import type { PageContext, PanelRoute } from '../panel-route.ts'
import { formPages, runAndRedirect } from '../ui/form-pages.tsx'
import type { Account } from './account-parts.tsx'
import { SEARCHED_CUSTOMER } from './debtor-pages.tsx'
import { loadOrder, ORDERS_PATH, SURPLUS_PATH } from './order-lists.tsx'
import { partyField } from './person-form.tsx'

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
