import { createPublicKey, hash, verify } from 'node:crypto'
import * as z from 'zod'
import { parseScannedReceipt, type ReceiptSale, readReceipt } from '#domain/receipt-code.ts'
import { type Refusal, refuse, refuseField, refuseInvalid } from '#domain/refusals.ts'
import { boundedText, Id, limitedText, nameText } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import type { ChainWarning } from '#events/till-events.ts'
import {
  type Accepted,
  accept,
  type Command,
  canonicalJson,
  command,
  type Decision,
  isRefusal,
  type NewEvent,
} from '#ledger/command.ts'
import { plainSql } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { ownCompany } from '#projections/companies.ts'
import { existing } from '#projections/define-projection.ts'
import { type OfflineSaleWarning, offlineSaleById } from '#projections/fiscal-documents.ts'
import {
  gapsIn,
  lastSettled,
  type TillElementRow,
  type TillRow,
  tillById,
  tillByKey,
  tillElement,
} from '#projections/tills.ts'
import { userById } from '#projections/users.ts'
import { awaitedDetailRefs } from './offline-returns.ts'
import { fingerprintSale, OfflineSaleInput, type OfflineSaleUpload } from './offline-sale-input.ts'
import { newSaleRefs, offlineSaleNeeds, recordSale } from './record-offline-sale.ts'

/** A coordinate of a point on P256: 32 bytes. */
const Coordinate = limitedText(43, 'deve ter 43 caracteres de base64url').regex(/^[\w-]{43}$/)

/** Registration of a till. Unknown fields of the key are ignored. */
export const TillInput = z.object({
  name: nameText(100),
  public_key: z
    .object({ kty: z.literal('EC'), crv: z.literal('P-256'), x: Coordinate, y: Coordinate })
    .meta({ id: 'TillKey' }),
})

interface NewTill {
  readonly name: string
  readonly x: string
  readonly y: string
}

/** Tills of a company that are not ended. */
export const MAX_TILLS = 50

/** Numbers are counted exactly. */
const LAST_NUMBER = Number.MAX_SAFE_INTEGER - 1

const WAY = { fee_percentage: '0.00', due_days: 30, acquirer_rate: null, settles_in_days: null } as const
/** Payment types of a company that has none when it opens its first till: it can sell at once. */
const FIRST_WAYS = [
  { ...WAY, name: 'Dinheiro', kind: 'cash' },
  { ...WAY, name: 'Pix', kind: 'pix' },
] as const

/** What is known of a company's tills, and the last number that this one has named. */
interface TillCounts {
  readonly open: number
  readonly takes_nothing: boolean
  readonly named: number
}

/** Gives a device its number; the same key is the same till. */
export const registerTill = command<NewTill>({
  needs: ({ x, y }) => [ownCompany, tillByKey(x, y)],
  needsMore(rows, { x, y }) {
    const known = rows.get(tillByKey(x, y))
    return known ? [tillElement(known.id, lastSettled(known.doc))] : []
  },
  lookup: (rows, { x, y }) => ({
    name: 'count_tills',
    text: plainSql(`select (select count(*)::integer from tills where company_id = $1 and ended_at is null) as open,
      not exists (select from payment_types where company_id = $1) as takes_nothing,
      coalesce((select last_number from ops.till_contacts where company_id = $1 and till_id = $2), 0) as named`),
    values: [rows.get(tillByKey(x, y))?.id ?? 0],
  }),
  decide(rows, { name, x, y }, { nextId, found }) {
    const known = rows.get(tillByKey(x, y))
    if (known?.ended_at) return refuseField('public_key', 'este caixa foi encerrado')
    const [{ open, takes_nothing, named }] = found as readonly [TillCounts]
    if (known) {
      // A till that was copied back goes on after what it has used.
      const settled = lastSettled(known.doc)
      const last_number = Math.max(named, settled)
      const last_hash = named > settled ? null : (rows.get(tillElement(known.id, settled))?.hash ?? null)
      return accept('unchanged', `till/${known.id}`, [], [], { name: known.doc.name, last_number, last_hash })
    }
    if (open >= MAX_TILLS)
      return refuseField('public_key', `a empresa já tem ${MAX_TILLS} caixas: encerre os que não usa`)
    const registered = event('TillRegistered', { id: nextId('till'), name, x, y })
    const ways = takes_nothing
      ? FIRST_WAYS.map((way) => event('PaymentTypeCreated', { id: nextId('payment_type'), ...way }))
      : []
    return accept('created', registered.subject, [registered, ...ways], [], { name, last_number: 0, last_hash: null })
  },
})

