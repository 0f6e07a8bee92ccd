import { randomBytes, randomUUID } from 'node:crypto'
import * as z from 'zod'
import { webAddressSetting } from '#config/setting-values.ts'
import { WEBHOOK_EVENTS, type WebhookEvent } from '#events/catalogue.ts'
import { createServiceClient, RequestRefused, type ServiceClient } from './service-client.ts'
import { type Verbs, validateInput } from './verb.ts'

export interface TriggerOptions {
  readonly service: ServiceClient
  /** Distinguishes the records of one run from those of another. */
  readonly tag: string
  /** Online store of orders; by default that of the newest order. */
  readonly store?: string | undefined
}

export interface TriggerResult {
  readonly event: WebhookEvent
  /** The record concerned, such as `sale/12`. */
  readonly record: string
}

interface TriggerContext extends TriggerOptions {
  /** The company's day. */
  readonly today: string
}

/** Triggers an event and returns the record's id. */
type Act = (surroundings: TriggerContext) => Promise<number>

/** Creates a record by `first`, then changes it by a further request. */
const withFollowUp =
  (make: Act, method: Parameters<ServiceClient['call']>[0], path: (id: number) => string, body?: object): Act =>
  async (surroundings) => {
    const id = await make(surroundings)
    await surroundings.service.call(method, path(id), body)
    return id
  }

/** Life cycle of a record: created by POST, changed by PATCH, deleted by DELETE. */
function lifecycleOf(path: string, fields: (surroundings: TriggerContext) => object, changes: object) {
  const at = (id: number) => `${path}/${id}`
  const created: Act = async (surroundings) => {
    const { data } = await surroundings.service.call('POST', path, fields(surroundings))
    return data.id
  }
  return {
    created,
    updated: withFollowUp(created, 'PATCH', at, changes),
    deleted: withFollowUp(created, 'DELETE', at),
    /** After one more request on the record. */
    after: (action: string, body: object) => withFollowUp(created, 'POST', (id) => `${at(id)}/${action}`, body),
  }
}

const FORGET = { ground: 'holder_request' }
const SETTLE = { payment_method: 'pix' }
const NOTES = { notes: 'Alterado por tillbook trigger' }
const PRICE = '10.00'

const personOf =
  (name: string) =>
  ({ tag }: TriggerContext) => ({ name: `${name} ${tag}` })
const accountOf = ({ tag, today }: TriggerContext) => ({ description: `Conta ${tag}`, amount: PRICE, due_date: today })

const customer = lifecycleOf('/customers', personOf('Cliente'), NOTES)
const supplier = lifecycleOf('/suppliers', personOf('Fornecedor'), NOTES)
const category = lifecycleOf('/catalog/categories', personOf('Categoria'), { name: 'Categoria alterada' })
const item = lifecycleOf('/catalog/items', ({ tag }) => ({ name: `Produto ${tag}`, price: PRICE }), { price: '11.00' })
const receivable = lifecycleOf('/finance/receivables', accountOf, { amount: '11.00' })
const payable = lifecycleOf('/finance/payables', accountOf, { amount: '11.00' })

/** Pays a part of an account. */
const payPart = (account: { readonly created: Act }, path: string): Act =>
  withFollowUp(account.created, 'POST', (id) => `${path}/${id}/payments`, { amount: '1.00', ...SETTLE })

/** Reverses the payment of a part. */
const reversePart =
  (account: { readonly created: Act }, path: string): Act =>
  async (surroundings) => {
    const { service } = surroundings
    const id = await account.created(surroundings)
    const { data } = await service.call('POST', `${path}/${id}/payments`, { amount: '1.00', ...SETTLE })
    await service.call('POST', `${path}/${id}/payments/${data.payments[0].id}/reverse`, { reason: 'tillbook trigger' })
    return id
  }

const lines = ({ tag }: TriggerContext) => [{ description: `Venda ${tag}`, quantity: '1', unit_price: PRICE }]

const sell: Act = async (surroundings) => {
  const { service } = surroundings
  const { data } = await service.call('GET', '/sales/payment-types')
  const types = data as { id: number; accepts_api: boolean }[]
  const type = types.find(({ accepts_api }) => accepts_api)
  if (!type)
    throw new RequestRefused('no_payment_type', 'The company has no payment type with accepts_api; create one.')
  const payments = [{ payment_type_id: type.id, amount: PRICE }]
  return (await service.call('POST', '/sales', { items: lines(surroundings), payments })).data.id
}

/** Takes the goods of a sale back, and returns the id of the return. */
const takeBack: Act = async (surroundings) => {
  const { service } = surroundings
  const sale = await sell(surroundings)
  const { payments } = (await service.call('GET', `/sales/${sale}`)).data
  const [{ payment_type_id }] = payments
  const refunds = [{ payment_type_id, amount: PRICE }]
  const returned = { reason: 'tillbook trigger', items: [{ line: 0, quantity: '1' }], refunds }
  return (await service.call('POST', `/sales/${sale}/returns`, returned)).data.id
}

