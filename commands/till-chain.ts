import { createPublicKey, hash, verify } from 'node:crypto'
import * as z from 'zod'
import { Id, limitedText } from '#domain/text.ts'
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
import type { Rows } from '#ledger/working-set.ts'
import { type OfflineSaleWarning, offlineSaleById } from '#projections/fiscal-documents.ts'
import { lastSettled, type TillElementRow, type TillRow, tillById, tillElement } from '#projections/tills.ts'

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
}

/** The place that an element names: null if it names none, a warning if it is malformed. */
export function placeOf(sent: unknown): ChainedAt | 'till_signature' | null {
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
export function receiveElement(
  till: Readonly<TillRow>,
  element: Omit<TillElementRow, 'company_id' | 'till_id'>,
  breaksNext: boolean,
): NewEvent[] {
  const { id, told_to } = till
  const { number, hash, content_hash, previous, warnings } = element
  const received = event('TillElementReceived', {
    ...{ id, number, hash, content_hash, previous, warnings: [...warnings] },
    ...(breaksNext && { breaks_next: true }),
  })
  const gap = told_to + 1 < number ? [event('TillGapDetected', { id, missing: [[told_to + 1, number - 1]] })] : []
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
      const { place } = input
      const paper = takenFromPaper(rows, place, input.offline_id)
      if (paper) return paper
      const { warnings, events } = judge(rows, place)
      const noted = [...(input.noted ?? []), ...warnings]
      const decision = inner.decide(rows, { ...input, noted }, context)
      if (isRefusal(decision)) {
        if (events.length === 0) return decision
        const refused: RefusedInChain = { refusedInChain: decision }
        return accept('unchanged', `till/${place.id}`, events, [], refused)
      }
      return { ...decision, events: [...decision.events, ...events], remarks: { ...decision.remarks, noted } }
    },
  })
}
