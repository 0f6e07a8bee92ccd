import { MAX_BODY_BYTES } from '#api/api-route.ts'
import type { Scope } from '#domain/rights.ts'
import type { ProblemCode } from '#http/problems.ts'
import { type Reply, send } from '../../support/api.ts'
import type { Operation } from '../../support/contract.ts'
import type { FaultyApi } from '../../support/faulty-api.ts'
import { exchange } from '../../support/wire.ts'
import { type Call, pathOf } from './case.ts'
import type { World } from './world.ts'

/** Operation with a call that would succeed. */
interface Target {
  readonly operation: Operation
  readonly call: Call
}

/** Overrides of a successful call. */
interface Sending {
  readonly url?: string
  readonly key?: string | null
  readonly path?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends the call of a target with overrides. */
export function sendCall(world: World, { operation, call }: Target, sending: Sending = {}): Promise<Reply> {
  const { url = world.api.url, key = call.key ?? world.company.key, path = pathOf(operation, call), headers } = sending
  const body = 'body' in sending ? sending.body : call.body
  return send(`${url}/api/v1${path}`, operation.method, body, {
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    ...call.headers,
    ...headers,
  })
}

type Refusal = (world: World, target: Target) => Promise<Reply>

/** Refusals common to all operations; specific ones are rows of the case tables. */
export const EDGE: { readonly [C in ProblemCode]?: Refusal } = {
  missing_token: (world, target) => sendCall(world, target, { key: null }),
  invalid_token: (world, target) => sendCall(world, target, { key: `tb_test_${'A'.repeat(43)}` }),
  plan_required: (world, target) => sendCall(world, target, { key: world.unpaid.key }),
  async insufficient_scope(world, target) {
    const [scope] = target.operation.node.security?.[0]?.apiKey ?? []
    if (!scope) return sendCall(world, target, { headers: { 'x-forwarded-proto': 'http' } })
    return sendCall(world, target, { key: await world.keyWithout(scope as Scope) })
  },
  amount_limit: async (world, target) => sendCall(world, target, { key: await world.poorKey() }),
  not_test_company: (world, target) => sendCall(world, target, { key: world.company.key }),
  test_data_erased(world, target) {
    const [since] = ['updated_since', 'since'].filter((name) =>
      target.operation.node.parameters?.some((p) => 'name' in p && p.name === name),
    )
    const path = pathOf(target.operation, { ...target.call, query: { [since ?? '']: '2020-01-01T00:00:00Z' } })
    return sendCall(world, target, { key: world.tester.key, path })
  },
  not_found: (world, target) => sendCall(world, target, { path: nowhere(target) }),
  request_timeout: ({ hurried }, { operation, call }) =>
    exchange(hurried.url, `${operation.method} /api/v1${pathOf(operation, call)} HTTP/1.1\r\nHost: x\r\n`),
  malformed_json: (world, target) => sendCall(world, target, { body: '{"name":' }),
  precondition_failed: (world, target) => sendCall(world, target, { headers: { 'if-match': '"older"' } }),
  payload_too_large: (world, target) => sendCall(world, target, { body: `"${'x'.repeat(MAX_BODY_BYTES)}"` }),
  unsupported_media_type: (world, target) =>
    sendCall(world, target, { body: target.call.body ?? {}, headers: { 'content-type': 'text/plain' } }),
  validation_failed: (world, target) =>
    sendCall(world, target, { path: `${pathOf(target.operation, { ...target.call, query: {} })}?unknown=1` }),
  async idempotency_key_reuse(world, target) {
    const headers = { 'idempotency-key': world.unique('key') }
    await world.company.post('/catalog/categories', { name: world.unique('Outra') }, headers)
    return sendCall(world, target, { headers })
  },
  rate_limited: (world, target) => sendCall(world, target, { url: world.stingy.url, key: world.exhausted.key }),
  internal_error: (world, target) => fail(world, target, world.faulty.broken),
  unavailable: (world, target) => fail(world, target, world.faulty.down),
}

/** Responses without a database query can only fail before the handler. */
async function fail(world: World, target: Target, { handlers, gate }: FaultyApi['broken']): Promise<Reply> {
  const reply = await sendCall(world, target, { url: handlers })
  return reply.status === 200 ? sendCall(world, target, { url: gate }) : reply
}

const NIL = '00000000-0000-0000-0000-000000000000'

/** Path of a missing record. A PUT would create it, so its path names no route. */
function nowhere({ operation, call }: Target): string {
  const broken = operation.method === 'PUT'
  const missing = {
    id: 999_999_999,
    revision: 999_999_999,
    external_id: broken ? '@' : 'nao-existe',
    delivery_id: NIL,
    request_id: NIL,
  }
  return pathOf(operation, { ...call, params: { ...call.params, ...missing } }).replace('%40', '%E0%A4')
}
