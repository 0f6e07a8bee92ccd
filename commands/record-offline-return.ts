import { createHash } from 'node:crypto'
import * as z from 'zod'
import { CalendarDate, IMPOSSIBLE_AT_TILL, Instant, isImpossibleAtTill } from '#domain/instant.ts'
import {
  fromCents,
  fromThousandths,
  JsonMoney,
  JsonQuantity,
  MAX_CENTS,
  MAX_THOUSANDTHS,
  toCents,
  toThousandths,
} from '#domain/money.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import { boundedText, Id } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import type { PaymentKind } from '#events/company-events.ts'
import type { ChainWarning } from '#events/till-events.ts'
import {
  accept,
  command,
  type Decision,
  type DecisionContext,
  isRefusal,
  type NewEvent,
  type Permit,
} from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { ownCompany } from '#projections/companies.ts'
import { existing } from '#projections/define-projection.ts'
import { offlineSaleById } from '#projections/fiscal-documents.ts'
import { customerById } from '#projections/people.ts'
import {
  awaitedReturnsBySale,
  hasExpired,
  type OfflineReturnRow,
  type OfflineReturnWarning,
  offlineReturnById,
  returnById,
  returnsOfUser,
} from '#projections/returns.ts'
import { type SaleRow, saleById } from '#projections/sales.ts'
import { getStock } from '#projections/stock.ts'
import { paymentTypeById } from '#projections/stores.ts'
import { offlineRecord } from '#projections/tills.ts'
import { userById } from '#projections/users.ts'
import { voucherUntil } from '#projections/vouchers.ts'
import { namedSessionRefs } from './named-drawers.ts'
import {
  findCreditedCustomer,
  judgeReturn,
  mayReturn,
  type ReturnRefusal,
  returnFact,
  sumOfParts,
} from './offline-returns.ts'
import { OfflineId, VoucherCode } from './offline-sale-input.ts'
import { lowerReceivables, receivableRefs } from './receivables-payables.ts'
import { saleMoney, stockRefs, toReturnableSale } from './returned-goods.ts'

const Line = z
  .object({ line: z.int().min(0), quantity: JsonQuantity, restock: z.boolean().nullish() })
  .meta({ id: 'OfflineReturnItem' })
const Refund = z
  .object({
    payment_type_id: Id,
    amount: JsonMoney,
    voucher: VoucherCode.nullish(),
    voucher_until: CalendarDate.nullish(),
  })
  .meta({ id: 'OfflineRefund' })

/** Return as sent by a till, amounts as decimal texts. It names its sale by the till's identifier or by the service's. */
export interface OfflineReturn {
  readonly offline_id: string
  readonly sale_offline_id: string | null
  readonly sale_id: number | null
  readonly reason: string
  /** UTC */
  readonly returned_at: string
  readonly customer_id: number | null
  /** The same by the identifier that a till gave; null if it gave none. */
  readonly offline_customer_id: string | null
  readonly items: readonly { readonly line: number; readonly quantity: string; readonly restock: boolean }[]
  readonly refunds: readonly z.infer<typeof Refund>[]
  readonly cash_session_id: string | null
  /** User who is logged in at the till; not part of what the till sends. */
  readonly userId?: number
  /** Deviations in the till's chain. */
  readonly noted?: readonly ChainWarning[]
  /** Till that has signed it. */
  readonly tillId?: number | undefined
  /** Made after the end of the user's access: a person decides. */
  readonly isLate?: boolean
  /** From books that are older than the records here: its age is no sign of a wrong clock. Not sent by tills. */
  readonly isHistory?: true
}