const order: Act = async (surroundings) => {
  const { service } = surroundings
  const newest = async () => (await service.call('GET', '/orders?limit=1')).data[0]?.store_alias
  const store_alias = surroundings.store ?? (await newest())
  if (!store_alias)
    throw new RequestRefused('no_store', 'The company has no order yet: name an online store by --store.')
  const buyer = { name: 'Maria da Silva', email: 'maria@example.com' }
  return (await service.call('POST', '/orders', { store_alias, customer: buyer, items: lines(surroundings) })).data.id
}

const ofOrder = (action: string) => (id: number) => `/orders/${id}/${action}`

/** The sandbox approves this card at once. */
const CARD = {
  method: 'card',
  brand: 'visa',
  token: 'APRO',
  payer: { email: 'maria@example.com', document: '52998224725' },
}

const pay: Act = async (surroundings) => {
  const id = await order(surroundings)
  const { data } = await surroundings.service.call('POST', ofOrder('payments')(id), CARD)
  if (data.status === 'paid') return id
  throw new RequestRefused(
    'not_paid',
    'The payment was not approved: payment events require a store of the sandbox provider.',
  )
}

const deliver = withFollowUp(pay, 'POST', ofOrder('deliver'), {})

const TRIGGERS: Partial<Record<WebhookEvent, Act>> = {
  'customer.created': customer.created,
  'customer.updated': customer.updated,
  'customer.deleted': customer.deleted,
  'customer.forgotten': customer.after('forget', FORGET),
  'supplier.created': supplier.created,
  'supplier.updated': supplier.updated,
  'supplier.deleted': supplier.deleted,
  'supplier.forgotten': supplier.after('forget', FORGET),
  'category.created': category.created,
  'category.updated': category.updated,
  'category.deleted': category.deleted,
  'catalog_item.created': item.created,
  'catalog_item.updated': item.updated,
  'catalog_item.stock_changed': withFollowUp(item.created, 'PATCH', (id) => `/catalog/items/${id}`, { stock: '7' }),
  'catalog_item.deleted': item.deleted,
  'receivable.created': receivable.created,
  'receivable.updated': receivable.updated,
  'receivable.deleted': receivable.deleted,
  'receivable.payment_received': payPart(receivable, '/finance/receivables'),
  'receivable.payment_reversed': reversePart(receivable, '/finance/receivables'),
  'receivable.settled': receivable.after('settle', SETTLE),
  'payable.created': payable.created,
  'payable.updated': payable.updated,
  'payable.deleted': payable.deleted,
  'payable.payment_received': payPart(payable, '/finance/payables'),
  'payable.payment_reversed': reversePart(payable, '/finance/payables'),
  'payable.settled': payable.after('settle', SETTLE),
  'sale.completed': sell,
  'sale.cancelled': withFollowUp(sell, 'POST', (id) => `/sales/${id}/cancel`, {}),
  'sale.returned': takeBack,
  'sale.return_reversed': withFollowUp(takeBack, 'POST', (id) => `/returns/${id}/reverse`, {
    reason: 'tillbook trigger',
  }),
  'order.created': order,
  'order.cancelled': withFollowUp(order, 'POST', ofOrder('cancel'), {}),
  'order.paid': pay,
  'order.dispatched': withFollowUp(pay, 'POST', ofOrder('dispatch'), {}),
  'order.delivered': deliver,
  'order.delivery_undone': withFollowUp(deliver, 'POST', ofOrder('undeliver'), {}),
  'order.refunded': withFollowUp(pay, 'POST', ofOrder('refunds'), {}),
}

/** Kind of the record that a message of an event shows. */
const recordKindOf = (event: WebhookEvent): string =>
  event.startsWith('sale.return') ? 'return' : event.slice(0, event.indexOf('.'))

/** Events that a request can trigger; orders expire only by the clock. */
export const TRIGGERED_EVENTS = WEBHOOK_EVENTS.filter((name) => TRIGGERS[name])

/**
 * Triggers a real event in a test company, with its webhooks. @throws RequestRefused for a real company or a
 * refusal, ServiceUnreachable
 */
export async function trigger(event: WebhookEvent, triggering: TriggerOptions): Promise<TriggerResult> {
  const { data: me } = await triggering.service.call('GET', '/me')
  if (me.company.test !== true)
    throw new RequestRefused('not_test_company', 'The key belongs to a real company; use a key of a test company.')
  const act = TRIGGERS[event]
  if (!act) throw new RequestRefused('not_by_call', `No API request causes ${event}; it cannot be triggered.`)
  const id = await act({ ...triggering, today: me.server_time.slice(0, 10) })
  return { event, record: `${recordKindOf(event)}/${id}` }
}

const Plan = z.strictObject({ event: z.enum(TRIGGERED_EVENTS), url: webAddressSetting })

/** Triggers a real event in a test company. Uses only HTTP, so it may run on any machine. */
export const triggerVerbs: Verbs<'trigger'> = {
  trigger: {
    async run({ config }, { event: name, key, url: base = config.PUBLIC_URL, store }) {
      const { event, url } = validateInput(Plan, { event: name, url: base })
      const tag = randomBytes(3).toString('hex')
      return trigger(event, { service: createServiceClient(url, key, randomUUID), tag, store })
    },
  },
}
