import * as z from 'zod'
import { recordStockMovement, StockMovementInput } from '#commands/catalog/stock-movements.ts'
import { MOVEMENT_KINDS } from '#events/catalog.ts'
import { pathId } from '#http/paths.ts'
import { QueryId } from '#http/query-values.ts'
import { isRefusal } from '#ledger/command.ts'
import type { StockMovementObject } from '#projections/stock.ts'
import { getAnyItem } from '#queries/catalog/items.ts'
import { type LowStockObject, listLowStock } from '#queries/catalog/running-out.ts'
import { listStockMovements } from '#queries/catalog/stock-movements.ts'
import { batchResultOf, pageSchemaOf, warnedOf } from '../contract/envelopes.ts'
import { Amount, ContractRecordId, NullableText, ThreeDecimals, Timestamp } from '../contract/formats.ts'
import { batchRoute, commandRoute, type Route, readRoute } from '../route.ts'
import { inventoryRoutes } from './inventories.ts'
import { answerPage, listQuery, listRoute } from './record-routes.ts'

const shownExample = {
  id: 57000,
  catalog_item_id: 9,
  kind: 'purchase' as const,
  quantity: '12.000',
  balance: '36.000',
  unit_cost: '11.40',
  reason: null,
  document: 'NF 4711',
  record: null,
  occurred_at: '2026-11-21T08:17:15.123-03:00',
}

const inputExample = {
  catalog_item_external_id: 'CAFE-500',
  kind: 'purchase',
  quantity: '12',
  unit_cost: '11.40',
  document: 'NF 4711',
}

const StockMovement = z
  .strictObject({
    id: ContractRecordId,
    catalog_item_id: ContractRecordId,
    kind: z.enum(MOVEMENT_KINDS),
    quantity: ThreeDecimals,
    balance: ThreeDecimals.nullable(),
    unit_cost: Amount.nullable(),
    reason: NullableText,
    document: NullableText,
    record: NullableText,
    occurred_at: Timestamp,
  })
  .meta({ id: 'StockMovement', examples: [shownExample] }) satisfies z.ZodType<StockMovementObject>

const kind = z.enum(MOVEMENT_KINDS).optional()

const ORDER =
  'Na ordem do livro: cada `balance` é o estoque depois do movimento, a soma de todas as quantidades do item até ele. Vendas enviadas depois aparecem na ordem em que chegaram, com a hora da venda.'

const ItemMovementsQuery = listQuery({ kind })

const movementsOfItem = readRoute<z.infer<typeof ItemMovementsQuery>>({
  path: '/catalog/items/:id/movements',
  scope: 'catalog:read',
  operation: 'listCatalogItemMovements',
  summary: 'Lista os movimentos de estoque de um produto',
  description: `${ORDER} Também de um produto desativado.`,
  query: ItemMovementsQuery,
  reply: pageSchemaOf(StockMovement),
  refusals: ['test_data_erased'],
  ofLedger: true,
  async read({ reader, params, query }) {
    const catalog_item_id = pathId(params.id)
    if (catalog_item_id === null) return null
    const page = await listStockMovements(reader, { ...query, catalog_item_id })
    // The refusal of an erased test company comes before a missing item.
    const { record } = isRefusal(page) ? { record: '' } : await getAnyItem(reader, catalog_item_id)
    return record === null ? null : answerPage(page, query.limit)
  },
})

const movements = listRoute({
  path: '/stock/movements',
  scope: 'catalog:read',
  operation: 'listStockMovements',
  summary: 'Lista os movimentos de estoque',
  description: ORDER,
  record: StockMovement,
  filters: { catalog_item_id: QueryId.optional(), kind },
  list: listStockMovements,
  ofLedger: true,
})

const recording = commandRoute({
  method: 'post',
  path: '/stock/movements',
  scope: 'catalog:write',
  operation: 'createStockMovement',
  summary: 'Registra um movimento de estoque',
  description:
    '`purchase` é uma entrada, e seu `unit_cost` passa a ser o custo do item; `count` é um inventário: `quantity` é o que foi contado, e o movimento tem a diferença; `loss` é uma perda, de `quantity` com ou sem sinal; `adjustment` soma uma quantidade com sinal. Só um inventário começa o controle de estoque de um item.',
  body: StockMovementInput.meta({ id: 'StockMovementInput' }),
  example: inputExample,
  command: recordStockMovement,
  reply: warnedOf(StockMovement),
  refusals: ['insufficient_stock'],
  input: (_params, body) => body,
})

const batch = batchRoute({
  path: '/stock/movements/batch',
  scope: 'catalog:write',
  operation: 'batchStockMovements',
  summary: 'Registra até 500 movimentos de estoque',
  description:
    'Cada item é o de POST /stock/movements e é julgado por si, na ordem da lista: os erros de um não impedem os outros. Sem Idempotency-Key, repetir o lote movimenta de novo.',
  item: StockMovementInput.meta({ id: 'StockMovementBatchItem' }),
  example: { items: [inputExample] },
  reply: batchResultOf(StockMovement),
  itemRefusals: ['insufficient_stock'],
  batch: recordStockMovement,
})

const LowStock = z
  .strictObject({
    catalog_item_id: ContractRecordId,
    external_id: NullableText,
    name: z.string(),
    unit: NullableText,
    stock: ThreeDecimals,
    min_stock: ThreeDecimals.nullable(),
    sold_30_days: ThreeDecimals,
    days_of_stock: z.int().nonnegative().nullable(),
  })
  .meta({
    id: 'LowStock',
    examples: [
      {
        catalog_item_id: 9,
        external_id: 'CAFE-500',
        name: 'Café torrado 500 g',
        unit: 'UN',
        stock: '4.000',
        min_stock: '6.000',
        sold_30_days: '48.000',
        days_of_stock: 2,
      },
    ],
  }) satisfies z.ZodType<LowStockObject>

const lowStock = listRoute({
  path: '/stock/low',
  scope: 'catalog:read',
  operation: 'listLowStock',
  summary: 'Lista os produtos que estão acabando',
  description:
    'Produtos com controle de estoque e no máximo `min_stock` em estoque; sem estoque mínimo, os que têm zero ou menos. As vendas dos últimos 30 dias são as de hoje e dos 29 dias anteriores, sem as canceladas e devolvidas.',
  record: LowStock,
  filters: { category_id: QueryId.optional() },
  list: listLowStock,
  // The last 30 days move.
  ofLedger: false,
})

export const stockRoutes: readonly Route[] = [
  movementsOfItem,
  movements,
  recording,
  batch,
  lowStock,
  ...inventoryRoutes,
]
