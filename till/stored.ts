import type { Cart } from './cart.ts'
import type { Customer, Product, Recorded, TillConfig } from './records.ts'
import type { ScaleSetting } from './scale-labels.ts'

/** A person who sells at this device, with the token of their login. */
export interface Operator {
  readonly userId: number
  readonly name: string
  readonly email: string
  readonly token: string
  /** PBKDF2 of the PIN; null without one. */
  readonly pin: { readonly salt: Uint8Array; readonly hash: string } | null
  readonly wrongPins: number
}

export interface Device {
  readonly id: number
  readonly number: number
  readonly name: string
  readonly companyId: number
}

/** Last number of a till's chain, and the hash of that element. */
export interface ChainEnd {
  readonly tillId: number
  readonly number: number
  readonly hash: string
}

export interface Drawer {
  readonly sessionId: string
  readonly openedAt: string
  /** Cents. */
  readonly float: number
  /** Person who opened it in the panel; absent of the till's own, which its operators share. */
  readonly ownerId?: number
}

/** One product or customer that was made here and waits for its upload. */
export interface Draft {
  readonly offlineId: string
  readonly kind: 'item' | 'customer'
  readonly body: object
  readonly state: 'waiting' | 'refused'
  readonly note: string
}

export interface Parked {
  readonly cart: Cart
  readonly at: string
  readonly name: string
}

export interface Preferences {
  readonly scale: ScaleSetting
  readonly paper: 58 | 80
  readonly sound: boolean
}

/** Single values, each under its own key. */
export interface Values {
  key: CryptoKeyPair
  device: Device
  operators: readonly Operator[]
  current: number
  config: TillConfig
  productsSince: string
  customersSince: string
  clockOffsetMs: number
  drawer: Drawer | null
  chainEnd: ChainEnd
  cart: Cart
  parked: readonly Parked[]
  preferences: Preferences
  /** Key of the last sale whose receipt was shown. */
  shown: string
}

/** The database of the till. Writes are on the disk when their promise is kept. */
export interface Storage {
  get<K extends keyof Values>(name: K): Promise<Values[K] | undefined>
  set(values: Partial<Values>): Promise<void>
  products(): Promise<Product[]>
  customers(): Promise<Customer[]>
  /** Takes an answer in as a whole: what changed, what went, and since when the next one counts. */
  merge(
    store: 'products' | 'customers',
    changed: readonly (Product | Customer)[],
    gone: readonly number[],
    since: string,
    isAll: boolean,
  ): Promise<void>
  records(): Promise<Recorded[]>
  /** Records and values in one transaction. */
  putRecords(records: readonly Recorded[], values?: Partial<Values>): Promise<void>
  deleteRecords(keys: readonly string[]): Promise<void>
  drafts(): Promise<Draft[]>
  putDraft(draft: Draft): Promise<void>
  deleteDraft(offlineId: string): Promise<void>
}
