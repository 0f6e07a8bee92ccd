import { z } from 'zod'
import { itemByExternalId, itemById } from '../../projections/catalog-items.ts'
import { customerByExternalId } from '../../projections/customers.ts'
import { paymentTypeById } from '../../projections/payment-types.ts'
import { saleByExternalId } from '../../projections/sales.ts'
import { Instant } from '../../src/domain/instant.ts'
import { fromCents, lineTotal, lineTotalFits, MAX_CENTS, Money, toCents } from '../../src/domain/money.ts'
import { fromThousandths, Quantity, toThousandths } from '../../src/domain/quantity.ts'
import { invalid, type Refusal, refuse } from '../../src/domain/refusal.ts'
import { ExternalId, Id, text } from '../../src/domain/text.ts'
import { type DataOf, event } from '../../src/events/catalogue.ts'
import { accept, command, isRefusal } from '../../src/ledger/command.ts'
import type { Rows } from '../../src/ledger/working-set.ts'
import { quantitiesTaken, soldItem, takenPayment } from './sale-lines.ts'

type Completed = DataOf<'SaleCompleted'>

const IDENTIFIER = 'informe exatamente um entre catalog_item_id, catalog_item_external_id e description'

/** A sale item names its article in exactly one way; an ad-hoc item (description) needs its price (spec, Sale). */
const SaleItemInput = z
  .strictObject({
    catalog_item_id: Id.optional(),
    catalog_item_external_id: ExternalId.optional(),
    description: text(200).optional(),
    quantity: Quantity,
    unit_price: Money.optional(),
  })
  .superRefine((item, context) => {
    const given = [item.catalog_item_id, item.catalog_item_external_id, item.description].filter(
      (value) => value !== undefined,
    )
    if (given.length !== 1) context.addIssue({ code: 'custom', message: IDENTIFIER })
    else if (item.description !== undefined && item.unit_price === undefined) {
      context.addIssue({ code: 'custom', path: ['unit_price'], message: 'é obrigatório para um item avulso' })
    }
  })

/** POST /sales (spec, Sale input). */
export const SaleInput = z.strictObject({
  external_id: ExternalId.optional(),
  customer_external_id: ExternalId.optional(),
  sold_at: Instant.optional(),
  delivery_fee: Money.optional(),
  items: z.array(SaleItemInput).min(1, 'informe ao menos um item').max(500, 'no máximo 500 itens'),
  payments: z.array(z.strictObject({ payment_type_id: Id, amount: Money })).max(50, 'no máximo 50 pagamentos'),
})
export type SaleInput = z.infer<typeof SaleInput>
type ItemInput = SaleInput['items'][number]

/** Registers a sale that is complete from the start: priced, paid in full, its stock debited (spec, rule 5 of the endpoints). */
export const registerSale = command<SaleInput>({
  needs: (input) => [
    ...(input.external_id === undefined ? [] : [saleByExternalId(input.external_id)]),
    ...(input.customer_external_id === undefined ? [] : [customerByExternalId(input.customer_external_id)]),
    ...input.items.flatMap((item) => itemRef(item) ?? []),
    ...input.payments.map((payment) => paymentTypeById(payment.payment_type_id)),
  ],
  ids: () => ({ sale: 1 }),
  decide(rows, input, { now, nextId }) {
    const same = input.external_id === undefined ? null : rows.get(saleByExternalId(input.external_id))
    if (same) return refuse('duplicate_resource', { field: 'external_id', conflicting_id: same.id })
    const customer = findCustomer(rows, input.customer_external_id)
    if (customer && isRefusal(customer)) return customer
    const items = priceItems(rows, input.items)
    if (isRefusal(items)) return items
    const deliveryFee = input.delivery_fee ?? '0.00'
    const subtotal = items.reduce((sum, item) => sum + toCents(item.total), 0)
    const total = subtotal + toCents(deliveryFee)
    if (total > MAX_CENTS) return invalid('items', 'o total da venda é grande demais')
    const paid = pay(rows, input.payments, total)
    if (isRefusal(paid)) return paid
    const short = findShortage(rows, items)
    if (short) return short
    const id = nextId('sale')
    const completed = event('SaleCompleted', {
      id,
      external_id: input.external_id ?? null,
      customer,
      sold_at: input.sold_at ?? now,
      items,
      payments: paid.payments,
      subtotal: fromCents(subtotal),
      delivery_fee: deliveryFee,
      total: fromCents(total),
      change: fromCents(paid.change),
    })
    return accept('created', completed.subject, [completed])
  },
})

