import { fromCents, fromThousandths, priceTimes } from './amounts.ts'
import type { Customer, PaymentType, Product, SaleBody, SaleItem, SalePayment } from './records.ts'

export interface CartLine {
  readonly productId: number
  readonly offlineId: string | null
  readonly name: string
  readonly unit: string
  /** Cents. */
  readonly price: number
  /** Thousandths. */
  readonly quantity: number
  /** Cents. */
  readonly discount: number
  /** Price as printed on a scale's label, which is the line's total; null for other lines. */
  readonly labelled: number | null
}

export interface CartPayment {
  readonly typeId: number
  readonly name: string
  readonly kind: string
  readonly isCash: boolean
  /** Cents given: cash may be more than is due. */
  readonly given: number
  readonly voucher: string
}

/** Goods that come back in the same go. */
export interface CartReturn {
  readonly saleOfflineId: string
  readonly lines: readonly { readonly line: number; readonly quantity: number; readonly name: string }[]
  /** Cents due for them. */
  readonly value: number
  /** Who bought them, if the sale says so. */
  readonly customer: Customer | null
}

/** A sale that is being made. */
export interface Cart {
  /** Beginning of the identifier of the sale, by which a cart that was recorded already is known. */
  readonly offlineId: string
  readonly lines: readonly CartLine[]
  /** Cents off the whole sale. */
  readonly discount: number
  readonly customer: Customer | null
  readonly payments: readonly CartPayment[]
  readonly returned: CartReturn | null
}

export const MAX_LINES = 500

export const emptyCart = (offlineId: string): Cart => ({
  offlineId,
  lines: [],
  discount: 0,
  customer: null,
  payments: [],
  returned: null,
})

export const isEmpty = ({ lines, returned }: Cart): boolean => lines.length === 0 && returned === null

const grossOf = ({ labelled, price, quantity }: CartLine): number => labelled ?? priceTimes(price, quantity)
export const lineTotal = (line: CartLine): number => Math.max(grossOf(line) - line.discount, 0)
export const lineGross = grossOf

export const linesTotal = ({ lines }: Cart): number => lines.reduce((sum, line) => sum + lineTotal(line), 0)
export const cartTotal = (cart: Cart): number => Math.max(linesTotal(cart) - cart.discount, 0)

/** Credit of goods that come back, as far as the new goods use it. */
export const exchanged = (cart: Cart): number => Math.min(cart.returned?.value ?? 0, cartTotal(cart))
/** What is still owed to the customer after an exchange. */
export const owed = (cart: Cart): number => (cart.returned?.value ?? 0) - exchanged(cart)
/** What the customer has to pay. */
export const dueOf = (cart: Cart): number => cartTotal(cart) - exchanged(cart)

export const givenOf = ({ payments }: Cart): number => payments.reduce((sum, { given }) => sum + given, 0)
export const remainingOf = (cart: Cart): number => Math.max(dueOf(cart) - givenOf(cart), 0)
export const changeOf = (cart: Cart): number => Math.max(givenOf(cart) - dueOf(cart), 0)

/** A product is added to its line, if the last one is of it; undo takes the last line off. */
export function addProduct(cart: Cart, product: Product, quantity: number, labelled: number | null = null): Cart {
  const last = cart.lines.at(-1)
  const isSame =
    last !== undefined &&
    last.productId === product.id &&
    last.offlineId === product.offlineId &&
    last.price === product.price &&
    last.discount === 0 &&
    last.labelled === null &&
    labelled === null
  const line: CartLine = {
    productId: product.id,
    offlineId: product.offlineId,
    name: product.name,
    unit: product.unit,
    price: product.price,
    quantity: isSame ? last.quantity + quantity : quantity,
    discount: 0,
    labelled,
  }
  if (!isSame && cart.lines.length === MAX_LINES) return cart
  return trim({ ...cart, lines: [...(isSame ? cart.lines.slice(0, -1) : cart.lines), line] })
}

export const changeLine = (cart: Cart, at: number, change: Partial<CartLine>): Cart =>
  trim({ ...cart, lines: cart.lines.map((line, place) => (place === at ? { ...line, ...change } : line)) })

export const removeLine = (cart: Cart, at: number): Cart =>
  trim({ ...cart, lines: cart.lines.filter((_, place) => place !== at) })

