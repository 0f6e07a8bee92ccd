import type { Cart } from './cart.ts'
import { type Catalog, createCatalog } from './product-search.ts'
import type { Customer, PaymentType, Recorded, TillConfig } from './records.ts'
import { DEFAULT_SCALE } from './scale-labels.ts'
import type { Device, Draft, Drawer, Operator, Parked, Preferences } from './stored.ts'

export type Screen =
  | { readonly name: 'starting'; readonly text: string }
  | { readonly name: 'failed'; readonly message: string }
  | { readonly name: 'other-tab' }
  | { readonly name: 'login'; readonly companies: readonly { readonly id: number; readonly name: string }[] }
  | { readonly name: 'locked' }
  | { readonly name: 'sell' }
  /** `type`: the form of payment that was chosen already. */
  | { readonly name: 'pay'; readonly type: PaymentType | null }
  | { readonly name: 'receipt'; readonly key: string; readonly codes: readonly string[] }
  /** `sale`: key of the sale whose receipt comes next; empty for none. */
  | {
      readonly name: 'voucher'
      readonly code: string
      readonly until: string
      readonly cents: number
      readonly sale: string
    }
  | { readonly name: 'sales' }
  | { readonly name: 'drawer' }
  | { readonly name: 'settings' }
  | { readonly name: 'leave' }

/** How the till stands with the service. */
export type Connection = 'connected' | 'offline' | 'password' | 'waiting' | 'trouble'

export interface TillState {
  readonly screen: Screen
  readonly connection: Connection
  readonly isSyncing: boolean
  readonly message: string
  readonly isAlarm: boolean
  /** Code that was scanned and not found, for a new product. */
  readonly unknownCode: string
  readonly operators: readonly Operator[]
  readonly current: Operator | null
  readonly device: Device | null
  readonly config: TillConfig | null
  readonly catalog: Catalog
  readonly customers: readonly Customer[]
  readonly drafts: readonly Draft[]
  readonly records: readonly Recorded[]
  readonly cart: Cart
  readonly parked: readonly Parked[]
  readonly drawer: Drawer | null
  readonly preferences: Preferences
  /** What the service's clock is ahead of this one. */
  readonly clockOffsetMs: number
  /** Whether the browser promises to keep the data; null until it has answered. */
  readonly isPersisted: boolean | null
  readonly missingCopy: 'banco' | 'arquivo' | null
  readonly hasUpdate: boolean
  /** Products or customers could not be downloaded last. */
  readonly isStale: boolean
}

export const initialState = (cart: Cart): TillState => ({
  screen: { name: 'starting', text: '' },
  connection: 'offline',
  isSyncing: false,
  message: '',
  isAlarm: false,
  unknownCode: '',
  operators: [],
  current: null,
  device: null,
  config: null,
  catalog: createCatalog([]),
  customers: [],
  drafts: [],
  records: [],
  cart,
  parked: [],
  drawer: null,
  preferences: { scale: DEFAULT_SCALE, paper: 80, sound: true },
  clockOffsetMs: 0,
  isPersisted: null,
  missingCopy: null,
  hasUpdate: false,
  isStale: false,
})

/** A value that tells of its changes. */
export interface Store {
  get(): TillState
  set(change: Partial<TillState>): void
  subscribe(listener: () => void): () => void
}

export function createStore(initial: TillState): Store {
  let state = initial
  const listeners = new Set<() => void>()
  return {
    get: () => state,
    set(change) {
      state = { ...state, ...change }
      for (const listener of listeners) listener()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Records, products and customers that the service does not have yet. */
export const unsentOf = ({ records, drafts }: Pick<TillState, 'records' | 'drafts'>): number =>
  records.filter(({ state }) => state === 'waiting').length + drafts.filter(({ state }) => state === 'waiting').length

export const refusedOf = ({ records, drafts }: Pick<TillState, 'records' | 'drafts'>) => ({
  records: records.filter(({ state }) => state === 'refused'),
  drafts: drafts.filter(({ state }) => state === 'refused'),
})