function itemRef(item: ItemInput) {
  if (item.catalog_item_id !== undefined) return itemById(item.catalog_item_id)
  if (item.catalog_item_external_id !== undefined) return itemByExternalId(item.catalog_item_external_id)
  return null
}

function findCustomer(rows: Rows, externalId: string | undefined): Completed['customer'] | Refusal {
  if (externalId === undefined) return null
  const customer = rows.get(customerByExternalId(externalId))
  if (!customer || customer.deleted_at) return invalid('customer_external_id', 'cliente não encontrado')
  return { id: customer.id, external_id: customer.external_id, name: customer.doc.name }
}

/** Items with price and total; the list price where none is given. */
function priceItems(rows: Rows, inputs: readonly ItemInput[]): Completed['items'] | Refusal {
  const priced: Completed['items'] = []
  for (const [position, input] of inputs.entries()) {
    const ref = itemRef(input)
    const found = ref ? rows.get(ref) : null
    if (ref && (!found || found.deleted_at)) {
      const field = input.catalog_item_id === undefined ? 'catalog_item_external_id' : 'catalog_item_id'
      return invalid(`items[${position}].${field}`, 'item não encontrado no catálogo')
    }
    const unitPrice = input.unit_price ?? found?.doc.price
    if (unitPrice === undefined) throw new Error('an ad-hoc item without a price passed validation')
    const thousandths = toThousandths(input.quantity)
    if (!lineTotalFits(thousandths, toCents(unitPrice)))
      return invalid(`items[${position}].quantity`, 'o total do item é grande demais')
    const total = lineTotal(thousandths, toCents(unitPrice))
    priced.push({
      ...(found ? soldItem(found) : adHocItem(input)),
      quantity: fromThousandths(thousandths),
      unit_price: unitPrice,
      total: fromCents(total),
    })
  }
  return priced
}

const adHocItem = ({ description = '' }: ItemInput) => ({
  catalog_item_id: null,
  external_id: null,
  description,
  moves_stock: false,
})

/** Payments with their surcharge taken from inside; a surplus is change, and only cash can give change. */
function pay(
  rows: Rows,
  inputs: SaleInput['payments'],
  total: number,
): { payments: Completed['payments']; change: number } | Refusal {
  const payments: Completed['payments'] = []
  let paid = 0
  let cash = false
  for (const [position, { payment_type_id, amount }] of inputs.entries()) {
    const type = rows.get(paymentTypeById(payment_type_id))?.doc
    const field = `payments[${position}].payment_type_id`
    if (!type) return invalid(field, 'forma de pagamento não encontrada')
    if (!type.accepts_api) return invalid(field, type.reason ?? 'forma de pagamento não aceita pela API')
    payments.push(takenPayment(type, amount))
    paid += toCents(amount)
    cash ||= type.is_cash
  }
  if (paid < total || (paid > total && !cash)) {
    return refuse('payment_mismatch', { total: fromCents(total), paid: fromCents(paid) })
  }
  return { payments, change: paid - total }
}

/** The whole sale or nothing. */
function findShortage(rows: Rows, items: Completed['items']): Refusal | null {
  const short = [...quantitiesTaken(items)].flatMap(([id, thousandths]) => {
    const available = rows.get(itemById(id))?.doc.stock
    if (typeof available !== 'string' || toThousandths(available) >= thousandths) return []
    return [{ catalog_item_id: id, requested: fromThousandths(thousandths), available }]
  })
  return short[0] ? refuse('insufficient_stock', { ...short[0], items: short }) : null
}
