import * as z from 'zod'
import { pickFiscalCodes } from '#domain/fiscal-values.ts'
import {
  fromCents,
  fromThousandths,
  lineTotal,
  lineTotalFits,
  MAX_CENTS,
  Money,
  Quantity,
  toCents,
  toThousandths,
} from '#domain/money.ts'
import { type LineAmounts, sumSale, totalOfLine } from '#domain/payment-rules.ts'
import { type Refusal, refuseField, refuseForgotten } from '#domain/refusals.ts'
import { boundedText, ExternalId, Id, nameText } from '#domain/text.ts'
import type { DataOf } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { type ItemRow, itemByExternalId, itemById } from '#projections/catalog.ts'
import { customerByExternalId, customerById, type PersonRow } from '#projections/people.ts'
import { getStock, stockMoves, thousandthsByItem } from '#projections/stock.ts'
import { userById } from '#projections/users.ts'

type SaleItem = DataOf<'SaleCompleted'>['items'][number]

/** Item fields stored in a sale: its current description and fiscal codes, and whether its stock is tracked. */
export function toSoldItem(rows: Rows, { id, external_id, doc }: Readonly<ItemRow>) {
  const moves_stock = getStock(rows, id) !== null
  return { catalog_item_id: id, external_id, description: doc.name, moves_stock, ...pickFiscalCodes(doc) }
}

/** Quantities that lines take from stock, in thousandths per item. An item may be on several lines. */
export const quantitiesTaken = (items: readonly SaleItem[]): Map<number, number> => thousandthsByItem(stockMoves(items))

const IDENTIFIER = 'informe exatamente um entre catalog_item_id, catalog_item_external_id e description'

const line = z.strictObject({
  catalog_item_id: Id.nullish(),
  catalog_item_external_id: ExternalId.nullish(),
  description: boundedText(200).nullish(),
  quantity: Quantity,
  unit_price: Money.nullish(),
})
const saleLine = line.extend({ discount: Money.nullish() })
type LineInput = z.infer<typeof line> & Pick<z.infer<typeof saleLine>, 'discount'>

/** A line names its item in exactly one way; an ad-hoc item (description) needs a price. */
function checkLine(item: LineInput, context: z.RefinementCtx): void {
  const given = [item.catalog_item_id, item.catalog_item_external_id, item.description].filter(
    (value) => value !== undefined && value !== null,
  )
  if (given.length !== 1) context.addIssue({ code: 'custom', message: IDENTIFIER })
  else if (typeof item.description === 'string' && typeof item.unit_price !== 'string') {
    context.addIssue({ code: 'custom', path: ['unit_price'], message: 'preencha este campo: é um item avulso' })
  }
}

const linesOf = <L extends z.ZodType<LineInput>>(each: L) =>
  z.array(each).min(1, 'informe ao menos um item').max(500, 'no máximo 500 itens')

/** Lines of an order: 1 to 500. */
export const LinesInput = linesOf(line.superRefine(checkLine).meta({ id: 'OrderItemInput' }))

/** Lines of a sale, which may have discounts. */
export const SaleLinesInput = linesOf(saleLine.superRefine(checkLine).meta({ id: 'SaleItemInput' }))

/** Priced lines with total = subtotal - discount + delivery fee. */
interface PricedLines {
  readonly items: SaleItem[]
  readonly subtotal: string
  /** Absent if there is none. */
  readonly discount?: string
  readonly delivery_fee: string
  readonly total: string
}

interface LinesToPrice {
  readonly items: readonly LineInput[]
  readonly discount?: string | null | undefined
  readonly delivery_fee?: string | null | undefined
}

/** Catalog rows of the lines. */
export const lineRefs = (lines: readonly LineInput[]) => lines.flatMap((line) => lineRef(line) ?? [])

/**
 * Prices the lines of a sale or an order: list price by default, line totals rounded half up to the cent, less their
 * discounts. Refuses unknown items, totals above the limit, and discounts above what they are deducted from.
 */
export function priceLines(
  rows: Rows,
  { items, discount: wanted, delivery_fee: fee }: LinesToPrice,
): PricedLines | Refusal {
  const priced: SaleItem[] = []
  const amounts: LineAmounts[] = []
  for (const [position, input] of items.entries()) {
    const line = priceLine(rows, input, position)
    if (isRefusal(line)) return line
    priced.push(line.item)
    amounts.push(line)
  }
  const [deliveryFee, discount] = [toCents(fee ?? '0.00'), toCents(wanted ?? '0.00')]
  const { subtotal, total } = sumSale(amounts, discount, deliveryFee)
  if (subtotal + deliveryFee > MAX_CENTS) return refuseField('items', 'o total é grande demais')
  if (discount > subtotal) return refuseField('discount', `não pode passar do subtotal, ${fromCents(subtotal)}`)
  return {
    items: priced,
    subtotal: fromCents(subtotal),
    ...(discount > 0 && { discount: fromCents(discount) }),
    delivery_fee: fromCents(deliveryFee),
    total: fromCents(total),
  }
}

