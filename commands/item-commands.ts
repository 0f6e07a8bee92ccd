import * as z from 'zod'
import { ITEM_TAX_FIELDS, itemTaxProblem } from '#domain/fiscal-values.ts'
import { mergeMetadata, sameBarcodes, wholeMetadata } from '#domain/record-values.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import { Id, NewExternalId } from '#domain/text.ts'
import { ITEM_SHOP_FIELDS } from '#events/catalog-events.ts'
import { event } from '#events/catalogue.ts'
import { accept, command, type Grant, isRefusal, type Permit } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import {
  barcodeHolderByCode,
  type Codes,
  categoryById,
  gtinHoldersByGtin,
  type ItemDocument,
  type ItemFields,
  type ItemRow,
  itemByBarcode,
  itemByExternalId,
  itemById,
  itemByVariant,
  listItemCodes,
  variantCountByItem,
} from '#projections/catalog.ts'
import { getStock } from '#projections/stock.ts'
import { toRecordedValues, wholeShape } from '#records/field.ts'
import { DEFAULT_ITEM_TYPE, ITEM_FIELDS, ITEM_OWN_DEFINITIONS } from '#records/items.ts'
import {
  brokenPieceWarnings,
  type CommandWarnings,
  checkItem,
  ItemChanges,
  type ItemInput,
  isEmpty,
  NO_STOCK_OF_SERVICES,
  permitAll,
  pickChanges,
  priceWarnings,
  type RecordId,
  refuseDuplicate,
} from './record-commands.ts'
import { countStock, moveStock, normalizeQuantity } from './stock-commands.ts'

/** Body of POST /catalog/items and of PUT by-external (its external id comes from the path). */
export const CreateItemInput = z.strictObject(wholeShape(ITEM_FIELDS)).superRefine(checkItem)
export type CreateItemInput = z.infer<typeof CreateItemInput>

/** Creates a product or service with a unique external id and barcode. */
export const createItem = command<CreateItemInput & Strict>({
  permission: 'edit_catalog',
  needs: linkedRefs,
  needsMore: (rows, input) => [...holderRefs(rows, input, null), ...formerHolderRefs(rows, input)],
  decide(rows, input, { now, nextId, permit }) {
    const conflict = findConflict(rows, input, null)
    if (conflict) return conflict
    const shared = findSharedCodes(rows, input, null)
    if (shared && isRefusal(shared)) return shared
    const granted = permitBarcodes(rows, permit, input, null, now)
    if (isRefusal(granted)) return granted
    const fields = fieldsOf(input.external_id ?? null, input)
    const created = event('CatalogItemCreated', {
      id: nextId('catalog_item'),
      ...granted,
      ...recordedOfNew(input.cost === undefined ? { ...fields, cost: costOfParent(rows, input) } : fields),
      stock: input.stock ? normalizeQuantity(input.stock) : null,
    })
    return accept('created', created.subject, [created], [], remarksOf(shared, input, input))
  },
})

/** Body of PUT /catalog/items/by-external/{external_id}, and each item of a batch. */
export const ReplaceItemInput = z
  .strictObject({ ...wholeShape(ITEM_FIELDS), external_id: NewExternalId })
  .superRefine(checkItem)
export type ReplaceItemInput = z.infer<typeof ReplaceItemInput>

