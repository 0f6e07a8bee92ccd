import * as z from 'zod'
import { Instant } from '#domain/instant.ts'
import {
  AnyQuantity,
  fromThousandths,
  MAX_THOUSANDTHS,
  Money,
  Quantity,
  SignedQuantity,
  StockQuantity,
  toThousandths,
} from '#domain/money.ts'
import { plainBarcode, sameBarcodes } from '#domain/record-values.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import { boundedText, ExternalId, Id, nameText, optionalText, orDefault } from '#domain/text.ts'
import { RECORDED_KINDS } from '#events/catalog-events.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { accept, command, isRefusal, type NewEvent } from '#ledger/command.ts'
import type { AnyRef, Ref } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { type ItemObject, type ItemRow, itemByBarcode, itemByExternalId, itemById } from '#projections/catalog.ts'
import {
  type CountedStock,
  getStock,
  IDS_PER_EVENT,
  inventoryById,
  inventoryCountByItem,
  STOCK_AT_COUNT,
  toMovementId,
} from '#projections/stock.ts'
import {
  brokenPieceWarnings,
  costWarnings,
  type ItemChanges,
  NO_STOCK_OF_SERVICES,
  type Warning,
} from './record-commands.ts'

/** Items of an inventory: closing it records a movement of each in one transaction. */
export const MAX_COUNTED_ITEMS = 5_000

/** Body of POST /stock/inventories. */
export const OpenInventoryInput = z.strictObject({ name: nameText(80) })
export type OpenInventoryInput = z.infer<typeof OpenInventoryInput>

/** Opens an inventory without counts; several may be open. */
export const openInventory = command<OpenInventoryInput>({
  permission: 'adjust_stock',
  needs: () => [],
  decide(_rows, { name }, { nextId }) {
    const opened = event('InventoryOpened', { id: nextId('inventory'), name })
    return accept('created', opened.subject, [opened])
  },
})

const COUNTED_ITEM = 'informe exatamente um entre catalog_item_id, catalog_item_external_id e code'

const InventoryCount = z
  .strictObject({
    catalog_item_id: Id.nullish(),
    catalog_item_external_id: ExternalId.nullish(),
    /** A barcode, or else an external id, as a scanner reads it. */
    code: boundedText(100).nullish(),
    /** Null takes the item out of the inventory. */
    quantity: StockQuantity.nullable(),
    /** Now, unless given. */
    counted_at: Instant.nullish(),
  })
  .superRefine(({ catalog_item_id, catalog_item_external_id, code }, context) => {
    const given = [catalog_item_id, catalog_item_external_id, code].filter((one) => (one ?? null) !== null)
    if (given.length !== 1) context.addIssue({ code: 'custom', path: ['catalog_item_id'], message: COUNTED_ITEM })
  })
  .meta({ id: 'InventoryCountInput' })
export type InventoryCount = z.infer<typeof InventoryCount>

export const COUNT_MODES = ['set', 'add'] as const

/** Body of POST /stock/inventories/{id}/counts. */
export const CountsInput = z.strictObject({
  /** `add`: the quantities are added to what was counted before. */
  mode: orDefault(z.enum(COUNT_MODES), 'set'),
  items: z.array(InventoryCount).min(1, 'informe ao menos um item').max(500, 'no máximo 500 itens'),
})

export const CountInventoryInput = CountsInput.extend({ id: Id })
export type CountInventoryInput = z.infer<typeof CountInventoryInput>

