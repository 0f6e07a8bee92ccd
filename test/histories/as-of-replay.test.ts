import { expect } from 'chai'
import fc from 'fast-check'
import { registerCompany } from '#commands/company-commands.ts'
import { createPaymentType } from '#commands/payment-type-commands.ts'
import type { Calendar } from '#domain/instant.ts'
import type { RecordKind } from '#domain/record-values.ts'
import { withCompanyAsOf } from '#integrity/as-of.ts'
import { type Invocation, invoke, isRefusal, type Origin } from '#ledger/command.ts'
import { ensureLedger } from '#ledger/ledgers.ts'
import { writeRequest } from '#ledger/write/writer.ts'
import { type EncodedText, toText } from '#lib/memory.ts'
import {
  getAccount,
  listAccounts,
  payableListing,
  receivableListing,
  searchAccounts,
  sumAccounts,
} from '#queries/account-queries.ts'
import { listUsers } from '#queries/company-queries.ts'
import { getRow, listActors } from '#queries/event-queries.ts'
import { summarize } from '#queries/finance-summary.ts'
import { getItem, getItemByExternalId, listItems, searchItems } from '#queries/item-queries.ts'
import { listUploads } from '#queries/offline-sale-queries.ts'
import { listOrders } from '#queries/order-queries.ts'
import {
  customerListing,
  getCustomer,
  listDeletedCustomers,
  listPersonsByName,
  supplierListing,
} from '#queries/person-queries.ts'
import { fullReader, Reader, WHOLE } from '#queries/reader.ts'
import { getSale, getSaleTraces, listLatestSales, listSales } from '#queries/sale-queries.ts'
import { listStores } from '#queries/store-queries.ts'
import { type Core, openCore } from '#service/core.ts'
import { useDatabase } from '../support/database.ts'
import { masterKeys } from '../support/master-key.ts'
import { createOutsideStore } from '../support/outside-store.ts'
import { explore } from '../support/random.ts'
import { invocationOf, type Known, kindOf, type Step, step } from '../support/random-history.ts'
import { withReplayedPast } from '../support/replayed-past.ts'

interface Past extends Calendar {
  readonly reader: Reader
  readonly known: Known
}

type Ask = (past: Past, cursor: { cursor?: string }) => Promise<unknown>

const LIMIT = { limit: 3 }
const SINCE = { updated_since: '2020-01-01T00:00:00.000Z' }

/** Lists with the filters of people and programs, page by page. */
const LISTS: Readonly<Record<string, Ask>> = {
  sales: ({ reader, timezone }, page) => listLatestSales(reader, { ...LIMIT, ...page, timezone }),
  'cancelled sales': ({ reader, timezone }, page) =>
    listLatestSales(reader, { ...LIMIT, ...page, timezone, status: 'cancelled' }),
  'sales of a customer': ({ reader, timezone }, page) =>
    listLatestSales(reader, { ...LIMIT, ...page, timezone, customer: 'a' }),
  'sales without a document': ({ reader, timezone }, page) =>
    listSales(reader, { ...LIMIT, ...page, timezone, fiscal: 'missing' }),
  'sales that changed': ({ reader, timezone }, page) => listSales(reader, { ...LIMIT, ...page, timezone, ...SINCE }),
  items: ({ reader }, page) => searchItems(reader, { ...LIMIT, ...page }),
  'items that are out of stock': ({ reader }, page) => searchItems(reader, { ...LIMIT, ...page, out_of_stock: true }),
  'items with a letter': ({ reader }, page) => searchItems(reader, { ...LIMIT, ...page, q: 'a' }),
  'items that changed': ({ reader }, page) => listItems(reader, { ...LIMIT, ...page, ...SINCE }),
  customers: ({ reader }, page) => listPersonsByName(reader, customerListing, { ...LIMIT, ...page, q: 'a' }),
  suppliers: ({ reader }, page) => listPersonsByName(reader, supplierListing, { ...LIMIT, ...page }),
  'deleted customers': ({ reader }, page) => listDeletedCustomers(reader, { ...LIMIT, ...page }),
  'pending receivables': ({ reader, today }, page) =>
    searchAccounts(reader, receivableListing, { ...LIMIT, ...page }, today),
  'settled receivables of somebody': ({ reader, today }, page) =>
    searchAccounts(reader, receivableListing, { ...LIMIT, ...page, view: 'settled', party_name: 'a' }, today),
  'overdue payables': ({ reader, today }, page) =>
    listAccounts(reader, payableListing, { ...LIMIT, ...page, status: 'overdue' }, today),
  orders: ({ reader }, page) => listOrders(reader, { ...LIMIT, ...page }, LINKED),
  users: ({ reader }, page) => listUsers(reader, { ...LIMIT, ...page }),
  uploads: ({ reader }, page) => listUploads(reader, { ...LIMIT, ...page, warned: false }),
}

