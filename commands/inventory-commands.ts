import * as z from 'zod'
import { plainBarcode, sameBarcodes } from '#domain/barcode.ts'
import { Instant } from '#domain/instant.ts'
import { fromThousandths, MAX_THOUSANDTHS, StockQuantity, toThousandths } from '#domain/quantity.ts'
import { invalid, type Refusal, refuse } from '#domain/refusals.ts'
import { boundedText, ExternalId, Id, nameText, orDefault } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { accept, command, isRefusal } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { type ItemRow, itemByBarcode, itemByExternalId, itemById } from '#projections/catalog.ts'
import {
  type CountedStock,
  IDS_PER_EVENT,
  inventoryById,
  inventoryCountOf,
  STOCK_AT_COUNT,
} from '#projections/stock.ts'
import { brokenPieceWarnings, NO_STOCK_OF_SERVICES, type Warning } from './item-input.ts'

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

const IDENTIFIER = 'informe exatamente um entre catalog_item_id, catalog_item_external_id e code'

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
    if (given.length !== 1) context.addIssue({ code: 'custom', path: ['catalog_item_id'], message: IDENTIFIER })
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
      return item ? [inventoryCountOf(id, item.id)] : []
    }),
  decide(rows, { id, mode, items }, { now }) {
    const inventory = rows.get(inventoryById(id))
    if (!inventory) return refuse('not_found')
    if (inventory.status !== 'open') return refuse('inventory_closed')
    const counted = readCounts(rows, { id, mode, items }, now)
    if (isRefusal(counted)) return counted
    const { counts, warnings } = counted
    const known = (itemId: number) => (rows.get(inventoryCountOf(id, itemId))?.quantity ?? null) !== null
    const more = [...counts.values()].reduce(
      (sum, { catalog_item_id, quantity }) => sum + Number(quantity !== null) - Number(known(catalog_item_id)),
      0,
    )
    const counted_items = inventory.doc.counted_items + more
    if (counted_items > MAX_COUNTED_ITEMS)
      return invalid('items', `um inventário tem no máximo ${MAX_COUNTED_ITEMS} itens: abra outro para os demais`)
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
    const before = counts.get(item.id)?.quantity ?? rows.get(inventoryCountOf(id, item.id))?.quantity ?? '0'
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
