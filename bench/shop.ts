import { randomBytes } from 'node:crypto'
import { newKey } from '#access/api-authenticator.ts'
import { createSessions } from '#access/sessions.ts'
import { createTokens } from '#access/till-access.ts'
import { createCategory } from '#commands/catalog-commands.ts'
import { registerCompany } from '#commands/company-commands.ts'
import { createItem } from '#commands/item-commands.ts'
import { createCustomer } from '#commands/person-commands.ts'
import { createReceivable, settleReceivable } from '#commands/receivables-payables.ts'
import { createPaymentType } from '#commands/store-commands.ts'
import { createUser } from '#commands/user-commands.ts'
import { createApiKey, registerWebhook, switchOffWebhook } from '#commands/webhook-commands.ts'
import { formatWebhookSecret } from '#crypto/vault.ts'
import { type Invocation, invoke, isRefusal } from '#ledger/command.ts'
import { ensureLedger } from '#ledger/ledgers.ts'
import { parseSubject } from '#ledger/projection.ts'
import { asSystem, runList } from '#ledger/write/run.ts'
import { type Core, openCore } from '#service/core.ts'
import { masterKeys } from '../test/support/master-key.ts'

/** Company data for floors and load generators. */
export interface Shop {
  readonly companyId: number
  readonly name: string
  readonly key: string
  readonly keyHash: Buffer
  /** Token of a logged-in till. */
  readonly token: string
  /** Cookie of the owner's session in the panel. */
  readonly cookie: string
  readonly cardId: number
  /** Named like their external ids. */
  readonly customers: readonly { readonly id: number; readonly name: string }[]
  readonly items: readonly { readonly id: number; readonly name: string; readonly priceCents: number }[]
  readonly webhookIds: readonly number[]
}

/** Items per shop; a sale has a few of them. */
export const ITEMS = 50
export const CUSTOMERS = 20
const CATEGORIES = 10

/** More than any run can sell. */
export const STOCK = '900000000'

/** Fee of card payments, so that each has a surcharge to extract. */
export const CARD_FEE = '2.50'

export const TIME_ZONE = 'America/Sao_Paulo'

const SCOPES = ['sales:read', 'sales:write', 'customers:write', 'finance:read'] as const
/** Commands per request, the maximum of a batch. */
const BATCH = 500

/** Database of companies, and the store of their ledgers, if it is not Postgres. */
interface Ledgers {
  readonly url: string
  readonly eventStoreUrl?: string | undefined
}

interface ShopOptions {
  /** Store of the ledgers, if it is not Postgres. */
  readonly eventStoreUrl?: string | undefined
  /** URLs that receive webhooks of the sales of a shop, by its place. */
  readonly hooksOf?: (place: number) => readonly string[]
}

/** Creates shops through the service's own commands, sequentially, so that ids are in order. */
export function createShops(
  databaseUrl: string,
  count: number,
  { eventStoreUrl, hooksOf = () => [] }: ShopOptions = {},
): Promise<Shop[]> {
  const create = async (core: Core) => {
    const shops: Shop[] = []
    for (let place = 0; place < count; place++) shops.push(await createShop(core, place + 1, hooksOf(place)))
    return shops
  }
  return withCore(databaseUrl, create, eventStoreUrl)
}

async function createShop(core: Core, number: number, hooks: readonly string[]): Promise<Shop> {
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
  const company = { id: companyId, name, cnpj: '11.222.333/0001-81', plan: 'api' as const, logo_url: null }
  const [, , userId, cardId, ...records] = (await run(core, companyId, [
    invoke(registerCompany, { ...company, timezone: TIME_ZONE }),
    invoke(createApiKey, { name: 'bench', scopes: [...SCOPES], prefix, hash }),
    invoke(createUser, { name: 'Dona', email: `dona${companyId}@bench.example`, role: 'owner', password_hash: '' }),
    invoke(createPaymentType, { name: 'Cartão', kind: 'card', fee_percentage: CARD_FEE, due_days: 30 }),
    ...customers.map((name) => invoke(createCustomer, { external_id: name, name, phone: '11988887777' })),
    ...products.map(({ name, priceCents }, index) => product(index + 1, name, (priceCents / 100).toFixed(2))),
    ...hooks.map((url) =>
      invoke(registerWebhook, { url, events: ['sale.completed'], secret: formatWebhookSecret(randomBytes(32)) }),
    ),
  ])) as [number, number, number, number, ...number[]]
  const items = records.slice(CUSTOMERS)
  const holder = { userId, companyId, generation: 0, personGeneration: 0 }
  const tokens = createTokens(core.pool, { days: null, secret: core.requestSecret })
  const session = await createSessions(core.pool, () => {}).issue(holder)
  return {
    companyId,
    name,
    key,
    keyHash: hash,
    token: (await tokens.issue(holder)).token,
    cookie: `tillbook=${session.token}`,
    cardId,
    customers: customers.map((name, index) => ({ id: records[index] as number, name })),
    items: products.map((product, index) => ({ ...product, id: items[index] as number })),
    webhookIds: items.slice(ITEMS),
  }
}