/** Creates, replaces or revives the item with this external id. Absent stock stays unchanged. */
export const replaceItem = command<ReplaceItemInput & Strict>({
  needs: linkedRefs,
  needsMore(rows, input) {
    const known = rows.get(itemByExternalId(input.external_id))
    const ownId = known?.id ?? null
    const variant = revivedVariant(known, input)
    return [
      ...holderRefs(rows, input, ownId),
      ...formerHolderRefs(rows, input),
      ...linkedRefs(variant),
      ...ownVariantRefs(variant, ownId),
    ]
  },
  decide(rows, input, { now, nextId, permit }) {
    const known = rows.get(itemByExternalId(input.external_id))
    const revived = revivedVariant(known, input)
    const conflict = findConflict(rows, revived, known?.id ?? null)
    if (conflict) return conflict
    const shared = findSharedCodes(rows, input, known?.id ?? null)
    if (shared && isRefusal(shared)) return shared
    const remarks = remarksOf(shared, input, input)
    const fields = fieldsOf(input.external_id, input)
    const moving = permitBarcodes(rows, permit, input, known?.id ?? null, now)
    if (isRefusal(moving)) return moving
    if (!known) {
      const stock = input.stock ? normalizeQuantity(input.stock) : null
      const created = event('CatalogItemCreated', {
        id: nextId('catalog_item'),
        ...moving,
        ...recordedOfNew(fields),
        stock,
      })
      return accept('created', created.subject, [created], [], remarks)
    }
    const { id } = known
    const changes = pickChanges<Partial<ItemFields>>(known.doc, fields)
    const counted = countStock({ id, type: input.type, stock: getStock(rows, id) }, input.stock)
    const granted = permitItemChanges(permit, changes, counted.length > 0)
    if (isRefusal(granted)) return granted
    const changed = updatedBy(known.doc, changes, { ...granted, ...moving })
    // Order matters: a webhook shows the record as of its event, so the event with a webhook comes last.
    const events = [
      ...counted,
      ...(known.deleted_at
        ? [event('CatalogItemRevived', { id, ...moving, ...recordedOf({ ...fields, ...parentIn(revived) }) })]
        : changed),
    ]
    return accept(events.length > 0 ? 'updated' : 'unchanged', `catalog_item/${id}`, events, [], remarks)
  },
})

export const UpdateItemInput = z.strictObject({ id: Id, changes: ItemChanges })
export type UpdateItemInput = z.infer<typeof UpdateItemInput>

/** Changes the given fields; a change of stock is a separate event. */
export const updateItem = command<UpdateItemInput & Strict>({
  needs: ({ id, changes }) => [itemById(id), ...linkedRefs(changes), ...ownVariantRefs(changes, id)],
  needsMore: (rows, { id, changes }) => [...holderRefs(rows, changes, id), ...formerHolderRefs(rows, changes)],
  decide(rows, { id, changes: input, strict }, { now, permit }) {
    const known = rows.get(itemById(id))
    if (!known || known.deleted_at) return refuse('not_found')
    const { stock: _stock, stock_adjustment: _adjustment, ...rest } = input
    const metadata = mergeMetadata(known.doc.metadata, rest.metadata)
    if (metadata && isRefusal(metadata)) return metadata
    const fields = {
      ...rest,
      ...shopFieldsOf(rest),
      metadata,
      type: rest.type === null ? DEFAULT_ITEM_TYPE : rest.type,
    }
    const conflict = findConflict(rows, fields, id)
    if (conflict) return conflict
    const shared = findSharedCodes(rows, { gtin: input.gtin, barcode: input.barcode, strict }, id)
    if (shared && isRefusal(shared)) return shared
    if (rest.min_stock && (fields.type ?? known.doc.type) === 'service')
      return refuseField('min_stock', NO_STOCK_OF_SERVICES)
    const moved = moveStock({ id, type: fields.type ?? known.doc.type, stock: getStock(rows, id) }, input)
    if (isRefusal(moved)) return moved
    const changes = pickChanges<Partial<ItemFields>>(known.doc, fields)
    const granted = permitItemChanges(permit, changes, moved.length > 0)
    if (isRefusal(granted)) return granted
    const moving = permitBarcodes(rows, permit, changes, id, now)
    if (isRefusal(moving)) return moving
    const contradiction = itemTaxProblem({ ...known.doc, ...changes })
    if (contradiction) return refuseField(contradiction.field, contradiction.message)
    // Same order as in replaceItem.
    const events = [...moved, ...updatedBy(known.doc, changes, { ...granted, ...moving })]
    const outcome = events.length > 0 ? 'updated' : 'unchanged'
    const remarks = remarksOf(shared, { ...known.doc, ...changes }, input)
    return accept(outcome, `catalog_item/${id}`, events, [], remarks)
  },
})

