import { createHmac, timingSafeEqual } from 'node:crypto'
import { canBePaid, type OrderPayment } from './orders.ts'

/** What the links are made with under which buyers pay. */
export interface PaymentLinks {
  /** Of the installation: who has it can make the link of any order. */
  readonly secret: Buffer
  /** Where buyers reach the service; no slash at its end. Null where nobody can reach it: there are no links then. */
  readonly publicUrl: string | null
}

/** What tells one order from all others, also from those of a database that was thrown away or restored. */
interface Linked {
  readonly id: number
  readonly store_alias: string
  readonly provider_reference: string
}

/** 132 bits each. */
const HALF = 22
const TOKEN = new RegExp(`^([1-9]\\d{0,14})-([A-Za-z0-9_-]{${HALF}})[A-Za-z0-9_-]{${HALF}}$`)

const macOf = (secret: Buffer, ...said: (string | number)[]): string =>
  createHmac('sha256', secret).update(JSON.stringify(said)).digest('base64url').slice(0, HALF)

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)]
  return left.length === right.length && timingSafeEqual(left, right)
}

const aliasHalf = (secret: Buffer, alias: string, id: number): string => macOf(secret, 'order', alias, id)

/** The token of an order: its number and two codes, of store and number, and of what no other order has (ORDER-30, decision 52). */
export const tokenOf = (secret: Buffer, { id, store_alias, provider_reference }: Linked): string =>
  `${id}-${aliasHalf(secret, store_alias, id)}${macOf(secret, 'reference', provider_reference)}`

/** The order that a token may be of, if it was made here for a store's; null otherwise. Nothing is looked up to know it. */
export function orderIdOf(secret: Buffer, alias: string, token: string): number | null {
  const [, id, half = ''] = TOKEN.exec(token) ?? []
  return id !== undefined && isSame(half, aliasHalf(secret, alias, Number(id))) ? Number(id) : null
}

/** Whether a token is that of an order, in the same time for any that is not. */
export const isTokenOf = (secret: Buffer, token: string, order: Linked): boolean =>
  isSame(token, tokenOf(secret, order))

/** What a form on the page of a token carries: whoever sends it has seen the page. */
export const formCodeOf = (secret: Buffer, token: string): string => macOf(secret, 'form', token)

export const isFormCode = (secret: Buffer, token: string, code: string): boolean =>
  isSame(code, formCodeOf(secret, token))

/** Path of the pages for buyers. */
export const CHECKOUT = '/pagar'

type Payable = Linked & { readonly payments: readonly OrderPayment[]; readonly cancelled_at: string | null }

/** Where the buyer of an order pays it; null where it cannot be paid any more. */
export const paymentUrlOf = ({ secret, publicUrl }: PaymentLinks, order: Payable): string | null =>
  publicUrl !== null && canBePaid(order)
    ? `${publicUrl}${CHECKOUT}/${order.store_alias}/${tokenOf(secret, order)}`
    : null

/** An order's JSON text with its link, as it is shown. */
export function withPaymentUrl(links: PaymentLinks, record: string): string {
  const url = paymentUrlOf(links, JSON.parse(record))
  return `${record.slice(0, -1)},"payment_url":${JSON.stringify(url)}}`
}
