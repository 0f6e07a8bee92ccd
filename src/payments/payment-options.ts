import type { Vault } from '#crypto/vault.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { BOLETO, methodOf, ONLINE_METHODS, type OnlineMethod, PIX } from '#domain/online-payment.ts'
import type { Queryable } from '#postgres/database.ts'
import { findPayableOrder } from '#queries/orders.ts'
import { fullReader } from '#queries/reader.ts'
import { findStore } from '#queries/stores.ts'
import { providerAccountOf } from './pay-order.ts'
import { type CardOptions, type PaymentProvider, StoreNotConnected } from './provider-port.ts'

/** Payment methods of an order, as offered by the store's account at the provider. */
export interface PaymentOptionsObject {
  readonly amount: string
  readonly methods: readonly OnlineMethod[]
  /** Null if no card was given, or the provider does not know it. */
  readonly card: {
    readonly brand: string
    readonly installments: readonly { installments: number; installment_amount: string; total_amount: string }[]
  } | null
}

interface Asking {
  readonly pool: Queryable
  readonly vault: Vault
  readonly provider: Pick<PaymentProvider, 'getPaymentMethods' | 'getCardOptions'>
}

/**
 * Fetches the payment methods of an order; `bin`: first digits of a card. Null if the company has no such order.
 * @throws StoreNotConnected, ProviderUnavailable, ProviderMisconfigured
 */
export async function paymentOptions(
  { pool, vault, provider }: Asking,
  { companyId, orderId, bin }: { companyId: number; orderId: number; bin: string | undefined },
): Promise<PaymentOptionsObject | null> {
  const payable = await findPayableOrder(fullReader(pool, companyId), orderId)
  if (!payable) return null
  const { total, store_alias } = payable.order
  const store = await findStore(pool, vault, store_alias)
  if (!store?.accessToken) throw new StoreNotConnected('store has no access token; connect it')
  const account = providerAccountOf(store)
  const [offered, card] = await Promise.all([
    provider.getPaymentMethods(account),
    bin === undefined ? null : provider.getCardOptions(account, toCents(total), bin),
  ])
  return {
    amount: total,
    methods: ONLINE_METHODS.filter((method) => isOffered(method, offered)),
    card: card && shown(card),
  }
}

/** Other kinds of boleto are not supported. */
const isOffered = (method: OnlineMethod, offered: readonly string[]): boolean =>
  method === 'card' ? offered.some((id) => methodOf(id) === 'card') : offered.includes(method === 'pix' ? PIX : BOLETO)

const shown = ({ brand, installments }: CardOptions) => ({
  brand,
  installments: installments.map(({ installments, installmentCents, totalCents }) => ({
    installments,
    installment_amount: fromCents(installmentCents),
    total_amount: fromCents(totalCents),
  })),
})
