import { createHmac, timingSafeEqual } from 'node:crypto'
import { canBePaid, type OrderPayment } from './orders.ts'

/** Settings of the buyers' payment links. */
export interface PaymentLinks {
  /** Secret of the installation; with it the link of any order can be made. */
  readonly secret: Buffer
  /** Public base URL without trailing slash. Null without public access: then there are no links. */
  readonly publicUrl: string | null
}

/** Identifies an order, even across discarded or restored databases. */
interface LinkedOrder {
  readonly id: number
  readonly store_alias: string
  readonly provider_reference: string
}

/** 132 bits each. */
const HALF = 22
const TOKEN = new RegExp(`^([1-9]\\d{0,14})-([A-Za-z0-9_-]{${HALF}})[A-Za-z0-9_-]{${HALF}}$`)

const macOf = (secret: Buffer, ...parts: (string | number)[]): string =>
  createHmac('sha256', secret).update(JSON.stringify(parts)).digest('base64url').slice(0, HALF)

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)]
  return left.length === right.length && timingSafeEqual(left, right)
}

const aliasHalf = (secret: Buffer, alias: string, id: number): string => macOf(secret, 'order', alias, id)

/** Token of an order: its id, a MAC of store and id, and a MAC of the unique reference (ORDER-30, ADR-0025). */
export const tokenOf = (secret: Buffer, { id, store_alias, provider_reference }: LinkedOrder): string =>
  `${id}-${aliasHalf(secret, store_alias, id)}${macOf(secret, 'reference', provider_reference)}`

/** Order id of a token that was issued here for the store; null otherwise. Needs no database. */
export function orderIdOf(secret: Buffer, alias: string, token: string): number | null {
  const [, id, half = ''] = TOKEN.exec(token) ?? []
  return id !== undefined && isSame(half, aliasHalf(secret, alias, Number(id))) ? Number(id) : null
}

/** Verifies the token of an order in constant time. */
export const isTokenOf = (secret: Buffer, token: string, order: LinkedOrder): boolean =>
  isSame(token, tokenOf(secret, order))

/** CSRF code of forms on the token's page: only the page contains it. */
export const formCodeOf = (secret: Buffer, token: string): string => macOf(secret, 'form', token)

export const isFormCode = (secret: Buffer, token: string, code: string): boolean =>
  isSame(code, formCodeOf(secret, token))

/** Path of the pages for buyers. */
export const CHECKOUT = '/pagar'

type Payable = LinkedOrder & { readonly payments: readonly OrderPayment[]; readonly cancelled_at: string | null }

/** Payment link of an order; null if it can no longer be paid. */
export const paymentUrlOf = ({ secret, publicUrl }: PaymentLinks, order: Payable): string | null =>
  publicUrl !== null && canBePaid(order)
    ? `${publicUrl}${CHECKOUT}/${order.store_alias}/${tokenOf(secret, order)}`
    : null

/** Adds the payment link to an order's JSON text. */
export function withPaymentUrl(links: PaymentLinks, record: string): string {
  const url = paymentUrlOf(links, JSON.parse(record))
  return `${record.slice(0, -1)},"payment_url":${JSON.stringify(url)}}`
}
