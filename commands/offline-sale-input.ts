import { createHash } from 'node:crypto'
import * as z from 'zod'
import { Instant } from '#domain/instant.ts'
import { fromCents, JsonMoney, JsonQuantity, toCents } from '#domain/money.ts'
import { uploadedDetailsShape } from '#domain/payment-rules.ts'
import { sameBarcodes } from '#domain/record-values.ts'
import { printable, refuse } from '#domain/refusals.ts'
import { boundedText, ExternalId, Id } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { OFFLINE_PAYMENT_STATUSES, OFFLINE_SALE_STATUSES } from '#events/sale-events.ts'
import { accept, type Command, command, type Decision, isRefusal, type NewEvent } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import type { Rows } from '#ledger/working-set.ts'
import { itemByBarcode } from '#projections/catalog.ts'
import type { OfflineSaleWarning } from '#projections/fiscal-documents.ts'
import { customerByName } from '#projections/people.ts'
import { offlineRecord } from '#projections/tills.ts'
import { ITEM_OWN_DEFINITIONS } from '#records/items.ts'
import { CUSTOMER_FIELDS } from '#records/persons.ts'
import { type CreateItemInput, createItem } from './item-commands.ts'
import { type CreateCustomerInput, createCustomer, namesLike } from './person-commands.ts'

/** Integers count as their text: tills number their sales and sessions. */
export const OfflineId = z.preprocess((value) => (Number.isSafeInteger(value) ? String(value) : value), ExternalId)

/** A product that the service does not know by an id has the number 0, which none has. */
const Item = z
  .object({
    product_id: Id.nullish(),
    offline_item_id: OfflineId.nullish(),
    name: boundedText(200).nullish(),
    quantity: JsonQuantity,
    price: JsonMoney,
    total: JsonMoney,
  })
  .refine(({ product_id, offline_item_id }) => (product_id ?? offline_item_id ?? null) !== null, {
    path: ['product_id'],
    error: 'preencha este campo, ou offline_item_id',
  })
  .meta({ id: 'OfflineItem' })
/** Code of a voucher, compared as it is. */
export const VoucherCode = boundedText(40)

const Payment = z
  .object({
    payment_type_id: Id,
    amount: JsonMoney,
    status: z.enum(OFFLINE_PAYMENT_STATUSES),
    voucher: VoucherCode.nullish(),
    ...uploadedDetailsShape,
  })
  .meta({ id: 'OfflinePayment' })

/**
 * Uploaded offline sale, amounts as decimal texts. Its sums are checked later, with the payment types. Unknown
 * fields are ignored: tills of many versions upload.
 */
export const OfflineSaleInput: z.ZodType<OfflineSale> = z
  .object({
    offline_id: OfflineId,
    total: JsonMoney,
    amount_received: JsonMoney.nullish(),
    change: JsonMoney.nullish(),
    status: z.enum(OFFLINE_SALE_STATUSES),
    created_at: Instant,
    customer_id: z
      .unknown()
      .optional()
      .meta({ override: { type: ['integer', 'null'], minimum: 1 } }),
    offline_customer_id: z
      .unknown()
      .optional()
      .meta({ override: { type: ['string', 'integer', 'null'], maxLength: 100 } }),
    cash_session_id: OfflineId.nullish(),
    cancelled_at: Instant.nullish(),
    items: z.array(Item).min(1, 'informe ao menos um item').max(500, 'no máximo 500 itens'),
    payments: z.array(Payment).max(50, 'no máximo 50 pagamentos'),
  })
  .transform(({ amount_received = null, change = null, cash_session_id = null, ...sent }) => {
    const { customer_id, offline_customer_id, ...sale } = sent
    return {
      ...sale,
      amount_received,
      change,
      cash_session_id,
      cancelled_at: sale.status === 'cancelled' ? (sale.cancelled_at ?? null) : null,
      customer: customerOf(customer_id, offline_customer_id),
      items: sale.items.map(({ product_id, offline_item_id, name, ...item }) => ({
        ...item,
        product_id: product_id ?? 0,
        ...(product_id || !offline_item_id ? {} : { offline_item_id, name: name ?? 'Produto do caixa' }),
      })),
    }
  })

