import type { Pool } from 'pg'
import { Problem } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { applyPayment, fits, type PaymentOutcome } from '#payments/apply-payment.ts'
import { isSigned } from '#payments/origin.ts'
import type { PaymentProvider, ProviderPayment } from '#payments/provider-port.ts'
import { findNotifiedOrder, type NotifiedOrder } from '#queries/orders.ts'
import type { Payload, Told } from './payload.ts'

/** What the provider is told in Portuguese, for whoever reads its panel or our log. */
const MESSAGES = {
  applied: 'Notificação processada.',
  duplicate: 'Notificação repetida: o pagamento já estava registrado assim.',
  stale: 'Notificação atrasada: o pagamento já passou deste estado.',
  ignored: 'Estado de pagamento desconhecido: nada foi alterado.',
  otherType: 'Só notificações do tipo "payment" são processadas.',
  otherMode: 'O modo da notificação (live_mode) não é o da loja.',
} as const

/** What notifications are processed with. */
export interface Processing {
  readonly pool: Pool
  readonly writer: Writer
  readonly provider: PaymentProvider
}

interface Received {
  /** Null when the address names no possible store; the same with the order. */
  readonly storeAlias: string | null
  readonly orderId: number | null
  readonly payload: Payload
  /** Our own id of the request. */
  readonly requestId: string
  /** Headers of the provider. */
  readonly signature: string | undefined
  readonly providerRequestId: string | undefined
}

/** A notification that is answered 200. */
interface Processed {
  readonly outcome: PaymentOutcome
  readonly body: {
    readonly processed: boolean
    readonly order_id: number
    readonly status: string
    readonly message: string
  }
}

/**
 * What is made of a notification (RCV-4). It only says where to look: the
 * payment is fetched from the provider, and nothing else is believed. No connection is held while the provider is asked.
 * @throws Problem for whatever is not answered 200; the provider's own errors; Unavailable
 */
export async function processNotification(context: Processing, received: Received): Promise<Processed> {
  const told = received.payload.read()
  const { orderId, storeAlias } = received
  if (storeAlias === null || orderId === null) throw new Problem('not_found')
  const order = await findNotifiedOrder(context.pool, storeAlias, orderId)
  if (!order) throw new Problem('not_found')
  requireOrigin(order, told, received)
  if (told.type !== 'payment' || told.dataId === null) return ignored(order, MESSAGES.otherType)
  if (told.liveMode === order.store.sandbox) return ignored(order, MESSAGES.otherMode)
  const payment = await fetchPayment(context, order, told.dataId)
  const { companyId } = order.store
  const at = { companyId, orderId: order.id, requestId: received.requestId }
  const applied = await applyPayment(context.writer, at, payment)
  if (isRefusal(applied)) throw new Problem(applied.refused)
  const { outcome } = applied
  return {
    outcome,
    body: {
      processed: outcome === 'applied' || outcome === 'duplicate',
      order_id: order.id,
      status: applied.order.status,
      message: MESSAGES[outcome],
    },
  }
}

/** A store with a notification secret wants to see it used; without one, only the fetch protects. */
function requireOrigin({ store }: NotifiedOrder, { dataId }: Told, received: Received): void {
  if (!store.isSigning) return
  const { signature, providerRequestId: requestId } = received
  const { notificationSecret: secret } = store
  if (secret === null || !isSigned({ dataId, signature, requestId }, secret)) throw new Problem('invalid_signature')
}

async function fetchPayment(
  { provider }: Processing,
  { store, reference, totalCents }: NotifiedOrder,
  dataId: string,
): Promise<ProviderPayment> {
  const account = { accessToken: store.accessToken ?? '', sandbox: store.sandbox }
  const payment = await provider.getPayment(account, dataId)
  if (!payment || payment.id !== dataId || !fits(payment, { reference, totalCents, sandbox: store.sandbox }))
    throw new Problem('invalid_notification')
  return payment
}

const ignored = ({ id, status }: NotifiedOrder, message: string): Processed => ({
  outcome: 'ignored',
  body: { processed: false, order_id: id, status, message },
})
