import * as z from 'zod'
import {
  CloseInventoryInput,
  CountsInput,
  closeInventory,
  countInventory,
  OpenInventoryInput,
  openInventory,
  recordStockMovement,
  StockMovementInput,
} from '#commands/stock-commands.ts'
import { INVENTORY_STATUSES, MOVEMENT_KINDS } from '#events/catalog-events.ts'
import { pathId, withId } from '#http/paths.ts'
import { isRefusal } from '#ledger/command.ts'
import type { InventoryObject, StockMovementObject } from '#projections/stock.ts'
import { getAnyItem } from '#queries/item-queries.ts'
import {
  getInventory,
  type InventoryCountObject,
  type LowStockObject,
  listInventories,
  listInventoryCounts,
  listLowStock,
  listStockMovements,
} from '#queries/stock-queries.ts'
import {
  Amount,
  ContractRecordId,
  NullableText,
  pickFields,
  queryShape,
  ThreeDecimals,
  Timestamp,
} from '#records/field.ts'
import { INVENTORY_FILTERS, LOW_STOCK_FILTERS, MOVEMENT_FILTERS } from '#records/list-filters.ts'
import { batchRoute, commandRoute, type Route, readRoute } from '../api-route.ts'
import { batchResultSchema, pageSchema, singleSchema, warnedSchema } from '../contract/contract-document.ts'
import { answerPage, getRoute, listQuery, listRoute, pageQuery } from './record-routes.ts'

const Inventory = z
  .strictObject({
    id: ContractRecordId,
    name: z.string(),
    status: z.enum(INVENTORY_STATUSES),
    counted_items: z.int().nonnegative(),
    created_at: Timestamp,
    closed_at: Timestamp.nullable(),
  })
  .meta({
    id: 'Inventory',
    examples: [
      {
        id: 3,
        name: 'Mercearia, novembro',
        status: 'open',
        counted_items: 41,
        created_at: '2026-11-21T08:17:15.123-03:00',
        closed_at: null,
      },
    ],
  }) satisfies z.ZodType<InventoryObject>

const InventoryCount = z
  .strictObject({
    catalog_item_id: ContractRecordId,
    name: z.string(),
    unit: NullableText,
    counted: ThreeDecimals,
    counted_at: Timestamp,
    expected: ThreeDecimals.nullable(),
    difference: ThreeDecimals.nullable(),
    is_superseded: z.boolean(),
  })
  .meta({
    id: 'InventoryCount',
    examples: [
      {
        catalog_item_id: 9,
        name: 'Café torrado 500 g',
        unit: 'UN',
        counted: '22.000',
        counted_at: '2026-11-21T08:17:15.123-03:00',
        expected: '24.000',
        difference: '-2.000',
        is_superseded: false,
      },
    ],
  }) satisfies z.ZodType<InventoryCountObject>

const CountsQuery = pageQuery({})

const PATH = '/stock/inventories'

const inventoryRoutes: readonly Route[] = [
  listRoute({
    path: PATH,
    scope: 'catalog:read',
    operation: 'listInventories',
    summary: 'Lista os inventários',
    record: Inventory,
    filters: queryShape(INVENTORY_FILTERS),
    list: listInventories,
    ofLedger: true,
  }),
  commandRoute({
    method: 'post',
    path: PATH,
    scope: 'catalog:write',
    operation: 'createInventory',
    summary: 'Abre um inventário',
    description:
      'Conte em partes com `POST …/counts`, e aplique as diferenças com `POST …/close`. As vendas continuam enquanto isso.',
    body: OpenInventoryInput.meta({ id: 'InventoryInput' }),
    example: { name: 'Mercearia, novembro' },
    command: openInventory,
    reply: singleSchema(Inventory),
    input: (_params, body) => body,
  }),
  getRoute({
    path: `${PATH}/:id`,
    scope: 'catalog:read',
    operation: 'getInventory',
    summary: 'Mostra um inventário',
    record: Inventory,
    get: getInventory,
    fromReplica: true,
  }),
  readRoute<z.infer<typeof CountsQuery>>({
    path: `${PATH}/:id/counts`,
    scope: 'catalog:read',
    operation: 'listInventoryCounts',
    summary: 'Lista as contagens de um inventário',
    description:
      'Em ordem de item. `expected` é o estoque no momento da contagem, pelo horário das vendas; `difference` é o que foi contado menos ele. `is_superseded`: outra contagem do item, posterior, é a que vale.',
    query: CountsQuery,
    reply: pageSchema(InventoryCount),
    ofLedger: true,
    async read({ reader, params, query }) {
      const inventory_id = pathId(params.id)
      if (inventory_id === null || (await getInventory(reader, inventory_id)).record === null) return null
      const page = await listInventoryCounts(reader, { ...query, inventory_id })
      return answerPage(page, query.limit)
    },
  }),
  commandRoute({
    method: 'post',
    path: `${PATH}/:id/counts`,
    scope: 'catalog:write',
    operation: 'countInventory',
    summary: 'Registra até 500 contagens em um inventário',
    description:
      'Cada item é nomeado por `catalog_item_id`, `catalog_item_external_id` ou `code` (código de barras ou, se não houver, external_id). `set` substitui o que já foi contado do item; `add` soma, como um leitor de código de barras faz. `counted_at` é o momento da contagem; sem ele, agora. `quantity: null` tira o item do inventário. Um item desconhecido recusa a lista inteira.',
    body: CountsInput.meta({ id: 'InventoryCountsInput' }),
    example: { mode: 'set', items: [{ code: '7891234567895', quantity: '22' }] },
    command: countInventory,
    status: 200,
    reply: warnedSchema(Inventory),
    refusals: ['inventory_closed'],
    input: (params, body) => withId(params, body),
  }),
  commandRoute({
    method: 'post',
    path: `${PATH}/:id/close`,
    scope: 'catalog:write',
    operation: 'closeInventory',
    summary: 'Encerra um inventário',
    description:
      'Com `apply: true`, cada estoque muda pela diferença entre o que foi contado e o estoque no momento da contagem: o que foi vendido depois dela continua valendo. Com `false`, o inventário é descartado. Repetir responde 200 com o inventário como está.',
    body: CloseInventoryInput.omit({ id: true }).meta({ id: 'InventoryClosing' }),
    example: { apply: true },
    command: closeInventory,
    status: 200,
    reply: singleSchema(Inventory),
    input: (params, body) => withId(params, body),
  }),
]

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

const ORDER =
  'Na ordem do livro: cada `balance` é o estoque depois do movimento, a soma de todas as quantidades do item até ele. Vendas enviadas depois aparecem na ordem em que chegaram, com a hora da venda.'

const ItemMovementsQuery = listQuery(queryShape(pickFields(MOVEMENT_FILTERS, 'kind')))

const movementsOfItem = readRoute<z.infer<typeof ItemMovementsQuery>>({
  path: '/catalog/items/:id/movements',
  scope: 'catalog:read',
  operation: 'listCatalogItemMovements',
  summary: 'Lista os movimentos de estoque de um produto',
  description: `${ORDER} Também de um produto desativado.`,
  query: ItemMovementsQuery,
  reply: pageSchema(StockMovement),
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
  filters: queryShape(MOVEMENT_FILTERS),
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
  reply: warnedSchema(StockMovement),
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
  reply: batchResultSchema(StockMovement),
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
  filters: queryShape(LOW_STOCK_FILTERS),
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
