import { expect } from 'chai'
import { SCOPES, type Scope } from '#domain/rights.ts'
import { ProviderMisconfigured } from '#payments/provider-port.ts'
import { type Json, startApi, type TestApi, type TestCompany } from '../../support/api.ts'
import { type FaultyApi, startFaultyApi } from '../../support/faulty-api.ts'
import { createMemoryProvider, type MemoryProvider } from '../../support/memory-provider.ts'

/** Company of the cases, and other companies for refusals at the edge. */
export interface World {
  readonly api: TestApi
  readonly company: TestCompany
  readonly provider: MemoryProvider
  readonly cash: number
  readonly card: number
  /** Erased test company. */
  readonly tester: TestCompany
  /** Company without the API plan. */
  readonly unpaid: TestCompany
  /** Service with a quota of one request per day, and a company that used it up. */
  readonly stingy: TestApi
  readonly exhausted: TestCompany
  /** Service that waits briefly for the headers of a request. */
  readonly hurried: TestApi
  /** Service on the same database with failing handlers. */
  readonly faulty: FaultyApi
  /** Text that no other record has. */
  unique(prefix: string): string
  /** Creates a record with a POST that must succeed. */
  create(path: string, body: object): Promise<Json>
  /** Key of another company with all scopes but this one. */
  keyWithout(scope: Scope): Promise<string>
  /** Key of the company that may record 0.01 a call. */
  poorKey(): Promise<string>
  /** Erased customer or supplier. */
  forgotten(path: '/customers' | '/suppliers'): Promise<Json>
  close(): Promise<void>
}

/** One case uses a store without credentials, which is logged; other log entries fail the test. */
const tell = (message: string, error: unknown): void => {
  if (!(error instanceof ProviderMisconfigured)) console.error(message, error)
}

export async function createWorld(databaseUrl: string, log = tell): Promise<World> {
  const provider = createMemoryProvider()
  const api = await startApi(databaseUrl, { provider, log })
  const company = await api.company()
  const tester = await api.company({ test: true })
  await tester.post('/test/reset', {})
  const stingy = await startApi(databaseUrl, { perDay: 1 })
  const exhausted = await stingy.company()
  await exhausted.get('/me')
  const hurried = await startApi(databaseUrl, { server: { headers_ms: 20, check_ms: 10 } })
  const faulty = await startFaultyApi(api.core, databaseUrl)
  let count = 0
  const keys = new Map<Scope, string>()
  let poor: string | undefined
  const world: World = {
    api,
    company,
    tester,
    provider,
    cash: await company.paymentType('cash'),
    card: await company.paymentType('card', '2.50'),
    unpaid: await api.company({ plan: 'basic' }),
    stingy,
    exhausted,
    hurried,
    faulty,
    unique: (prefix) => `${prefix}-${++count}`,
    async create(path, body) {
      const reply = await company.post(path, body)
      expect(reply.status, reply.text).to.equal(201)
      return reply.body.data
    },
    async keyWithout(scope) {
      const key = keys.get(scope) ?? (await api.company({ scopes: SCOPES.filter((each) => each !== scope) })).key
      keys.set(scope, key)
      return key
    },
    async poorKey() {
      poor ??= (await company.newKey(SCOPES, undefined, { max_amount_per_call: '0.01' })).key
      return poor
    },
    async forgotten(path) {
      const person = await world.create(path, { name: world.unique('Eva'), external_id: world.unique('eva') })
      await company.post(`${path}/${person.id}/forget`, { ground: 'holder_request' })
      return person
    },
    async close() {
      await faulty.close()
      await hurried.close()
      await stingy.close()
      await api.close()
    },
  }
  return world
}