/** Removes an item from lists and sales and frees its barcode, without deleting it. Not with variants. */
export const deactivateItem = command<RecordId>({
  permission: 'edit_catalog',
  needs: ({ id }) => [itemById(id), variantCountByItem(id)],
  decide(rows, { id }) {
    const known = rows.get(itemById(id))
    if (!known || known.deleted_at) return refuse('not_found')
    if (hasVariants(rows, id)) return refuse('has_variants')
    const { gtin, parent_id } = known.doc
    const left = { ...(gtin && { gtin }), ...(parent_id && { parent_id }) }
    return accept('deleted', `catalog_item/${id}`, [event('CatalogItemDeactivated', { id, ...left })])
  },
})

/**
 * Restores a deactivated item unless another item has its barcode now; a deleted category is not restored.
 */
export const reactivateItem = command<RecordId>({
  permission: 'edit_catalog',
  needs: ({ id }) => [itemById(id)],
  needsMore(rows, { id }) {
    const known = rows.get(itemById(id))
    return known ? [...linkedRefs(known.doc), ...ownVariantRefs(known.doc, id)] : []
  },
  needsLast(rows, { id }) {
    const known = rows.get(itemById(id))
    return known ? formerHolderRefs(rows, known.doc) : []
  },
  decide(rows, { id }, { now, permit }) {
    const known = rows.get(itemById(id))
    if (!known) return refuse('not_found')
    if (!known.deleted_at) return accept('unchanged', `catalog_item/${id}`)
    const { id: _id, created_at: _made, updated_at: _at, deleted_at: _deleted, ...was } = known.doc
    const category = was.category_id === null ? null : rows.get(categoryById(was.category_id))
    const fields = { ...was, category_id: category && !category.deleted_at ? was.category_id : null }
    const conflict = findConflict(rows, fields, id)
    if (conflict) return conflict
    const moving = permitBarcodes(rows, permit, fields, id, now)
    if (isRefusal(moving)) return moving
    const revived = event('CatalogItemRevived', { id, ...moving, ...recordedOfNew(fields) })
    return accept('updated', revived.subject, [revived])
  },
})

/** Refuses a GTIN of another item instead of warning (ITEM-12). */
interface Strict {
  readonly strict?: boolean | undefined
}

/** Prices, costs and stock need permissions beside that for items. */
const permitItemChanges = (permit: Permit, changes: Partial<ItemFields>, movesStock: boolean): Grant | Refusal =>
  permitAll(permit, [
    ...(isEmpty(changes) ? [] : (['edit_catalog'] as const)),
    ...('price' in changes ? (['change_price'] as const) : []),
    ...('cost' in changes ? (['see_costs'] as const) : []),
    ...(movesStock ? (['adjust_stock'] as const) : []),
  ])

/** Days for which the price under a barcode is that of the item that had it. */
const BARCODE_DAYS = 30

const formerHolderRefs = (rows: Rows, item: Codes): AnyRef[] =>
  listItemCodes(item).flatMap((code) => {
    const holder = rows.get(barcodeHolderByCode(code))
    return holder ? [itemById(holder.item_id)] : []
  })

/** Whether another item has the code, or had it within the last days. */
function isOfOther(rows: Rows, code: string, ownId: number | null, now: string): boolean {
  const holder = rows.get(barcodeHolderByCode(code))
  const item = holder && holder.item_id !== ownId ? rows.get(itemById(holder.item_id)) : null
  if (!item) return false
  if (item.deleted_at === null && listItemCodes(item.doc).includes(code)) return true
  return Date.parse(now) - Date.parse(item.deleted_at ?? item.updated_at) <= BARCODE_DAYS * 24 * 3600 * 1000
}

/** An item under the barcode of another one changes the price at which tills sell it. */
const permitBarcodes = (rows: Rows, permit: Permit, item: Codes, ownId: number | null, now: string): Grant | Refusal =>
  listItemCodes(item).some((code) => isOfOther(rows, code, ownId, now)) ? permit('change_price') : {}

/** The event of an item with these changes; none without any. */
function updatedBy({ id, gtin, parent_id }: ItemDocument, changes: Partial<ItemFields>, granted: Grant) {
  if (isEmpty(changes)) return []
  const former_gtin = changes.gtin === undefined ? null : gtin
  const former_parent_id = changes.parent_id === undefined ? null : parent_id
  const former = { ...(former_gtin && { former_gtin }), ...(former_parent_id && { former_parent_id }) }
  return [event('CatalogItemUpdated', { id, changes, ...former, ...granted })]
}

