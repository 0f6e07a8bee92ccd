import * as z from 'zod'
import { recordReturnDocument } from '#commands/fiscal-document-commands.ts'
import { ReverseReturnBody, reverseReturn } from '#commands/offline-returns.ts'
import { ReturnBody, returnGoods, toVoucherCode } from '#commands/return-goods.ts'
import { OFFLINE_RETURN_WARNINGS } from '#events/sale-events.ts'
import { pathId, withId } from '#http/paths.ts'
import { isRefusal } from '#ledger/command.ts'
import type { ReturnObject } from '#projections/returns.ts'
import { CREDIT_MOVEMENTS, type CreditMovementObject } from '#projections/store-credit.ts'
import { getAnyCustomer } from '#queries/person-queries.ts'
import { getCustomerCredit, getReturn, listReturns, MAX_CREDIT_MOVEMENTS } from '#queries/return-queries.ts'
import { getSale } from '#queries/sale-queries.ts'
import {
  Amount,
  Balance,
  ContractRecordId,
  NullableText,
  queryShape,
  ThreeDecimals,
  Timestamp,
} from '#records/field.ts'
import { RETURN_FILTERS } from '#records/list-filters.ts'
import { commandRoute, type Route, readRoute, single } from '../api-route.ts'
import { pageSchema, singleSchema } from '../contract/contract-document.ts'
import { answerPage, getRoute, listQuery, listRoute } from './record-routes.ts'
import { FiscalDocumentReport, fiscalDocumentExample, RecordedDocument } from './sale-routes.ts'

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
  reversed_at: null,
  reversal_reason: null,
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
  .strictObject({
    ...{ payment_type_id: ContractRecordId, name: z.string(), amount: Amount },
    ...{ voucher: z.string().optional(), voucher_until: z.iso.date().optional() },
  })
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
    fiscal_document: RecordedDocument.nullable(),
    reversed_at: Timestamp.nullable(),
    reversal_reason: NullableText,
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'Return', examples: [shownReturnExample] }) satisfies z.ZodType<ReturnObject>

const CreditMovement = z
  .strictObject({
    id: z.int().min(0),
    kind: z.enum(CREDIT_MOVEMENTS),
    amount: Balance,
    balance: Balance,
    document: z.string(),
    occurred_at: Timestamp,
  })
  .meta({ id: 'CreditMovement' }) satisfies z.ZodType<CreditMovementObject>

const CustomerCredit = z
  .strictObject({ balance: Balance, movements: z.array(CreditMovement).max(MAX_CREDIT_MOVEMENTS) })
  .meta({
    id: 'CustomerCredit',
    examples: [
      {
        balance: '16.64',
        movements: [
          {
            id: 4711,
            kind: 'return',
            amount: '16.64',
            balance: '16.64',
            document: 'return/12',
            occurred_at: '2026-11-22T09:30:00.000-03:00',
          },
        ],
      },
    ],
  })

const customerCredit = readRoute({
  path: '/customers/:id/credit',
  scope: 'customers:read',
  operation: 'getCustomerCredit',
  summary: 'Mostra o crédito de troca de um cliente',
  description:
    'O saldo e os 200 últimos movimentos, o mais novo primeiro: devoluções que o deram, vendas de caixas pagas com ele, e cancelamentos que o trouxeram de volta. Só vendas de caixas que estavam sem conexão o deixam negativo.',
  reply: singleSchema(CustomerCredit),
  ofLedger: true,
  async read({ reader, params }) {
    const id = pathId(params.id)
    if (id === null || (await getAnyCustomer(reader, id)).record === null) return null
    const { credit, revision } = await getCustomerCredit(reader, id)
    return { body: single(JSON.stringify(credit)), revision }
  },
})

const OfSaleQuery = listQuery({})

