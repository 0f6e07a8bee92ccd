import * as z from 'zod'
import { assignSaleCustomer } from '#commands/sales/assign-sale-customer.ts'
import { formatDateTime, formatMoney } from '#domain/brazilian-format.ts'
import { Id } from '#domain/text.ts'
import type { SaleObject } from '#projections/sales.ts'
import { getSaleTraces } from '#queries/sales/sales.ts'
import type { PageContext, PanelRoute } from '../../route.ts'
import { formPages, runAndRedirect } from '../../ui/form-pages.tsx'
import { SEARCHED_CUSTOMER } from '../finance/searched-customer.ts'
import { partyField } from '../party-field.ts'
import { saleOf } from './sale.tsx'

interface CreditSale {
  readonly sale: SaleObject
  readonly isOnCredit: boolean
}

async function creditSaleOf(visit: PageContext): Promise<CreditSale | null> {
  const { reader } = visit.readModel
  const sale = await saleOf(visit)
  const traces = sale && (await getSaleTraces(reader, sale.id))
  return sale && traces && { sale, isOnCredit: traces.receivables.length > 0 }
}

const back = ({ sale }: CreditSale): string => `/vendas/${sale.id}`

/** Gives a customer to a sale on credit that was made without one. */
export const saleCustomerPages: readonly PanelRoute[] = formPages<CreditSale, { customer_id: number }>({
  path: '/vendas/:id/cliente',
  section: 'sales',
  access: 'edit_receivables',
  subject: creditSaleOf,
  obstacle({ sale: { customer, status }, isOnCredit }) {
    if (customer !== null) return 'Esta venda já tem cliente.'
    if (status === 'cancelled') return 'A venda está cancelada.'
    return isOnCredit ? null : 'Só uma venda a prazo recebe o cliente depois.'
  },
  title: ({ sale }) => `Cliente da venda ${sale.id}`,
  label: 'Informar cliente',
  back,
  before: ({ sale: { sold_at, total } }, { readModel }) => (
    <p>{`Venda de ${formatMoney(total)}, em ${formatDateTime(sold_at, readModel.timezone)}.`}</p>
  ),
  intro: () => <p>As contas a receber desta venda passam a ser do cliente. O resto da venda não muda.</p>,
  fields: async ({ sale: { id } }, visit) => {
    const field = await partyField(visit, SEARCHED_CUSTOMER, { path: `/vendas/${id}/cliente` })
    return { customer_id: { ...field, isRequired: true, hint: 'Procure pelo nome, CPF ou CNPJ, ou telefone.' } }
  },
  schema: z.object({ customer_id: Id }),
  act: (submission, subject, { customer_id }) =>
    runAndRedirect(
      submission,
      assignSaleCustomer,
      { id: subject.sale.id, customer_id },
      { to: back(subject), flash: 'cliente-da-venda' },
    ),
})