function lineRef(line: LineInput) {
  if (typeof line.catalog_item_id === 'number') return itemById(line.catalog_item_id)
  if (typeof line.catalog_item_external_id === 'string') return itemByExternalId(line.catalog_item_external_id)
  return null
}

interface PricedLine extends LineAmounts {
  readonly item: SaleItem
}

function priceLine(rows: Rows, input: LineInput, position: number): PricedLine | Refusal {
  const ref = lineRef(input)
  const found = ref && rows.get(ref)
  if (ref && (!found || found.deleted_at)) {
    const field = typeof input.catalog_item_id === 'number' ? 'catalog_item_id' : 'catalog_item_external_id'
    return refuseField(`items[${position}].${field}`, 'item não encontrado no catálogo')
  }
  const unitPrice = input.unit_price ?? found?.doc.price
  if (unitPrice === undefined) throw new Error('price lines: ad-hoc item without a price passed validation')
  const thousandths = toThousandths(input.quantity)
  if (!lineTotalFits(thousandths, toCents(unitPrice)))
    return refuseField(`items[${position}].quantity`, 'o total do item é grande demais')
  const gross = lineTotal(thousandths, toCents(unitPrice))
  const discount = toCents(input.discount ?? '0.00')
  if (discount > gross)
    return refuseField(`items[${position}].discount`, `não pode passar do valor do item, ${fromCents(gross)}`)
  const item = {
    ...(found ? toSoldItem(rows, found) : adHocItem(input)),
    quantity: fromThousandths(thousandths),
    unit_price: unitPrice,
    total: fromCents(totalOfLine({ gross, discount })),
    ...(discount > 0 && { discount: fromCents(discount) }),
  }
  return { item, gross, discount }
}

const adHocItem = ({ description }: LineInput) => ({
  catalog_item_id: null,
  external_id: null,
  description: description ?? '',
  moves_stock: false,
})

/** Customer in an input: by id, by external id, or absent. */
export const customerShape = { customer_id: Id.nullish(), customer_external_id: ExternalId.nullish() }

export type CustomerName = z.infer<z.ZodObject<typeof customerShape>>

export const customerRefs = ({ customer_id, customer_external_id }: CustomerName): AnyRef[] => [
  ...(typeof customer_id === 'number' ? [customerById(customer_id)] : []),
  ...(typeof customer_external_id === 'string' ? [customerByExternalId(customer_external_id)] : []),
]

/**
 * Customer in the input, null if absent. Both ids must belong to one customer that is not forgotten.
 */
export function findCustomer(rows: Rows, name: CustomerName): Readonly<PersonRow> | null | Refusal {
  const found = findNamed(rows, name)
  return found && 'doc' in found && found.doc.forgotten_at !== null ? refuseForgotten(`customer/${found.id}`) : found
}

function findNamed(
  rows: Rows,
  { customer_id, customer_external_id }: CustomerName,
): Readonly<PersonRow> | null | Refusal {
  const byId = typeof customer_id === 'number' ? live(rows.get(customerById(customer_id))) : undefined
  if (byId === null) return refuseField('customer_id', 'cliente não encontrado')
  if (typeof customer_external_id !== 'string') return byId ?? null
  const byExternalId = live(rows.get(customerByExternalId(customer_external_id)))
  if (byExternalId === null) return refuseField('customer_external_id', 'cliente não encontrado')
  if (byId && byId.id !== byExternalId.id)
    return refuseField('customer_external_id', 'é de outro cliente que customer_id')
  return byExternalId
}

const live = (row: Readonly<PersonRow> | null) => (row?.deleted_at ? null : row)

type Seller = NonNullable<DataOf<'SaleCompleted'>['seller']>

/** Who sold: a user of the company, or a name (SALE-25). */
export const SellerInput = z
  .strictObject({ user_id: Id.nullish(), name: nameText(120).nullish() })
  .superRefine(({ user_id, name }, context) => {
    const isOne = (typeof user_id === 'number') !== (typeof name === 'string')
    if (!isOne) context.addIssue({ code: 'custom', message: 'informe exatamente um entre user_id e name' })
  })
  .meta({ id: 'SellerInput' })
type SellerInput = z.infer<typeof SellerInput>

export const sellerRefs = (seller: SellerInput | null | undefined): AnyRef[] =>
  typeof seller?.user_id === 'number' ? [userById(seller.user_id)] : []

/** The seller in the input, with the user's name; null if absent. */
export function findSeller(rows: Rows, input: SellerInput | null | undefined): Seller | null | Refusal {
  if (!input) return null
  if (typeof input.user_id !== 'number') return { user_id: null, name: input.name ?? null }
  const seller = userSeller(rows, input.user_id)
  if (!seller) return refuseField('seller.user_id', 'usuário não encontrado')
  return seller.name === null ? refuseForgotten(`user/${input.user_id}`) : seller
}

/** A user as a seller; null if there is no such user. */
export function userSeller(rows: Rows, userId: number): Seller | null {
  const user = rows.get(userById(userId))
  return user && { user_id: user.id, name: user.doc.name }
}
