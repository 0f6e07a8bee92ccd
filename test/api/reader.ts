import { expect } from 'chai'
import { idsIn } from '../support/answers.ts'
import type { Json, Reply, TestApi, TestCompany } from '../support/api.ts'
import { useCompanyPerTest } from '../support/use-api.ts'

/** Time zone of the companies. */
export const ZONE = 'America/Sao_Paulo'

type Query = Record<string, string | number>

interface Reader {
  readonly api: TestApi
  readonly company: TestCompany
  /** Puts a customer by external id; fails if it is refused. */
  put(externalId: string, body: object): Promise<Json>
  /** Creates customers `c0`, `c1` … in batches, in the order of their ids. */
  customers(count: number): Promise<number[]>
  list(query?: Query, path?: string): Promise<Reply>
  /** Reads all pages; `between` runs after each. */
  walk(query: Query, path?: string, between?: (page: number) => Promise<unknown>): Promise<number[]>
  syncedAt(): Promise<string>
}

/** Reader of the lists of a company, new in each test; of customers by default. */
export function useReader(): Reader {
  const { api, company } = useCompanyPerTest()
  const list: Reader['list'] = (query = {}, path = '/customers') => {
    const pairs = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])
    return company.get(`${path}?${new URLSearchParams(pairs)}`)
  }
  return {
    api,
    company,
    list,
    async put(externalId, body) {
      const reply = await company.call('PUT', `/customers/by-external/${externalId}`, body)
      // The first PUT creates the customer, later ones replace it.
      expect(reply.status, reply.text).to.be.oneOf([200, 201])
      return reply.body.data
    },
    async customers(count) {
      const ids: number[] = []
      for (let start = 0; start < count; start += 500) {
        const size = Math.min(500, count - start)
        const items = Array.from({ length: size }, (_, n) => ({
          external_id: `c${start + n}`,
          name: `Cliente ${start + n}`,
        }))
        const reply = await company.post('/customers/batch', { items })
        expect(reply.status).to.equal(200)
        ids.push(...reply.body.data.map((record: Json) => record.id))
      }
      return ids
    },
    async walk(query, path, between = async () => {}) {
      const ids: number[] = []
      let cursor: string | null = null
      let page = 0
      do {
        const reply: Reply = await list({ ...query, ...(cursor === null ? {} : { cursor }) }, path)
        ids.push(...idsIn(reply))
        cursor = reply.body.meta.next_cursor
        expect(reply.body.meta.has_more).to.equal(cursor !== null)
        await between(page++)
      } while (cursor !== null)
      return ids
    },
    syncedAt: async () => (await list()).body.meta.synced_at,
  }
}
