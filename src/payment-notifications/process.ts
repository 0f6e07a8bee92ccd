import { createHash } from 'node:crypto'
import { Problem } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import { lookUpReplay, ownKey } from '#ledger/write/idempotency.ts'
import { asSystem } from '#ledger/write/run.ts'
import { applyPayment, matchesOrder, type PaymentOutcome } from '#payments/apply-payment.ts'
import { isSigned } from '#payments/notification-signature.ts'
import type { ProviderPayment } from '#payments/provider-port.ts'
import { accountAt } from '#payments/store-account.ts'
import { findNotifiedOrder, type NotifiedOrder } from '#queries/orders.ts'
import { findStore, type StoreAccess } from '#queries/stores.ts'
import type { PaymentServices } from '#services.ts'
import type { IpnNotification, NotifiedPayment, Payload } from './payload.ts'

/** Responses in Portuguese, visible in the provider's panel and the log. */
const MESSAGES = {
  applied: 'Notificação processada.',
  duplicate: 'Notificação repetida: o pagamento já estava registrado assim.',
  repeated: 'Notificação repetida: ela já foi tratada.',
  stale: 'Notificação atrasada: o pagamento já passou deste estado.',
  ignored: 'Estado de pagamento desconhecido: nada foi alterado.',
  ipn: 'Notificações IPN não são processadas: só as do tipo webhook.',
  otherType: 'Só notificações do tipo "payment" são processadas.',
  otherMode: 'O modo da notificação (live_mode) não é o da loja.',
} as const

export type Processing = Pick<PaymentServices, 'pool' | 'vault' | 'writer' | 'provider'>

interface Sent {
  /** Null if the URL contains no valid alias. */
  readonly storeAlias: string | null
  readonly payload: Payload
  /** Headers of the provider. */
  readonly signature: string | undefined
  readonly providerRequestId: string | undefined
}

/** Store of a notification, and whether its signature is valid. */
export interface NotificationSender {
  /** Null if the store does not exist or is disabled. */
  readonly store: StoreAccess | null
  /** Signed with the store's notification secret. */
  readonly isSigned: boolean
  /** Key under which a signed notification is taken once (RCV-41); null of others. */
  readonly key: string | null
}

/** Finds the store and verifies the signature, without reading orders (RCV-20). */
export async function findSender(
  { pool, vault }: Pick<Processing, 'pool' | 'vault'>,
  sent: Sent,
): Promise<NotificationSender> {
  const { storeAlias, payload, signature, providerRequestId: requestId } = sent
  const store = storeAlias === null ? null : await findStore(pool, vault, storeAlias)
  if (!store?.enabled) return { store: null, isSigned: false, key: null }
  const { notificationSecret: secret } = store
  const { told } = payload
  if (secret === null || told instanceof Problem || isIpn(told)) return { store, isSigned: false, key: null }
  if (!isSigned({ dataId: told.dataId, signature, requestId }, secret)) return { store, isSigned: false, key: null }
  const key = ownKey(`notificacao:${storeAlias}:${digest(requestId ?? signature ?? '')}`)
  return { store, isSigned: true, key }
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

interface Received {
  readonly sender: NotificationSender
  /** Null if the URL contains no valid order id. */
  readonly orderId: number | null
  readonly payload: Payload
  /** Request id of this service. */
  readonly requestId: string
}

const isIpn = (told: NotifiedPayment | IpnNotification): told is IpnNotification => !('dataId' in told)

/** Notification with response 200. */
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
 * Processes a notification (RCV-4). It is only a hint: the payment is fetched from the provider, and nothing else is
 * trusted. No database connection is held during the fetch.
 * @throws Problem for responses other than 200; errors of the provider; Unavailable
 */
export async function processNotification(context: Processing, received: Received): Promise<Processed> {
  const { orderId, payload, sender } = received
  const { told } = payload
  if (told instanceof Problem) throw told
  if (!sender.store) throw new Problem('not_found')
  if (isIpn(told)) return ipnIgnored(orderId)
  // A store with a secret requires signatures; without one, only the fetch protects.
  if (sender.store.isSigning && !sender.isSigned) throw new Problem('invalid_signature')
  const order = orderId === null ? null : await findNotifiedOrder(context.pool, sender.store, orderId)
  if (!order) throw new Problem('not_found')
  if (told.type !== 'payment' || told.dataId === null) return ignored(order, MESSAGES.otherType)
  if (told.liveMode === order.store.sandbox) return ignored(order, MESSAGES.otherMode)
  const { companyId } = order.store
  const idempotency =
    sender.key === null ? undefined : { key: sender.key, requestHash: digest(`${order.id}\n${told.dataId}`) }
  const taken = await lookUpReplay(context.pool, { ...asSystem(companyId), idempotency })
  if (taken) return isRefusal(taken) ? takenElsewhere() : repeated(order)
  const payment = await fetchPayment(context, order, told.dataId)
  const at = { companyId, orderId: order.id, requestId: received.requestId }
  const applied = await applyPayment(context.writer, at, payment, idempotency)
  if (isRefusal(applied)) {
    if (applied.refused === 'idempotency_key_reuse') takenElsewhere()
    throw new Problem(applied.refused)
  }
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

async function fetchPayment(
  { provider }: Processing,
  { store, reference, totalCents }: NotifiedOrder,
  dataId: string,
): Promise<ProviderPayment> {
  const payment = await provider.getPayment(accountAt(store), dataId)
  if (!payment || payment.id !== dataId || !matchesOrder(payment, { reference, totalCents, sandbox: store.sandbox }))
    throw new Problem('invalid_notification')
  return payment
}

/** Says nothing about the order: it is not looked up, because the notification is unsigned (RCV-42). */
function ipnIgnored(orderId: number | null): Processed {
  if (orderId === null) throw new Problem('not_found')
  return ignored({ id: orderId, status: 'ignored' }, MESSAGES.ipn)
}

/** @throws Problem: its signature covers a payment and a request, which were another order's. */
function takenElsewhere(): never {
  throw new Problem('invalid_notification')
}

const repeated = ({ id, status }: NotifiedOrder): Processed => ({
  outcome: 'duplicate',
  body: { processed: true, order_id: id, status, message: MESSAGES.repeated },
})

const ignored = ({ id, status }: { readonly id: number; readonly status: string }, message: string): Processed => ({
  outcome: 'ignored',
  body: { processed: false, order_id: id, status, message },
})
