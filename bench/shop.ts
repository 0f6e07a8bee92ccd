import { randomBytes } from 'node:crypto'
import { newKey } from '#access/api-keys.ts'
import { createTokens } from '#access/sync-access.ts'
import { createApiKey } from '#commands/api-keys.ts'
import { createCategory } from '#commands/catalog/categories.ts'
import { createItem } from '#commands/catalog/items.ts'
import { registerCompany } from '#commands/companies.ts'
import { createPaymentType } from '#commands/payment-types.ts'
import { createCustomer } from '#commands/people/customers.ts'
import { createUser } from '#commands/users.ts'
import { type Invocation, invoke, isRefusal } from '#ledger/command.ts'
import { ensureLedger } from '#ledger/ledgers.ts'
import { parseSubject } from '#ledger/projection.ts'
import { asSystem, runList } from '#ledger/write/run.ts'
import { type Core, type CoreOptions, openCore } from '#service/core.ts'
import { masterKeys } from '../test/support/master-key.ts'

/** Company data for floors and load generators. */
export interface Shop {
  readonly companyId: number
  readonly name: string
  readonly key: string
  readonly keyHash: Buffer
  /** Token of a logged-in till. */
  readonly token: string
  readonly cardId: number
  /** Named like their external ids. */
  readonly customers: readonly { readonly id: number; readonly name: string }[]
  readonly items: readonly { readonly id: number; readonly name: string; readonly priceCents: number }[]
}

/** Items per shop; a sale has a few of them. */
export const ITEMS = 50

/** More than any run can sell. */
export const STOCK = '900000000'

/** Fee of card payments, so that each has a surcharge to extract. */
export const CARD_FEE = '2.50'

export const TIME_ZONE = 'America/Sao_Paulo'

export const CUSTOMERS = 20
const CATEGORIES = 10
/** Scopes of each shop's key. */
export const SCOPES_OF_BENCH = ['sales:read', 'sales:write', 'customers:write', 'finance:read'] as const
/** Commands per request, the maximum of a batch. */
const BATCH = 500

/**
 * Prepares the database and creates shops through the service's own commands, sequentially, so that ids are in order.
 */
export function createShops(databaseUrl: string, count: number, eventStoreUrl?: string): Promise<Shop[]> {
  const create = async (core: Core) => {
    const shops: Shop[] = []
    for (let number = 1; number <= count; number++) shops.push(await createShop(core, number))
    return shops
  }
  return withCore(databaseUrl, create, eventStoreUrl)
}

/** Fills the catalog of a shop up to `count` products in ten categories. */
export function createCatalog(databaseUrl: string, { companyId }: Shop, count: number): Promise<void> {
  return withCore(databaseUrl, async (core) => {
    const names = Array.from({ length: CATEGORIES }, (_, number) => `Categoria ${number + 1}`)
    const categories = await run(
      core,
      companyId,
      names.map((name) => invoke(createCategory, { name })),
    )
    for (let start = ITEMS; start < count; start += BATCH) {
      const numbers = Array.from({ length: Math.min(BATCH, count - start) }, (_, index) => start + index + 1)
      const items = numbers.map((number) => ({
        type: 'product' as const,
        name: `Produto com um nome como eles são, nº ${number}`,
        external_id: `P-${number}`,
        barcode: String(7_890_000_000_000 + number),
        category_id: categories[number % CATEGORIES] ?? null,
        price: `${number % 500}.90`,
        stock: STOCK,
      }))
      await run(
        core,
        companyId,
        items.map((item) => invoke(createItem, item)),
      )
    }
  })
}

/** @param eventStoreUrl - store of the ledgers, if it is not Postgres */
export async function withCore<T>(
  databaseUrl: string,
  work: (core: Core) => Promise<T>,
  eventStoreUrl?: string,
): Promise<T> {
  const core = await openBenchCore(databaseUrl, { eventStoreUrl })
  return work(core).finally(() => core.close())
}

/** `reserve`: for several shards. */
export const openBenchCore = (
  databaseUrl: string,
  { reserve, eventStoreUrl }: Pick<CoreOptions, 'reserve' | 'eventStoreUrl'> = {},
): Promise<Core> =>
  openCore({
    masterKeys,
    databaseUrl,
    queryConnections: 2,
    log: (message, error) => console.error(message, error),
    onOutdated: () => {},
    eventStoreUrl,
    ...(reserve && { reserve }),
  })

async function createShop(core: Core, number: number): Promise<Shop> {
  const { rows } = await core.pool.query<{ id: number }>(`select nextval('ops.company_ids') as id`)
  const companyId = (rows[0] as { id: number }).id
  await ensureLedger(core.pool, companyId)
  const name = `Mercado ${number}`
  const { key, prefix, hash } = newKey(randomBytes(32), 'test')
  const customers = Array.from({ length: CUSTOMERS }, (_, index) => `Cliente ${index + 1}`)
  const products = Array.from({ length: ITEMS }, (_, index) => ({
    name: `Produto ${index + 1}`,
    priceCents: 199 + 37 * index,
  }))
  const created = await run(core, companyId, [
    invoke(registerCompany, {
      id: companyId,
      name,
      cnpj: '11.222.333/0001-81',
      plan: 'api',
      timezone: TIME_ZONE,
      logo_url: null,
    }),
    invoke(createApiKey, { name: 'bench', scopes: [...SCOPES_OF_BENCH], prefix, hash }),
    invoke(createUser, { name: 'Caixa', email: `caixa${companyId}@bench.example`, role: 'clerk', password_hash: '' }),
    invoke(createPaymentType, { name: 'Cartão', kind: 'card', fee_percentage: CARD_FEE, due_days: 30 }),
    ...customers.map((name) => invoke(createCustomer, { external_id: name, name, phone: '11988887777' })),
    ...products.map((product, index) =>
      invoke(createItem, {
        type: 'product',
        name: product.name,
        external_id: `P-${index + 1}`,
        price: (product.priceCents / 100).toFixed(2),
        stock: STOCK,
      }),
    ),
  ])
  const [, , userId, card, ...records] = created as [number, number, number, number, ...number[]]
  const items = records.slice(CUSTOMERS)
  const { token } = await createTokens(core.pool, { days: null, secret: core.requestSecret }).issue({
    userId,
    companyId,
    generation: 0,
    personGeneration: 0,
  })
  return {
    companyId,
    name,
    key,
    keyHash: hash,
    token,
    cardId: card,
    customers: customers.map((name, index) => ({ id: records[index] as number, name })),
    items: products.map((product, index) => ({ ...product, id: items[index] as number })),
  }
}

/** Runs commands as one request and returns the ids of the records, in order. */
export async function run(core: Core, companyId: number, invocations: Invocation[]): Promise<number[]> {
  const results = await runList(core.writer, asSystem(companyId), invocations)
  if (isRefusal(results)) throw new Error(`refused: ${JSON.stringify(results)}`)
  return results.map((result) => {
    if (isRefusal(result)) throw new Error(`refused: ${JSON.stringify(result)}`)
    return parseSubject(result.subject).id
  })
}
