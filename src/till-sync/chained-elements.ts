import { type ChainedAt, inChain, placeOf, type RefusedInChain } from '#commands/till-chain.ts'
import type { Refusal } from '#domain/refusals.ts'
import { type Command, command, type Invocation, invoke } from '#ledger/command.ts'
import type { CommandResult } from '#ledger/write/idempotency.ts'
import type { OfflineSaleWarning } from '#projections/fiscal-documents.ts'
import { sentId } from './till-answers.ts'

type Code = OfflineSaleWarning['code']

interface UploadedElement {
  readonly offline_id: string
  readonly noted?: readonly Code[]
}

// biome-ignore lint/suspicious/noExplicitAny: commands of elements differ in their input
const chained = new Map<Command<any>, Command<any>>()

/** The command of an element, in its till's chain if it names one; without `till` everything is as it was. */
export function invokeElement<I extends UploadedElement>(
  plain: Command<I>,
  sent: unknown,
  given: I,
  noted: readonly Code[] = [],
): Invocation {
  const place = placeOf(sent)
  if (place === null || place === 'till_signature') {
    const codes = place === null ? noted : [...noted, place]
    return invoke(plain, codes.length === 0 ? given : { ...given, noted: codes })
  }
  const wrapped = chained.get(plain) ?? inChain(plain)
  chained.set(plain, wrapped)
  return invoke(wrapped, { ...given, noted, place })
}

const refuseElement = command<UploadedElement & { readonly refusal: Refusal }>({
  needs: () => [],
  decide: (_rows, { refusal }) => refusal,
})

/** A refused element of a till's chain has come nevertheless. */
export function refuseInChain(sent: unknown, refusal: Refusal): Invocation | Refusal {
  if (typeof sent !== 'object' || sent === null) return refusal
  const place = placeOf(sent)
  if (place === null || place === 'till_signature') return refusal
  const offline_id = sentId((sent as { offline_id?: unknown }).offline_id) ?? ''
  return invokeElement(refuseElement, sent, { offline_id, refusal })
}

/** Elements of one till in the order of its chain, which shows no gap that the upload itself closes. */
export function inOrderOfChain(elements: readonly Invocation[]): readonly Invocation[] {
  const placeIn = ({ input }: Invocation) => (input as { place?: ChainedAt }).place
  const till = elements[0] && placeIn(elements[0])?.id
  if (till === undefined || elements.some((each) => placeIn(each)?.id !== till)) return elements
  return elements.toSorted((a, b) => (placeIn(a)?.number ?? 0) - (placeIn(b)?.number ?? 0))
}

/** The result of an element as its command alone would have it: refused, or with what the chain has noted as warnings. */
export function resultInChain(result: CommandResult): CommandResult {
  if ('refused' in result) return result
  const { refusedInChain, noted, warnings, ...remarks } = (result.remarks ?? {}) as RefusedInChain & {
    readonly noted?: readonly Code[]
    readonly warnings?: readonly (string | { readonly code: string })[]
  }
  if (refusedInChain) return refusedInChain
  if (!noted || noted.length === 0 || !warnings) return result
  const known = new Set(warnings.map((each) => (typeof each === 'string' ? each : each.code)))
  return { ...result, remarks: { ...remarks, warnings, noted: noted.filter((code) => !known.has(code)) } }
}