const LINKED = { paymentLinks: { secret: Buffer.from('secret'), publicUrl: 'https://tillbook.example' } }

const OTHERS: Readonly<Record<string, Ask>> = {
  summary: ({ reader, ...calendar }) => summarize(reader, { from: '1999-01-01', to: '2099-12-31' }, calendar),
  'sum of accounts': ({ reader, today }) =>
    sumAccounts(reader, receivableListing, { view: 'all', party_name: 'a' }, today),
  stores: ({ reader }) => listStores(reader),
  actors: ({ reader, known }) =>
    listActors(
      reader,
      (known.get('user') ?? []).map((id) => `user/${id}`),
    ),
}

/** Queries of single records, by kind. */
const RECORDS: Readonly<Record<string, (past: Past, id: number) => Promise<unknown>>> = {
  sale: async ({ reader }, id) => [await getSaleTraces(reader, id), await getSale(reader, id)],
  catalog_item: async ({ reader }, id) => [await getItem(reader, id), await getItemByExternalId(reader, 'a')],
  customer: ({ reader }, id) => getCustomer(reader, id),
  receivable: ({ reader, today }, id) => getAccount(reader, receivableListing, id, today),
}

const ROWS: readonly RecordKind[] = [
  'company',
  'user',
  'api_key',
  'payment_type',
  'category',
  'payable',
  'order',
  'store',
]

const history = fc.array(fc.record({ step, origin: fc.constantFrom<Origin[]>('api', 'pdv', 'system') }), {
  minLength: 60,
  maxLength: 90,
})

const STORES = [
  { name: 'of a store in Postgres', store: undefined, runs: 2 },
  { name: 'of a store outside Postgres', store: createOutsideStore(), runs: 1 },
]

