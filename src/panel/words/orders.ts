import type { NotificationOutcome, OrderStatus } from '#domain/orders.ts'
import type { ORDER_ALARMS } from '#events/orders.ts'
import type { Tone } from '../ui/parts.tsx'

type Told = readonly [tone: Tone, text: string]

/** Of an order, and of each of its payments. */
export const ORDER_STATUS: Readonly<Record<OrderStatus, Told>> = {
  pending: ['warn', 'Aguardando pagamento'],
  paid: ['good', 'Pago'],
  failed: ['bad', 'Pagamento falhou'],
  cancelled: ['plain', 'Cancelado'],
  refunded: ['plain', 'Reembolsado'],
}

export const ALARMS: Readonly<Record<(typeof ORDER_ALARMS)[number], string>> = {
  second_payment: 'O pedido recebeu um segundo pagamento aprovado: um deles deve ser devolvido ao cliente.',
  paid_after_refund: 'O pedido foi pago de novo depois de reembolsado: confira com o cliente.',
}

export const OUTCOMES: Readonly<Record<NotificationOutcome, Told>> = {
  applied: ['good', 'Aplicada'],
  duplicate: ['plain', 'Repetida'],
  stale: ['plain', 'Atrasada'],
  ignored: ['plain', 'Ignorada'],
  refused: ['bad', 'Recusada'],
  failed: ['bad', 'Falhou'],
}