/** Records what was counted, each count with its moment. One that cannot be recorded refuses the whole list. */
export const countInventory = command<CountInventoryInput>({
  permission: 'adjust_stock',
  needs: ({ id, items }) => [inventoryById(id), ...items.flatMap(itemRefs)],
  needsMore: (rows, { id, items }) =>
    items.flatMap((count) => {
      const item = findCounted(rows, count)
      return item ? [inventoryCountByItem(id, item.id)] : []
    }),
  decide(rows, { id, mode, items }, { now }) {
    const inventory = rows.get(inventoryById(id))
    if (!inventory) return refuse('not_found')
    if (inventory.status !== 'open') return refuse('inventory_closed')
    const counted = readCounts(rows, { id, mode, items }, now)
    if (isRefusal(counted)) return counted
    const { counts, warnings } = counted
    const known = (itemId: number) => (rows.get(inventoryCountByItem(id, itemId))?.quantity ?? null) !== null
    const more = [...counts.values()].reduce(
      (sum, { catalog_item_id, quantity }) => sum + Number(quantity !== null) - Number(known(catalog_item_id)),
      0,
    )
    const counted_items = inventory.doc.counted_items + more
    if (counted_items > MAX_COUNTED_ITEMS)
      return refuseField('items', `um inventário tem no máximo ${MAX_COUNTED_ITEMS} itens: abra outro para os demais`)
    const recorded = event('InventoryCounted', { id, counts: [...counts.values()], counted_items })
    return accept('updated', recorded.subject, [recorded], [], warnings.length > 0 ? { warnings } : undefined)
  },
})

type Count = DataOf<'InventoryCounted'>['counts'][number]

interface ReadCounts {
  readonly counts: ReadonlyMap<number, Count>
  readonly warnings: readonly Warning[]
}

/** The counts of a list by item; an item may be on several lines. */
function readCounts(rows: Rows, { id, mode, items }: CountInventoryInput, now: string): ReadCounts | Refusal {
  const counts = new Map<number, Count>()
  const warnings: Warning[] = []
  const fields: Record<string, string[]> = {}
  for (const [position, line] of items.entries()) {
    const item = findCounted(rows, line)
    const problem = problemOf(item, line, now)
    if (!item || problem) {
      fields[`items[${position}].${problem?.field ?? fieldOf(line)}`] = [problem?.message ?? UNKNOWN_ITEM]
      continue
    }
    const before = counts.get(item.id)?.quantity ?? rows.get(inventoryCountByItem(id, item.id))?.quantity ?? '0'
    const added =
      line.quantity === null ? null : toThousandths(line.quantity) + (mode === 'add' ? toThousandths(before) : 0)
    if (added !== null && added > MAX_THOUSANDTHS) {
      fields[`items[${position}].quantity`] = ['a soma é grande demais']
      continue
    }
    const quantity = added === null ? null : fromThousandths(added)
    counts.set(item.id, { catalog_item_id: item.id, quantity, counted_at: line.counted_at ?? now })
    warnings.push(...brokenPieceWarnings(item.doc.unit, { [`items[${position}].quantity`]: line.quantity }))
  }
  return Object.keys(fields).length > 0
    ? refuse('validation_failed', { fields, unknown_fields: [] })
    : { counts, warnings }
}

export const UNKNOWN_ITEM = 'item não encontrado no catálogo'

const fieldOf = ({ catalog_item_id, code }: InventoryCount): string =>
  typeof catalog_item_id === 'number' ? 'catalog_item_id' : code ? 'code' : 'catalog_item_external_id'

function problemOf(item: Readonly<ItemRow> | null, line: InventoryCount, now: string) {
  if (!item) return { field: fieldOf(line), message: UNKNOWN_ITEM }
  if (item.type === 'service') return { field: fieldOf(line), message: NO_STOCK_OF_SERVICES }
  return line.counted_at && line.counted_at > now ? { field: 'counted_at', message: 'não pode estar no futuro' } : null
}

function itemRefs({ catalog_item_id, catalog_item_external_id, code }: InventoryCount): AnyRef[] {
  if (typeof catalog_item_id === 'number') return [itemById(catalog_item_id)]
  if (!code) return [itemByExternalId(catalog_item_external_id ?? '')]
  return [...sameBarcodes(plainBarcode(code)).map(itemByBarcode), itemByExternalId(code)]
}

/** The active item of a line. */
function findCounted(rows: Rows, line: InventoryCount): Readonly<ItemRow> | null {
  for (const ref of itemRefs(line)) {
    const item = rows.get(ref) as Readonly<ItemRow> | null
    if (item && !item.deleted_at) return item
  }
  return null
}

export const CloseInventoryInput = z.strictObject({ id: Id, apply: z.boolean() })
export type CloseInventoryInput = z.infer<typeof CloseInventoryInput>

