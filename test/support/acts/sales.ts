import fc from 'fast-check'
import { CancelSaleInput, cancelSale } from '#commands/cancel-sale.ts'
import { FiscalDocumentFields, recordFiscalDocument } from '#commands/fiscal-document-commands.ts'
import { OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import { registerSale, SaleInput } from '#commands/register-sale.ts'
import { Id } from '#domain/text.ts'
import { FISCAL_DOCUMENT_STATUSES } from '#events/sale-events.ts'
import { type Act, maybe, nullable, place } from './act.ts'
import { externalId, money, name, quantity, rarely } from './values.ts'

const saleItem = fc.oneof(
  { weight: 3, arbitrary: fc.record({ catalog_item_id: place, quantity, unit_price: maybe(money) }) },
  { weight: 1, arbitrary: fc.record({ catalog_item_external_id: externalId, quantity, unit_price: maybe(money) }) },
  { weight: 1, arbitrary: fc.record({ description: name, quantity, unit_price: money }) },
)
const sale = fc.record({
  external_id: rarely(externalId),
  customer_external_id: rarely(externalId),
  sold_at: maybe(fc.constantFrom('2026-03-10T23:30:00-03:00', '1999-12-31T23:59:59.999Z', '2018-11-04T03:00:00Z')),
  delivery_fee: maybe(money),
  items: fc.array(saleItem, { minLength: 1, maxLength: 4 }),
  // Mostly cash, so that any surplus is change and the sale succeeds.
  payments: fc.oneof(
    { weight: 5, arbitrary: fc.constant([{ payment_type_id: 0, amount: '9999999.00' }]) },
    { weight: 1, arbitrary: fc.array(fc.record({ payment_type_id: place, amount: money }), { maxLength: 3 }) },
  ),
})

/**
 * Sales as a till sends them, with consistent sums; sometimes a repetition, or another sale with the same identifier.
 */
const offlineSale = fc
  .record({
    offline_id: fc.nat({ max: 60 }).map((n) => `pdv-${n}`),
    status: fc.constantFrom('completed', 'completed', 'completed', 'cancelled'),
    created_at: fc.constantFrom('2026-03-10T23:30:00-03:00', '1999-12-31T23:59:59.999Z', '2099-01-01T00:00:00Z'),
    lines: fc.array(
      fc.record({ product_id: place, units: fc.constantFrom(1, 3, 40), price: fc.constantFrom(0, 2, 19) }),
      {
        minLength: 1,
        maxLength: 3,
      },
    ),
    payment_type_id: place,
    payment_status: fc.constantFrom('completed', 'pending'),
    change: fc.constantFrom(0, 5.5),
  })
  .map(({ lines, payment_type_id, payment_status, change, ...sale }) => {
    const items = lines.map(({ product_id, units, price }) => ({
      product_id,
      quantity: units,
      price,
      total: units * price,
    }))
    const total = items.reduce((sum, line) => sum + line.total, 0)
    const payments = [{ payment_type_id, amount: total + change, status: payment_status }]
    return { ...sale, items, payments, total, change, amount_received: total + change }
  })

/** Sales, at the counter and offline. */
export const saleActs = {
  registerSale: { kind: 'sale', weight: 10, command: registerSale, schema: SaleInput, input: sale },
  recordOfflineSale: {
    kind: 'sale',
    weight: 6,
    command: recordOfflineSale,
    schema: OfflineSaleInput,
    input: offlineSale,
  },
  cancelSale: {
    kind: 'sale',
    weight: 4,
    command: cancelSale,
    schema: CancelSaleInput,
    input: fc.record({ id: place, reason: nullable(name) }),
  },
  recordFiscalDocument: {
    kind: 'sale',
    weight: 2,
    command: recordFiscalDocument,
    schema: FiscalDocumentFields.safeExtend({ id: Id }),
    input: fc.record({
      id: place,
      number: fc.constantFrom('1', '2'),
      status: fc.constantFrom(...FISCAL_DOCUMENT_STATUSES),
      series: fc.constantFrom(undefined, null, '1'),
    }),
  },
} satisfies Record<string, Act>
