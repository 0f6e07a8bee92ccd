import type { RecordKind } from './records.ts'
import { ServiceError } from './service-calls.ts'
import type { Draft } from './stored.ts'

/** Lists of the uploads: each has a route of its own. */
type ListName = RecordKind | 'items' | 'customers'

/** What is uploaded: something recorded, or a product or customer that was made here. */
export interface Sendable {
  readonly key: string
  readonly kind: ListName
  readonly element: object
  /** Whose token sends it; 0 for anyone's. */
  readonly userId: number
}

export const draftElement = ({ offlineId, kind, body }: Draft): Sendable => ({
  key: offlineId,
  kind: kind === 'item' ? 'items' : 'customers',
  element: { ...body, offline_id: offlineId },
  userId: 0,
})

/** What became of an element. `later`: a fault of the service that may pass. */
export interface Outcome {
  readonly key: string
  readonly state: 'sent' | 'refused' | 'later'
  readonly note: string
}

interface Result {
  readonly status: string
  readonly code?: string
  readonly message?: string
  readonly errors?: Readonly<Record<string, readonly string[]>>
}

/** Sends one list of one kind. @throws ServiceError */
export type Send = (kind: ListName, elements: readonly object[]) => Promise<{ readonly results: readonly Result[] }>

/** Elements of an upload: small enough for a bad line, large enough for a day offline. */
const PORTION = 100
/** A body may have 5 MB. */
const PORTION_CHARACTERS = 2_000_000

/** Portions in the order of the chain, each of one kind and one seller: each kind has a route, each seller a token. */
export function portionsOf(waiting: readonly Sendable[]): Sendable[][] {
  const portions: Sendable[][] = []
  let size = 0
  for (const record of waiting) {
    const last = portions.at(-1)
    size += JSON.stringify(record.element).length
    const isAlike = last?.[0]?.kind === record.kind && last[0].userId === record.userId
    if (last && isAlike && last.length < PORTION && size <= PORTION_CHARACTERS) last.push(record)
    else {
      portions.push([record])
      size = JSON.stringify(record.element).length
    }
  }
  return portions
}

const noteOf = ({ message = '', errors = {} }: Result): string =>
  [message, ...Object.entries(errors).map(([field, texts]) => `${field}: ${texts.join(', ')}`)].join(' ').slice(0, 500)

function outcomeOf({ key }: Sendable, result: Result | undefined): Outcome {
  if (!result || (result.status === 'error' && result.code === 'internal_error'))
    return { key, state: 'later', note: result?.message ?? 'O serviço não respondeu sobre este registro.' }
  const isRefused = result.status === 'error' || result.status === 'refused'
  return { key, state: isRefused ? 'refused' : 'sent', note: isRefused ? noteOf(result) : '' }
}

/** Statuses that say nothing about what was sent: all of the queue waits. */
export const concernsAll = (status: number): boolean => [0, 401, 403, 408, 429, 503].includes(status)

/**
 * Sends a portion. One that is refused as a whole is halved until the element that causes it is alone, so that it blocks
 * none behind it. @throws ServiceError for what concerns all elements
 */
export async function sendPortion(portion: readonly Sendable[], send: Send): Promise<Outcome[]> {
  const [first] = portion
  if (!first) return []
  try {
    const { results } = await send(
      first.kind,
      portion.map(({ element }) => element),
    )
    return portion.map((record, place) => outcomeOf(record, results[place]))
  } catch (error) {
    if (!(error instanceof ServiceError) || concernsAll(error.status)) throw error
    if (portion.length === 1) {
      const state = error.status >= 500 || error.status === 409 ? 'later' : 'refused'
      return [{ key: first.key, state, note: error.message }]
    }
    const middle = Math.ceil(portion.length / 2)
    const before = await sendPortion(portion.slice(0, middle), send)
    return [...before, ...(await sendPortion(portion.slice(middle), send))]
  }
}