const product = (number: number, name: string, price: string, more: object = {}): Invocation =>
  invoke(createItem, { type: 'product', name, external_id: `P-${number}`, price, stock: STOCK, ...more })

/** Fills the catalog of a shop up to `count` products in ten categories. */
export function createCatalog({ url, eventStoreUrl }: Ledgers, { companyId }: Shop, count: number): Promise<void> {
  const fill = async (core: Core) => {
    const names = Array.from({ length: CATEGORIES }, (_, number) => invoke(createCategory, { name: `Seção ${number}` }))
    const categories = await run(core, companyId, names)
    const items = Array.from({ length: count - ITEMS }, (_, index) => {
      const number = ITEMS + index + 1
      const barcode = String(7_890_000_000_000 + number)
      const more = { barcode, category_id: categories[number % CATEGORIES] ?? null }
      return product(number, `Produto com um nome como eles são, nº ${number}`, `${number % 500}.90`, more)
    })
    await run(core, companyId, items)
  }
  return withCore(url, fill, eventStoreUrl)
}

/** Fills a ledger with about `events` events of customers with accounts. */
export async function fillLedger(core: Core, companyId: number, events: number): Promise<void> {
  const due = { description: 'Mensalidade', amount: '150.00', due_date: '2026-03-10' }
  const people = Array.from({ length: Math.ceil(events / 3) }, (_, number) =>
    invoke(createCustomer, { person_type: 'PF', name: `Cliente nº ${number}` }),
  )
  const customers = await run(core, companyId, people)
  const accounts = await run(
    core,
    companyId,
    customers.map((customer_id) => invoke(createReceivable, { ...due, customer_id })),
  )
  const settled = accounts.map((id) => invoke(settleReceivable, { id, payment_method: 'pix' as const }))
  await run(core, companyId, settled)
}

/** Disables the endpoints, so that pending deliveries do not burden the next benchmark. */
export async function closeHooks({ url, eventStoreUrl }: Ledgers, shops: readonly Shop[]): Promise<void> {
  const close = async (core: Core) => {
    for (const { companyId, webhookIds } of shops) {
      const closed = webhookIds.map((id) => invoke(switchOffWebhook, { id, reason: 'requested' as const }))
      await run(core, companyId, closed)
    }
  }
  await withCore(url, close, eventStoreUrl)
}

export async function withCore<T>(
  databaseUrl: string,
  work: (core: Core) => Promise<T>,
  eventStoreUrl?: string,
): Promise<T> {
  const core = await openCore({
    masterKeys,
    databaseUrl,
    queryConnections: 2,
    log: (message, error) => console.error(message, error),
    onOutdated: () => {},
    eventStoreUrl,
  })
  return work(core).finally(() => core.close())
}

/** Runs commands in requests of the size of a batch, and returns the ids of the records, in order. */
async function run(core: Core, companyId: number, invocations: readonly Invocation[]): Promise<number[]> {
  const ids: number[] = []
  for (let start = 0; start < invocations.length; start += BATCH) {
    const results = await runList(core.writer, asSystem(companyId), invocations.slice(start, start + BATCH))
    for (const result of isRefusal(results) ? [results] : results) {
      if (isRefusal(result)) throw new Error(`refused: ${JSON.stringify(result)}`)
      ids.push(parseSubject(result.subject).id)
    }
  }
  return ids
}