/** Discounts never exceed what they are taken off. */
const trim = (cart: Cart): Cart => {
  const lines = cart.lines.map((line) => (line.discount > grossOf(line) ? { ...line, discount: grossOf(line) } : line))
  return { ...cart, lines, discount: Math.min(cart.discount, linesTotal({ ...cart, lines })) }
}

/** Why a payment is not taken; null if it is. */
export function refusePayment(cart: Cart, payment: CartPayment): string | null {
  if (payment.given <= 0) return 'Informe um valor.'
  if (!payment.isCash && payment.given > remainingOf(cart)) return 'Só em dinheiro pode haver troco.'
  if (payment.kind === 'credit_account' && cart.customer === null) return 'Escolha o cliente antes de vender a prazo.'
  if (payment.kind !== 'exchange_credit') return null
  if (payment.voucher === '' && cart.customer === null) return 'Escolha o cliente ou informe o código do vale.'
  const used = cart.payments.reduce(
    (sum, each) => sum + (each.kind === 'exchange_credit' && each.voucher === '' ? each.given : 0),
    payment.given,
  )
  return payment.voucher === '' && used > (cart.customer?.credit ?? 0) ? 'O crédito do cliente não chega.' : null
}

/** Why the sale cannot be finished; null if it can. */
export function refuseFinish(cart: Cart): string | null {
  if (isEmpty(cart)) return 'Inclua ao menos um item.'
  if (remainingOf(cart) > 0) return 'Falta receber.'
  const cash = cart.payments.reduce((sum, { isCash, given }) => sum + (isCash ? given : 0), 0)
  return changeOf(cart) > cash ? 'O troco é maior que o dinheiro recebido.' : null
}

/** Cash that stays in the drawer goes first off the last cash payments. */
function paymentsOf(cart: Cart): SalePayment[] {
  let change = changeOf(cart)
  const payments: SalePayment[] = []
  for (const payment of cart.payments.toReversed()) {
    const back = payment.isCash ? Math.min(change, payment.given) : 0
    change -= back
    if (payment.given === back) continue
    payments.unshift({
      payment_type_id: payment.typeId,
      amount: fromCents(payment.given - back),
      status: payment.kind === 'credit_account' ? 'pending' : 'completed',
      ...(payment.voucher !== '' && { voucher: payment.voucher }),
    })
  }
  return payments
}

const itemOf = (line: CartLine): SaleItem => ({
  ...(line.productId > 0
    ? { product_id: line.productId }
    : { offline_item_id: line.offlineId ?? '', name: line.name.slice(0, 200) }),
  quantity: fromThousandths(line.quantity),
  price: fromCents(line.price),
  total: fromCents(lineTotal(line)),
})

/** How a sale or return names its customer. */
export const customerOf = (customer: Customer | null) =>
  customer && (customer.id > 0 ? { customer_id: customer.id } : { offline_customer_id: customer.offlineId ?? '' })

export interface SaleContext {
  /** Made when the sale is: data that were copied back hold the cart of a sale that was made since. */
  readonly offlineId: string
  readonly now: string
  readonly clockOffsetMs: number
  readonly sessionId: string | null
  /** Pays with the goods of an exchange; null where none come back. */
  readonly exchange: { readonly type: PaymentType; readonly voucher: string } | null
}

/** The sale as it is uploaded. */
export function toSale(cart: Cart, { offlineId, now, clockOffsetMs, sessionId, exchange }: SaleContext): SaleBody {
  const back = exchanged(cart)
  return {
    offline_id: offlineId,
    status: 'completed',
    created_at: now,
    items: cart.lines.map(itemOf),
    payments: [
      ...(exchange && back > 0
        ? [
            {
              payment_type_id: exchange.type.id,
              amount: fromCents(back),
              status: 'completed' as const,
              ...(exchange.voucher !== '' && { voucher: exchange.voucher }),
            },
          ]
        : []),
      ...paymentsOf(cart),
    ],
    total: fromCents(cartTotal(cart)),
    amount_received: fromCents(cartTotal(cart) + changeOf(cart)),
    change: fromCents(changeOf(cart)),
    ...customerOf(cart.customer),
    ...(sessionId !== null && { cash_session_id: sessionId }),
    clock_offset_ms: clockOffsetMs,
  }
}