/** Ends a till: what it signs afterwards is warned of, and its number of a company's tills is free. */
export const endTill = command<{ readonly id: number }>({
  permission: 'manage_company',
  needs: ({ id }) => [ownCompany, tillById(id)],
  decide(rows, { id }) {
    const till = rows.get(tillById(id))
    if (!till) return refuse('not_found')
    const ended = event('TillEnded', { id })
    return till.ended_at === null ? accept('updated', ended.subject, [ended]) : accept('unchanged', ended.subject)
  },
})

export const GivenUp = z.object({ reason: boundedText(500) })

/** Numbers of a till that a person does not expect any more, with the reason. */
export const giveUpElements = command<{
  readonly id: number
  readonly from: number
  readonly to: number
  readonly reason: string
}>({
  permission: 'cancel_all',
  needs: ({ id }) => [ownCompany, tillById(id)],
  decide(rows, { id, from, to, reason }) {
    const till = rows.get(tillById(id))
    if (!till) return refuse('not_found')
    if (!(from >= 1 && from <= to && to <= LAST_NUMBER)) return refuse('not_found')
    // What has come meanwhile is in no gap, and stays.
    if (gapsIn(till.doc.settled, to).every(([, end]) => end < from)) return accept('unchanged', `till/${id}`)
    const given = event('TillElementsGivenUp', { id, from, to, reason })
    return accept('updated', given.subject, [given])
  },
})

export const TailOfTill = z.object({ id: Id, last: Id })

/** Tells numbers that a till named a day ago and that have not come, once. */
export const tellTail = command<z.infer<typeof TailOfTill>>({
  needs: ({ id }) => [ownCompany, tillById(id)],
  decide(rows, { id, last }) {
    const from = existing(rows, tillById(id)).reported_number + 1
    if (from > last) return accept('unchanged', `till/${id}`)
    const told = event('TillGapDetected', { id, missing: [[from, last]] })
    return accept('updated', told.subject, [told])
  },
})

/** Digits of SHA-256, and of the first element's predecessor. */
const FIRST = '0'.repeat(64)

const Place = z.object({
  id: Id,
  number: z
    .int()
    .positive()
    .max(Number.MAX_SAFE_INTEGER - 1),
  previous: limitedText(64).regex(/^[0-9a-f]{64}$/),
  signature: limitedText(86).regex(/^[\w-]{86}$/),
})

/** Schema of the member `till` of uploaded elements, for the contract. */
export const ChainPlace = Place.meta({ id: 'ChainPlace' })

/** The place of an element in its till's chain, and what was signed. */
export interface ChainedAt extends z.infer<typeof Place> {
  /** The element in RFC 8785 form without its signature. */
  readonly signed: string
  /** Of the element in RFC 8785 form with its signature. */
  readonly hash: string
}

/** Deviations that are known before the decision, and what the chain adds. */
interface Noted {
  readonly noted?: readonly OfflineSaleWarning['code'][]
  /** Till that has signed the element; until the decision the one that it names. */
  readonly tillId?: number | undefined
}

/** The place that an element names: null if it names none, a warning if it is malformed. */
export function parseTillPlace(sent: unknown): ChainedAt | 'till_signature' | null {
  const element = sent as { readonly till?: unknown }
  if (element.till === undefined || element.till === null) return null
  const { data } = Place.safeParse(element.till)
  if (!data) return 'till_signature'
  const { signature: _, ...unsigned } = element.till as object & { signature: string }
  const signed = canonicalJson({ ...element, till: unsigned })
  return { ...data, signed, hash: hash('sha256', canonicalJson(element), 'hex') }
}