const returnsOfSale = readRoute<z.infer<typeof OfSaleQuery>>({
  path: '/sales/:id/returns',
  scope: 'sales:read',
  operation: 'listReturnsOfSale',
  summary: 'Lista as devoluções de uma venda',
  query: OfSaleQuery,
  reply: pageSchema(Return),
  refusals: ['test_data_erased'],
  ofLedger: true,
  async read({ reader, caller: { timezone }, params, query }) {
    const sale_id = pathId(params.id)
    if (sale_id === null) return null
    const page = await listReturns(reader, { ...query, timezone, sale_id })
    // The refusal of an erased test company comes before a missing sale.
    const { record } = isRefusal(page) ? { record: '' } : await getSale(reader, sale_id)
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
    'Devolve a parte de cada item no que foi pago por ele, com os descontos do item e da venda: uma parte do item é arredondada ao centavo, e a última leva o que resta. `refunds` soma o valor devolvido (se não, 422 `payment_mismatch` com `due`), em formas da venda, dinheiro, transferência, Pix ou crédito de troca. De uma venda a prazo, o que ainda se deve baixa primeiro, na própria forma a prazo. Volta no máximo o que foi recebido pela venda: se nada foi recebido nem se deve, só a mercadoria volta, com `refunds: []`. Vale também para vendas de caixas, e com documento fiscal em vigor. A venda continua `completed`; a de um pedido é devolvida pelo pedido.',
  body: ReturnBody.meta({ id: 'ReturnInput' }),
  example: returnExample,
  reply: singleSchema(Return),
  refusals: [
    'amount_limit',
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
  input: (params, body, { newSecret }) => withId(params, { ...body, voucher_code: toVoucherCode(newSecret()) }),
})

export const returnRoutes: readonly Route[] = [
  customerCredit,
  creation,
  returnsOfSale,
  listRoute({
    path: '/returns',
    scope: 'sales:read',
    operation: 'listReturns',
    summary: 'Lista as devoluções',
    ofLedger: true,
    record: Return,
    filters: queryShape(RETURN_FILTERS),
    list: (reader, query, { timezone }) => listReturns(reader, { ...query, timezone }),
  }),
  commandRoute({
    method: 'put',
    path: '/returns/:id/fiscal-document',
    scope: 'sales:write',
    operation: 'putReturnFiscalDocument',
    summary: 'Registra o documento fiscal de uma devolução, emitido por outro sistema',
    description:
      'Repetível. Um documento autorizado não dá lugar a outro antes de cancelado. O de outra devolução, ou de uma venda, responde 409 `duplicate_resource` com a venda em `conflicting_id`, e com `return_id` se for de uma devolução.',
    body: FiscalDocumentReport,
    example: fiscalDocumentExample,
    status: 200,
    reply: singleSchema(Return),
    refusals: ['fiscal_document_issued', 'duplicate_resource'],
    command: recordReturnDocument,
    target: { kind: 'return' },
    input: (params, { protocol = null, authorized_at = null, xml_sha256 = null, xml_url = null, ...document }) =>
      withId(params, { ...document, protocol, authorized_at, xml_sha256, xml_url }),
  }),
  commandRoute({
    method: 'post',
    path: '/returns/:id/reverse',
    scope: 'sales:write',
    operation: 'reverseReturn',
    summary: 'Desfaz uma devolução registrada por engano',
    description:
      'A venda volta a ter o que foi devolvido, o estoque sai de novo, as contas que a devolução baixou voltam a ficar em aberto e o crédito de troca é retirado. O dinheiro volta à gaveta que o devolveu, se ela não foi fechada. Conta no dia em que é desfeita. Repetível. Com documento fiscal em vigor, ou com o crédito já usado, responde 409.',
    body: ReverseReturnBody.meta({ id: 'ReturnReversalInput' }),
    example: { reason: 'Registrada na venda errada' },
    status: 200,
    reply: singleSchema(Return),
    refusals: ['fiscal_document_issued', 'credit_spent'],
    command: reverseReturn,
    target: { kind: 'return' },
    input: (params, body) => withId(params, body),
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
