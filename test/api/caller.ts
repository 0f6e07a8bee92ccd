import type { Reply, TestApi, TestCompany } from '../support/api.ts'
import { rawRequest } from '../support/raw-request.ts'
import { useCompany } from '../support/use-api.ts'

/** Every route with a body; ids and external ids are unused. */
export const WRITES = [
  ['POST', '/customers'],
  ['POST', '/customers/batch'],
  ['PUT', '/customers/by-external/x'],
  ['PATCH', '/customers/1'],
  ['POST', '/catalog/items'],
  ['POST', '/catalog/items/batch'],
  ['PUT', '/catalog/items/by-external/x'],
  ['PATCH', '/catalog/items/1'],
  ['POST', '/catalog/categories'],
  ['POST', '/suppliers'],
  ['POST', '/suppliers/batch'],
  ['PUT', '/suppliers/by-external/x'],
  ['PATCH', '/suppliers/1'],
  ['POST', '/finance/receivables'],
  ['POST', '/finance/receivables/batch'],
  ['PUT', '/finance/receivables/by-external/x'],
  ['PATCH', '/finance/receivables/1'],
  ['POST', '/finance/payables'],
  ['POST', '/finance/payables/batch'],
  ['PUT', '/finance/payables/by-external/x'],
  ['PATCH', '/finance/payables/1'],
  ['POST', '/sales'],
  ['POST', '/sales/1/cancel'],
] as const

export const JSON_TYPE = { 'content-type': 'application/json' }

interface Caller {
  readonly api: TestApi
  readonly company: TestCompany
  /** Call with unescaped path and headers. */
  raw(
    method: string,
    path: string,
    headers?: Record<string, string>,
    body?: string | Buffer,
    chunked?: boolean,
  ): Promise<Reply>
}

/** Service and a company for invalid calls. */
export function useCaller(): Caller {
  const { api, company } = useCompany()
  return {
    api,
    company,
    raw: (method, path, headers = {}, body, chunked = false) =>
      rawRequest(api.url, {
        method,
        path: `/api/v1${path}`,
        headers: { authorization: `Bearer ${company.key}`, ...headers },
        body,
        chunked,
      }),
  }
}