/** The first other active item with a GTIN. */
const otherHolder = (rows: Rows, gtin: string, ownId: number | null): number | undefined =>
  rows.get(gtinHoldersByGtin(gtin))?.item_ids.find((each) => each !== ownId)

function holderRefs(rows: Rows, { gtin }: { readonly gtin?: string | null }, ownId: number | null): AnyRef[] {
  const holder = gtin ? otherHolder(rows, gtin, ownId) : undefined
  return holder === undefined ? [] : [itemById(holder)]
}

interface SharedCodes extends Strict {
  readonly gtin?: string | null | undefined
  readonly barcode?: string | null | undefined
}

/**
 * Warnings of a GTIN or barcode that another active item has, with other zeros before it or not, or the refusal of it;
 * null if no other item has it.
 */
function findSharedCodes(
  rows: Rows,
  { gtin, barcode, strict }: SharedCodes,
  ownId: number | null,
): CommandWarnings | Refusal | null {
  const holder = gtin ? otherHolder(rows, gtin, ownId) : undefined
  const alike = barcode ? sameBarcodes(barcode).map((one) => rows.get(itemByBarcode(one))) : []
  const other = alike.find((item) => item && item.id !== ownId)
  const shared = [
    ...(holder === undefined
      ? []
      : [
          {
            code: 'gtin_in_use',
            field: 'gtin',
            what: 'GTIN',
            id: holder,
            name: rows.get(itemById(holder))?.name,
          } as const,
        ]),
    ...(other
      ? [
          {
            code: 'barcode_in_use',
            field: 'barcode',
            what: 'código de barras',
            id: other.id,
            name: other.name,
          } as const,
        ]
      : []),
  ]
  const [first] = shared
  if (!first) return null
  if (strict) return refuse('duplicate_resource', { field: first.field, conflicting_id: first.id })
  return {
    warnings: shared.map(({ code, field, what, id, name }) => {
      const message = `o item ${id} (${name}) tem o mesmo ${what}`
      return { code, field, message, conflicting_id: id }
    }),
  }
}

/** Warnings of a request, about the item after it. */
function remarksOf(
  shared: CommandWarnings | null,
  item: Pick<ItemInput, 'price' | 'cost' | 'unit'>,
  { price, cost, stock, stock_adjustment, min_stock }: Partial<Omit<ItemChanges, 'type'>>,
): CommandWarnings | undefined {
  const warnings = [
    ...(shared?.warnings ?? []),
    ...priceWarnings(item, price !== undefined || cost !== undefined),
    ...brokenPieceWarnings(item.unit, { stock, stock_adjustment, min_stock }),
  ]
  return warnings.length > 0 ? { warnings } : undefined
}

/** References to other records, and values that must be unique. */
interface LinkedFields {
  readonly external_id?: string | null
  readonly gtin?: string | null
  readonly barcode?: string | null
  readonly category_id?: number | null
  readonly parent_id?: number | null
  readonly variant?: ItemFields['variant'] | undefined
}

type ShopField = (typeof ITEM_SHOP_FIELDS)[number]
type ReplacedFields = Omit<ItemFields, ShopField> & Partial<Pick<ItemFields, ShopField>>

/** Recorded fields of a whole item except stock; absent ones are null, those of the shop stay absent. */
function fieldsOf(externalId: string | null, input: ItemInput): ReplacedFields {
  return { ...toRecordedValues(ITEM_OWN_DEFINITIONS, input), external_id: externalId, ...shopFieldsOf(input) }
}

const shopFieldsOf = ({
  min_stock,
  parent_id,
  variant,
  metadata,
}: Pick<ItemInput, 'min_stock' | 'parent_id' | 'variant' | 'metadata'>): Partial<Pick<ItemFields, ShopField>> => ({
  ...(min_stock !== undefined && { min_stock: min_stock && normalizeQuantity(min_stock) }),
  ...(parent_id !== undefined && { parent_id }),
  ...(variant !== undefined && { variant }),
  ...(metadata !== undefined && { metadata: wholeMetadata(metadata) }),
})

