import { type OfflineSale, OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { addDays, dateInZone, daysFrom, localInstant } from '#domain/instant.ts'
import { fromCents, lineTotal, toCents } from '#domain/money.ts'

/** Ids of the company's records for the sales. */
export interface Shelf {
  readonly items: readonly {
    readonly id: number
    readonly external_id: string | null
    readonly price: string
    readonly unit: string | null
  }[]
  readonly customers: readonly number[]
  readonly types: Readonly<Record<'cash' | 'debit' | 'credit' | 'pix' | 'account', number>>
}

const DAYS = 30
/** Sales per hour of an ordinary day, from opening to closing; the shop closes early on Sundays. */
const HOURS: readonly (readonly [hour: number, sales: number])[] = [
  [7, 2.2],
  [8, 2.6],
  [9, 1.6],
  [10, 1.5],
  [11, 2],
  [12, 1.8],
  [13, 1.1],
  [14, 1],
  [15, 1.2],
  [16, 1.6],
  [17, 2.4],
  [18, 2.9],
  [19, 1.7],
]
const SUNDAY_CLOSES = 13
/** Factors from Sunday to Saturday. */
const WEEKDAYS = [0.8, 0.85, 0.9, 0.95, 1, 1.3, 1.5]
/** End of the first clerk's shift. */
const SHIFT_HOUR = 13

/** Deterministic random numbers from 0 to 1 (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/**
 * A month of sales until an instant (UTC), by clerk, in the till's format, with a cash session for each shift. Peaks
 * in the morning, at noon and after work, and on Saturdays. The same for the same days, items and prices.
 */
export function monthOfSales(
  shelf: Shelf,
  now: string,
  timezone: string,
): readonly [morning: OfflineSale[], evening: OfflineSale[]] {
  const [morning, evening]: [OfflineSale[], OfflineSale[]] = [[], []]
  const today = dateInZone(now, timezone)
  for (const date of daysFrom(addDays(today, -DAYS), DAYS + 1)) {
    const weekday = new Date(`${date}T12:00:00.000Z`).getUTCDay()
    // By its date: a day is the same from whichever day on it is asked for.
    const random = numbers(Number(date.replaceAll('-', '')))
    const sold = { a: 0, b: 0 }
    for (const [hour, usual] of HOURS) {
      if (weekday === 0 && hour >= SUNDAY_CLOSES) continue
      const count = Math.floor(usual * (WEEKDAYS[weekday] ?? 1) + random())
      for (let n = 0; n < count; n++) {
        const minute = String(Math.floor(random() * 60)).padStart(2, '0')
        const sold_at = localInstant(`${date}T${String(hour).padStart(2, '0')}:${minute}`, timezone) ?? now
        const [shift, letter] = hour < SHIFT_HOUR ? ([morning, 'a'] as const) : ([evening, 'b'] as const)
        sold[letter] += 1
        const sale = saleOf(shelf, random, {
          offline_id: `demo-${letter}-${date}-${sold[letter]}`,
          cash_session_id: `demo-${letter}-${date}`,
          created_at: sold_at,
        })
        if (sold_at <= now) shift.push(sale)
      }
    }
  }
  return [morning, evening]
}

function saleOf(
  { items, customers, types }: Shelf,
  random: () => number,
  named: { readonly offline_id: string; readonly cash_session_id: string; readonly created_at: string },
): OfflineSale {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() ** 1.6 * from.length)] as T
  const chosen = new Set(Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(items)))
  const lines = [...chosen].map(({ id, price, unit }) => {
    const thousandths = unit === 'KG' ? 200 + Math.floor(random() * 1_300) : 1_000 * (1 + Math.floor(random() ** 2 * 4))
    return { id, price, thousandths, cents: lineTotal(thousandths, toCents(price)) }
  })
  const cents = lines.reduce((sum, line) => sum + line.cents, 0)
  const dice = random()
  const type =
    dice < 0.3
      ? types.pix
      : dice < 0.55
        ? types.debit
        : dice < 0.75
          ? types.credit
          : dice < 0.94
            ? types.cash
            : types.account
  const onAccount = type === types.account
  // Cash customers pay with notes.
  const given = type === types.cash ? Math.ceil(cents / 500) * 500 : cents
  const isCancelled = random() < 0.015
  const buyer = onAccount || random() < 0.12 ? pick(customers) : null
  const amount = (value: number) => Number(fromCents(value))
  return OfflineSaleInput.parse({
    ...named,
    total: amount(cents),
    amount_received: amount(given),
    change: amount(given - cents),
    status: isCancelled ? 'cancelled' : 'completed',
    customer_id: buyer,
    items: lines.map((line) => ({
      product_id: line.id,
      quantity: line.thousandths / 1_000,
      price: Number(line.price),
      total: amount(line.cents),
    })),
    payments: [{ payment_type_id: type, amount: amount(given), status: onAccount ? 'pending' : 'completed' }],
  })
}
