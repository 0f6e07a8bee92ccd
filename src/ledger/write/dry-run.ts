import { RECORD_KINDS } from '#domain/record-values.ts'
import type { Envelope } from '../command.ts'
import type { OpenLedger } from '../ledgers.ts'

/**
 * First id, and first revision, of a dry run: beyond those of any ledger, so that they are recognised in the result.
 * Ids of stock movements are revisions times 1,000, and stay exact.
 */
const FIRST = 9_006_913_571_000
const MOST = 100_000
const PER_REVISION = 1_000

const isNew = (value: number): boolean =>
  (value >= FIRST && value < FIRST + MOST) || (value >= FIRST * PER_REVISION && value < (FIRST + MOST) * PER_REVISION)

/** Decides on the ledger from now on with ids and revisions that no record has. */
export function useProvisionalIds(ledger: OpenLedger): void {
  ledger.ids = Object.fromEntries(RECORD_KINDS.map((kind) => [kind, FIRST]))
  ledger.revision = FIRST
}

/** Id of the nth new record of a kind, from 1, if none before it is refused. */
export const provisionalId = (n: number): number => FIRST + n

/** UUID in place of a new one, which `withoutNewIds` removes too. */
export const PROVISIONAL_UUID = '00000000-0000-7000-8000-90069135710f'

/** A record named in a text, as `sale/981`, `order-5-…` or `/pagar/loja/5-…`. Digits alone may be a barcode or a document. */
const NAMED = new RegExp(`\\b(?:${RECORD_KINDS.join('|')}|pagar/[\\w.-]+)[/-](\\d{13,16})\\b`, 'g')

const namesNew = (text: string): boolean =>
  text === PROVISIONAL_UUID || [...text.matchAll(NAMED)].some(([, digits]) => isNew(Number(digits)))

/** The JSON value with null for each id that the dry run took, and for texts that name one, as `sale/981`. */
export function withoutNewIds(json: string): unknown {
  return JSON.parse(json, (_name, value: unknown) => {
    if (typeof value === 'number') return isNew(value) ? null : value
    return typeof value === 'string' && namesNew(value) ? null : value
  })
}

/** An event that would be recorded; personal fields are in clear. */
export type ProvisionalEvent = Pick<Envelope, 'type' | 'version' | 'subject' | 'data'>

/** What would be asked of another service, without credentials. */
export interface OutsideRequest {
  readonly method: 'POST' | 'PUT'
  readonly url: string
  readonly body: unknown
}

/** Result of a dry run beside its answer. */
export interface DryRun {
  readonly events: readonly Envelope[]
  readonly requests: readonly OutsideRequest[]
}
