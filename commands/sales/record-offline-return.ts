import { fromCents, toCents } from '#domain/money.ts'
import { fromThousandths, MAX_THOUSANDTHS, toThousandths } from '#domain/quantity.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import type { PaymentKind } from '#events/companies.ts'
import { accept, command, type Decision, type DecisionContext } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { companyRef, ownCompany } from '#projections/companies.ts'
import { existing } from '#projections/define.ts'
import { offlineSaleById } from '#projections/offline-sales.ts'
import { paymentTypeById } from '#projections/payment-types.ts'
import { customerById } from '#projections/people.ts'
import { awaitedReturnsOf, type OfflineReturnRow, offlineReturnById, returnById } from '#projections/returns.ts'
import { type SaleRow, saleById } from '#projections/sales.ts'
import { stockOf } from '#projections/stock.ts'
import { creditedCustomer, returnFact, sumOfParts } from './offline-return-fact.ts'
import { type OfflineReturn, returnFingerprintOf } from './offline-return-input.ts'
import { lowerReceivables, openOf, receivableRefs } from './return-receivables.ts'
import { returnableOf, stockRefs } from './returned-goods.ts'

type Returned = DataOf<'SaleReturned'>

/** Returns of a company that may wait for their sales, and of one sale. */
const MAX_AWAITED = 1_000
const MAX_AWAITED_OF_SALE = 50

/**
 * Records goods that a till took back offline (UP-100). Uploaded returns are facts: more than was sold, or another amount
 * than is due, only adds warnings. One that comes before its sale is kept, and recorded with the sale (UP-101).
 */
export const recordOfflineReturn = command<OfflineReturn>({
  needs: ({ offline_id, sale_offline_id, sale_id, refunds }) => [
    ownCompany,
    offlineReturnById(offline_id),
    ...(sale_id === null ? [] : [saleById(sale_id)]),
    ...(sale_offline_id === null ? [] : [offlineSaleById(sale_offline_id), awaitedReturnsOf(sale_offline_id)]),
    ...refunds.map(({ payment_type_id }) => paymentTypeById(payment_type_id)),
  ],
  needsMore(rows, { offline_id, sale_id, sale_offline_id }) {
    const repeated = rows.get(offlineReturnById(offline_id))
    if (repeated) return [returnById(repeated.return_id)]
    const known = sale_offline_id === null ? null : rows.get(offlineSaleById(sale_offline_id))
    if (known) return [saleById(known.sale_id), ...returnedRefs(known)]
    const sale = sale_id === null ? null : rows.get(saleById(sale_id))
    return sale ? returnedRefs(sale) : []
  },
  needsLast(rows, sent) {
    if (rows.get(offlineReturnById(sent.offline_id))) return []
    const customerId = sent.customer_id ?? saleOf(rows, sent)?.customer_id ?? null
    return customerId !== null && toCents(creditsOf(rows, sent.refunds).store_credit) > 0
      ? [customerById(customerId)]
      : []
  },
  decide(rows, sent, context) {
    const fingerprint = returnFingerprintOf(sent)
    const known = rows.get(offlineReturnById(sent.offline_id))
    if (known?.fingerprint === fingerprint && isOfSale(rows, known, sent))
      return accept('unchanged', `return/${known.return_id}`, [], [], { warnings: known.warnings })
    if (known) return refuse('duplicate_resource', { field: 'offline_id', conflicting_id: known.return_id })
    const refunds = namedRefunds(rows, sent)
    if ('refused' in refunds) return refunds
    const sale = saleOf(rows, sent)
    if (!sale && sent.sale_offline_id !== null)
      return awaitSale(rows, { ...sent, sale_offline_id: sent.sale_offline_id, refunds, fingerprint }, context)
    if (!sale) return wrong('sale_id', 'venda não encontrada')
    if (sale.doc.order_id !== null) return refuse('managed_by_order', { order_id: sale.doc.order_id })
    const goods = returnableOf(sale)
    const position = sent.items.findIndex(({ line }) => !goods.lines[line])
    if (position >= 0) return wrong(`items[${position}].line`, `a venda vai do item 0 ao ${goods.lines.length - 1}`)
    const credits = creditsOf(rows, refunds)
    const returned = returnFact(rows, {
      sent: { ...sent, sale_offline_id: null, items: [...sent.items], refunds, ...credits },
      creditedTo: creditedCustomer(rows, sent.customer_id ?? sale.customer_id, credits.store_credit),
      ...{ fingerprint, goods },
      ...{ id: context.nextId('return'), now: context.now },
      sale: { id: sale.id, customer_id: sale.customer_id, isCancelled: sale.status === 'cancelled' },
      owed: openOf(rows, sale),
    })
    const overfilled = returned.stock.find((move) => isOverfilled(rows, move))
    if (overfilled) return wrong('items', `o estoque resultante do item ${overfilled.catalog_item_id} é grande demais`)
    const lowered = lowerReceivables(rows, sale, toCents(credits.on_credit), sent.returned_at)
    const { warnings = [] } = returned
    const recorded = event('SaleReturned', returned)
    return accept('created', recorded.subject, [recorded, ...lowered], [], { warnings })
  },
})