for (const { name, store, runs } of STORES)
  describe(`as of, ${name}`, () => {
    const database = useDatabase()
    let core: Core

    before(async () => {
      core = await openCore({
        masterKeys,
        databaseUrl: database.url,
        queryConnections: 4,
        log: console.error,
        onOutdated: () => {},
        ...(store && { store }),
      })
    })
    after(() => core.close())

    async function run(companyId: number, invocation: Invocation, origin: Origin = 'system'): Promise<number | null> {
      const answer = await writeRequest(core.writer, {
        companyId,
        invocations: [invocation],
        origin,
        actor: null,
        requestId: null,
      })
      return isRefusal(answer) || answer.json === '' ? null : (answer.record as { id: number }).id
    }

    async function open(): Promise<{ companyId: number; known: Known }> {
      const { rows } = await core.pool.query<{ id: number }>(`select nextval('ops.company_ids') as id`)
      const companyId = rows[0]?.id ?? 0
      await ensureLedger(core.pool, companyId)
      const company = { id: companyId, name: 'Loja', cnpj: '11.222.333/0001-81', plan: 'api', logo_url: null } as const
      await run(companyId, invoke(registerCompany, { ...company, timezone: 'America/Sao_Paulo' }))
      const cash = { name: 'Dinheiro', kind: 'cash', fee_percentage: '0.00', due_days: 30 } as const
      const id = await run(companyId, invoke(createPaymentType, cash))
      return { companyId, known: new Map([['payment_type', [id ?? 0]]]) }
    }

    async function play(companyId: number, known: Known, steps: readonly { step: Step; origin: Origin }[]) {
      for (const { step: each, origin } of steps) {
        const invocation = invocationOf(each, known)
        const id = invocation && (await run(companyId, invocation, origin))
        const ids = known.get(kindOf(each)) ?? []
        if (id !== null && !ids.includes(id)) known.set(kindOf(each), [...ids, id])
      }
    }

    /** All queries, by name. */
    function questions(known: Known): [string, (past: Past) => Promise<unknown>][] {
      const lists = Object.entries(LISTS).map(([list, ask]) => [list, pages(ask)] as const)
      const others = Object.entries(OTHERS).map(([other, ask]) => [other, (past: Past) => ask(past, {})] as const)
      const records = Object.entries(RECORDS).flatMap(([kind, get]) =>
        (known.get(kind) ?? []).slice(0, 3).map((id) => [`${kind}/${id}`, (past: Past) => get(past, id)] as const),
      )
      const rows = ROWS.flatMap((kind) =>
        (known.get(kind) ?? []).slice(0, 2).map((id) => {
          return [`row of ${kind}/${id}`, ({ reader }: Past) => getRow(reader, kind, id)] as const
        }),
      )
      return [...lists, ...others, ...records, ...rows].map(([asked, ask]) => [asked, ask])
    }

    it('equals, to the last byte, a replay of the whole ledger, for queries in any order [ASOF-1] [ASOF-4]', async () => {
      await explore(
        fc.asyncProperty(history, fc.array(fc.nat(), { minLength: 3, maxLength: 3 }), async (steps, places) => {
          const { companyId, known } = await open()
          await play(companyId, known, steps)
          const { rows } = await core.pool.query<{ revision: number }>(
            'select revision from ledgers where company_id = $1',
            [companyId],
          )
          const head = rows[0]?.revision ?? 0
          for (const place of places) {
            const revision = place % (head + 1)
            const asked = questions(known)
            const expected = new Map<string, string>()
            await withReplayedPast(core, companyId, revision, async ({ pool, calendar }) => {
              const reader = fullReader(pool, companyId)
              for (const [question, ask] of asked)
                expected.set(question, toldOf(await ask({ reader, known, ...calendar })))
            })
            // Each in its own past without earlier reads; and all in one.
            const groups = [...asked.map((one) => [one]), rotated(asked, place)]
            for (const group of groups) {
              await withCompanyAsOf(core, companyId, { revision }, async ({ source, calendar }) => {
                const reader = new Reader(companyId, source, WHOLE)
                for (const [question, ask] of group) {
                  const answer = toldOf(await ask({ reader, known, ...calendar }))
                  expect(answer, `${question} at ${revision} of ${head}`).to.equal(expected.get(question))
                }
                return null
              })
            }
          }
        }),
        runs,
      )
    }).timeout(240_000)
  })

/** Pages of a list, up to a limit. */
const pages =
  (ask: Ask) =>
  async (past: Past): Promise<unknown> => {
    const found: unknown[] = []
    let cursor: { cursor?: string } = {}
    for (let page = 0; page < 5; page++) {
      const answer = (await ask(past, cursor)) as { next: string | null; tables?: number }
      // Table identities are not part of the result.
      found.push({ ...answer, tables: null })
      if (!answer.next) break
      cursor = { cursor: answer.next }
    }
    return found
  }

const rotated = <T>(items: readonly T[], by: number): T[] => {
  const at = by % items.length
  return [...items.slice(at), ...items.slice(0, at)]
}

/** Result as text, independent of the memory of its records. */
const toldOf = (answer: unknown): string =>
  JSON.stringify(answer, (_name, value) => (isText(value) ? toText(value) : value)) ?? 'undefined'

const isText = (value: unknown): value is EncodedText =>
  Array.isArray(value) && value.length > 0 && value.every((part) => Buffer.isBuffer(part?.bytes))
