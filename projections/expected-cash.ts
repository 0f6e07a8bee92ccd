import { addAmounts, subtractAmounts } from '#domain/money.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { CashTakings } from './cash-takings.ts'

/** Cash that the movements of a session brought and took, and what was counted at its closing. */
export interface SessionCash {
  readonly opening: string
  readonly received: string
  readonly in: string
  readonly out: string
  readonly counted: DataOf<'CashSessionClosed'>['counted']
}

/** Money of a session in one payment type. All types in cash are one drawer. */
export interface CashWay {
  /** Of the drawer the company's first type in cash; null if it has none. */
  readonly payment_type_id: number | null
  readonly is_cash: boolean
  readonly expected: string
  /** Null if it was not counted. */
  readonly counted: string | null
  /** Counted less expected. */
  readonly difference: string | null
}

export const NO_CASH = '0.00'

/** What the drawer's payments in cash brought, by kind. */
export function drawerTakings({ ways }: CashTakings) {
  const cash = ways.filter(({ is_cash }) => is_cash)
  const of = (kind: 'sold' | 'cancelled' | 'returned') => addAmounts(...cash.map((way) => way[kind]))
  return { sales: of('sold'), cancelled: of('cancelled'), returned: of('returned') }
}

/** Expected and counted money of a session: the drawer first, then the other payment types by id. */
export function cashByWay(session: SessionCash, takings: CashTakings): CashWay[] {
  const countOf = (type: number | null) =>
    session.counted?.find(({ payment_type_id }) => payment_type_id === type)?.amount ?? null
  const wayOf = (type: number | null, counted: string | null, expected: string, is_cash: boolean): CashWay => ({
    payment_type_id: type,
    is_cash,
    expected,
    counted,
    difference: counted === null ? null : subtractAmounts(counted, expected),
  })
  const { sales, cancelled, returned } = drawerTakings(takings)
  const inDrawer = subtractAmounts(
    addAmounts(session.opening, sales, session.received, session.in),
    cancelled,
    returned,
    session.out,
  )
  const others = new Map(
    takings.ways.flatMap(({ payment_type_id, is_cash, sold, cancelled, returned }) =>
      is_cash ? [] : [[payment_type_id, subtractAmounts(sold, cancelled, returned)] as const],
    ),
  )
  for (const { payment_type_id: type } of session.counted ?? [])
    if (type !== null && !others.has(type)) others.set(type, NO_CASH)
  return [
    wayOf(takings.drawer, countOf(null), inDrawer, true),
    ...[...others].sort(([a], [b]) => a - b).map(([type, expected]) => wayOf(type, countOf(type), expected, false)),
  ]
}