/** Whether a text or bytes have the signature of a till (ECDSA with SHA-256, P1363). */
export function isSignedBy({ x, y }: Pick<TillRow, 'x' | 'y'>, signed: Uint8Array, signature: Uint8Array): boolean {
  try {
    const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' })
    return verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature)
  } catch {
    // A point that is not on the curve.
    return false
  }
}

/** Gaps of a till's chain; an element that would open one more stays outside of it. */
const MAX_GAPS = 1_000

/** What the chain says about an element. */
interface Judged {
  readonly warnings: readonly ChainWarning[]
  /** To be recorded with the element; none if it is outside of the chain or repeated. */
  readonly events: readonly NewEvent[]
}

/** Events of an element that comes into a till's chain, and the gap that it shows. */
function receiveElement(
  till: Readonly<TillRow>,
  element: Omit<TillElementRow, 'company_id' | 'till_id'>,
  breaksNext: boolean,
): NewEvent[] {
  const { id, reported_number } = till
  const { number, hash, content_hash, previous, warnings } = element
  const received = event('TillElementReceived', {
    ...{ id, number, hash, content_hash, previous, warnings: [...warnings] },
    ...(breaksNext && { breaks_next: true }),
  })
  const gap =
    reported_number + 1 < number ? [event('TillGapDetected', { id, missing: [[reported_number + 1, number - 1]] })] : []
  return [received, ...gap]
}

function judge(rows: Rows, place: ChainedAt): Judged {
  const { id, number, previous, hash: own } = place
  const till = rows.get(tillById(id))
  if (!till || !isSignedBy(till, Buffer.from(place.signed), Buffer.from(place.signature, 'base64url')))
    return { warnings: ['till_signature'], events: [] }
  const content_hash = hash('sha256', place.signed, 'hex')
  const known = rows.get(tillElement(id, number))
  if (known) {
    const isSame = known.hash === own || known.content_hash === content_hash
    return { warnings: isSame ? known.warnings : ['till_number'], events: [] }
  }
  const { settled } = till.doc
  if (number > lastSettled(till.doc) + 1 && settled.length >= MAX_GAPS) return { warnings: ['till_number'], events: [] }
  const before = number === 1 ? FIRST : rows.get(tillElement(id, number - 1))?.hash
  const after = rows.get(tillElement(id, number + 1))?.previous ?? null
  const breaksNext = after !== null && after !== own
  const isBroken = breaksNext || (before !== undefined && before !== previous)
  const warnings: ChainWarning[] = [
    ...(till.ended_at === null ? [] : (['till_signature'] as const)),
    ...(isBroken ? (['till_chain'] as const) : []),
  ]
  return { warnings, events: receiveElement(till, { number, hash: own, content_hash, previous, warnings }, breaksNext) }
}

/** A sale that was taken in from its receipt, and of which this is the original. */
function takenFromPaper(rows: Rows, { id, number, hash }: ChainedAt, offlineId: string): Accepted | null {
  const known = rows.get(tillElement(id, number))
  const sale = known?.hash === hash && known.content_hash === null ? rows.get(offlineSaleById(offlineId)) : null
  return sale && accept('unchanged', `sale/${sale.sale_id}`, [], [], { warnings: sale.warnings })
}

/** Result of a refused element, which has come nevertheless. */
export interface RefusedInChain {
  readonly refusedInChain?: Exclude<Decision, Accepted>
}

type Chained<I> = I & { readonly place: ChainedAt }

/**
 * A command for elements of a till's chain: its decision, with what the chain says about the element.
 */
