import * as z from 'zod'
import { CalendarDate } from '#domain/instant.ts'
import { boundedText, ExternalId, limitedText } from '#domain/text.ts'
import { filterField, QueryId } from './field.ts'

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
