import type { Agent } from 'undici'
import { request } from 'undici'
import { type CALLED, HABITS } from './model/workload.ts'
import { saleBody } from './sale-requests.ts'
import { LIMIT } from './sales-list.ts'
import type { Shop } from './shop.ts'
import { offlineSale } from './upload.ts'

/** A request of a caller, complete but for the server's address. */
export interface Call {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Status of the answer, unless it is refused. */
  readonly status: number
}

/** What calls are made with; the cookie is of a session of the panel. */
export type Caller = Pick<Shop, 'key' | 'token' | 'cardId' | 'items'> & { readonly cookie: string }

export type Asked = (typeof CALLED)[number]

const JSON_TYPE = { 'content-type': 'application/json' }
const MONTH = 'from=2026-03-01&to=2026-03-31'

/** The requests of a call of this kind, one after the other; `id` is used once. */
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

/** What became of a request. */
export interface Outcome {
  readonly status: number
  /** Of a refusal, as its problem says. */
  readonly code: string | null
  readonly took_ms: number
}

/** Sends a request and reads its answer to the end. A connection that fails is status 0. */
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

/** What a refusal says: API v1 its code, the sync interface a sentence. */
function codeOf(text: string): string {
  return /"code":"([a-z_]+)"/.exec(text)?.[1] ?? /"message":"([^"]+)"/.exec(text)?.[1] ?? text.slice(0, 80)
}