/** An invalid customer id does not block the sale: it counts as an unknown customer. */
function customerOf(id: unknown, offlineId: unknown): OfflineSale['customer'] {
  const sent = id ?? offlineId ?? null
  if (sent === null) return null
  const text = printable((typeof sent === 'object' ? '{…}' : String(sent)).slice(0, 100))
  const offline = sent === id ? undefined : OfflineId.safeParse(sent).data
  return {
    id: sent === id ? (Id.safeParse(sent).data ?? null) : null,
    sent: text,
    ...(offline && { offline_id: offline }),
  }
}

/** Sale as sent by a till. Tills without a cash drawer leave out `amount_received` and `change`: null. */
export interface OfflineSale {
  readonly offline_id: string
  readonly total: string
  readonly amount_received: string | null
  readonly change: string | null
  readonly status: (typeof OFFLINE_SALE_STATUSES)[number]
  /** UTC */
  readonly created_at: string
  readonly customer: {
    readonly id: number | null
    readonly sent: string
    /** By which a till made the customer. */
    readonly offline_id?: string
  } | null
  /** Session that took the money, or of a cancelled sale gives it back; null if the till names none. */
  readonly cash_session_id: string | null
  /** Of a cancelled sale, by the till's clock (UTC); null if the till does not say it. */
  readonly cancelled_at: string | null
  /** `name`: as the till or a receipt has it, for an unknown product. */
  readonly items: readonly (Pick<z.infer<typeof Item>, 'quantity' | 'price' | 'total'> & {
    readonly product_id: number
    /** By which a till made the product; then `product_id` is known when the sale is decided. */
    readonly offline_item_id?: string
    readonly name?: string
  })[]
  readonly payments: readonly z.infer<typeof Payment>[]
}

/** Sale of a till, with the user who is logged in there; not part of what the till sends. */
export interface OfflineSaleUpload extends OfflineSale {
  readonly sellerId?: number
  /** Deviations that are known before the sale is decided. */
  readonly noted?: readonly OfflineSaleWarning['code'][]
  /** Till that has signed it. */
  readonly tillId?: number | undefined
  /** From books that are older than the records here: its age is no sign of a wrong clock. Not sent by tills. */
  readonly isHistory?: true
}

/**
 * SHA-256 (hex) of a sale by value: 10, 10.0 and 10.00 are equal, and so are equal instants in different time zones.
 * The customer, the cash session and the time of a cancellation are excluded, and so are details of payments: they do
 * not make a different sale.
 */
export function fingerprintSale(sale: OfflineSale): string {
  const { offline_id, total, status, created_at } = sale
  const { amount_received, change } = cashOf(sale)
  const items = sale.items.map(({ product_id, offline_item_id, quantity, price, total }) => {
    return [offline_item_id ?? product_id, quantity, price, total]
  })
  const payments = sale.payments.map(({ payment_type_id, amount, status, voucher }) => {
    return [payment_type_id, amount, status, ...(voucher ? [voucher] : [])]
  })
  const known = [offline_id, total, amount_received, change, status, created_at, items, payments]
  return createHash('sha256').update(JSON.stringify(known)).digest('hex')
}

/** Defaults: the received amount is the paid one, the change is what exceeds the total. */
function cashOf({ total, amount_received, change, payments }: OfflineSale) {
  const wanted = toCents(total)
  const paid = payments.reduce((sum, { amount }) => sum + toCents(amount), 0)
  const received = toCents(amount_received ?? fromCents(change === null ? paid : wanted + toCents(change)))
  return {
    amount_received: fromCents(received),
    change: change ?? fromCents(Math.max(received - wanted, 0)),
  }
}

const { name, sku, barcode, unit } = ITEM_OWN_DEFINITIONS

/** What a till may find in place of a new record, and what it then did. */
export type DraftWarning = 'barcode_in_use' | 'name_in_use'

/** An empty text is none, as in the download of products. */
const orEmpty = <T extends z.ZodType>(schema: T) => z.preprocess((value) => value || null, schema).optional()

/** A product typed in at a till. Unknown fields are ignored. */
export const OfflineItemInput = z
  .object({
    offline_id: OfflineId,
    name: name.whole,
    price: JsonMoney,
    barcode: orEmpty(barcode.whole),
    sku: sku.whole,
    unit: orEmpty(unit.whole),
  })
  .meta({ id: 'OfflineItemDraft' })