/**
 * Closes an inventory. Applied, it changes each stock by the difference between what was counted and the stock at the
 * counting: what was sold after it still counts, also in an upload that came later. A later count of an item wins.
 */
export const closeInventory = command<CloseInventoryInput>({
  permission: 'adjust_stock',
  isAlone: true,
  needs: ({ id }) => [inventoryById(id)],
  lookup: (_rows, { id }) => ({ ...STOCK_AT_COUNT, values: [id] }),
  decide(rows, { id, apply }, { found }) {
    const inventory = rows.get(inventoryById(id))
    if (!inventory) return refuse('not_found')
    if (inventory.status !== 'open') return accept('unchanged', `inventory/${id}`)
    const closed = event('InventoryClosed', { id, status: apply ? 'applied' : 'discarded' })
    const changed = apply ? (found as readonly CountedStock[]).flatMap((count) => changedBy(count) ?? []) : []
    const moved = Array.from({ length: Math.ceil(changed.length / IDS_PER_EVENT) }, (_, part) =>
      event('InventoryApplied', { id, stocks: changed.slice(part * IDS_PER_EVENT, (part + 1) * IDS_PER_EVENT) }),
    )
    return accept('updated', closed.subject, [closed, ...moved])
  },
})

/** Stock of an item after its count; null if that changes nothing. */
function changedBy({ id: catalog_item_id, counted, counted_at, stock, moved, is_recounted }: CountedStock) {
  if (is_recounted) return null
  const thousandths = Math.min(toThousandths(counted) + toThousandths(moved), MAX_THOUSANDTHS)
  const after = fromThousandths(thousandths)
  return after === stock ? null : { catalog_item_id, before: stock, after, counted_at }
}

/** `type` is the item's type after the change. */
type ItemStock = Pick<ItemObject, 'id' | 'type' | 'stock'>

/** With exactly 3 decimals, the format of stored and returned quantities. */
export const normalizeQuantity = (quantity: string): string => fromThousandths(toThousandths(quantity))

/** Event of an absolute stock count; none if the stock stays unchanged. A service has no stock. */
export function countStock({ id, type, stock: before }: ItemStock, stock: string | null | undefined): NewEvent[] {
  const wanted = stock === undefined ? before : stock && normalizeQuantity(stock)
  const after = type === 'service' ? null : wanted
  return after === before ? [] : [event('StockAdjusted', { id, reason: 'count', before, after })]
}

/** Stock event of a PATCH. */
export function moveStock(item: ItemStock, { stock, stock_adjustment }: ItemChanges): NewEvent[] | Refusal {
  if (item.type === 'service') {
    if (stock) return refuseField('stock', NO_STOCK_OF_SERVICES)
    if (typeof stock_adjustment === 'string') return refuseField('stock_adjustment', NO_STOCK_OF_SERVICES)
  }
  if (typeof stock_adjustment !== 'string') return countStock(item, stock)
  const after = adjusted(item, stock_adjustment)
  return isRefusal(after) ? after : [event('StockAdjusted', after)]
}

function adjusted({ id, stock: before }: ItemStock, adjustment: string) {
  if (before === null) return refuseField('stock_adjustment', 'o item não tem controle de estoque')
  const difference = toThousandths(adjustment)
  const after = toThousandths(before) + difference
  // Bounded, so that a returned quantity is always valid input.
  if (after > MAX_THOUSANDTHS) return refuseField('stock_adjustment', 'o estoque resultante é grande demais')
  // Incoming goods are never refused, even if oversold offline sales leave the stock negative.
  if (after < 0 && difference < 0) {
    const short = { catalog_item_id: id, requested: fromThousandths(-difference), available: before }
    return refuse('insufficient_stock', { ...short, items: [short] })
  }
  return { id, reason: 'adjustment' as const, before, after: fromThousandths(after) }
}

type RecordedKind = (typeof RECORDED_KINDS)[number]

/** A count may find nothing; a loss may carry the sign with which answers show it. */
const QUANTITIES: Readonly<Record<RecordedKind, z.ZodType<string>>> = {
  purchase: Quantity,
  count: StockQuantity,
  loss: SignedQuantity,
  adjustment: SignedQuantity,
}

