import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import { newKey } from '#access/api-keys.ts'
import type { Sessions } from '#access/sessions.ts'
import type { Tokens } from '#access/sync-access.ts'
import { createApiKey } from '#commands/api-keys.ts'
import { createItem } from '#commands/catalog/items.ts'
import { registerCompany } from '#commands/companies.ts'
import { createPaymentType } from '#commands/payment-types.ts'
import { createUser } from '#commands/users.ts'
import { registerWebhook } from '#commands/webhooks.ts'
import { webhookSecretOf } from '#domain/webhook-secret.ts'
import { invoke } from '#ledger/command.ts'
import { ensureLedger } from '#ledger/ledgers.ts'
import type { Core } from '#service/core.ts'
import type { Caller } from './calls.ts'
import { CARD_FEE, run, SCOPES_OF_BENCH, STOCK, TIME_ZONE } from './shop.ts'

/** One of many companies: all have the same items under the same ids, because ids are per company. */
export interface Company {
  readonly companyId: number
  readonly token: string
  readonly cookie: string
}

/** Enough for sales of three lines; a till's download is about 3 KB. */
const ITEMS = Array.from({ length: 12 }, (_, index) => ({
  id: index + 1,
  name: `Produto ${index + 1}`,
  priceCents: 199 + 37 * index,
}))
/** Id of the first record of each kind. */
const FIRST_ID = 1

/** Companies created at a time; their commits are shared. */
const AT_ONCE = 48

export const callerOf = ({ companyId, token, cookie }: Company): Caller => ({
  key: keyOf(companyId).key,
  token,
  cookie,
  cardId: FIRST_ID,
  items: ITEMS,
})

/** Derived, so it is not stored. */
export const keyOf = (companyId: number) => newKey(createHash('sha256').update(`bench ${companyId}`).digest(), 'test')

/** Target of new companies. */
interface Founding {
  readonly core: Core
  /** Shard that issues company ids. */
  readonly ids: Pool
  readonly sessions: Pick<Sessions, 'issue'>
  readonly tokens: Pick<Tokens, 'issue'>
  /** Runs before a company's first event. */
  register(companyId: number): Promise<void>
}

/**
 * Creates companies through the writer, each in one request; those with a URL from `webhookOf` receive webhooks of
 * their sales.
 */
export async function createCompanies(
  founding: Founding,
  count: number,
  webhookOf: (place: number) => string | null,
): Promise<Company[]> {
  const { rows } = await founding.ids.query<{ id: number }>(
    `select nextval('ops.company_ids') as id from generate_series(1, $1)`,
    [count],
  )
  const companies = new Array<Company>(count)
  let next = 0
  const work = async () => {
    for (let place = next++; place < count; place = next++) {
      companies[place] = await createCompany(founding, (rows[place] as { id: number }).id, webhookOf(place))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return companies
}

async function createCompany(founding: Founding, companyId: number, webhook: string | null): Promise<Company> {
  const { core } = founding
  await founding.register(companyId)
  await ensureLedger(core.pool, companyId)
  const { prefix, hash } = keyOf(companyId)
  await run(core, companyId, [
    invoke(registerCompany, {
      id: companyId,
      name: `Mercado ${companyId}`,
      cnpj: '11.222.333/0001-81',
      plan: 'api',
      timezone: TIME_ZONE,
      logo_url: null,
    }),
    invoke(createApiKey, { name: 'bench', scopes: [...SCOPES_OF_BENCH], prefix, hash }),
    invoke(createUser, { name: 'Dona', email: `dona${companyId}@bench.example`, role: 'owner', password_hash: '' }),
    invoke(createPaymentType, { name: 'Cartão', kind: 'card', fee_percentage: CARD_FEE, due_days: 30 }),
    ...ITEMS.map(({ name, priceCents }) =>
      invoke(createItem, {
        type: 'product',
        name,
        external_id: name,
        price: (priceCents / 100).toFixed(2),
        stock: STOCK,
      }),
    ),
    ...(webhook === null
      ? []
      : [invoke(registerWebhook, { url: webhook, events: ['basic'], secret: webhookSecretOf(hash) })]),
  ])
  const holder = { userId: FIRST_ID, companyId, generation: 0, personGeneration: 0 }
  const { token } = await founding.tokens.issue(holder)
  const session = await founding.sessions.issue(holder)
  return { companyId, token, cookie: `tillbook=${session.token}` }
}