/** Uploaded return (UP-100). Unknown fields are ignored: tills of many versions upload. */
export const OfflineReturnInput: z.ZodType<OfflineReturn> = z
  .object({
    offline_id: OfflineId,
    sale_offline_id: OfflineId.nullish(),
    sale_id: Id.nullish(),
    reason: boundedText(500),
    returned_at: Instant,
    customer_id: Id.nullish(),
    offline_customer_id: OfflineId.nullish(),
    items: z.array(Line).min(1, 'informe ao menos um item').max(500, 'no máximo 500 itens'),
    refunds: z.array(Refund).max(50, 'no máximo 50 pagamentos'),
    cash_session_id: OfflineId.nullish(),
  })
  .superRefine(({ sale_offline_id, sale_id, items, refunds }, context) => {
    if (items.reduce((sum, { quantity }) => sum + toThousandths(quantity), 0) > MAX_THOUSANDTHS)
      context.addIssue({ code: 'custom', path: ['items'], message: 'a quantidade total é grande demais' })
    if (refunds.reduce((sum, { amount }) => sum + toCents(amount), 0) > MAX_CENTS)
      context.addIssue({ code: 'custom', path: ['refunds'], message: 'o total é grande demais' })
    if ((typeof sale_offline_id === 'string') === (typeof sale_id === 'number'))
      context.addIssue({
        code: 'custom',
        path: ['sale_offline_id'],
        message: 'informe exatamente um entre sale_offline_id e sale_id',
      })
    const lines = new Set<number>()
    for (const [position, { line }] of items.entries()) {
      if (lines.has(line))
        context.addIssue({
          code: 'custom',
          path: ['items', position, 'line'],
          message: 'o item já está nesta devolução',
        })
      lines.add(line)
    }
  })
  .transform(
    ({ sale_offline_id = null, sale_id = null, customer_id = null, cash_session_id = null, items, ...sent }) => ({
      ...sent,
      sale_offline_id,
      sale_id,
      customer_id,
      offline_customer_id: sent.offline_customer_id ?? null,
      cash_session_id,
      items: items.map(({ line, quantity, restock }) => ({ line, quantity, restock: restock ?? true })),
    }),
  )

/**
 * SHA-256 (hex) of a return by value, as `fingerprintSale` of sales. The reason and the session are not part of it, nor is
 * the sale, which has two names.
 */
function returnFingerprintOf({ offline_id, returned_at, items, refunds }: OfflineReturn) {
  const lines = items.map(({ line, quantity, restock }) => [line, quantity, restock])
  const ways = refunds.map(({ payment_type_id, amount, voucher }) => [
    payment_type_id,
    amount,
    ...(voucher ? [voucher] : []),
  ])
  const known = [offline_id, returned_at, lines, ways]
  return createHash('sha256').update(JSON.stringify(known)).digest('hex')
}

type Returned = DataOf<'SaleReturned'>
type Sent = DataOf<'ReturnAwaited'>

/** Returns of a user that may wait for their sales, or for a person, and those that may wait for one sale. */
const MAX_WAITING = 50
const MAX_REFUSED = 200
const MAX_AWAITED_OF_SALE = 500

/**
 * Records goods that a till took back offline: a fact, as far as they were the buyer's. One that comes before its
 * sale is kept, and recorded with the sale; one that may not be recorded is kept for a person.
 */
export const recordOfflineReturn = command<OfflineReturn & { readonly userId: number }>({
  needs: ({ offline_id, sale_offline_id, sale_id, refunds, cash_session_id, userId, offline_customer_id }) => [
    ownCompany,
    userById(userId),
    returnsOfUser(userId),
    offlineReturnById(offline_id),
    ...namedSessionRefs(cash_session_id),
    ...(offline_customer_id === null ? [] : [offlineRecord('customer', offline_customer_id)]),
    ...(sale_id === null ? [] : [saleById(sale_id)]),
    ...(sale_offline_id === null ? [] : [offlineSaleById(sale_offline_id), awaitedReturnsBySale(sale_offline_id)]),
    ...refunds.map(({ payment_type_id }) => paymentTypeById(payment_type_id)),
  ],
  needsMore(rows, { offline_id, sale_id, sale_offline_id }) {
    const repeated = rows.get(offlineReturnById(offline_id))
    if (repeated) return repeated.state === 'recorded' ? [returnById(repeated.return_id)] : []
    const known = sale_offline_id === null ? null : rows.get(offlineSaleById(sale_offline_id))
    if (known) return [saleById(known.sale_id), ...returnedRefs(known)]
    const sale = sale_id === null ? null : rows.get(saleById(sale_id))
    return sale ? returnedRefs(sale) : []
  },
  needsLast(rows, sent) {
    if (rows.get(offlineReturnById(sent.offline_id))) return []
    const customerId = namedCustomer(rows, sent) ?? saleOf(rows, sent)?.customer_id ?? null
    return customerId !== null && toCents(creditsOf(rows, sent.refunds).store_credit) > 0
      ? [customerById(customerId)]
      : []
  },
  decide(rows, upload, context) {
    const fingerprint = returnFingerprintOf(upload)
    const known = rows.get(offlineReturnById(upload.offline_id))
    if (known?.fingerprint === fingerprint && isOfSale(rows, known, upload)) return repeatedReturn(known, context)
    if (known) return refuse('duplicate_resource', { field: 'offline_id', conflicting_id: known.return_id })
    if (isImpossibleAtTill(upload.returned_at, context.now)) return refuseField('returned_at', IMPOSSIBLE_AT_TILL)
    const refunds = namedRefunds(rows, upload, context.now)
    if ('refused' in refunds) return refunds
    const { userId: user_id, items, isHistory, noted, isLate, tillId, offline_customer_id: _, ...given } = upload
    const id = context.nextId('return')
    const sent = {
      ...{ ...given, id, fingerprint, user_id, refunds, ...creditsOf(rows, refunds) },
      customer_id: namedCustomer(rows, upload),
      items: items.map(({ line, quantity, restock }) => {
        return { line, restock, quantity: fromThousandths(toThousandths(quantity)) }
      }),
    }
    if (isLate) return keepRefused(rows, sent, 'access_ended')
    const sale = saleOf(rows, upload)
    if (!sale && upload.sale_offline_id !== null) return awaitSale(rows, sent, upload.sale_offline_id, context.now)
    if (!sale || !mayReturn({ sellerId: sale.seller_id }, user_id, context.permit))
      return keepRefused(rows, sent, 'sale_unknown')
    return recordOrKeep(rows, sent, sale, { ...context, isHistory, noted, tillId })
  },
})

