import * as z from 'zod'
import { AccessKey } from '#domain/fiscal-values.ts'
import { CalendarDate } from '#domain/instant.ts'
import { fromThousandths, MAX_THOUSANDTHS, Quantity, toThousandths } from '#domain/money.ts'
import {
  averageUnitCost,
  DocumentNumber,
  parseDocumentNumber,
  quantityReceived,
  type ReceivedPart,
  sumLineCosts,
} from '#domain/prices.ts'
import { type Refusal, refuse, refuseField, refuseForgotten } from '#domain/refusals.ts'
import { Id, optionalText } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { accept, command, type DecisionContext, isRefusal, type NewEvent } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import type { Rows } from '#ledger/working-set.ts'
import { groupBy } from '#lib/collections.ts'
import { type ItemRow, itemById } from '#projections/catalog.ts'
import { standingPayments } from '#projections/finance.ts'
import {
  type GoodsReceiptObject,
  goodsReceiptById,
  goodsReceiptByKey,
  LATER_PURCHASES,
  SUPPLIERS_WITH_DOCUMENT,
} from '#projections/goods-receipts.ts'
import { supplierById, supplierByName } from '#projections/people.ts'
import { getStock, IDS_PER_EVENT, thousandthsByItem, toMovementId } from '#projections/stock.ts'
import { PositiveMoney } from '#records/accounts.ts'
import { Document, SUPPLIER_FIELDS } from '#records/persons.ts'
import type { Party } from './account-commands.ts'
import { CreateItemInput, createItem } from './item-commands.ts'
import { createdSupplier, namesLike } from './person-commands.ts'
import { payableSide } from './receivables-payables.ts'
import { NO_STOCK_OF_SERVICES, type RecordId, refuseDuplicate } from './record-commands.ts'
import { normalizeQuantity, UNKNOWN_ITEM } from './stock-commands.ts'

/** As the layout of NF-e: lines of a note, and instalments of its bill. */
export const [MAX_RECEIPT_LINES, MAX_RECEIPT_BILLS] = [990, 120]

export const GoodsLine = z.strictObject({
  catalog_item_id: Id.nullish(),
  /** Place in `new_items`. */
  new_item: z.int().min(0).nullish(),
  code: optionalText(60),
  unit: optionalText(20),
  /** In the supplier's unit. */
  quantity: DocumentNumber,
  /** Own units in one of the supplier's. */
  factor: Quantity,
  /** Of the whole line, in reais. */
  cost: DocumentNumber,
})

const NamedLine = GoodsLine.refine(
  ({ catalog_item_id, new_item }) => (catalog_item_id ?? null) === null || (new_item ?? null) === null,
  { path: ['catalog_item_id'], message: 'informe o item ou um novo, não os dois' },
)

/** A supplier of the company, or the one with this CPF or CNPJ, who is made if there is none. */
const ReceiptSupplier = z.union([
  z.strictObject({ id: Id }),
  z.strictObject({
    document: Document,
    name: SUPPLIER_FIELDS.name.whole,
    trade_name: SUPPLIER_FIELDS.trade_name.whole,
  }),
])

export const ReceiptHead = z.strictObject({
  /** Of the NF-e: each is received once. */
  access_key: AccessKey.nullish(),
  reference: optionalText(100),
  issued_on: CalendarDate.nullish(),
  bills: z
    .array(z.strictObject({ due_date: CalendarDate, amount: PositiveMoney }).meta({ id: 'GoodsReceiptBillInput' }))
    .max(MAX_RECEIPT_BILLS),
})

export const ReceiveGoodsInput = ReceiptHead.extend({
  supplier: ReceiptSupplier.nullish(),
  new_items: z.array(CreateItemInput).max(MAX_RECEIPT_LINES),
  lines: z.array(NamedLine).min(1, 'informe ao menos um produto').max(MAX_RECEIPT_LINES),
})
export type ReceiveGoodsInput = z.infer<typeof ReceiveGoodsInput>

/** Names that a new supplier may get, the best first. */
const namesOf = (supplier: ReceiveGoodsInput['supplier']): string[] =>
  supplier && 'name' in supplier ? [supplier.name, ...namesLike(supplier.name, supplier.document)] : []

/**
 * Records goods of a supplier: their stock and cost, how the supplier calls them, and the accounts to pay. Supplier and
 * items that do not exist are made with it. Who may move stock and edit payables may do all of it.
 */
