import { readFile } from 'node:fs/promises'
import { lineTotal } from '#domain/money.ts'
import { CARD_BRANDS, type SalePaymentDetails } from '#domain/sale-payment.ts'
import { writeFileAtomically } from '#lib/files.ts'

/** Product as downloaded by the till (SYNC-10). */
export interface Product {
  readonly id: number
  readonly name: string
  readonly price: number
  readonly stock: number
  readonly updated_at: string
}

/** Payment type from the configuration. */
export interface PaymentType {
  readonly id: number
  readonly name: string
  readonly kind: string
  readonly is_cash: boolean
}

/** Sale as stored and uploaded by the till. */
export interface OfflineSale {
  readonly offline_id: string
  readonly total: number
  readonly amount_received: number
  readonly change: number
  readonly status: 'completed' | 'cancelled'
  readonly created_at: string
  /** Cash session that takes the money. */
  readonly cash_session_id?: string
  readonly items: readonly { product_id: number; quantity: number; price: number; total: number }[]
  readonly payments: readonly Payment[]
}

interface Payment extends SalePaymentDetails {
  readonly payment_type_id: number
  readonly amount: number
  readonly status: 'completed' | 'pending'
}

/** Source of randomness, time and ids. */
export interface World {
  /** 0 to 1, 1 excluded. */
  readonly random: () => number
  readonly now: () => Date
  readonly newId: () => string
}

const MOST_LINES = 4
const CANCELLED = 0.1
const WEIGHED = 0.2
/** Customers pay with notes of ten reais. */
const NOTE_CENTS = 1_000

/** Random sale. Amounts are calculated in integer cents and thousandths, and converted to numbers at the end. */
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
    payments: [{ payment_type_id: type.id, amount: received / 100, status, ...detailsOf(type, world) }],
  }
}

/** CNPJ and code (ISPB) of the simulated acquirer and bank. */
const ACQUIRER = '01027058000191'
const BANK = '00038166'
const MOST_INSTALLMENTS = 3

/** What a card terminal or a bank tells the till about a payment. */
function detailsOf({ kind }: PaymentType, { random, now }: World): SalePaymentDetails {
  const digits = (count: number): string =>
    // Zeros stand for no number.
    (1 + Math.floor(random() * (10 ** count - 1))).toString().padStart(count, '0')
  if (kind === 'pix') {
    const minute = now().toISOString().replace(/\D/g, '').slice(0, 12)
    return { end_to_end_id: `E${BANK}${minute}${digits(11)}` }
  }
  if (kind !== 'card') return {}
  const brand = CARD_BRANDS[Math.floor(random() * CARD_BRANDS.length)] ?? 'other'
  const installments = 1 + Math.floor(random() * MOST_INSTALLMENTS)
  const card = { brand, nsu: digits(6), authorization: digits(6), installments }
  return { card: { ...card, acquirer_cnpj: ACQUIRER, integrated: true } }
}

/** Sales, returns or movements of the drawer that the service has not confirmed yet, oldest first. */
export interface Queue<T extends Queued = OfflineSale> {
  add(entry: T): Promise<void>
  /** The oldest entries. */
  first(count: number): readonly T[]
  readonly size: () => number
  /** Removes confirmed entries. */
  remove(offlineIds: ReadonlySet<string>): Promise<void>
}

interface Queued {
  readonly offline_id: string
}

/** Queue in a JSON file, which the next run of the till continues; in memory without a file. */
export async function openQueue<T extends Queued = OfflineSale>(path: string | null): Promise<Queue<T>> {
  let entries: T[] = path === null ? [] : await load<T>(path)
  const keep = async (changed: T[]) => {
    // Written to disk first: a sale confirmed to the customer must survive a power failure.
    if (path !== null) await writeFileAtomically(path, JSON.stringify(changed))
    entries = changed
  }
  return {
    add: (entry) => keep([...entries, entry]),
    first: (count) => entries.slice(0, count),
    size: () => entries.length,
    remove: (offlineIds) => keep(entries.filter((entry) => !offlineIds.has(entry.offline_id))),
  }
}

async function load<T>(path: string): Promise<T[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '[]'
    throw error
  })
  const entries = parsed(text)
  if (!Array.isArray(entries)) throw new Error(`${path} is not a queue of a till`)
  return entries
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
