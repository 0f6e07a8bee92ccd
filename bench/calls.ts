import type { Agent } from 'undici'
import { request } from 'undici'
import { type CALLED, HABITS } from './model/workload.ts'
import { saleBody } from './sale-requests.ts'
import { LIMIT } from './sales-list.ts'
import type { Shop } from './shop.ts'
import { offlineSale } from './upload.ts'

/** Complete request, without the server's address. */
export interface Call {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Status of a successful response. */
  readonly status: number
}

/** Credentials and ids for calls; the cookie is that of a panel session. */
export type Caller = Pick<Shop, 'key' | 'token' | 'cardId' | 'items'> & { readonly cookie: string }

export type Asked = (typeof CALLED)[number]

const JSON_TYPE = { 'content-type': 'application/json' }
const MONTH = 'from=2026-03-01&to=2026-03-31'

/** Sequential requests of a call of this kind; `id` is used once. */
export function callsOf(kind: Asked, caller: Caller, id: string, updatedSince: string): readonly Call[] {
  const key = { authorization: `Bearer ${caller.key}` }
  const token = { authorization: `Bearer ${caller.token}` }
  const get = (path: string, headers: Record<string, string>): Call => ({ method: 'GET', path, headers, status: 200 })
  switch (kind) {
    case 'sale': {
      const headers = { ...JSON_TYPE, ...key, 'idempotency-key': id }
      const body = JSON.stringify(saleBody(caller, id))
      return [{ method: 'POST', path: '/api/v1/sales', headers, body, status: 201 }]
    }
    case 'upload': {
      const sales = Array.from({ length: HABITS.uploadedAtOnce }, (_, place) => offlineSale(caller, `${id}-${place}`))
      const body = JSON.stringify({ sales })
      return [{ method: 'POST', path: '/api/sync/sales', headers: { ...JSON_TYPE, ...token }, body, status: 200 }]
    }
    case 'opening':
      return [
        get('/api/sync/status', token),
        get('/api/sync/config', token),
        get(`/api/sync/products?last_sync=${updatedSince}`, token),
      ]
    case 'poll':
      return [get(`/api/v1/sales?limit=50&updated_since=${updatedSince}`, key)]
    case 'page':
      return [get('/painel/vendas', { cookie: caller.cookie })]
    case 'report':
      return [get(`/api/v1/finance/summary?${MONTH}`, key), get(`/api/v1/sales?limit=${LIMIT}`, key)]
  }
}

/** Outcome of a request. */
export interface Outcome {
  readonly status: number
  /** Error code of a refusal. */
  readonly code: string | null
  readonly took_ms: number
}

/** Sends a request and reads the whole response. A failed connection has status 0. */
export async function send(url: string, call: Call, dispatcher: Agent): Promise<Outcome> {
  const began = performance.now()
  const { method, path, headers, body = null } = call
  try {
    const answer = await request(`${url}${path}`, { method, headers, body, dispatcher })
    const isAsked = answer.statusCode === call.status
    const code = isAsked ? await answer.body.dump().then(() => null) : codeOf(await answer.body.text())
    return { status: answer.statusCode, code, took_ms: performance.now() - began }
  } catch (error) {
    return { status: 0, code: (error as Error).message, took_ms: performance.now() - began }
  }
}

/** Reason of a refusal: the code in API v1, a sentence in the till sync. */
function codeOf(text: string): string {
  return /"code":"([a-z_]+)"/.exec(text)?.[1] ?? /"message":"([^"]+)"/.exec(text)?.[1] ?? text.slice(0, 80)
}
