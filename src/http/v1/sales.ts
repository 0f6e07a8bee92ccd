import { z } from 'zod'
import { cancelSale } from '../../../commands/sales/cancel-sale.ts'
import { registerSale, SaleInput } from '../../../commands/sales/register-sale.ts'
import { getSale, getSaleByExternalId } from '../../../queries/sales/get-sale.ts'
import { listPaymentTypes } from '../../../queries/sales/list-payment-types.ts'
import { listSales } from '../../../queries/sales/list-sales.ts'
import { ExternalId, optionalText } from '../../domain/text.ts'
import { type Route, read, withId, write } from '../route.ts'
import { QueryDate, QueryId } from './list-query.ts'
import { answerRecord, getRoute, listRoute } from './record-routes.ts'

/** Sales are registered complete and never edited; there is no PATCH (spec, States: sales). */
export const saleRoutes: readonly Route[] = [
  listRoute({
    path: '/sales',
    scope: 'sales:read',
    summary: 'Lista as vendas',
    /** Days are the company's own, inclusive. */
    filters: {
      status: z.enum(['completed', 'cancelled']).optional(),
      origin: z.enum(['api', 'pdv', 'system']).optional(),
      customer_id: QueryId.optional(),
      external_id: ExternalId.optional(),
      sold_from: QueryDate.optional(),
      sold_to: QueryDate.optional(),
    },
    list: (pool, companyId, query, { timezone }) => listSales(pool, companyId, { ...query, timezone }),
  }),
  read({
    path: '/sales/payment-types',
    scope: 'sales:read',
    summary: 'Lista as formas de pagamento da empresa, também as que a API não aceita',
    async read({ pool, caller }) {
      const { data, revision } = await listPaymentTypes(pool, caller.companyId)
      return { body: `{"data":[${data}]}`, revision }
    },
  }),
  read({
    path: '/sales/by-external/:external_id',
    scope: 'sales:read',
    summary: 'Mostra a venda com este external_id',
    async read({ pool, caller, params }) {
      const externalId = ExternalId.safeParse(params.external_id)
      return externalId.success
        ? answerRecord(await getSaleByExternalId(pool, caller.companyId, externalId.data))
        : null
    },
  }),
  getRoute({ path: '/sales/:id', scope: 'sales:read', summary: 'Mostra uma venda', get: getSale }),
  write({
    method: 'post',
    path: '/sales',
    scope: 'sales:write',
    summary: 'Registra uma venda paga',
    body: SaleInput,
    command: registerSale,
    input: (_params, body) => body,
  }),
  write({
    method: 'post',
    path: '/sales/:id/cancel',
    scope: 'sales:write',
    summary: 'Cancela uma venda registrada pela API e devolve o estoque',
    body: z.strictObject({ reason: optionalText(500) }),
    command: cancelSale,
    input: (params, body) => withId(params, body),
  }),
]
