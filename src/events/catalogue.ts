import type { z } from 'zod'
import type { Envelope, NewEvent } from '#ledger/envelope.ts'
import { accountEvents } from './accounts.ts'
import { cashEvents } from './cash.ts'
import { catalogEvents } from './catalog.ts'
import { companyEvents } from './companies.ts'
import { inventoryEvents } from './inventories.ts'
import { orderEvents } from './orders.ts'
import { customerEvents, privacyEvents, supplierEvents } from './persons.ts'
import { saleEvents } from './sales.ts'
import { storeEvents } from './stores.ts'
import { webhookEvents } from './webhooks.ts'

/** All event types of a ledger, by the page of `/docs/eventos` that shows them. */
export const EVENT_AREAS = {
  empresa: companyEvents,
  clientes: customerEvents,
  fornecedores: supplierEvents,
  catalogo: catalogEvents,
  inventarios: inventoryEvents,
  vendas: saleEvents,
  caixas: cashEvents,
  contas: accountEvents,
  webhooks: webhookEvents,
  lojas: storeEvents,
  pedidos: orderEvents,
  privacidade: privacyEvents,
} as const

export const EVENT_TYPES = {
  ...companyEvents,
  ...customerEvents,
  ...supplierEvents,
  ...catalogEvents,
  ...inventoryEvents,
  ...saleEvents,
  ...cashEvents,
  ...accountEvents,
  ...webhookEvents,
  ...storeEvents,
  ...orderEvents,
  ...privacyEvents,
} as const

export type EventName = keyof typeof EVENT_TYPES
export type DataOf<N extends EventName> = z.infer<(typeof EVENT_TYPES)[N]['data']>
export type EventOf<N extends EventName> = Omit<Envelope, 'data'> & { readonly type: N; readonly data: DataOf<N> }

/** New event of a type, in its newest version. Its subject is the record in the data. */
export function event<N extends EventName>(name: N, data: DataOf<N>): NewEvent {
  const { version, subject } = EVENT_TYPES[name]
  const { id, kind } = data as { id: number; kind?: string }
  return { type: name, version, subject: `${typeof subject === 'string' ? subject : kind}/${id}`, data }
}
