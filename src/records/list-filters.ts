import * as z from 'zod'
import { CalendarDate } from '#domain/instant.ts'
import { DELIVERY_STATES, type DeliveryMethod, ORDER_STATUSES } from '#domain/order-states.ts'
import { boundedText, ExternalId } from '#domain/text.ts'
import { INVENTORY_STATUSES, MOVEMENT_KINDS } from '#events/catalog-events.ts'
import { filterField, QueryId } from './field.ts'
import { ITEM_FILTERS } from './items.ts'
import { SALE_FILTERS } from './sale-filters.ts'

/** Days are the company's, inclusive. */
export const RETURN_FILTERS = {
  sale_id: filterField('record', 'Número da venda', QueryId, { description: 'Só as desta venda.' }),
  external_id: SALE_FILTERS.external_id,
  offline_id: filterField('code', 'Código no caixa', ExternalId, {
    description: 'Só a devolução que um caixa enviou com este identificador.',
  }),
  cash_session_id: SALE_FILTERS.cash_session_id,
  returned_from: filterField('day', 'De', CalendarDate, { description: 'Devolvidas a partir deste dia.' }),
  returned_to: filterField('day', 'Até', CalendarDate, { description: 'Devolvidas até este dia, inclusive.' }),
}

export const DELIVERY_METHOD_NAMES: Readonly<Record<DeliveryMethod, string>> = {
  delivery: 'Entrega',
  pickup: 'Retirada na loja',
}

export const ORDER_FILTERS = {
  status: filterField('choice', 'Situação', z.enum(ORDER_STATUSES)),
  store_alias: filterField('text', 'Loja', boundedText(60)),
  external_id: filterField('code', 'Código externo', ExternalId),
  delivery_state: {
    ...filterField('choice', 'Andamento', z.enum(['open', ...DELIVERY_STATES]), {
      description: '`open`: só pedidos que não foram entregues.',
    }),
    names: {
      open: 'Não entregues',
      to_do: 'A preparar',
      out_for_delivery: 'Saiu para entrega',
      ready_for_pickup: 'Pronto para retirar',
      delivered: 'Entregue',
    },
  },
  receivable_id: filterField('record', 'Conta cobrada', QueryId, {
    description: 'Só os que cobram esta conta a receber.',
  }),
  alarm: {
    ...filterField('choice', 'Alertas', z.enum(['open']), {
      description: '`open`: só pedidos com um alerta não lido.',
    }),
    names: { open: 'Alertas não lidos' },
  },
}

export const CASH_SESSION_FILTERS = {
  session_id: filterField('code', 'Sessão', ExternalId, { description: 'Só a sessão com este nome.' }),
  status: {
    ...filterField('choice', 'Situação', z.enum(['open', 'closed'])),
    names: { open: 'Abertas', closed: 'Fechadas' },
  },
}

export const MOVEMENT_KIND_NAMES: Readonly<Record<(typeof MOVEMENT_KINDS)[number], string>> = {
  sale: 'Venda',
  cancel: 'Cancelamento',
  return: 'Devolução',
  purchase: 'Entrada',
  count: 'Inventário',
  loss: 'Perda',
  adjustment: 'Saída ou ajuste',
}

export const MOVEMENT_FILTERS = {
  catalog_item_id: filterField('record', 'Número do item', QueryId),
  kind: {
    ...filterField('choice', 'Tipo', z.enum(MOVEMENT_KINDS), { description: 'Só movimentos deste tipo.' }),
    names: MOVEMENT_KIND_NAMES,
  },
}

export const INVENTORY_STATUS_NAMES: Readonly<Record<(typeof INVENTORY_STATUSES)[number], string>> = {
  open: 'Aberto',
  applied: 'Aplicado ao estoque',
  discarded: 'Descartado',
}

export const INVENTORY_FILTERS = {
  status: { ...filterField('choice', 'Situação', z.enum(INVENTORY_STATUSES)), names: INVENTORY_STATUS_NAMES },
}

export const LOW_STOCK_FILTERS = { category_id: ITEM_FILTERS.category_id }

/** For people. */
export const LOW_STOCK_SEARCH = { q: ITEM_FILTERS.q, ...LOW_STOCK_FILTERS }
