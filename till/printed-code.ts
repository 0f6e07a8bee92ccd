import { toCents, toThousandths } from './amounts.ts'
import { fromHex, toBase64Url } from './chain.ts'
import type { Recorded, SaleElement } from './records.ts'

const VERSION = 1
/** Characters of one code with its head `T1.1.1.`. */
const MAX_PART = 1_000
const ROOM = MAX_PART - 'T1.000.000.'.length
/** Sales up to so many items fit into one code. */
const ITEMS_OF_ONE_CODE = 20
const SIGNATURE_BYTES = 64

function writer() {
  const bytes: number[] = []
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
  return { bytes, int, text }
}

/** Signed bytes of a sale, with each name cut to so many characters; docs/pos-sync.md describes them. */
export function receiptBytes({ element, hash, userId, names }: Recorded<SaleElement>, nameLength: number): Uint8Array {
  const { bytes, int, text } = writer()
  int(VERSION)
  int(element.till.id)
  int(element.till.number)
  bytes.push(...fromHex(hash))
  int(Date.parse(element.created_at))
  text(element.offline_id)
  int(userId)
  text(element.cash_session_id ?? '')
  text(String(element.customer_id ?? element.offline_customer_id ?? ''))
  for (const amount of [element.total, element.amount_received, element.change]) int(toCents(amount))
  int(element.items.length)
  for (const [line, item] of element.items.entries()) {
    int(item.product_id ?? 0)
    int(toThousandths(item.quantity))
    int(toCents(item.price))
    int(toCents(item.total))
    text(
      Array.from(names[line] ?? '')
        .slice(0, nameLength)
        .join('')
        .trim(),
    )
  }
  int(element.payments.length)
  for (const { payment_type_id, amount, status, voucher } of element.payments) {
    int(payment_type_id)
    int(toCents(amount))
    int(status === 'pending' ? 1 : 0)
    text(voucher ?? '')
  }
  return Uint8Array.from(bytes)
}

/** Longest names with which a sale of up to 20 items is one code. */
export function fittingBytes(sale: Recorded<SaleElement>): Uint8Array {
  const most = Math.floor((ROOM * 3) / 4) - SIGNATURE_BYTES
  for (let length = 40; ; length--) {
    const bytes = receiptBytes(sale, length)
    if (length === 0 || bytes.length <= most || sale.element.items.length > ITEMS_OF_ONE_CODE) return bytes
  }
}

/** The codes of a sale, one QR code each. */
export function receiptCodes(signed: Uint8Array, signature: Uint8Array): string[] {
  const text = toBase64Url(Uint8Array.from([...signed, ...signature]))
  const count = Math.ceil(text.length / ROOM)
  return Array.from(
    { length: count },
    (_, part) => `T1.${part + 1}.${count}.${text.slice(part * ROOM, (part + 1) * ROOM)}`,
  )
}
