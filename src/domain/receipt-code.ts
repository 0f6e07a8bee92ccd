/*
 * The code on a receipt: the whole sale, so that a lost one can be taken in from paper. Signed bytes, in this order; `int`
 * is an unsigned LEB128, `text` its length in bytes as `int` and then UTF-8, amounts are cents, quantities thousandths:
 *
 * 1. version 1 (`int`), till id (`int`), number (`int`), SHA-256 of the element in RFC 8785 form with its signature (32 bytes)
 * 2. `created_at` in milliseconds since 1970 (`int`), `offline_id` (`text`), user id or 0 (`int`), `cash_session_id` or
 *    empty (`text`), customer's id or `offline_id`, or empty (`text`)
 * 3. total, amount received, change (`int` each)
 * 4. number of items (`int`), each: product id or 0, quantity, price, total (`int` each), printed name (`text`, may be cut)
 * 5. number of payments (`int`), each: payment type id, amount, 1 if pending else 0 (`int` each), voucher or empty (`text`)
 *
 * The 64 bytes of the signature follow (ECDSA with SHA-256, P1363, over the bytes before). The whole in base64url, without
 * padding, is cut into parts of at most 989 characters, each written `T1.{part}.{parts}.{characters}`: one QR code each.
 * Up to 20 items fit into one: names are cut until they do.
 */

/** A sale as the code on its receipt has it: amounts in cents, quantities in thousandths; it names no person. */
export interface ReceiptSale {
  readonly till_id: number
  /** Its number in the till's chain. */
  readonly number: number
  /** Lowercase hex SHA-256 of the element in RFC 8785 form with its signature. */
  readonly hash: string
  /** Milliseconds since 1970. */
  readonly created_at: number
  readonly offline_id: string
  /** User at the till; 0 if unknown. */
  readonly user_id: number
  /** Empty if the sale names none. */
  readonly cash_session_id: string
  /** Id of the customer, or its `offline_id`; empty if the sale names none. */
  readonly customer: string
  readonly total: number
  readonly amount_received: number
  readonly change: number
  /** `product_id` is 0 if the till knows none. `name`: as printed, perhaps cut. */
  readonly items: readonly {
    readonly product_id: number
    readonly quantity: number
    readonly price: number
    readonly total: number
    readonly name: string
  }[]
  readonly payments: readonly {
    readonly payment_type_id: number
    readonly amount: number
    readonly isPending: boolean
    /** Empty if none. */
    readonly voucher: string
  }[]
}

const VERSION = 1
const SIGNATURE_BYTES = 64
const HASH_BYTES = 32
/** Longest sale that a till can upload is below this. */
const MAX_CODE_BYTES = 200_000
/** Longest text of receipt codes that is read: 200 parts. */
export const MAX_RECEIPT_TEXT = 220_000
const MAX_PART = 1_000
const MAX_PARTS = 300

/** Signed bytes of a sale. */
export function writeReceipt(sale: ReceiptSale): Uint8Array {
  const bytes: number[] = [VERSION]
  const int = (value: number) => {
    let rest = BigInt(value)
    for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
    bytes.push(Number(rest))
  }
  const text = (value: string) => {
    const utf8 = new TextEncoder().encode(value)
    int(utf8.length)
    bytes.push(...utf8)
  }
  int(sale.till_id)
  int(sale.number)
  bytes.push(...Buffer.from(sale.hash, 'hex'))
  int(sale.created_at)
  text(sale.offline_id)
  int(sale.user_id)
  text(sale.cash_session_id)
  text(sale.customer)
  for (const amount of [sale.total, sale.amount_received, sale.change]) int(amount)
  int(sale.items.length)
  for (const { product_id, quantity, price, total, name } of sale.items) {
    for (const value of [product_id, quantity, price, total]) int(value)
    text(name)
  }
  int(sale.payments.length)
  for (const { payment_type_id, amount, isPending, voucher } of sale.payments) {
    for (const value of [payment_type_id, amount, isPending ? 1 : 0]) int(value)
    text(voucher)
  }
  return Uint8Array.from(bytes)
}

