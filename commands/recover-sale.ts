import { type ReceiptSale, readReceipt, scannedReceipt } from '#domain/receipt-code.ts'
import { invalid, type Refusal, refuseInvalid } from '#domain/refusals.ts'
import { accept, command, isRefusal } from '#ledger/command.ts'
import { existing } from '#projections/define-projection.ts'
import { offlineSaleById } from '#projections/fiscal-documents.ts'
import { tillById, tillElement } from '#projections/tills.ts'
import { userById } from '#projections/users.ts'
import { awaitedDetailRefs } from './awaited-returns.ts'
import { fingerprintOf, OfflineSaleInput, type OfflineSaleUpload } from './offline-sale-input.ts'
import { newSaleRefs, offlineSaleNeeds, recordSale } from './record-offline-sale.ts'
import { isSignedBy, receiveElement } from './till-chain.ts'

/** A sale read from the code of its receipt; its signature is judged with the till. */
export interface PrintedSale {
  readonly receipt: Pick<ReceiptSale, 'till_id' | 'number' | 'hash'>
  readonly signed: Uint8Array
  readonly signature: Uint8Array
  readonly sale: OfflineSaleUpload
}

/** A product that the till did not know by an id is named by its number 0, which none has. */
const UNKNOWN = 1

/** Reads the code of a receipt, of one part or several. */
export function readPrintedSale(text: string): PrintedSale | Refusal {
  const scanned = scannedReceipt(text)
  if (scanned === null) return invalid('code', 'não é o código de um cupom')
  if ('missing' in scanned)
    return invalid(
      'code',
      scanned.missing === 1
        ? 'leia também o outro código do cupom'
        : `leia também os outros ${scanned.missing} códigos do cupom`,
    )
  const receipt = readReceipt(scanned.signed)
  if (!receipt || receipt.created_at > 8.64e15) return invalid('code', 'não é o código de um cupom')
  const { items, payments, customer, cash_session_id, offline_id } = receipt
  const { data, error } = OfflineSaleInput.safeParse({
    offline_id,
    status: 'completed',
    created_at: new Date(receipt.created_at).toISOString(),
    total: receipt.total / 100,
    amount_received: receipt.amount_received / 100,
    change: receipt.change / 100,
    ...(cash_session_id !== '' && { cash_session_id }),
    ...(customer !== '' && { customer_id: /^[1-9]\d{0,14}$/.test(customer) ? Number(customer) : customer }),
    items: items.map(({ product_id, quantity, price, total }) => ({
      product_id: product_id || UNKNOWN,
      quantity: quantity / 1000,
      price: price / 100,
      total: total / 100,
    })),
    payments: payments.map(({ payment_type_id, amount, isPending, voucher }) => ({
      payment_type_id,
      amount: amount / 100,
      status: isPending ? 'pending' : 'completed',
      ...(voucher !== '' && { voucher }),
    })),
  })
  if (error) return refuseInvalid(error)
  const named = data.items.map((item, line) => {
    const { product_id = 0, name = '' } = items[line] ?? {}
    return { ...item, product_id, name: printedName(name) || `Produto ${product_id}` }
  })
  const sale = { ...data, items: named, sellerId: receipt.user_id }
  return { receipt, signed: scanned.signed, signature: scanned.signature, sale }
}

/** A name as it was printed, without what a page could not show. */
const printedName = (name: string): string =>
  name
    .replace(/[\p{C}]/gu, '')
    .slice(0, 200)
    .trim()

/**
 * Records a sale from the code of its receipt, once for ever: the original that arrives later is a duplicate.
 * What the code says is a fact that the till has signed, as an upload.
 */
export const recoverSale = command<PrintedSale>({
  permission: 'sell',
  needs: ({ sale, receipt: { till_id, number } }) => [
    ...offlineSaleNeeds(sale),
    ...(sale.sellerId ? [userById(sale.sellerId)] : []),
    tillById(till_id),
    tillElement(till_id, number),
    tillElement(till_id, number + 1),
  ],
  needsMore: (rows, { sale }) => (rows.get(offlineSaleById(sale.offline_id)) ? [] : newSaleRefs(rows, sale)),
  needsLast: (rows, { sale }) =>
    rows.get(offlineSaleById(sale.offline_id)) ? [] : awaitedDetailRefs(rows, sale.offline_id),
  decide(rows, { receipt, signed, signature, sale }, context) {
    const till = rows.get(tillById(receipt.till_id))
    if (!till) return invalid('code', 'o cupom não é de um caixa desta empresa')
    if (!isSignedBy(till, signed, signature)) return invalid('code', 'a assinatura do cupom não é a do caixa')
    const known = rows.get(offlineSaleById(sale.offline_id))
    if (known) return accept('unchanged', `sale/${known.sale_id}`)
    const { number, hash } = receipt
    const element = rows.get(tillElement(till.id, number))
    const { sellerId, ...given } = sale
    const isKnownUser = sellerId !== undefined && sellerId > 0 && rows.get(userById(sellerId)) !== null
    const isReused = element !== null && element.hash !== hash
    const noted = ['recorded_from_receipt', ...(isReused ? (['till_number'] as const) : [])] as const
    const told = { ...given, ...(isKnownUser && { sellerId }), noted }
    const recorded = recordSale(rows, told, context, { fingerprint: fingerprintOf(sale), asIs: true })
    if (isRefusal(recorded) || element) return recorded
    const next = rows.get(tillElement(till.id, number + 1))?.previous ?? hash
    const place = { number, hash, content_hash: null, previous: null, warnings: [] }
    return {
      ...recorded,
      events: [...recorded.events, ...receiveElement(existing(rows, tillById(till.id)), place, next !== hash)],
    }
  },
})
