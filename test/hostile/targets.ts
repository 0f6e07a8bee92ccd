import type { Call } from '../api/contract/case.ts'
import { pathOf } from '../api/contract/case.ts'
import { CASES } from '../api/contract/cases.ts'
import type { World } from '../api/contract/world.ts'
import { told } from '../payment-notifications/online-store.ts'
import { isStream, type Operation, operations } from '../support/contract.ts'
import { offlineSaleOf } from '../support/offline-sales.ts'
import { createTestUser, openTill, type TestTill } from '../support/till.ts'
import type { Schema } from './schema.ts'

/** Valid call, to be varied. */
export interface GoodCall {
  readonly method: string
  /** Path with query. */
  readonly path: string
  readonly body?: unknown
  readonly headers: readonly (readonly [name: string, value: string])[]
}

/** Callable operation. Each new interface adds its own to TARGETS. */
export interface Target {
  readonly name: string
  /** Schema of its body, if there is one. */
  readonly body?: Schema
  /** Parameters of its query. */
  readonly query: readonly { readonly name: string; readonly schema: Schema }[]
  /** Prepares the state for a call and returns the call. `n` selects among the ways to succeed. */
  prepare(world: World, n: number): Promise<GoodCall>
}

/** Streams never end; their query is parsed like that of other reads. */
const ANSWERED = operations.filter((operation) => !isStream(operation))

export const TARGETS: readonly Target[] = [...ANSWERED.map(ofContract), ...ofTills(), ofProvider()]

function ofContract(operation: Operation): Target {
  const cases = Object.entries(CASES[operation.id] ?? {}).filter(([outcome]) => /^2/.test(outcome))
  const { requestBody, parameters = [] } = operation.node as unknown as {
    requestBody?: { content: { 'application/json': { schema: Schema } } }
    parameters?: { in: string; name: string; schema: Schema }[]
  }
  return {
    name: operation.id,
    body: requestBody?.content['application/json'].schema,
    query: parameters.filter((parameter) => parameter.in === 'query'),
    async prepare(world, n) {
      const [, prepare] = cases[n % cases.length] as (typeof cases)[number]
      const call: Call = await prepare(world)
      return {
        method: operation.method,
        path: `/api/v1${pathOf(operation, call)}`,
        body: call.body,
        headers: [['Authorization', `Bearer ${world.company.key}`], ...Object.entries(call.headers ?? {})],
      }
    },
  }
}

function ofTills(): Target[] {
  const target = (
    method: string,
    path: string,
    bodyOf: (till: TestTill, world: World) => unknown = () => undefined,
    query: Target['query'] = [],
  ): Target => ({
    name: `${method} /api${path}`,
    query,
    async prepare(world) {
      const till = await openTill(world.api.url, world.company, await createTestUser(world.company))
      const body = await bodyOf(till, world)
      return { method, path: `/api${path}`, body, headers: [['Authorization', `Bearer ${till.token}`]] }
    },
  })
  const checked = { products: [{ id: 1, updated_at: '2026-03-10T14:00:00.000Z' }] }
  const since: Target['query'] = [{ name: 'last_sync', schema: { type: 'string', format: 'date-time' } }]
  return [
    target('POST', '/auth/login', ({ user }) => ({ email: user.email, password: user.password })),
    target('POST', '/auth/refresh'),
    target('POST', '/auth/logout'),
    target('GET', '/auth/user'),
    target('GET', '/sync/status'),
    target('GET', '/sync/config'),
    target('GET', '/sync/products', undefined, since),
    target('POST', '/sync/check-conflicts', () => checked),
    target('POST', '/sync/sales', async (_till, world) => ({ sales: [await offlineSale(world)] })),
  ]
}

async function offlineSale(world: World): Promise<object> {
  const { id } = await world.create('/catalog/items', { name: 'Pão', price: '10.00', stock: '5' })
  return offlineSaleOf({
    offline_id: world.unique('pdv'),
    items: [{ product_id: id, quantity: 1, price: 10, total: 10 }],
    payments: [{ payment_type_id: world.cash, amount: 10, status: 'completed' }],
  })
}

/** Notification of a payment that the provider knows. */
function ofProvider(): Target {
  return {
    name: 'POST /webhook/paymentprovider',
    query: [],
    async prepare(world) {
      const paying = CASES.payOrder?.[201] as NonNullable<(typeof CASES)[string][string]>
      const { params, body, headers } = await paying(world)
      await world.company.post(`/orders/${params?.id}/payments`, body, headers)
      const { data } = (await world.company.get(`/orders/${params?.id}`)).body
      return {
        method: 'POST',
        path: `/webhook/paymentprovider/${data.store_alias}/${data.id}`,
        body: told(data.payment.provider_payment_id),
        headers: [['X-Request-Id', 'req-1']],
      }
    },
  }
}
