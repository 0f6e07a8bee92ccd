/** What a company is, as simply as it can be said: whole reais, whole units, and nothing that a clock or a layout decides. */
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

/** Deleted records stay: their external ids are theirs for ever. */
interface Deletable {
  readonly id: number
  readonly external_id: string | null
  readonly deleted: boolean
}

export interface Item extends Deletable {
  readonly name: string
  readonly price: number
  /** Null: not tracked. */
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
  /** Whether the item's stock was tracked, and so was taken from. */
  readonly moved: boolean
}

export interface Uploaded {
  readonly sale: number
  /** What was sent, as text, whether cancelled or not; and of that, what was sold. */
  readonly sent: string
  readonly sold: string
  /** The receivable that it made. */
  readonly owed: number | null
  readonly warnings: readonly string[]
}

export interface Stored {
  readonly request: string
  readonly outcome: Outcome
}

/** What a call is answered, without what a clock decides. */
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

/** A call that takes place: the company, which it changes, and where its ids come from. */
export interface Turn {
  readonly state: { readonly [T in keyof State]: Mutable<State[T]> }
  /** The next id that the service has given to a record of the kind. */
  newId(kind: 'catalog_item' | 'customer' | 'receivable' | 'sale'): number
  /** Events recorded so far. */
  events: number
}

/** A copy to change; the original stays what it was. */
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
/** A field that is wrong; what is said of it in words is not looked at. */
export const invalid = (field: string): Outcome => refused(422, 'validation_failed', { fields: [field] })
export const NOT_FOUND = refused(404, 'not_found')

export const reais = (amount: number): string => `${amount}.00`
export const units = (quantity: number): string => `${quantity}.000`

/** The refusal of a value that another record has. */
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
