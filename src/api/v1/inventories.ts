import * as z from 'zod'
import {
  CloseInventoryInput,
  CountsInput,
  closeInventory,
  countInventory,
  OpenInventoryInput,
  openInventory,
} from '#commands/catalog/inventories.ts'
import { INVENTORY_STATUSES } from '#events/inventories.ts'
import { pathId, withId } from '#http/paths.ts'
import type { InventoryObject } from '#projections/inventories.ts'
import {
  getInventory,
  type InventoryCountObject,
  listInventories,
  listInventoryCounts,
} from '#queries/catalog/inventories.ts'
import { pageSchemaOf, singleOf, warnedOf } from '../contract/envelopes.ts'
import { ContractRecordId, NullableText, ThreeDecimals, Timestamp } from '../contract/formats.ts'
import { commandRoute, type Route, readRoute } from '../route.ts'
import { answerPage, getRoute, listRoute, pageQuery } from './record-routes.ts'

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

export const inventoryRoutes: readonly Route[] = [
  listRoute({
    path: PATH,
    scope: 'catalog:read',
    operation: 'listInventories',
    summary: 'Lista os inventários',
    record: Inventory,
    filters: { status: z.enum(INVENTORY_STATUSES).optional() },
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
    reply: singleOf(Inventory),
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
    reply: pageSchemaOf(InventoryCount),
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
    reply: warnedOf(Inventory),
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
    reply: singleOf(Inventory),
    input: (params, body) => withId(params, body),
  }),
]
