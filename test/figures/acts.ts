import fc from 'fast-check'

/** A line of a sale: an item of the shop by position, or a good that is in no catalog. */
export interface ActLine {
  readonly item: number | null
  /** Thousandths. */
  readonly quantity: number
}

/** How a sale is paid; `mixed` is cash and card. */
const WAYS = ['cash', 'pix', 'card', 'mixed', 'account'] as const
export type ActWay = (typeof WAYS)[number]

/** What happens in a shop. Sales and orders are named by position among those so far, so that a shrunk day stays valid. */
export type Act =
  | { do: 'sell'; lines: ActLine[]; way: ActWay; change: number; fee: number; daysAgo: number }
  | {
      do: 'upload'
      till: number
      lines: ActLine[]
      way: ActWay
      /** Cents of discount on the whole sale, and on each line. */
      discount: number
      lineDiscount: number
      change: number
      /** Whether the till states its payments with the change. */
      isWithChange: boolean
      /** Of a till that was offline. */
      daysAgo: number
      isCancelled: boolean
    }
  /** A session of the drawer of the second till. */
  | { do: 'drawer'; step: 'opened' | 'in' | 'out' | 'closed'; cents: number }
  /** The same in the panel. */
  | { do: 'panel-drawer'; step: 'opened' | 'in' | 'out' | 'closed'; cents: number }
  | { do: 'cancel'; sale: number }
  | {
      do: 'return'
      sale: number
      /** Line of the sale, by position. */
      line: number
      /** Half of what is left of it, or all. */
      isHalf: boolean
      /** In cash, or as the sale was paid. */
      inCash: boolean
      restocks: boolean
      /** Till that takes it back; null: over the API. */
      till: number | null
    }
  | { do: 'refuse'; till: number; cents: number; daysAgo: number }
  | { do: 'record'; refused: number }
  | { do: 'resolve'; refused: number }
  | { do: 'order'; lines: ActLine[]; isPaid: boolean }
  | { do: 'refund'; order: number; cents: number | null; restocks: boolean }
  | {
      do: 'account'
      side: 'receivables' | 'payables'
      /** Of the parties of the shop, by position; null for none. */
      party: number | null
      cents: number
      /** Days from today. */
      due: number
    }
  | { do: 'pay'; side: 'receivables' | 'payables'; account: number; method: 'cash' | 'debit_card'; isHalf: boolean }
  | { do: 'unpay'; account: number }
  /** A link over what is open of a receivable. */
  | { do: 'charge'; account: number; isPaid: boolean }
  /** A customer or supplier is deleted, with its open accounts. */
  | { do: 'delete'; side: 'receivables' | 'payables'; party: number }
  | { do: 'undo'; back: number }
  /** The day ends while these sales arrive. */
  | { do: 'midnight'; sales: number }

const line: fc.Arbitrary<ActLine> = fc.record({
  item: fc.option(fc.nat(3), { freq: 5 }),
  quantity: fc.constantFrom(1_000, 2_000, 3_000, 924, 1_500),
})
const lines = fc.array(line, { minLength: 1, maxLength: 3 })
const way = fc.constantFrom(...WAYS)
const daysAgo = fc.constantFrom(0, 0, 0, 1, 2)
const till = fc.nat(1)
const side = fc.constantFrom('receivables' as const, 'payables' as const)
const change = fc.constantFrom(0, 0, 300, 1_124)

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('account' as const),
      side,
      party: fc.option(fc.nat(1)),
      cents: fc.integer({ min: 1, max: 99_999 }),
      due: fc.integer({ min: -40, max: 40 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('pay' as const),
      side,
      account: fc.nat(9),
      method: fc.constantFrom('cash' as const, 'debit_card' as const),
      isHalf: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('unpay' as const), account: fc.nat(9) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('charge' as const),
      account: fc.nat(9),
      isPaid: fc.constantFrom(true, true, false),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), side, party: fc.nat(1) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('undo' as const), back: fc.nat(9) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('sell' as const),
      lines,
      way: way.map((one) => (one === 'account' ? ('cash' as const) : one)),
      change,
      fee: fc.constantFrom(0, 0, 500),
      daysAgo,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('upload' as const),
      till,
      lines,
      way,
      discount: fc.constantFrom(0, 0, 1, 101),
      lineDiscount: fc.constantFrom(0, 0, 7),
      change,
      isWithChange: fc.boolean(),
      daysAgo,
      isCancelled: fc.constantFrom(false, false, false, true),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('drawer' as const, 'panel-drawer' as const),
      step: fc.constantFrom('opened' as const, 'opened' as const, 'in' as const, 'out' as const, 'closed' as const),
      cents: fc.integer({ min: 1, max: 20_000 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('cancel' as const), sale: fc.nat(30) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('return' as const),
      sale: fc.nat(30),
      line: fc.nat(2),
      isHalf: fc.boolean(),
      inCash: fc.boolean(),
      restocks: fc.boolean(),
      till: fc.option(till),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('refuse' as const),
      till,
      cents: fc.integer({ min: 1, max: 9_999 }),
      daysAgo: fc.constantFrom(0, 0, 1),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('record' as const), refused: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('resolve' as const), refused: fc.nat(5) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('order' as const), lines, isPaid: fc.constantFrom(true, true, false) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('refund' as const),
      order: fc.nat(5),
      cents: fc.constantFrom(null, 1, 333),
      restocks: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('midnight' as const), sales: fc.integer({ min: 2, max: 4 }) }) },
)

/** The acts of each day. */
export const daysOf = (count: number): fc.Arbitrary<Act[][]> =>
  fc.array(fc.array(act, { minLength: 2, maxLength: 8 }), { minLength: count, maxLength: count })