export function inChain<I extends Noted & { readonly offline_id: string }>(inner: Command<I>): Command<Chained<I>> {
  return command<Chained<I>>({
    ...inner,
    needs: (input: Chained<I>) => [
      ...inner.needs(input),
      tillById(input.place.id),
      tillElement(input.place.id, input.place.number),
      ...(input.place.number > 1 ? [tillElement(input.place.id, input.place.number - 1)] : []),
      tillElement(input.place.id, input.place.number + 1),
      offlineSaleById(input.offline_id),
    ],
    decide(rows, input: Chained<I>, context): Decision {
      const { place, ...given } = input
      const paper = takenFromPaper(rows, place, input.offline_id)
      if (paper) return paper
      const { warnings, events } = judge(rows, place)
      const noted = [...(input.noted ?? []), ...warnings]
      const tillId = warnings.includes('till_signature') ? undefined : place.id
      const decision = inner.decide(rows, { ...(given as unknown as I), noted, tillId }, context)
      if (isRefusal(decision)) {
        if (events.length === 0) return decision
        const refused: RefusedInChain = { refusedInChain: decision }
        return accept('unchanged', `till/${place.id}`, events, [], refused)
      }
      return { ...decision, events: [...decision.events, ...events], remarks: { ...decision.remarks, noted } }
    },
  })
}

/** A sale read from the code of its receipt; its signature is judged with the till. */
export interface PrintedSale {
  readonly receipt: Pick<ReceiptSale, 'till_id' | 'number' | 'hash'>
  readonly signed: Uint8Array
  readonly signature: Uint8Array
  readonly sale: OfflineSaleUpload
}

/** A product that the till did not know by an id is named by its number 0, which none has. */
const UNKNOWN = 1

const isId = (text: string): boolean => /^[1-9]\d{0,14}$/.test(text)

/** Reads the code of a receipt, of one part or several. */
export function readPrintedSale(text: string): PrintedSale | Refusal {
  const scanned = parseScannedReceipt(text)
  if (scanned === null) return refuseField('code', 'não é o código de um cupom')
  if ('missing' in scanned)
    return refuseField(
      'code',
      scanned.missing === 1
        ? 'leia também o outro código do cupom'
        : `leia também os outros ${scanned.missing} códigos do cupom`,
    )
  const receipt = readReceipt(scanned.signed)
  if (!receipt || receipt.created_at > 8.64e15) return refuseField('code', 'não é o código de um cupom')
  const { items, payments, customer, cash_session_id, offline_id } = receipt
  const { data, error } = OfflineSaleInput.safeParse({
    offline_id,
    status: 'completed',
    created_at: new Date(receipt.created_at).toISOString(),
    total: receipt.total / 100,
    amount_received: receipt.amount_received / 100,
    change: receipt.change / 100,
    ...(cash_session_id !== '' && { cash_session_id }),
    ...(customer !== '' && (isId(customer) ? { customer_id: Number(customer) } : { offline_customer_id: customer })),
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
    if (!till) return refuseField('code', 'o cupom não é de um caixa desta empresa')
    if (!isSignedBy(till, signed, signature)) return refuseField('code', 'a assinatura do cupom não é a do caixa')
    const known = rows.get(offlineSaleById(sale.offline_id))
    if (known) return accept('unchanged', `sale/${known.sale_id}`)
    const { number, hash } = receipt
    const element = rows.get(tillElement(till.id, number))
    const { sellerId, ...given } = sale
    const isKnownUser = sellerId !== undefined && sellerId > 0 && rows.get(userById(sellerId)) !== null
    const isReused = element !== null && element.hash !== hash
    const noted = ['recorded_from_receipt', ...(isReused ? (['till_number'] as const) : [])] as const
    const told = { ...given, ...(isKnownUser && { sellerId }), noted }
    const recorded = recordSale(rows, told, context, { fingerprint: fingerprintSale(sale), asIs: true })
    if (isRefusal(recorded) || element) return recorded
    const next = rows.get(tillElement(till.id, number + 1))?.previous ?? hash
    const place = { number, hash, content_hash: null, previous: null, warnings: [] }
    return {
      ...recorded,
      events: [...recorded.events, ...receiveElement(existing(rows, tillById(till.id)), place, next !== hash)],
    }
  },
})
