import { z } from 'zod'
import { cancelSale } from '#commands/sales/cancel-sale.ts'
import { registerSale, SaleInput } from '#commands/sales/register-sale.ts'
import { ExternalId, optionalText } from '#domain/text.ts'
import { withId } from '#http/paths.ts'
import { QueryId } from '#http/query-values.ts'
import { listPaymentTypes } from '#queries/payment-types.ts'
import { getSale, getSaleByExternalId, listSales } from '#queries/sales/sales.ts'
import { singleOf } from '../contract/envelopes.ts'
import { PaymentType, Sale, saleExample } from '../contract/records/sales.ts'
import { type Route, read, write } from '../route.ts'
import { QueryDate } from './list-query.ts'
import { answerRecord, getRoute, listRoute } from './record-routes.ts'

/** Sales are registered complete and never edited; there is no PATCH (SALE-15). */
export const saleRoutes: readonly Route[] = [
  listRoute({
    path: '/sales',
    scope: 'sales:read',
    operation: 'listSales',
    summary: 'Lista as vendas',
    ofLedger: true,
    record: Sale,
    /** Days are the company's own, inclusive. */
    filters: {
      status: z.enum(['completed', 'cancelled']).optional(),
      origin: z.enum(['api', 'pdv', 'system']).optional(),
      customer_id: QueryId.optional(),
      external_id: ExternalId.optional(),
      offline_id: ExternalId.optional(),
      sold_from: QueryDate.optional(),
      sold_to: QueryDate.optional(),
    },
    list: (pool, companyId, query, { timezone }) => listSales(pool, companyId, { ...query, timezone }),
  }),
  read({
    path: '/sales/payment-types',
    scope: 'sales:read',
    operation: 'listPaymentTypes',
    summary: 'Lista as formas de pagamento da empresa, também as que a API não aceita',
    reply: z.strictObject({ data: z.array(PaymentType) }),
    async read({ pool, caller }) {
      const { data, revision } = await listPaymentTypes(pool, caller.companyId)
      return { body: `{"data":[${data}]}`, revision }
    },
  }),
  read({
    path: '/sales/by-external/:external_id',
    scope: 'sales:read',
    operation: 'getSaleByExternalId',
    summary: 'Mostra a venda com este external_id',
    reply: singleOf(Sale),
    async read({ pool, caller, params }) {
      const externalId = ExternalId.safeParse(params.external_id)
      return externalId.success
        ? answerRecord(await getSaleByExternalId(pool, caller.companyId, externalId.data))
        : null
    },
  }),
  getRoute({
    path: '/sales/:id',
    scope: 'sales:read',
    operation: 'getSale',
    summary: 'Mostra uma venda',
    record: Sale,
    get: getSale,
  }),
  write({
    method: 'post',
    path: '/sales',
    scope: 'sales:write',
    operation: 'createSale',
    summary: 'Registra uma venda paga',
    description:
      'Os pagamentos somam o total; o que passa dele é troco e exige dinheiro. Falta de estoque recusa a venda inteira.',
    body: SaleInput.meta({ id: 'SaleInput' }),
    example: saleExample,
    reply: singleOf(Sale),
    refusals: ['duplicate_resource', 'insufficient_stock', 'payment_mismatch'],
    command: registerSale,
    input: (_params, body) => body,
  }),
  write({
    method: 'post',
    path: '/sales/:id/cancel',
    scope: 'sales:write',
    operation: 'cancelSale',
    summary: 'Cancela uma venda registrada pela API e devolve o estoque',
    description: 'Cancelar de novo responde 200 com a venda como está.',
    body: z.strictObject({ reason: optionalText(500) }),
    example: { reason: 'Desistência do cliente' },
    status: 200,
    reply: singleOf(Sale),
    refusals: ['managed_by_pdv', 'fiscal_document_issued'],
    command: cancelSale,
    input: (params, body) => withId(params, body),
  }),
]
