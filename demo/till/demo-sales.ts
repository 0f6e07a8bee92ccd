import { readFile } from 'node:fs/promises'
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { lineTotal } from '#domain/money.ts'
import { CARD_BRANDS, type SalePaymentDetails } from '#domain/payment-rules.ts'
import { writeFileAtomically } from '#lib/files.ts'

/** Response to a call. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  // biome-ignore lint/suspicious/noExplicitAny: each caller knows the shape of its answer
  readonly body: any
}

export interface Call {
  readonly method: 'GET' | 'POST'
  /** Path below /api, with query. */
  readonly path: string
  readonly body?: object
  readonly token?: string
}

/** Connection failure or time-out: the request may have arrived. */
export class LineBroken extends Error {
  override readonly name = 'LineBroken'
}

/**
 * Moment of a simulated connection failure: with half of the body sent; with all of it sent, so that it may be
 * processed or not; or during the response, so that it was processed and the till does not know.
 */
type Break = 'while sending' | 'after sending' | 'while receiving'

export interface Line {
  /** Sends a request and returns its response, with any status. @throws LineBroken */
  send(call: Call): Promise<Answer>
  /** Breaks the next request by destroying its socket, then calls `then`. */
  breakNext(when: Break, then?: () => void): void
}

/** Recommended by the documentation of the till sync. */
const TIMEOUT_MS = 30_000
/** A catalog of 50,000 products takes about 10 MB. */
const MAX_ANSWER_BYTES = 64 * 1_048_576

/** The panel shows it with the till's last contact. */
const TILL_VERSION = 'tillbook-till 1.0'

/** HTTP client for a service. */
export function createLine(baseUrl: string): Line {
  const request = baseUrl.startsWith('https:') ? requestHttps : requestHttp
  let next: { when: Break; then: () => void } | null = null
  return {
    breakNext(when, then = () => {}) {
      next = { when, then }
    },
    send(call) {
      const text = call.body && JSON.stringify(call.body)
      const breaking = next
      next = null
      return new Promise((resolve, reject) => {
        const fail = (error: Error) => reject(new LineBroken(error.message, { cause: error }))
        const outgoing = request(`${baseUrl}/api${call.path}`, {
          method: call.method,
          headers: headersOf(call, text),
          signal: AbortSignal.timeout(TIMEOUT_MS),
        })
        const cut = () => {
          fail(new Error(`connection broken on purpose ${breaking?.when}`))
          outgoing.destroy()
          breaking?.then()
        }
        outgoing.on('error', fail)
        outgoing.once('response', (response) => {
          response.on('error', fail)
          if (breaking?.when === 'while receiving') cut()
          else void readAnswer(response).then(resolve, fail)
        })
        write(outgoing, Buffer.from(text ?? ''), breaking?.when, cut)
      })
    },
  }
}

/** Sends a body up to the simulated failure; the callbacks run once the operating system has the written bytes. */
function write(outgoing: ClientRequest, body: Buffer, breaks: Break | undefined, cut: () => void): void {
  if (breaks === 'while sending') outgoing.write(body.subarray(0, body.length >> 1), cut)
  else outgoing.end(body, breaks === 'after sending' ? cut : undefined)
}

function headersOf({ token }: Call, text: string | undefined): Record<string, string | number> {
  return {
    accept: 'application/json',
    'till-version': TILL_VERSION,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
  }
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) throw new Error(`response larger than ${MAX_ANSWER_BYTES} bytes`)
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString('utf8')
  return { status: response.statusCode ?? 0, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

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
