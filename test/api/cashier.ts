import { createStore } from '#commands/store-commands.ts'
import { applyPayment } from '#payments/notifications.ts'
import type { ProviderPayment } from '#payments/provider-port.ts'
import type { Json, Reply, TestApi, TestCompany } from '../support/api.ts'
import { createMemoryProvider, type MemoryProvider } from '../support/memory-provider.ts'
import { useCompanyPerTest } from '../support/use-api.ts'

export const card = { method: 'card', brand: 'visa', token: 'card-token-1', payer: { email: 'ana@example.com' } }

interface Cashier {
  readonly api: TestApi
  readonly company: TestCompany
  readonly provider: MemoryProvider
  /** Errors logged in the current test. */
  readonly logged: readonly unknown[]
  /** Alias of the store, with a commission of 3.33 percent. */
  alias(): string
  place(unit_price?: string): Promise<Json>
  /** Pays an order under an Idempotency-Key, by default a new one per attempt; null sends none. */
  pay(id: number, key?: string | null, body?: object): Promise<Reply>
  show(id: number): Promise<Json>
  /** Applies a payment like a notification of the provider. */
  tell(orderId: number, payment: ProviderPayment): ReturnType<typeof applyPayment>
}

/** Company and online store, new in each test, and a payment provider. */
export function useCashier(): Cashier {
  const provider = createMemoryProvider()
  const logged: unknown[] = []
  const { api, company } = useCompanyPerTest({ provider, log: (_message, error) => logged.push(error) })
  let alias: string
  let stores = 0
  let attempts = 0

  beforeEach('open a store', async () => {
    alias = `loja-${++stores}`
    await company.run(createStore, {
      alias,
      commission_percentage: '3.33',
      sandbox: true,
      access_token: 'TEST-access-token',
    })
    provider.status = 'pending'
    provider.calls.length = 0
    provider.payments.length = 0
    logged.length = 0
  })

  return {
    api,
    company,
    provider,
    logged,
    alias: () => alias,
    async place(unit_price = '71.52') {
      const items = [{ description: 'Cesta', quantity: '1', unit_price }]
      return (await company.post('/orders', { store_alias: alias, customer: { name: 'Ana' }, items })).body.data
    },
    pay: (id, key = `tentativa-${++attempts}`, body = card) =>
      company.post(`/orders/${id}/payments`, body, key === null ? {} : { 'idempotency-key': key }),
    show: async (id) => (await company.get(`/orders/${id}`)).body.data,
    tell: (orderId, payment) =>
      applyPayment(api.core.writer, { companyId: company.id, orderId, requestId: null }, payment),
  }
}
