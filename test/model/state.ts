/** Simplified state of a company: whole reais, whole units, no clock or format. */
export interface State {
  readonly items: ReadonlyMap<number, Item>
  readonly customers: ReadonlyMap<number, Customer>
  readonly receivables: ReadonlyMap<number, Receivable>
  readonly sales: ReadonlyMap<number, Sale>
  /** By offline_id. */
  readonly uploads: ReadonlyMap<string, Uploaded>
  /** By Idempotency-Key. */
  readonly answers: ReadonlyMap<string, Stored>
}

/** Deleted records stay: they keep their external ids. */
interface Deletable {
  readonly id: number
  readonly external_id: string | null
  readonly deleted: boolean
}

export interface Item extends Deletable {
  readonly name: string
  readonly price: number
  /** Null: untracked. */
  readonly stock: number | null
  readonly barcode: string | null
}

export interface Customer extends Deletable {
  readonly name: string
}

export interface Receivable extends Deletable {
  readonly origin: 'api' | 'sale'
  readonly amount: number
  readonly settled: boolean
}

export interface Sale {
  readonly id: number
  readonly external_id: string | null
  readonly origin: 'api' | 'pdv'
  readonly cancelled: boolean
  readonly customer: { readonly id: number; readonly external_id: string | null; readonly name: string } | null
  readonly lines: readonly Line[]
  readonly total: number
  readonly change: number
}

export interface Line {
  readonly item: number
  readonly units: number
  readonly total: number
  /** Whether the item was tracked, so that its stock was debited. */
  readonly moved: boolean
}

export interface Uploaded {
  readonly sale: number
  /** Uploaded sale as text, without its status; and its lines. */
  readonly sent: string
  readonly sold: string
  /** Receivable of the sale. */
  readonly owed: number | null
  readonly warnings: readonly string[]
}

export interface Stored {
  readonly request: string
  readonly outcome: Outcome
}

/** Response to a call, without clock-dependent parts. */
export interface Outcome {
  readonly status: number
  readonly body: unknown
}

export const EMPTY: State = {
  items: new Map(),
  customers: new Map(),
  receivables: new Map(),
  sales: new Map(),
  uploads: new Map(),
  answers: new Map(),
}

type Mutable<M> = M extends ReadonlyMap<infer K, infer V> ? Map<K, V> : never

/** Executed call: the company's state, and the source of its ids. */
export interface Turn {
  readonly state: { readonly [T in keyof State]: Mutable<State[T]> }
  /** Next id that the service gave to a record of the kind. */
  newId(kind: 'catalog_item' | 'customer' | 'receivable' | 'sale'): number
  /** Number of recorded events. */
  events: number
}

/** Mutable copy; the original stays unchanged. */
export const copyOf = (state: State): Turn['state'] => ({
  items: new Map(state.items),
  customers: new Map(state.customers),
  receivables: new Map(state.receivables),
  sales: new Map(state.sales),
  uploads: new Map(state.uploads),
  answers: new Map(state.answers),
})

export const answered = (status: number, body: unknown = null): Outcome => ({ status, body })
export const refused = (status: number, code: string, details: unknown = null): Outcome => ({
  status,
  body: { code, details },
})
/** Invalid field; its message is not compared. */
export const invalid = (field: string): Outcome => refused(422, 'validation_failed', { fields: [field] })
export const NOT_FOUND = refused(404, 'not_found')

export const reais = (amount: number): string => `${amount}.00`
export const units = (quantity: number): string => `${quantity}.000`

/** Refusal of a value of another record. */
export function taken(field: string, holder: Deletable | undefined, own: number | null): Outcome | null {
  if (!holder || holder.id === own) return null
  return refused(409, 'duplicate_resource', {
    field,
    conflicting_id: holder.id,
    ...(holder.deleted ? { deleted: true } : {}),
  })
}

export const byExternalId = <R extends { readonly external_id: string | null }>(
  records: ReadonlyMap<number, R>,
  externalId: string | null | undefined,
): R | undefined => (externalId ? [...records.values()].find((record) => record.external_id === externalId) : undefined)

export const live = <R extends Deletable>(record: R | undefined): R | undefined =>
  record?.deleted ? undefined : record
