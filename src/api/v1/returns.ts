import { z } from 'zod'
import { ReturnBody, returnGoods } from '#commands/sales/return-goods.ts'
import { CalendarDate } from '#domain/instant.ts'
import { ExternalId } from '#domain/text.ts'
import { OFFLINE_RETURN_WARNINGS } from '#events/sales.ts'
import { pathId, withId } from '#http/paths.ts'
import { QueryId } from '#http/query-values.ts'
import { isRefusal } from '#ledger/command.ts'
import type { ReturnObject } from '#projections/returns.ts'
import { getReturn, listReturns } from '#queries/sales/returns.ts'
import { getSale } from '#queries/sales/sales.ts'
import { pageSchemaOf, singleOf } from '../contract/envelopes.ts'
import { Amount, ContractRecordId, NullableText, ThreeDecimals, Timestamp } from '../contract/formats.ts'
import { commandRoute, type Route, readRoute } from '../route.ts'
import { answerPage, getRoute, listQuery, listRoute } from './record-routes.ts'
import { FiscalDocument } from './sales.ts'

/** Request example: one of two packs of coffee comes back. */
const returnExample = {
  external_id: 'DEV-77',
  reason: 'Pacote rasgado',
  items: [{ line: 0, quantity: '1' }],
  refunds: [{ payment_type_id: 1, amount: '16.64' }],
}

/** The same return in answers. */
const shownReturnExample = {
  id: 12,
  sale_id: 981,
  external_id: 'DEV-77',
  offline_id: null,
  origin: 'api',
  returned_at: '2026-11-22T09:30:00.000-03:00',
  reason: 'Pacote rasgado',
  items: [
    {
      line: 0,
      catalog_item_id: 9,
      description: 'Café torrado 500 g',
      quantity: '1.000',
      amount: '16.64',
      restock: true,
    },
  ],
  delivery_fee: '0.00',
  total: '16.64',
  refunds: [{ payment_type_id: 1, name: 'Dinheiro', amount: '16.64' }],
  credit_customer_id: null,
  stock: [{ catalog_item_id: 9, quantity: '1.000' }],
  cash_session_id: null,
  warnings: [],
  fiscal_document: null,
  created_at: '2026-11-22T09:30:00.123-03:00',
  updated_at: '2026-11-22T09:30:00.123-03:00',
}

const ReturnItem = z
  .strictObject({
    line: z.int().min(0),
    catalog_item_id: ContractRecordId.nullable(),
    description: z.string(),
    quantity: ThreeDecimals,
    amount: Amount,
    restock: z.boolean(),
  })
  .meta({ id: 'ReturnItem' })

const Refund = z
  .strictObject({ payment_type_id: ContractRecordId, name: z.string(), amount: Amount })
  .meta({ id: 'ReturnRefund' })

const ReturnWarning = z
  .strictObject({
    code: z.enum(OFFLINE_RETURN_WARNINGS),
    line: z.int().min(0).nullable(),
    found: NullableText,
    expected: NullableText,
  })
  .meta({ id: 'ReturnWarning' })

const Return = z
  .strictObject({
    id: ContractRecordId,
    sale_id: ContractRecordId,
    external_id: NullableText,
    offline_id: NullableText,
    origin: z.enum(['api', 'pdv', 'system']),
    returned_at: Timestamp,
    reason: z.string(),
    items: z.array(ReturnItem),
    delivery_fee: Amount,
    total: Amount,
    refunds: z.array(Refund),
    credit_customer_id: ContractRecordId.nullable(),
    stock: z.array(
      z.strictObject({ catalog_item_id: ContractRecordId, quantity: ThreeDecimals }).meta({ id: 'ReturnedStock' }),
    ),
    cash_session_id: NullableText,
    warnings: z.array(ReturnWarning),
    fiscal_document: FiscalDocument.nullable(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'Return', examples: [shownReturnExample] }) satisfies z.ZodType<ReturnObject>

const OfSaleQuery = listQuery({})

const returnsOfSale = readRoute<z.infer<typeof OfSaleQuery>>({
  path: '/sales/:id/returns',
  scope: 'sales:read',
  operation: 'listReturnsOfSale',
  summary: 'Lista as devoluções de uma venda',
  query: OfSaleQuery,
  reply: pageSchemaOf(Return),
  refusals: ['test_data_erased'],
  ofLedger: true,
  async read({ pool, caller: { companyId, timezone }, params, query }) {
    const sale_id = pathId(params.id)
    if (sale_id === null) return null
    const page = await listReturns(pool, companyId, { ...query, timezone, sale_id })
    // The refusal of an erased test company comes before a missing sale.
    const { record } = isRefusal(page) ? { record: '' } : await getSale(pool, companyId, sale_id)
    return record === null ? null : answerPage(page, query.limit)
  },
})

const creation = commandRoute({
  method: 'post',
  path: '/sales/:id/returns',
  scope: 'sales:write',
  operation: 'createReturn',
  summary: 'Registra a devolução de mercadoria de uma venda',
  description:
    'Devolve a parte de cada item no que foi pago por ele, com os descontos do item e da venda: uma parte do item é arredondada ao centavo, e a última leva o que resta. `refunds` soma o valor devolvido (se não, 422 `payment_mismatch` com `due`), em formas da venda, dinheiro, transferência, Pix ou crédito de troca. De uma venda a prazo, o que ainda se deve baixa primeiro, na própria forma a prazo. Vale também para vendas de caixas, e com documento fiscal em vigor. A venda continua `completed`; a de um pedido é devolvida pelo pedido.',
  body: ReturnBody.meta({ id: 'ReturnInput' }),
  example: returnExample,
  reply: singleOf(Return),
  refusals: [
    'managed_by_order',
    'duplicate_resource',
    'sale_cancelled',
    'already_returned',
    'payment_mismatch',
    'person_forgotten',
  ],
  idempotency: 'required',
  collection: '/returns',
  command: returnGoods,
  input: (params, body) => withId(params, body),
})

export const returnRoutes: readonly Route[] = [
  creation,
  returnsOfSale,
  listRoute({
    path: '/returns',
    scope: 'sales:read',
    operation: 'listReturns',
    summary: 'Lista as devoluções',
    ofLedger: true,
    record: Return,
    /** Days are the company's, inclusive. */
    filters: {
      sale_id: QueryId.optional(),
      external_id: ExternalId.optional(),
      offline_id: ExternalId.optional(),
      cash_session_id: ExternalId.optional(),
      returned_from: CalendarDate.optional(),
      returned_to: CalendarDate.optional(),
    },
    list: (pool, companyId, query, { timezone }) => listReturns(pool, companyId, { ...query, timezone }),
  }),
  getRoute({
    path: '/returns/:id',
    scope: 'sales:read',
    operation: 'getReturn',
    summary: 'Mostra uma devolução',
    record: Return,
    get: getReturn,
    fromReplica: true,
  }),
]