/** A customer typed in at a till. Unknown fields are ignored. */
export const OfflineCustomerInput = z
  .object({
    offline_id: OfflineId,
    name: CUSTOMER_FIELDS.name.whole,
    document: CUSTOMER_FIELDS.document.whole,
    phone: CUSTOMER_FIELDS.phone.whole,
    email: CUSTOMER_FIELDS.email.whole,
  })
  .meta({ id: 'OfflineCustomerDraft' })

interface Draft<I> {
  readonly offline_id: string
  readonly record: I
}

/** The decision about the record itself, with the name that the till gave it. */
function withName(decision: Decision, nameOf: (id: number) => NewEvent, warnings: readonly DraftWarning[]): Decision {
  if (isRefusal(decision)) return decision
  const named = nameOf(parseSubject(decision.subject).id)
  return { ...decision, events: [...decision.events, named], remarks: { warnings } }
}

/** An item that exists already, with its name at the till. */
const linked = (subject: string, nameOf: (id: number) => NewEvent, warnings: readonly DraftWarning[]): Decision =>
  withName(accept('updated', subject), nameOf, warnings)

const fingerprintOf = ({ name, price, barcode, sku, unit }: CreateItemInput): string =>
  createHash('sha256')
    .update(JSON.stringify([name, price, barcode, sku, unit]))
    .digest('hex')

/** The live item with a barcode, however many zeros it is written with. */
const holderOf = (rows: Rows, code: string) =>
  [code, ...sameBarcodes(code)].map((one) => rows.get(itemByBarcode(one))).find((item) => item !== null)

/** Creates an item once for its identifier at the till. One with its barcode is the item itself: its sales are of it. */
export const createOfflineItem: Command<Draft<CreateItemInput>> = command({
  needs: ({ offline_id, record }) => [offlineRecord('item', offline_id), ...createItem.needs(record)],
  needsMore: (rows, { record }) => createItem.needsMore?.(rows, record) ?? [],
  decide(rows, { offline_id, record }, context) {
    const fingerprint = fingerprintOf(record)
    const known = rows.get(offlineRecord('item', offline_id))
    if (known && known.fingerprint !== fingerprint)
      return refuse('duplicate_resource', { field: 'offline_id', conflicting_id: known.record_id })
    if (known) return accept('unchanged', `catalog_item/${known.record_id}`)
    const granted = context.permit('edit_catalog')
    if (isRefusal(granted)) return granted
    const nameOf = (id: number) => event('OfflineItemNamed', { id, offline_id, fingerprint })
    const holder = record.barcode ? holderOf(rows, record.barcode) : undefined
    if (holder) return linked(`catalog_item/${holder.id}`, nameOf, ['barcode_in_use'])
    return withName(createItem.decide(rows, record, context), nameOf, [])
  },
})

/** The customer with a free name: two persons may have one name. */
function withFreeName(rows: Rows, record: CreateCustomerInput): CreateCustomerInput {
  if (rows.get(customerByName(record.name)) === null) return record
  const free = namesLike(record.name, record.document).find((one) => rows.get(customerByName(one)) === null)
  return free === undefined ? record : { ...record, name: free }
}

/**
 * Creates a customer once for its identifier at the till. One with its name and its document is the customer itself;
 * another one with its name is told apart by a number.
 */
export const createOfflineCustomer: Command<Draft<CreateCustomerInput>> = command({
  needs: ({ offline_id, record }) => [offlineRecord('customer', offline_id), ...createCustomer.needs(record)],
  needsMore: (rows, { record }) => createCustomer.needsMore?.(rows, record) ?? [],
  needsLast: (rows, { record }) => createCustomer.needs(withFreeName(rows, record)),
  decide(rows, { offline_id, record }, context) {
    const known = rows.get(offlineRecord('customer', offline_id))
    if (known) return accept('unchanged', `customer/${known.record_id}`)
    const granted = context.permit('edit_people')
    if (isRefusal(granted)) return granted
    const nameOf = (id: number) => event('OfflineCustomerNamed', { id, offline_id })
    const holder = rows.get(customerByName(record.name))
    if (holder && record.document && holder.doc.document === record.document)
      return linked(`customer/${holder.id}`, nameOf, ['name_in_use'])
    const free = withFreeName(rows, record)
    return withName(createCustomer.decide(rows, free, context), nameOf, free === record ? [] : ['name_in_use'])
  },
})