export const receiveGoods = command<ReceiveGoodsInput>({
  permission: 'adjust_stock',
  isAlone: true,
  needs: ({ access_key, supplier, lines, new_items }) => [
    ...(access_key ? [goodsReceiptByKey(access_key)] : []),
    ...(supplier && 'id' in supplier ? [supplierById(supplier.id)] : []),
    ...namesOf(supplier).map(supplierByName),
    ...lines.flatMap(({ catalog_item_id }) => (catalog_item_id ? [itemById(catalog_item_id)] : [])),
    ...new_items.flatMap((item) => createItem.needs(item)),
  ],
  needsMore: (rows, { new_items }) => new_items.flatMap((item) => createItem.needsMore?.(rows, item) ?? []),
  lookup: (_rows, { supplier }) => ({
    ...SUPPLIERS_WITH_DOCUMENT,
    values: [supplier && 'document' in supplier ? supplier.document : null],
  }),
  decide(rows, input, context) {
    const granted = context.permit('edit_payables')
    if (isRefusal(granted)) return granted
    const { access_key = null, reference = null, issued_on = null } = input
    const same = access_key && refuseDuplicate('access_key', rows.get(goodsReceiptByKey(access_key)), null)
    if (same) return same
    const id = context.nextId('goods_receipt')
    const supplier = findSupplier(rows, input, context)
    if (isRefusal(supplier)) return supplier
    const goods = receivedGoods(rows, input)
    if (isRefusal(goods)) return goods
    const made = makeItems(rows, input, goods, context)
    if (isRefusal(made)) return made
    const stocked = stockGoods(rows, goods, made.ids)
    if (isRefusal(stocked)) return stocked
    const bills = payablesOf(input, supplier.party, id, context)
    const received = event('GoodsReceived', {
      ...{ id, access_key, reference, issued_on, supplier_id: supplier.party?.id ?? null },
      payable_ids: bills.map(({ payable_id }) => payable_id),
      total_cost: sumLineCosts(goods.map(({ part }) => part.cost)),
    })
    const costs = costChanges(goods, made.ids)
    const lines = event('GoodsStocked', { id, supplier_id: supplier.party?.id ?? null, lines: stocked, costs })
    const repriced = costs.flatMap(({ catalog_item_id, cost }) =>
      made.ids.includes(catalog_item_id)
        ? []
        : [event('CatalogItemUpdated', { id: catalog_item_id, changes: { cost } })],
    )
    const events = [
      ...[received, ...supplier.events, ...made.events, lines, ...repriced],
      ...bills.map(({ created }) => created),
    ]
    return accept('created', received.subject, events)
  },
})

interface FoundSupplier {
  readonly party: Party | null
  /** That make a new one. */
  readonly events: readonly NewEvent[]
}

function findSupplier(rows: Rows, { supplier }: ReceiveGoodsInput, { found, nextId }: DecisionContext) {
  if (!supplier) return { party: null, events: [] } satisfies FoundSupplier
  if ('id' in supplier) {
    const known = rows.get(supplierById(supplier.id))
    if (!known || known.deleted_at) return refuseField('supplier', 'fornecedor não encontrado')
    const { id, external_id, doc } = known
    if (doc.forgotten_at !== null || doc.forgetting_due_on !== null) return refuseForgotten(`supplier/${id}`)
    return { party: { id, external_id, name: doc.name }, events: [] } satisfies FoundSupplier
  }
  const [known] = found as readonly Party[]
  if (known) return { party: known, events: [] } satisfies FoundSupplier
  const name = namesOf(supplier).find((one) => rows.get(supplierByName(one)) === null)
  if (name === undefined) return refuseField('supplier', 'já há outros fornecedores com este nome: altere o nome deles')
  const id = nextId('supplier')
  const { document, trade_name } = supplier
  const events = [createdSupplier(id, { name, document, trade_name })]
  return { party: { id, external_id: null, name }, events } satisfies FoundSupplier
}

/** A line with what it brings. */
interface ReceivedGoods {
  readonly line: ReceiveGoodsInput['lines'][number]
  readonly part: ReceivedPart
  /** Own units. */
  readonly quantity: string
  readonly unit_cost: string
  /** Known item; null for a new one. */
  readonly item: Readonly<ItemRow> | null
}

/** The goods of all lines, or what is wrong with them. */
function receivedGoods(rows: Rows, { lines, new_items }: ReceiveGoodsInput): ReceivedGoods[] | Refusal {
  const fields: Record<string, string[]> = {}
  const goods = lines.flatMap((line, at): ReceivedGoods[] => {
    const part = {
      quantity: parseDocumentNumber(line.quantity) ?? 0n,
      factor: line.factor,
      cost: parseDocumentNumber(line.cost) ?? 0n,
    }
    const [quantity, unit_cost] = [quantityReceived(part), averageUnitCost([part])]
    const item = line.catalog_item_id ? rows.get(itemById(line.catalog_item_id)) : null
    const problem = problemOf(line, item, new_items.length)
    if (problem) fields[`lines[${at}].catalog_item_id`] = [problem]
    else if (quantity === null)
      fields[`lines[${at}].quantity`] = ['deve dar mais que zero, e não demais, em unidades suas']
    else if (unit_cost === null) fields[`lines[${at}].cost`] = ['dá um custo unitário grande demais']
    else return [{ line, part, quantity, unit_cost, item }]
    return []
  })
  return Object.keys(fields).length > 0 ? refuse('validation_failed', { fields, unknown_fields: [] }) : goods
}