/** Customer that a return names, by id or by an identifier of a till; null if it names none that is known. */
const namedCustomer = (rows: Rows, { customer_id, offline_customer_id }: OfflineReturn): number | null =>
  customer_id ??
  (offline_customer_id === null ? null : (rows.get(offlineRecord('customer', offline_customer_id))?.record_id ?? null))

/** The answer to an upload that is known: what became of it. */
function repeatedReturn(known: Readonly<OfflineReturnRow>, { now, permit }: DecisionContext): Decision {
  const { return_id, warnings, state, note } = known
  const isExpired = state === 'waiting' && hasExpired(known.uploaded_at, now)
  const remarks = {
    warnings: shownTo(permit, warnings),
    ...(state === 'waiting' && !isExpired && { isAwaited: true }),
    ...(state === 'refused' && { refusal: known.refusal }),
    ...(isExpired && { refusal: 'expired' }),
    ...(state === 'resolved' && { resolution: { note } }),
  }
  return accept('unchanged', `return/${return_id}`, [], [], remarks)
}

/** Warnings without what was due for a sale that the user may not see any more. */
const shownTo = (permit: Permit, warnings: readonly OfflineReturnWarning[]): readonly OfflineReturnWarning[] =>
  isRefusal(permit('see_all_sales')) ? warnings.map((each) => ({ ...each, expected: null })) : warnings

function recordOrKeep(
  rows: Rows,
  sent: Sent,
  sale: Readonly<SaleRow>,
  { now, permit, isHistory, noted, tillId }: Omit<Recording, 'isSettled'>,
): Decision {
  if (sale.doc.order_id !== null) return refuse('managed_by_order', { order_id: sale.doc.order_id })
  const goods = toReturnableSale(sale)
  const position = sent.items.findIndex(({ line }) => !goods.lines[line])
  if (position >= 0) return refuseField(`items[${position}].line`, `a venda vai do item 0 ao ${goods.lines.length - 1}`)
  const recorded = decideOfflineReturn(rows, sent, sale, { now, permit, isHistory, noted, tillId, isSettled: false })
  if (typeof recorded === 'string') return keepRefused(rows, sent, recorded)
  if (isRefusal(recorded)) return recorded
  const [returned] = recorded
  const { warnings = [] } = returned.data as Returned
  return accept('created', returned.subject, recorded, [], { warnings: shownTo(permit, warnings) })
}

/** How a return is recorded. */
interface Recording extends Pick<DecisionContext, 'now' | 'permit'> {
  /** Whether it waited for its sale, or was refused before. */
  readonly isSettled: boolean
  readonly isHistory?: true | undefined
  readonly noted?: readonly ChainWarning[] | undefined
  readonly tillId?: number | undefined
}

/** Events that record a return of a sale, whose rows are loaded, or why it may not be recorded. */
export function decideOfflineReturn(
  rows: Rows,
  sent: Sent,
  sale: Readonly<SaleRow>,
  { now, permit, isSettled, isHistory, noted, tillId }: Recording,
): [NewEvent, ...NewEvent[]] | ReturnRefusal | Refusal {
  const goods = toReturnableSale(sale)
  const of = {
    ...{ goods, sellerId: sale.seller_id, isCancelled: sale.status === 'cancelled', money: saleMoney(rows, sale) },
    ...{ before: toCents(sale.doc.returned_total), together: 0 },
  }
  const judged = judgeReturn(sent, of, permit)
  if (typeof judged === 'string') return judged
  const creditedTo = findCreditedCustomer(rows, sent.customer_id ?? sale.customer_id, sent.store_credit)
  const { due, granted } = judged
  const returned = returnFact(rows, {
    id: sent.id,
    now,
    sent,
    goods,
    sale,
    creditedTo,
    due,
    isSettled,
    isHistory,
    noted,
    tillId,
  })
  const overfilled = returned.stock.find((move) => isOverfilled(rows, move))
  if (overfilled)
    return refuseField('items', `o estoque resultante do item ${overfilled.catalog_item_id} é grande demais`)
  const lowered = lowerReceivables(rows, sale, toCents(sent.on_credit), sent.returned_at)
  return [event('SaleReturned', { ...returned, ...granted }), ...lowered]
}