const MOVED_ITEM = 'informe exatamente um entre catalog_item_id e catalog_item_external_id'

/** Body of POST /stock/movements, and each item of a batch. */
export const StockMovementInput = z
  .strictObject({
    catalog_item_id: Id.nullish(),
    catalog_item_external_id: ExternalId.nullish(),
    kind: z.enum(RECORDED_KINDS),
    quantity: AnyQuantity,
    unit_cost: Money.nullish(),
    reason: optionalText(500),
    document: optionalText(100),
  })
  .superRefine((input, context) => {
    const problem = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message })
    const { kind, quantity, unit_cost, catalog_item_id, catalog_item_external_id } = input
    if (((catalog_item_id ?? null) === null) === ((catalog_item_external_id ?? null) === null))
      problem('catalog_item_id', MOVED_ITEM)
    const judged = QUANTITIES[kind].safeParse(quantity)
    for (const { message } of judged.error?.issues ?? []) problem('quantity', message)
    if (kind !== 'purchase' && typeof unit_cost === 'string') problem('unit_cost', 'só vale para uma compra')
  })
export type StockMovementInput = z.infer<typeof StockMovementInput>

/** Records a purchase, count, loss or adjustment. The unit cost of a purchase becomes the item's cost. */
export const recordStockMovement = command<StockMovementInput>({
  permission: 'adjust_stock',
  needs: (input) => [itemRef(input)],
  decide(rows, input, { revision }) {
    const item = rows.get(itemRef(input))
    const field = typeof input.catalog_item_id === 'number' ? 'catalog_item_id' : 'catalog_item_external_id'
    if (!item || item.deleted_at) return refuseField(field, 'item não encontrado no catálogo')
    if (item.type === 'service') return refuseField(field, NO_STOCK_OF_SERVICES)
    const before = getStock(rows, item.id)
    const after = stockAfter(rows, item, input)
    if (isRefusal(after)) return after
    const { kind, unit_cost = null, reason = null, document = null } = input
    const id = toMovementId(revision)
    const details = { catalog_item_id: item.id, kind, before, after: fromThousandths(after.thousandths) }
    const recorded = event('StockMovementRecorded', { id, ...details, unit_cost, reason, reference: document })
    const isOtherCost = unit_cost !== null && unit_cost !== item.doc.cost
    const repriced = event('CatalogItemUpdated', { id: item.id, changes: { cost: unit_cost } })
    const warnings = [
      ...brokenPieceWarnings(item.doc.unit, { quantity: input.quantity }),
      ...(unit_cost === null ? [] : costWarnings(item.doc.price, unit_cost)),
    ]
    const events = isOtherCost ? [recorded, repriced] : [recorded]
    return accept('created', recorded.subject, events, [], warnings.length > 0 ? { warnings } : undefined)
  },
})

const itemRef = ({ catalog_item_id, catalog_item_external_id }: StockMovementInput): Ref<ItemRow> =>
  typeof catalog_item_id === 'number' ? itemById(catalog_item_id) : itemByExternalId(catalog_item_external_id ?? '')

function stockAfter(
  rows: Rows,
  { id }: Readonly<ItemRow>,
  { kind, quantity }: StockMovementInput,
): { thousandths: number } | Refusal {
  const before = getStock(rows, id)
  const given = toThousandths(quantity)
  if (kind === 'count') return { thousandths: given }
  if (before === null) return refuseField('kind', 'o item não tem controle de estoque: comece por uma contagem')
  const change = kind === 'loss' ? -Math.abs(given) : given
  const thousandths = toThousandths(before) + change
  // Bounded, so that a returned quantity is always valid input.
  if (thousandths > MAX_THOUSANDTHS) return refuseField('quantity', 'o estoque resultante é grande demais')
  // As for `stock_adjustment`: incoming goods are never refused.
  if (thousandths < 0 && change < 0) {
    const short = { catalog_item_id: id, requested: fromThousandths(-change), available: before }
    return refuse('insufficient_stock', { ...short, items: [short] })
  }
  return { thousandths }
}