function problemOf({ new_item }: ReceivedGoods['line'], item: Readonly<ItemRow> | null, made: number): string | null {
  if (typeof new_item === 'number') return new_item < made ? null : UNKNOWN_ITEM
  if (!item || item.deleted_at) return UNKNOWN_ITEM
  return item.type === 'service' ? NO_STOCK_OF_SERVICES : null
}

interface MadeItems {
  /** Of `new_items`, in their order. */
  readonly ids: readonly number[]
  readonly events: readonly NewEvent[]
}

/** The new items, which begin with no stock and with the cost of their goods. */
function makeItems(
  rows: Rows,
  { new_items }: ReceiveGoodsInput,
  goods: readonly ReceivedGoods[],
  context: DecisionContext,
): MadeItems | Refusal {
  const made: { readonly id: number; readonly events: readonly NewEvent[] }[] = []
  const codes = new Set<string>()
  for (const [at, item] of new_items.entries()) {
    const parts = goods.flatMap(({ line, part }) => (line.new_item === at ? [part] : []))
    if (parts.length === 0) return refuseField(`new_items[${at}]`, 'nenhuma linha traz este produto')
    const own = [item.barcode, item.external_id && `externo ${item.external_id}`].filter(
      (code) => typeof code === 'string',
    )
    if (own.some((code) => codes.has(code))) return refuseField(`new_items[${at}].barcode`, 'repete outro produto novo')
    for (const code of own) codes.add(code)
    const stocked = { ...item, type: 'product' as const, stock: '0', cost: averageUnitCost(parts) }
    const decision = createItem.decide(rows, stocked, context)
    if (isRefusal(decision)) return inNewItem(decision, at)
    made.push({ id: parseSubject(decision.subject).id, events: decision.events })
  }
  return { ids: made.map(({ id }) => id), events: made.flatMap(({ events }) => events) }
}

/** A refusal of a new item, with the item named in its fields. */
function inNewItem({ refused, details = {} }: Refusal, at: number): Refusal {
  const { fields, field } = details as { fields?: Record<string, string[]>; field?: string }
  const place = `new_items[${at}]`
  if (fields) {
    const named = Object.entries(fields).map(([name, told]) => [`${place}.${name}`, told])
    return refuse(refused, { ...details, fields: Object.fromEntries(named) })
  }
  return refuse(refused, field === undefined ? details : { ...details, field: `${place}.${field}` })
}

type StockedLine = DataOf<'GoodsStocked'>['lines'][number]

/** Stocks after each line; what the company does not count stays uncounted. */
function stockGoods(rows: Rows, goods: readonly ReceivedGoods[], ids: readonly number[]): StockedLine[] | Refusal {
  if (goods.length > IDS_PER_EVENT) throw new Error(`${goods.length} lines of a goods receipt`)
  const stocks = new Map<number, string | null>()
  const lines: StockedLine[] = []
  for (const [at, { line, item, quantity, unit_cost }] of goods.entries()) {
    const id = item ? item.id : (ids[line.new_item as number] as number)
    const before = stocks.has(id) ? (stocks.get(id) ?? null) : item ? getStock(rows, id) : '0.000'
    const thousandths = before === null ? null : toThousandths(before) + toThousandths(quantity)
    if (thousandths !== null && thousandths > MAX_THOUSANDTHS)
      return refuseField(`lines[${at}].quantity`, 'o estoque resultante é grande demais')
    const after = thousandths === null ? null : fromThousandths(thousandths)
    stocks.set(id, after)
    const { code = null, unit = null, factor } = line
    lines.push({
      ...{ catalog_item_id: id, code, unit, factor: normalizeQuantity(factor) },
      ...{ quantity, before, after, unit_cost },
    })
  }
  return lines
}

/** Costs of new items, and new ones of known items, each over all of its lines. */
function costChanges(goods: readonly ReceivedGoods[], ids: readonly number[]): DataOf<'GoodsStocked'>['costs'] {
  const byItem = groupBy(goods, ({ item, line }) => item?.id ?? (ids[line.new_item as number] as number))
  return [...byItem].flatMap(([catalog_item_id, received]) => {
    const [former_cost, cost] = [received[0]?.item?.doc.cost ?? null, averageUnitCost(received.map(({ part }) => part))]
    return cost === null || cost === former_cost ? [] : [{ catalog_item_id, former_cost, cost }]
  })
}