/** Whether a repeated upload is of the sale of the recorded return, or of the one that the return waits for. */
function isOfSale(rows: Rows, { return_id, is_awaited }: Readonly<OfflineReturnRow>, sent: OfflineReturn): boolean {
  const { sale_id, sale_offline_id } = sent
  if (!is_awaited) {
    const named = sale_id ?? (sale_offline_id === null ? null : rows.get(offlineSaleById(sale_offline_id))?.sale_id)
    return named === existing(rows, returnById(return_id)).sale_id
  }
  const awaited = sale_offline_id === null ? null : rows.get(awaitedReturnsOf(sale_offline_id))
  return awaited?.returns.some(({ id }) => id === return_id) ?? false
}

/** Whether an item's stock would be too large with goods that come back. */
const isOverfilled = (rows: Rows, { catalog_item_id, quantity }: Returned['stock'][number]): boolean =>
  toThousandths(stockOf(rows, catalog_item_id) ?? '0.000') + toThousandths(quantity) > MAX_THOUSANDTHS

const returnedRefs = (sale: Pick<SaleRow, 'stock_moves' | 'receivable_ids'>): AnyRef[] => [
  ...stockRefs(sale.stock_moves),
  ...receivableRefs(sale),
]

const wrong = (field: string, message: string): Refusal =>
  refuse('validation_failed', { fields: { [field]: [message] }, unknown_fields: [] })

function saleOf(rows: Rows, { sale_id, sale_offline_id }: OfflineReturn): Readonly<SaleRow> | null {
  const id = sale_id ?? (sale_offline_id === null ? null : rows.get(offlineSaleById(sale_offline_id))?.sale_id)
  return id === null || id === undefined ? null : rows.get(saleById(id))
}

/** The refunds with the names of their payment types; those of 0.00 are left out. */
function namedRefunds(rows: Rows, { refunds }: OfflineReturn): Returned['refunds'] | Refusal {
  const named: Returned['refunds'] = []
  for (const [position, { payment_type_id, amount }] of refunds.entries()) {
    const type = rows.get(paymentTypeById(payment_type_id))?.doc
    if (!type) return wrong(`refunds[${position}].payment_type_id`, 'forma de pagamento não encontrada')
    if (toCents(amount) > 0) named.push({ payment_type_id, name: type.name, amount })
  }
  return named
}

/** The parts of the refunds that lower what is owed for the sale, and that are store credit. */
function creditsOf(rows: Rows, refunds: OfflineReturn['refunds']) {
  const of = (kind: PaymentKind) =>
    fromCents(
      sumOfParts(
        refunds.filter(({ payment_type_id }) => rows.get(paymentTypeById(payment_type_id))?.doc.kind === kind),
      ),
    )
  return { on_credit: of('credit_account'), store_credit: of('exchange_credit') }
}

type AwaitedReturn = Omit<DataOf<'ReturnAwaited'>, 'id'>

function awaitSale(
  rows: Rows,
  sent: Omit<OfflineReturn, 'sale_offline_id' | 'refunds'> &
    Pick<AwaitedReturn, 'sale_offline_id' | 'refunds' | 'fingerprint'>,
  { nextId }: DecisionContext,
): Decision {
  const { sale_id: _, items, ...kept } = sent
  const ofSale = rows.get(awaitedReturnsOf(sent.sale_offline_id))?.returns.length ?? 0
  if (ofSale >= MAX_AWAITED_OF_SALE || companyRef(rows).awaited_returns >= MAX_AWAITED)
    return wrong('sale_offline_id', 'já há devoluções demais sem venda: envie antes as vendas')
  const lines = items.map(({ line, quantity, restock }) => ({
    ...{ line, restock },
    quantity: fromThousandths(toThousandths(quantity)),
  }))
  const credits = creditsOf(rows, sent.refunds)
  const awaited = event('ReturnAwaited', { id: nextId('return'), ...kept, ...credits, items: lines })
  return accept('created', awaited.subject, [awaited], [], { warnings: [], isAwaited: true })
}
