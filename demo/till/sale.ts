import { lineTotal } from '#domain/money.ts'

/** A product as the till downloads it (spec, Product). */
export interface Product {
  readonly id: number
  readonly name: string
  readonly price: number
  readonly stock: number
  readonly updated_at: string
}

/** A way to pay, as the configuration tells it. */
export interface PaymentType {
  readonly id: number
  readonly name: string
  readonly kind: string
  readonly is_cash: boolean
}

/** A sale as the till keeps and uploads it (spec, Offline sale). */
export interface OfflineSale {
  readonly offline_id: string
  readonly total: number
  readonly amount_received: number
  readonly change: number
  readonly status: 'completed' | 'cancelled'
  readonly created_at: string
  readonly items: readonly { product_id: number; quantity: number; price: number; total: number }[]
  readonly payments: readonly { payment_type_id: number; amount: number; status: 'completed' | 'pending' }[]
}

/** Where chance, time and identifiers come from. */
export interface World {
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number
  readonly now: () => Date
  readonly newId: () => string
}

const MOST_LINES = 4
const CANCELLED = 0.1
const WEIGHED = 0.2
/** Customers pay with what they have: tens of reais. */
const NOTE_CENTS = 1_000

/** What a customer might buy. All amounts are reckoned in whole cents and thousandths, and become numbers at the end. */
export function sell(products: readonly Product[], types: readonly PaymentType[], world: World): OfflineSale {
  const { random, now, newId } = world
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const lines = Array.from({ length: 1 + Math.floor(random() * MOST_LINES) }, () => {
    const { id, price } = pick(products)
    const thousandths = random() < WEIGHED ? 50 + Math.floor(random() * 1_950) : 1_000 * (1 + Math.floor(random() * 3))
    return { id, price, thousandths, cents: lineTotal(thousandths, Math.round(price * 100)) }
  })
  const total = lines.reduce((sum, line) => sum + line.cents, 0)
  const type = pick(types)
  const received = type.is_cash ? Math.ceil(total / NOTE_CENTS) * NOTE_CENTS : total
  const status = type.kind === 'credit_account' ? 'pending' : 'completed'
  return {
    offline_id: newId(),
    total: total / 100,
    amount_received: received / 100,
    change: (received - total) / 100,
    status: random() < CANCELLED ? 'cancelled' : 'completed',
    created_at: now().toISOString(),
    items: lines.map(({ id, price, thousandths, cents }) => ({
      product_id: id,
      quantity: thousandths / 1000,
      price,
      total: cents / 100,
    })),
    payments: [{ payment_type_id: type.id, amount: received / 100, status }],
  }
}
