import type { Call } from '../calls.ts'
import { type Company, callerOf } from '../companies.ts'
import { saleBody } from '../sale-requests.ts'
import { offlineSale } from '../upload.ts'

/** Shares of all requests of many companies, in percent. */
export const SHARES = { read: 70, sale: 20, bulk: 5, page: 5 } as const
export type Kind = keyof typeof SHARES
export const KINDS = Object.keys(SHARES) as Kind[]

/** Sales per upload and customers per batch: what a till or an integrator collects in some minutes. */
const BULK = 20
const JSON_TYPE = { 'content-type': 'application/json' }

/** Kinds in an order that has the shares in each hundred, spread evenly. */
export function kindsInOrder(): readonly Kind[] {
  const places = KINDS.flatMap((kind) =>
    Array.from({ length: SHARES[kind] }, (_, number) => ({ kind, at: (number + 0.5) / SHARES[kind] })),
  )
  return places.sort((a, b) => a.at - b.at).map(({ kind }) => kind)
}

/** Request of this kind with this number; numbers are used once. Companies take turns. */
export function callOf(kind: Kind, companies: readonly Company[], number: number, run: string): Call {
  const caller = callerOf(companies[(number * 7) % companies.length] as Company)
  const id = `${run}-${number}`
  const key = { authorization: `Bearer ${caller.key}` }
  const token = { authorization: `Bearer ${caller.token}` }
  const get = (path: string, headers: Record<string, string>): Call => ({ method: 'GET', path, headers, status: 200 })
  const post = (path: string, headers: Record<string, string>, body: object, status: number): Call => {
    return { method: 'POST', path, headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body), status }
  }
  switch (kind) {
    case 'sale':
      return post('/api/v1/sales', { ...key, 'idempotency-key': id }, saleBody(caller, id), 201)
    case 'page':
      return get('/painel/vendas', { cookie: caller.cookie })
    case 'bulk': {
      const places = Array.from({ length: BULK }, (_, place) => `${id}-${place}`)
      if (number % 2 === 0) {
        return post('/api/sync/sales', token, { sales: places.map((place) => offlineSale(caller, place)) }, 200)
      }
      const items = places.map((place) => ({ external_id: place, name: `Cliente ${place}` }))
      return post('/api/v1/customers/batch', key, { items }, 200)
    }
    case 'read': {
      const since = new Date(Date.now() - 60_000).toISOString()
      const reads = [
        get('/api/v1/sales?limit=50', key),
        get(`/api/v1/sales?limit=50&updated_since=${since}`, key),
        get(`/api/sync/products?last_sync=${since}`, token),
      ]
      return reads[number % reads.length] as Call
    }
  }
}
