import type { Reply } from '../support/api.ts'
import type { Call } from './caller.ts'

/** Call with its final answer. */
export interface Answered {
  readonly call: Call
  readonly reply: Reply
}

/** Stock adjustment, in thousandths, unique within the shop. It has no idempotency key and is sent once. */
export interface Adjustment {
  readonly product: number
  readonly thousandths: number
  readonly outcome: 'done' | 'refused' | 'unknown'
}

/** Acknowledged writes of a shop: the model that its ledger and tables are compared with. */
export interface Book {
  /** POSTs under an Idempotency-Key. */
  readonly answered: Answered[]
  /** Panel forms, each with its own key. */
  readonly submitted: Answered[]
  /** Sale → product of its single unit. */
  readonly sales: Map<number, number>
  readonly cancelled: Set<number>
  /** Offline sale → sale and product. */
  readonly offline: Map<string, { readonly sale: number; readonly product: number }>
  readonly adjustments: Adjustment[]
  /** External ids created by batches. */
  readonly customers: Set<string>
  readonly items: Set<string>
  /** Customers registered in the panel: id → external id; and every later name. */
  readonly registered: Map<number, string>
  readonly renamings: { readonly id: number; readonly name: string }[]
  /** Account → cents, by path. */
  readonly accounts: Readonly<Record<Side, Map<number, number>>>
  /** Accounts left for the panel to settle, not settled yet. */
  readonly open: Readonly<Record<Side, Set<number>>>
  readonly settled: Readonly<Record<Side, Set<number>>>
  readonly webhooks: Set<number>
  readonly orders: Set<number>
  /** Order → reference at the provider, for paid orders. */
  readonly paid: Map<number, string>
  /** Sale of a paid order → its product. */
  readonly orderSales: Map<number, number>
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
    orderSales: new Map(),
  }
}
