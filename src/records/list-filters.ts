import * as z from 'zod'
import { CalendarDate } from '#domain/instant.ts'
import { DELIVERY_STATES, type DeliveryMethod, ORDER_STATUSES } from '#domain/order-states.ts'
import { boundedText, ExternalId, limitedText } from '#domain/text.ts'
import { INVENTORY_STATUSES, MOVEMENT_KINDS } from '#events/catalog-events.ts'
import { filterField, QueryId } from './field.ts'
import { ITEM_FILTERS } from './items.ts'

export const FISCAL_STATES = ['missing', 'present'] as const

/** Days are the company's, inclusive. */
export const SALE_FILTERS = {
  status: filterField('text', 'Situação', z.enum(['completed', 'cancelled'])),
  origin: filterField('text', 'Origem', z.enum(['api', 'pdv', 'system'])),
  customer_id: filterField('record', 'Número do cliente', QueryId),
  external_id: filterField('code', 'Código externo', ExternalId),
  fiscal: {
    ...filterField('choice', 'Documento fiscal', z.enum(FISCAL_STATES), {
      description:
        '`missing`: vendas concluídas sem documento fiscal em vigor; `present`: as que o têm, autorizado ou em contingência.',
    }),
    names: { missing: 'Falta', present: 'Em vigor' },
  },
  offline_id: filterField('code', 'Código no caixa', ExternalId, {
    description: 'Só a venda que um caixa enviou com este identificador.',
  }),
  cash_session_id: filterField('code', 'Sessão de caixa', ExternalId, {
    description: 'Só as desta sessão de caixa.',
  }),
  sold_from: filterField('day', 'De', CalendarDate, { description: 'Vendidas a partir deste dia.' }),
  sold_to: filterField('day', 'Até', CalendarDate, { description: 'Vendidas até este dia, inclusive.' }),
}

const UNKNOWN_ACTOR = 'não é ninguém'

/** Actor as named in an address: `user/3`, `api_key/7`, or `system`. */
export const ActorName = limitedText(40).regex(/^(system|(user|api_key)\/[1-9]\d{0,14})$/, UNKNOWN_ACTOR)

/** A seller as filters name it (`sellerKeySql`). */
export const SellerKey = limitedText(130, UNKNOWN_ACTOR).regex(/^(none|user\/[1-9]\d{0,14}|name\/.+)$/s, UNKNOWN_ACTOR)

/** For people besides, by conditions of their own. */
export const SALE_PEOPLE_FILTERS = {
  id: filterField('record', 'Número', QueryId),
  /** Substring of the customer's name. */
  customer: filterField('text', 'Cliente', z.string().max(200)),
  /** A payment type among its payments. */
  payment_type_id: filterField('record', 'Forma de pagamento', QueryId),
  actor: filterField('text', 'Quem registrou', ActorName),
  seller: filterField('text', 'Vendedor', SellerKey),
  /** An item among its lines; set by links. */
  item: filterField('record', 'Produto escolhido', QueryId),
}

const { customer_id: _customer, offline_id: _offline, cash_session_id: _session, ...COMMON } = SALE_FILTERS

/** `product` is a text that may mean an item. */
export const SALE_SEARCH = {
  ...COMMON,
  ...SALE_PEOPLE_FILTERS,
  product: filterField('text', 'Produto ou serviço', boundedText(120), {
    hint: 'Nome, código de barras, SKU ou código externo.',
  }),
}

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

/** `exceeded`: sales took more than there was; `undone`: its return was reversed. */
const VOUCHER_STATES = ['open', 'used', 'expired', 'exceeded', 'undone'] as const
export type VoucherState = (typeof VOUCHER_STATES)[number]

/** Days are the company's, inclusive. */
export const VOUCHER_FILTERS = {
  q: filterField('code', 'Código', boundedText(40)),
  state: {
    ...filterField('choice', 'Situação', z.enum(VOUCHER_STATES)),
    names: { open: 'A usar', used: 'Usado', expired: 'Vencido', exceeded: 'Usado a mais', undone: 'Desfeito' },
  },
  given_from: filterField('day', 'Dado de', CalendarDate),
  given_to: filterField('day', 'Até', CalendarDate),
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