/** The fields without those of `optional` that are null: events leave them out. */
function withoutEmpty<A extends object, F extends keyof A>(
  fields: A,
  optional: readonly F[],
): Omit<A, F> & Partial<Pick<A, F>> {
  const given: A = { ...fields }
  for (const field of optional) if (given[field] === null) delete given[field]
  return given
}

/** Events leave out tax fields that are empty. */
const recordedOf = (fields: ReplacedFields) => withoutEmpty(fields, ITEM_TAX_FIELDS)
const recordedOfNew = (fields: ReplacedFields) => withoutEmpty(recordedOf(fields), ITEM_SHOP_FIELDS)

function linkedRefs({ external_id, barcode, category_id, gtin, parent_id, variant }: LinkedFields): AnyRef[] {
  return [
    ...(gtin ? [gtinHoldersByGtin(gtin)] : []),
    ...listItemCodes({ barcode, gtin }).map(barcodeHolderByCode),
    ...(external_id ? [itemByExternalId(external_id)] : []),
    ...(barcode ? sameBarcodes(barcode).map(itemByBarcode) : []),
    ...(category_id ? [categoryById(category_id)] : []),
    ...(parent_id && variant ? [itemById(parent_id), itemByVariant(parent_id, variant)] : []),
  ]
}

/** Refusal of an unknown category, or of an external id or barcode of another item. */
function findConflict(
  rows: Rows,
  { external_id, barcode, category_id, parent_id, variant }: LinkedFields,
  ownId: number | null,
): Refusal | null {
  const category = category_id ? rows.get(categoryById(category_id)) : null
  if (category_id && (!category || category.deleted_at)) return refuseField('category_id', 'categoria não encontrada')
  const wrong = parent_id && variant ? findWrongVariant(rows, parent_id, variant, ownId) : null
  if (wrong) return wrong
  const same = external_id ? refuseDuplicate('external_id', rows.get(itemByExternalId(external_id)), ownId) : null
  if (same || !barcode) return same
  return refuseDuplicate('barcode', rows.get(itemByBarcode(barcode)), ownId)
}

/** Refusal of a variant of an unknown item or of one that is a variant, or of a variant that exists. */
function findWrongVariant(
  rows: Rows,
  parent_id: number,
  variant: NonNullable<ItemFields['variant']>,
  ownId: number | null,
): Refusal | null {
  const parent = rows.get(itemById(parent_id))
  if (!parent || parent.deleted_at) return refuseField('parent_id', 'item não encontrado no catálogo')
  if (parent_id === ownId || parent.parent_id !== null) return refuseField('parent_id', 'é uma variação')
  if (ownId !== null && hasVariants(rows, ownId)) return refuseField('parent_id', 'o item tem variações')
  return refuseDuplicate('variant', rows.get(itemByVariant(parent_id, variant)), ownId)
}

const hasVariants = (rows: Rows, id: number): boolean => (rows.get(variantCountByItem(id))?.variants ?? 0) > 0

/** The own variants of an item that becomes a variant. */
const ownVariantRefs = ({ parent_id }: LinkedFields, ownId: number | null): AnyRef[] =>
  parent_id && ownId !== null ? [variantCountByItem(ownId)] : []

/** Cost of a variant that is created without one: its maker may not see costs. */
const costOfParent = (rows: Rows, { parent_id }: LinkedFields): string | null =>
  parent_id ? (rows.get(itemById(parent_id))?.doc.cost ?? null) : null

const parentIn = ({ parent_id, variant }: LinkedFields): Partial<Pick<ItemFields, 'parent_id' | 'variant'>> =>
  parent_id && variant ? { parent_id, variant } : {}

/** The input with the variant that a deleted item had, if the PUT that revives it names none. */
const revivedVariant = (known: Readonly<ItemRow> | null, input: ReplaceItemInput): LinkedFields => {
  const { parent_id, variant } = known?.deleted_at && input.parent_id === undefined ? known.doc : input
  return { ...input, parent_id: parent_id ?? null, variant }
}