/** Keeps a return that may not be recorded for a person. */
function keepRefused(rows: Rows, sent: Sent, code: ReturnRefusal): Decision {
  if ((rows.get(returnsOfUser(sent.user_id))?.refused_count ?? 0) >= MAX_REFUSED)
    return refuseField('offline_id', 'há devoluções recusadas demais deste usuário: resolva-as no painel')
  const refused = event('ReturnRefused', { ...sent, code })
  return accept('created', refused.subject, [refused], [], { warnings: [], refusal: code })
}

function awaitSale(rows: Rows, sent: Sent, saleOfflineId: string, now: string): Decision {
  const waiting = rows
    .get(returnsOfUser(sent.user_id))
    ?.awaiting_sale.filter((each) => !hasExpired(each.uploaded_at, now))
  const ofSale = rows.get(awaitedReturnsBySale(saleOfflineId))?.returns.length ?? 0
  if ((waiting?.length ?? 0) >= MAX_WAITING || ofSale >= MAX_AWAITED_OF_SALE)
    return keepRefused(rows, sent, 'too_many_waiting')
  const awaited = event('ReturnAwaited', sent)
  return accept('created', awaited.subject, [awaited], [], { warnings: [], isAwaited: true })
}

/** Whether a repeated upload is of the sale of the recorded return, or of the one that it named. */
function isOfSale(
  rows: Rows,
  { return_id, state, payload: kept }: Readonly<OfflineReturnRow>,
  sent: OfflineReturn,
): boolean {
  const { sale_id, sale_offline_id } = sent
  if (state !== 'recorded') return kept?.sale_id === sale_id && kept.sale_offline_id === sale_offline_id
  const named = sale_id ?? (sale_offline_id === null ? null : rows.get(offlineSaleById(sale_offline_id))?.sale_id)
  return named === existing(rows, returnById(return_id)).sale_id
}

/** Whether an item's stock would be too large with goods that come back. */
const isOverfilled = (rows: Rows, { catalog_item_id, quantity }: Returned['stock'][number]): boolean =>
  toThousandths(getStock(rows, catalog_item_id) ?? '0.000') + toThousandths(quantity) > MAX_THOUSANDTHS

export const returnedRefs = (sale: Pick<SaleRow, 'stock_moves' | 'receivable_ids'>): AnyRef[] => [
  ...stockRefs(sale.stock_moves),
  ...receivableRefs(sale),
]

function saleOf(rows: Rows, { sale_id, sale_offline_id }: OfflineReturn): Readonly<SaleRow> | null {
  const id = sale_id ?? (sale_offline_id === null ? null : rows.get(offlineSaleById(sale_offline_id))?.sale_id)
  return id === null || id === undefined ? null : rows.get(saleById(id))
}

/** The refunds with the names of their payment types; those of 0.00 are left out. */
function namedRefunds(rows: Rows, { refunds, returned_at }: OfflineReturn, now: string): Returned['refunds'] | Refusal {
  const named: Returned['refunds'] = []
  for (const [position, { payment_type_id, amount, voucher, voucher_until }] of refunds.entries()) {
    const type = rows.get(paymentTypeById(payment_type_id))?.doc
    if (!type) return refuseField(`refunds[${position}].payment_type_id`, 'forma de pagamento não encontrada')
    if (toCents(amount) === 0) continue
    const given = voucher &&
      type.kind === 'exchange_credit' && {
        ...{ voucher, voucher_until: voucher_until ?? voucherUntil(rows, returned_at, now) },
      }
    named.push({ payment_type_id, name: type.name, amount, ...given })
  }
  return named
}

/** The parts of the refunds that lower what is owed for the sale, and that are store credit. */
function creditsOf(rows: Rows, refunds: OfflineReturn['refunds']) {
  const of = (kind: PaymentKind) =>
    fromCents(
      sumOfParts(
        refunds.filter(({ payment_type_id, voucher }) => {
          const type = rows.get(paymentTypeById(payment_type_id))?.doc
          return type?.kind === kind && !(voucher && kind === 'exchange_credit')
        }),
      ),
    )
  return { on_credit: of('credit_account'), store_credit: of('exchange_credit') }
}
