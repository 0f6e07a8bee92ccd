import { addDays, dateInZone } from '#domain/instant.ts'
import { toCents } from '#domain/money.ts'
import { MAX_THOUSANDTHS } from '#domain/quantity.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { accept, command, isRefusal } from '#ledger/command.ts'
import type { NewEvent } from '#ledger/envelope.ts'
import type { Rows } from '#ledger/working-set.ts'
import { itemById } from '#projections/catalog.ts'
import { ownCompany, timezoneOf } from '#projections/companies.ts'
import { existing } from '#projections/define.ts'
import { paymentTypeById } from '#projections/payment-types.ts'
import { offlineSaleById } from '#projections/sales.ts'
import { soldItem, takenPayment } from './lines.ts'
import { fingerprintOf, type OfflineSale } from './offline-sale-input.ts'
import { findWarnings, stockAfter } from './offline-sale-warnings.ts'

type Completed = DataOf<'OfflineSaleCompleted'>

/**
 * Records a sale that a till made without a connection. It has happened, so it is recorded even where stock goes below zero
 * or a price differs; such things are warnings. The same sale again records nothing and is answered as the first time.
 */
export const recordOfflineSale = command<OfflineSale>({
  needs: (sale) => [
    ownCompany,
    offlineSaleById(sale.offline_id),
    ...sale.items.map((item) => itemById(item.product_id)),
    ...sale.payments.map((payment) => paymentTypeById(payment.payment_type_id)),
  ],
  ids: ({ status, payments }) => ({ sale: 1, receivable: status === 'completed' ? payments.length : 0 }),
  decide(rows, sale, { now, nextId }) {
    const fingerprint = fingerprintOf(sale)
    const known = rows.get(offlineSaleById(sale.offline_id))
    if (known) {
      if (known.fingerprint !== fingerprint) {
        return refuse('duplicate_resource', { field: 'offline_id', conflicting_id: known.sale_id })
      }
      return accept('unchanged', `sale/${known.sale_id}`, [], [], { warnings: known.warnings })
    }
    const found = findParts(rows, sale)
    if (isRefusal(found)) return found
    const id = nextId('sale')
    const { offline_id, created_at: sold_at, total, amount_received, change } = sale
    const warnings = findWarnings(rows, sale, found, now)
    const data = { id, offline_id, fingerprint, sold_at, ...found, total, amount_received, change, warnings }
    if (sale.status === 'cancelled') {
      return accept('created', `sale/${id}`, [event('OfflineSaleCancelled', data)], [], { warnings })
    }
    const receivables = receivablesOf(rows, data, () => nextId('receivable'))
    const receivable_ids = receivables.map((receivable) => (receivable.data as { id: number }).id)
    const completed = event('OfflineSaleCompleted', { ...data, receivable_ids })
    return accept('created', completed.subject, [completed, ...receivables], [], { warnings })
  },
})

/** Items and payments as the sale keeps them; the refusal names all that the company does not have. */
function findParts(rows: Rows, sale: OfflineSale): Pick<Completed, 'items' | 'payments'> | Refusal {
  const fields: Record<string, string[]> = {}
  const items = sale.items.flatMap(({ product_id, quantity, price, total }, position) => {
    const product = rows.get(itemById(product_id))
    if (!product) {
      fields[`items[${position}].product_id`] = ['produto não encontrado']
      return []
    }
    const sold = soldItem(product)
    const moves_stock = sold.moves_stock && sale.status === 'completed'
    return [{ ...sold, quantity, unit_price: price, total, moves_stock }]
  })
  const payments = sale.payments.flatMap(({ payment_type_id, amount, status }, position) => {
    const type = rows.get(paymentTypeById(payment_type_id))?.doc
    if (!type) fields[`payments[${position}].payment_type_id`] = ['forma de pagamento não encontrada']
    return type ? [{ ...takenPayment(type, amount), status }] : []
  })
  for (const { id, thousandths } of stockAfter(rows, items)) {
    if (thousandths >= -MAX_THOUSANDTHS) continue
    const position = sale.items.findIndex((item) => item.product_id === id)
    fields[`items[${position}].quantity`] = ['o estoque resultante é negativo demais']
  }
  const isWrong = Object.keys(fields).length > 0
  return isWrong ? refuse('validation_failed', { fields, unknown_fields: [] }) : { items, payments }
}

/** What is to be received for payments on credit, each due some days after the day of the sale on the company's calendar. */
function receivablesOf(
  rows: Rows,
  { id, sold_at, payments }: Pick<Completed, 'id' | 'sold_at' | 'payments'>,
  nextId: () => number,
): NewEvent[] {
  const day = dateInZone(sold_at, timezoneOf(rows))
  return payments.flatMap(({ payment_type_id, amount }) => {
    const { kind, name, due_days } = existing(rows, paymentTypeById(payment_type_id)).doc
    // A payment of 0.00 leaves nothing to receive.
    if (kind !== 'credit_account' || toCents(amount) === 0) return []
    const receivable = event('ReceivableCreated', {
      id: nextId(),
      external_id: null,
      origin: 'sale',
      description: `Venda ${id} a prazo: ${name}`,
      customer_id: null,
      customer_external_id: null,
      customer_name: null,
      amount,
      due_date: addDays(day, due_days),
      sale_id: id,
    })
    return [receivable]
  })
}
