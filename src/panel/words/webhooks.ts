import type { WebhookEvent } from '#events/webhooks.ts'
import type { Tone } from '../ui/parts.tsx'

type Told = readonly [tone: Tone, text: string]

export const WEBHOOK_STATUS: Readonly<Record<'active' | 'no_response' | 'disabled', Told>> = {
  active: ['good', 'Ativo'],
  no_response: ['bad', 'Sem resposta'],
  disabled: ['plain', 'Desligado'],
}

export const DELIVERY_STATUS: Readonly<Record<'pending' | 'delivered' | 'failed' | 'cancelled', Told>> = {
  pending: ['warn', 'Pendente'],
  delivered: ['good', 'Entregue'],
  failed: ['bad', 'Falhou'],
  cancelled: ['plain', 'Cancelada'],
}

export const WEBHOOK_EVENT_NAMES: Readonly<Record<WebhookEvent | 'webhook.test', string>> = {
  'customer.created': 'Cliente criado',
  'customer.updated': 'Cliente alterado',
  'catalog_item.created': 'Item do catálogo criado',
  'catalog_item.updated': 'Item do catálogo alterado',
  'receivable.created': 'Conta a receber lançada',
  'receivable.settled': 'Conta a receber liquidada',
  'payable.settled': 'Conta a pagar liquidada',
  'sale.completed': 'Venda concluída',
  'sale.cancelled': 'Venda cancelada',
  'webhook.test': 'Teste',
}

export const SWITCHED_OFF_BECAUSE: Readonly<Record<'no_response' | 'gone', string>> = {
  no_response: 'não respondeu por tempo demais',
  gone: 'respondeu que não existe mais (410)',
}
