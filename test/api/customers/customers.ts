import { expect } from 'chai'
import type { Json, Reply, TestApi, TestCompany } from '../../support/api.ts'
import { useCompanyPerTest } from '../../support/use-api.ts'

/** Fictitious, with valid check digits. */
export const CPF = '52998224725'
export const CNPJ = '11222333000181'
/** Example of the tax authority for the format of 2026. */
export const ALPHANUMERIC_CNPJ = '12ABC34501DE35'

/** Customer with all fields. */
export const everything = {
  external_id: 'erp-77',
  name: 'Maria da Silva',
  person_type: 'PF',
  document: CPF,
  phone: '5511987654321',
  email: 'maria@example.com',
  address: {
    zip: '01310100',
    street: 'Avenida Paulista',
    number: '1000-A',
    complement: 'Sala 3',
    district: 'Bela Vista',
    city: 'São Paulo',
    state: 'SP',
  },
  notes: 'Prefere entregas à tarde.',
  state_registration: '110042490114',
  ie_indicator: '1',
}

interface CustomerCalls {
  readonly api: TestApi
  readonly company: TestCompany
  /** Creates a customer; fails if it is refused. */
  create(body: object): Promise<Json>
  put(externalId: string, body: unknown): Promise<Reply>
  patch(id: number, body: unknown): Promise<Reply>
  remove(id: number): Promise<Reply>
  /** Current revision of the ledger. */
  revision(): Promise<string | null>
}

/** Customers of a company, new in each test. */
export function useCustomers(): CustomerCalls {
  const { api, company } = useCompanyPerTest()
  return {
    api,
    company,
    async create(body) {
      const reply = await company.post('/customers', body)
      expect(reply.status, reply.text).to.equal(201)
      return reply.body.data
    },
    put: (externalId, body) => company.call('PUT', `/customers/by-external/${encodeURIComponent(externalId)}`, body),
    patch: (id, body) => company.call('PATCH', `/customers/${id}`, body),
    remove: (id) => company.call('DELETE', `/customers/${id}`),
    revision: async () => (await company.get('/me')).headers.get('x-ledger-revision'),
  }
}