/** The sale in signed bytes; null if they are not of this form. */
export function readReceipt(bytes: Uint8Array): ReceiptSale | null {
  let at = 0
  let isBroken = false
  const take = (length: number): Uint8Array => {
    if (at + length > bytes.length) isBroken = true
    const taken = bytes.subarray(at, at + length)
    at += length
    return taken
  }
  const int = (): number => {
    let value = 0n
    for (let shift = 0n; shift < 56n; shift += 7n) {
      const [byte = 0] = take(1)
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value > BigInt(Number.MAX_SAFE_INTEGER) ? fail() : Number(value)
    }
    return fail()
  }
  const fail = (): number => {
    isBroken = true
    return 0
  }
  const text = (): string => {
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(take(int()))
    } catch {
      isBroken = true
      return ''
    }
  }
  /** Each entry has four bytes or more, so a false length ends with the bytes. */
  const list = <T>(entry: () => T): T[] => {
    const entries: T[] = []
    for (let left = int(); left > 0 && !isBroken; left--) entries.push(entry())
    return entries
  }
  if (int() !== VERSION) return null
  const sale = {
    till_id: int(),
    number: int(),
    hash: Buffer.from(take(HASH_BYTES)).toString('hex'),
    created_at: int(),
    offline_id: text(),
    user_id: int(),
    cash_session_id: text(),
    customer: text(),
    total: int(),
    amount_received: int(),
    change: int(),
    items: list(() => ({ product_id: int(), quantity: int(), price: int(), total: int(), name: text() })),
    payments: list(() => ({ payment_type_id: int(), amount: int(), isPending: int() === 1, voucher: text() })),
  }
  return isBroken || at !== bytes.length ? null : sale
}

/** The codes of a sale, one a QR code: its bytes and their signature, in parts of at most 1,000 characters. */
export function receiptCodes(signed: Uint8Array, signature: Uint8Array): string[] {
  const text = Buffer.concat([signed, signature]).toString('base64url')
  const room = MAX_PART - 'T1.000.000.'.length
  const count = Math.ceil(text.length / room)
  return Array.from(
    { length: count },
    (_, index) => `T1.${index + 1}.${count}.${text.slice(index * room, (index + 1) * room)}`,
  )
}

/** Scanned codes: signed bytes and signature, how many parts are still to come, or null if the text is no code. */
export type ScannedReceipt =
  | { readonly signed: Uint8Array; readonly signature: Uint8Array }
  | { readonly missing: number }
  | null

/** Reads codes in any order, with or without white space between them; a repeated part counts once. */
export function parseScannedReceipt(text: string): ScannedReceipt {
  if (text.length > MAX_RECEIPT_TEXT) return null
  const parts = new Map<number, string>()
  let count = 0
  for (const code of text.replace(/\s+/g, '').split(/(?=T1\.)/)) {
    const [, part, of, chunk = ''] = /^T1\.([1-9]\d{0,2})\.([1-9]\d{0,2})\.([\w-]{1,1000})$/.exec(code) ?? []
    const [index, total] = [Number(part), Number(of)]
    if (!(index <= total && total <= MAX_PARTS) || (count > 0 && total !== count)) return null
    if (parts.has(index) && parts.get(index) !== chunk) return null
    count = total
    parts.set(index, chunk)
  }
  if (count === 0) return null
  if (parts.size < count) return { missing: count - parts.size }
  const bytes = Buffer.from(Array.from({ length: count }, (_, index) => parts.get(index + 1)).join(''), 'base64url')
  const end = bytes.length - SIGNATURE_BYTES
  return end <= 0 || bytes.length > MAX_CODE_BYTES
    ? null
    : { signed: bytes.subarray(0, end), signature: bytes.subarray(end) }
}
