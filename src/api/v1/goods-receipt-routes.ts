import * as z from 'zod'
import { GoodsLine, MAX_RECEIPT_LINES, ReceiptHead, receiveGoods, undoGoodsReceipt } from '#commands/receive-goods.ts'
import { Quantity } from '#domain/money.ts'
import { Id } from '#domain/text.ts'
import { withId } from '#http/paths.ts'
import type { GoodsReceiptObject } from '#projections/goods-receipts.ts'
import { getWholeReceipt, listReceiptSummaries, type ReceiptSummary } from '#queries/goods-receipt-queries.ts'
import { Amount, ContractRecordId, NullableText, ThreeDecimals, Timestamp } from '#records/field.ts'
import { commandRoute, type Route } from '../api-route.ts'
import { singleSchema } from '../contract/contract-document.ts'
import { getRoute, listRoute } from './record-routes.ts'

const heads = {
  id: ContractRecordId,
  access_key: NullableText,
  reference: NullableText,
  issued_on: z.iso.date().nullable(),
  supplier_id: ContractRecordId.nullable(),
  payable_ids: z.array(ContractRecordId),
  total_cost: Amount,
  created_at: Timestamp,
  undone_at: Timestamp.nullable(),
}

const headsExample = {
  id: 31,
  access_key: null,
  reference: 'NF 4711',
  issued_on: '2026-11-20',
  supplier_id: 5,
  payable_ids: [812],
  total_cost: '136.80',
  created_at: '2026-11-21T08:17:15.123-03:00',
  undone_at: null,
}

const GoodsReceiptSummary = z
  .strictObject(heads)
  .meta({ id: 'GoodsReceiptSummary', examples: [headsExample] }) satisfies z.ZodType<ReceiptSummary>

const GoodsReceipt = z
  .strictObject({
    ...heads,
    lines: z.array(
      z
        .strictObject({
          catalog_item_id: ContractRecordId,
          code: NullableText,
          unit: NullableText,
          factor: ThreeDecimals,
          quantity: ThreeDecimals,
          unit_cost: Amount,
          moves_stock: z.boolean(),
        })
        .meta({ id: 'GoodsReceiptLine' }),
    ),
    costs: z.array(
      z
        .strictObject({ catalog_item_id: ContractRecordId, former_cost: Amount.nullable(), cost: Amount })
        .meta({ id: 'GoodsReceiptCost' }),
    ),
    left: z.array(ContractRecordId),
  })
  .meta({
    id: 'GoodsReceipt',
    examples: [
      {
        ...headsExample,
        lines: [
          {
            ...{ catalog_item_id: 9, code: '2040', unit: 'CX', factor: '12.000', quantity: '12.000' },
            ...{ unit_cost: '11.40', moves_stock: true },
          },
        ],
        costs: [{ catalog_item_id: 9, former_cost: '11.00', cost: '11.40' }],
        left: [],
      },
    ],
  }) satisfies z.ZodType<GoodsReceiptObject>

/** By hand: supplier and items exist. */
const Body = ReceiptHead.extend({
  supplier_id: Id.nullish(),
  lines: z
    .array(
      z
        .strictObject({ ...GoodsLine.shape, catalog_item_id: Id, factor: Quantity.nullish() })
        .omit({ new_item: true })
        .meta({ id: 'GoodsReceiptLineInput' }),
    )
    .min(1, 'informe ao menos um produto')
    .max(MAX_RECEIPT_LINES),
}).meta({ id: 'GoodsReceiptInput' })

const PATH = '/stock/receipts'

export const goodsReceiptRoutes: readonly Route[] = [
  listRoute({
    path: PATH,
    scope: 'catalog:read',
    alsoScope: 'finance:read',
    operation: 'listGoodsReceipts',
    summary: 'Lista as entradas de mercadoria',
    description: 'Sem as linhas, que a leitura de uma entrada traz.',
    record: GoodsReceiptSummary,
    filters: {},
    list: listReceiptSummaries,
    ofLedger: true,
  }),
  commandRoute({
    method: 'post',
    path: PATH,
    scope: 'catalog:write',
    alsoScope: 'finance:write',
    operation: 'createGoodsReceipt',
    summary: 'Registra uma entrada de mercadoria',
    description:
      'Estoque, custo e contas a pagar (`bills`) num só ato, ou nada. `access_key` é recusada (409) enquanto outra entrada a tem.',
    body: Body,
    example: {
      reference: 'NF 4711',
      issued_on: '2026-11-20',
      supplier_id: 5,
      lines: [{ catalog_item_id: 9, code: '2040', unit: 'CX', quantity: '1', factor: '12', cost: '136.80' }],
      bills: [{ due_date: '2026-12-20', amount: '136.80' }],
    },
    command: receiveGoods,
    reply: singleSchema(GoodsReceipt),
    refusals: ['amount_limit', 'duplicate_resource', 'person_forgotten'],
    input: (_params, { supplier_id, lines, ...head }) => ({
      ...head,
      supplier: supplier_id ? { id: supplier_id } : null,
      new_items: [],
      lines: lines.map(({ factor, ...line }) => ({ ...line, factor: factor ?? '1' })),
    }),
  }),
  getRoute({
    path: `${PATH}/:id`,
    scope: 'catalog:read',
    alsoScope: 'finance:read',
    operation: 'getGoodsReceipt',
    summary: 'Mostra uma entrada de mercadoria, com as linhas',
    record: GoodsReceipt,
    get: getWholeReceipt,
    fromReplica: true,
  }),
  commandRoute({
    method: 'post',
    path: `${PATH}/:id/undo`,
    scope: 'catalog:write',
    alsoScope: 'finance:write',
    operation: 'undoGoodsReceipt',
    summary: 'Desfaz uma entrada de mercadoria',
    description:
      'Volta estoque, custos que não mudaram desde então (os outros ficam, em `left`) e contas a pagar sem pagamento, e libera a `access_key`. Uma conta com pagamento responde 409; estoque que ficaria negativo, 422. Repetir responde 200.',
    command: undoGoodsReceipt,
    status: 200,
    reply: singleSchema(GoodsReceipt),
    refusals: ['has_payments', 'insufficient_stock'],
    input: (params) => withId(params, {}),
  }),
]