/** The accounts to pay, one for each instalment. */
function payablesOf(
  { bills, reference }: ReceiveGoodsInput,
  supplier: Party | null,
  receipt: number,
  { nextId, origin }: DecisionContext,
): { readonly payable_id: number; readonly created: NewEvent }[] {
  const ids = bills.map(() => nextId('payable'))
  const [group] = ids
  return bills.map(({ due_date, amount }, at) => {
    const payable_id = ids[at] as number
    const created = payableSide.created(payable_id, {
      ...{ external_id: null, description: reference ?? `Entrada ${receipt}`, amount, due_date, metadata: null },
      ...payableSide.party.recorded(supplier),
      ...{ origin: origin === 'api' ? ('api' as const) : ('pdv' as const), sale_id: null },
      ...(bills.length > 1 && { installment: { group: group as number, number: at + 1, count: bills.length } }),
    })
    return { payable_id, created }
  })
}

/**
 * Takes a goods receipt back: its stock, its costs where they are still those of the receipt, and its unpaid accounts to
 * pay. Its access key may be received again. New items, the supplier, and how the supplier calls the items stay.
 */
export const undoGoodsReceipt = command<RecordId>({
  permission: 'adjust_stock',
  isAlone: true,
  needs: ({ id }) => [goodsReceiptById(id)],
  needsMore(rows, { id }) {
    const receipt = rows.get(goodsReceiptById(id))?.doc
    return receipt
      ? [
          ...receipt.lines.map(({ catalog_item_id }) => itemById(catalog_item_id)),
          ...receipt.payable_ids.map((payable) => payableSide.byId(payable)),
        ]
      : []
  },
  lookup(rows, { id }) {
    const row = rows.get(goodsReceiptById(id))
    const ids = row?.doc.costs.map(({ catalog_item_id }) => catalog_item_id) ?? []
    return { ...LATER_PURCHASES, values: [ids, row ? toMovementId(row.revision + 1) : 0] }
  },
  decide(rows, { id }, { permit, found }) {
    const receipt = rows.get(goodsReceiptById(id))?.doc
    if (!receipt) return refuse('not_found')
    const granted = permit('edit_payables')
    if (isRefusal(granted)) return granted
    if (receipt.undone_at !== null) return accept('unchanged', `goods_receipt/${id}`)
    const bills = receipt.payable_ids.flatMap((payable) => rows.get(payableSide.byId(payable)) ?? [])
    const paid = bills.filter(({ doc, deleted_at }) => !deleted_at && standingPayments(doc).length > 0)
    if (paid.length > 0) return refuse('has_payments', { payable_ids: paid.map((bill) => bill.id) })
    const stocks = stocksWithout(rows, receipt)
    if (isRefusal(stocks)) return stocks
    const again = new Set((found as readonly { catalog_item_id: number }[]).map((later) => later.catalog_item_id))
    const isLeft = ({ catalog_item_id, cost }: GivenCost) => {
      const item = rows.get(itemById(catalog_item_id))
      return !item || item.deleted_at !== null || item.doc.cost !== cost || again.has(catalog_item_id)
    }
    const left = receipt.costs.filter(isLeft).map(({ catalog_item_id }) => catalog_item_id)
    const undone = event('GoodsReceiptUndone', { id, stocks, left })
    const repriced = receipt.costs
      .filter((cost) => !isLeft(cost))
      .map(({ catalog_item_id, former_cost: cost }) =>
        event('CatalogItemUpdated', { id: catalog_item_id, changes: { cost } }),
      )
    const deleted = bills.filter(({ deleted_at }) => !deleted_at).map((bill) => payableSide.deleted(bill.id, {}))
    return accept('updated', undone.subject, [undone, ...repriced, ...deleted])
  },
})

type GivenCost = DataOf<'GoodsStocked'>['costs'][number]

/** Stocks of items without what the receipt brought; those that are not counted now, or were not then, stay so. */
function stocksWithout(rows: Rows, { lines }: GoodsReceiptObject): DataOf<'GoodsReceiptUndone'>['stocks'] | Refusal {
  const brought = [...thousandthsByItem(lines.filter(({ moves_stock }) => moves_stock))]
  const stocks = brought.flatMap(([catalog_item_id, thousandths]) => {
    const before = getStock(rows, catalog_item_id)
    return before === null
      ? []
      : [{ catalog_item_id, before, after: fromThousandths(toThousandths(before) - thousandths) }]
  })
  const short = stocks.flatMap(({ catalog_item_id, before, after }) =>
    toThousandths(after) >= 0
      ? []
      : [
          {
            catalog_item_id,
            requested: fromThousandths(toThousandths(before) - toThousandths(after)),
            available: before,
          },
        ],
  )
  return short[0] ? refuse('insufficient_stock', { ...short[0], items: short }) : stocks
}
