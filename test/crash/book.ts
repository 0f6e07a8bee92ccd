import type { Reply } from '../support/api.ts'
import type { Call } from './caller.ts'

/** A call that was answered in the end. */
export interface Answered {
  readonly call: Call
  readonly reply: Reply
}

/** An adjustment of stock, in thousandths that no other adjustment of the shop has; it has no key, and is sent once. */
export interface Adjustment {
  readonly product: number
  readonly thousandths: number
  readonly outcome: 'done' | 'refused' | 'unknown'
}

/** What a shop was told about its own doings: the model that its ledger and tables are held against. */
export interface Book {
  /** POSTs under an Idempotency-Key. */
  readonly answered: Answered[]
  /** Forms of the panel, each with a key of its own. */
  readonly submitted: Answered[]
  /** Sale → product of which one was sold. */
  readonly sales: Map<number, number>
  readonly cancelled: Set<number>
  /** Offline sale → sale and product. */
  readonly offline: Map<string, { readonly sale: number; readonly product: number }>
  readonly adjustments: Adjustment[]
  /** External ids that batches have created. */
  readonly customers: Set<string>
  readonly items: Set<string>
  /** Customers that were registered in the panel: id → external id; and each name that one was given later. */
  readonly registered: Map<number, string>
  readonly renamings: { readonly id: number; readonly name: string }[]
  /** Account → cents, by path. */
  readonly accounts: Readonly<Record<Side, Map<number, number>>>
  /** Those that were left to the panel to settle, and are not settled yet. */
  readonly open: Readonly<Record<Side, Set<number>>>
  readonly settled: Readonly<Record<Side, Set<number>>>
  readonly webhooks: Set<number>
  readonly orders: Set<number>
  /** Order → provider's reference, of those whose payment was made. */
  readonly paid: Map<number, string>
}

export const SIDES = ['receivables', 'payables'] as const
export type Side = (typeof SIDES)[number]

export function createBook(): Book {
  return {
    answered: [],
    submitted: [],
    sales: new Map(),
    cancelled: new Set(),
    offline: new Map(),
    adjustments: [],
    customers: new Set(),
    items: new Set(),
    registered: new Map(),
    renamings: [],
    accounts: { receivables: new Map(), payables: new Map() },
    open: { receivables: new Set(), payables: new Set() },
    settled: { receivables: new Set(), payables: new Set() },
    webhooks: new Set(),
    orders: new Set(),
    paid: new Map(),
  }
}
