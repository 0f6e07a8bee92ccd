import { createHmac } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { startPayment } from '#commands/order-attempts.ts'
import { placeOrder } from '#commands/order-commands.ts'
import { createStore } from '#commands/store-commands.ts'
import type { ProviderPayment } from '#payments/provider-port.ts'
import type { OrderObject } from '#projections/orders.ts'
import {
  type Json,
  type Reply,
  send,
  startApi,
  type TestApi,
  type TestApiOptions,
  type TestCompany,
} from '../support/api.ts'

export const SECRET = 'notification-secret'

/** Stored notification. */
export interface Kept {
  readonly request_id: string
  readonly company_id: number | null
  readonly order_id: number | null
  readonly payload: string | null
  readonly response: string | null
  readonly http_status: number | null
  readonly duration_ms: number | null
  readonly outcome: string | null
}

/** Stored notification about an unknown order. */
export interface Stranger {
  readonly request_id: string
  readonly store_alias: string
  readonly order_path: string
  readonly payload: string | null
  readonly http_status: number | null
  readonly duration_ms: number | null
  readonly outcome: string | null
}

/** Company with an online store, its orders, and notifications about them. */
export interface OnlineStore {
  readonly api: TestApi
  readonly company: TestCompany
  readonly alias: string
  /** An order over 46.30 with an attempt to pay it. */
  order(alias?: string, of?: TestCompany): Promise<OrderObject>
  store(
    options?: { secret?: string | null; sandbox?: boolean; token?: string | null },
    of?: TestCompany,
  ): Promise<string>
  orderNow(id: number): Promise<OrderObject>
  revision(): Promise<number>
  /** Stored notifications of orders, oldest first. */
  kept(): Promise<Kept[]>
  /** Stored notifications about unknown orders, oldest first. */
  strangers(): Promise<Stranger[]>
  close(): Promise<void>
}

export async function openOnlineStore(databaseUrl: string, options: TestApiOptions, idsFrom = 0): Promise<OnlineStore> {
  const api = await startApi(databaseUrl, options)
  const company = await api.company({ idsFrom })
  let stores = 0
  const store: OnlineStore['store'] = async (
    { secret = null, sandbox = true, token = 'TEST-token' } = {},
    of = company,
  ) => {
    const alias = `loja-${of.id}-${++stores}`
    const secrets = {
      ...(token === null ? {} : { access_token: token }),
      ...(secret === null ? {} : { notification_secret: secret }),
    }
    await of.run(createStore, { alias, commission_percentage: '5', sandbox, ...secrets })
    return alias
  }
  const alias = await store()
  const { pool } = api.core
  return {
    api,
    company,
    alias,
    store,
    async order(store_alias = alias, of = company) {
      const items = [{ description: 'Cesta', quantity: '1', unit_price: '46.30' }]
      const { id } = await of.run(placeOrder, { store_alias, customer: { name: 'Maria' }, items })
      const attempt = { id, attempt_id: uuidv7(), idempotency_key: null, payment_method_id: 'pix' }
      return of.run(startPayment, attempt)
    },
    async orderNow(id) {
      const { rows } = await pool.query<{ doc: OrderObject }>('select doc from read.orders where id = $1', [id])
      return (rows[0] as { doc: OrderObject }).doc
    },
    async revision() {
      const { rows } = await pool.query<{ revision: number }>('select revision from ledgers where company_id = $1', [
        company.id,
      ])
      return (rows[0] as { revision: number }).revision
    },
    async kept() {
      return (await pool.query<Kept>('select * from payment_notifications order by id')).rows
    },
    async strangers() {
      return (await pool.query<Stranger>('select * from unverified_notifications order by id')).rows
    },
    close: () => api.close(),
  }
}

/** Payment of an order in the format of the port. */
export const paymentOf = (order: OrderObject, changes: Partial<ProviderPayment> = {}): ProviderPayment => ({
  id: `${1_300_000_000 + order.id}`,
  status: 'approved',
  statusDetail: 'accredited',
  externalReference: order.provider_reference,
  attemptId: order.payments[0]?.attempt_id ?? null,
  amountCents: 4630,
  liveMode: false,
  refundedCents: 0,
  refunds: [],
  expiresAt: null,
  changedAt: null,
  details: {},
  ...changes,
})

/** Body of a notification about a payment. */
export const told = (id: unknown, changes: object = {}): Json => ({
  id: 12345,
  live_mode: false,
  type: 'payment',
  date_created: '2026-11-21T10:00:00.000-04:00',
  user_id: '44444',
  api_version: 'v1',
  action: 'payment.updated',
  data: { id },
  ...changes,
})

/** Headers of a signed notification. */
export function signedHeaders(id: string, secret: string, requestId = 'req-1'): Record<string, string> {
  const manifest = `id:${id};request-id:${requestId};ts:1763733600;`
  const hash = createHmac('sha256', secret).update(manifest).digest('hex')
  return { 'x-request-id': requestId, 'x-signature': `ts=1763733600,v1=${hash}` }
}

export const addressOf = (url: string, alias: string, orderId: number | string): string =>
  `${url}/webhook/paymentprovider/${alias}/${orderId}`

export const notify = (
  { api, alias }: Pick<OnlineStore, 'api' | 'alias'>,
  orderId: number | string,
  body: unknown,
  headers?: Record<string, string>,
): Promise<Reply> => send(addressOf(api.url, alias, orderId), 'POST', body, headers)
