import { createHash } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { v7 as uuidv7 } from 'uuid'
import { registerCompany } from '#commands/company-commands.ts'
import { createPaymentType } from '#commands/store-commands.ts'
import type { Calendar } from '#domain/instant.ts'
import type { RecordKind } from '#domain/record-values.ts'
import { EVENT_TYPES, type EventName } from '#events/catalogue.ts'
import { listSubjectKinds } from '#events/event-definitions.ts'
import { withPastCompany } from '#integrity/as-of.ts'
import {
  type Envelope,
  GENESIS_HASH,
  hashEnvelope,
  type Invocation,
  invoke,
  isRefusal,
  type Origin,
  streamName,
} from '#ledger/command.ts'
import { ensureLedger } from '#ledger/ledgers.ts'
import type { Request } from '#ledger/write/unit-of-work.ts'
import { writeRequest } from '#ledger/write/writer.ts'
import { type EncodedText, toText } from '#lib/fair-sharing.ts'
import {
  getAccount,
  listAccounts,
  payableListing,
  receivableListing,
  searchAccounts,
  sumAccounts,
} from '#queries/account-queries.ts'
import { listStores, listUsers } from '#queries/company-queries.ts'
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
import type { Core } from '#service/core.ts'
import { useDatabase } from '../support/database.ts'
import { expectSealed, openedEvents } from '../support/opened.ts'
import { createOutsideStore } from '../support/outside-store.ts'
import { explore } from '../support/random.ts'
import { invocationOf, type Known, kindOf, SECRETS, type Step, step } from '../support/random-history.ts'
import { withReplayedPast } from '../support/replayed-past.ts'
import { openTestCore } from '../support/test-core.ts'

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
      core = await openTestCore(database.url, { log: console.error, ...(store && { store }) })
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
              await withPastCompany(core, companyId, { revision }, async ({ source, calendar }) => {
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

/** Request of a client: one command, or several of a batch. */
interface Call {
  /** One of two companies. */
  readonly company: 0 | 1
  readonly steps: readonly Step[]
  readonly origin: Origin
  readonly key: string | null
}

const call: fc.Arbitrary<Call> = fc.record({
  company: fc.constantFrom(0 as const, 1 as const),
  steps: fc.oneof(
    { weight: 4, arbitrary: fc.tuple(step) },
    { weight: 1, arbitrary: fc.array(step, { minLength: 2, maxLength: 6 }) },
  ),
  origin: fc.constantFrom('api' as const, 'api' as const, 'pdv' as const, 'system' as const),
  key: fc.oneof({ weight: 12, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.constantFrom('k1', 'k2') }),
})

/** Groups of concurrent calls, one group after the other. */
const groupsOfCalls = fc.array(fc.array(call, { minLength: 4, maxLength: 12 }), { minLength: 8, maxLength: 12 })

/** Company with its known records. */
interface Opened {
  readonly id: number
  readonly known: Known
}

/** Event types that a random history must produce, or the test would prove little. */
const EXPECTED: readonly EventName[] = [
  'CompanyRegistered',
  'CompanyUpdated',
  'PaymentTypeCreated',
  'PaymentTypeUpdated',
  'UserCreated',
  'UserUpdated',
  'UserDeactivated',
  'UserReactivated',
  'UserPasswordChanged',
  'ApiKeyCreated',
  'ApiKeyRevoked',
  'CustomerCreated',
  'CustomerUpdated',
  'CustomerDeleted',
  'CustomerRevived',
  'SupplierCreated',
  'SupplierUpdated',
  'SupplierDeleted',
  'CategoryCreated',
  'CategoryUpdated',
  'CategoryDeleted',
  'CategoryRevived',
  'CatalogItemCreated',
  'CatalogItemUpdated',
  'CatalogItemDeactivated',
  'CatalogItemRevived',
  'StockAdjusted',
  'ReceivableCreated',
  'ReceivableUpdated',
  'ReceivableDeleted',
  'ReceivablePaymentReceived',
  'ReceivablePaymentReversed',
  'ReceivableSettled',
  'PayableCreated',
  'PayableUpdated',
  'PayableDeleted',
  'PayablePaymentMade',
  'PayablePaymentReversed',
  'PayableSettled',
  'SaleCompleted',
  'SaleCancelled',
  'OfflineSaleCompleted',
  'OfflineSaleCancelled',
  'FiscalDocumentRecorded',
]

/** Number of random histories per store; undefined is Postgres. */
const REPLAYS = [
  { name: 'replay', store: undefined, runs: 12, expected: EXPECTED },
  { name: 'replay from a store outside Postgres', store: createOutsideStore(), runs: 5, expected: [] },
] as const

for (const { name, store, runs, expected } of REPLAYS)
  describe(name, () => {
    const database = useDatabase()
    let core: Core
    const seen = new Set<string>()

    before(async () => {
      core = await openTestCore(database.url, { log: console.error, ...(store && { store }) })
    })
    after(() => core.close())

    const run = (
      { id: companyId }: Pick<Opened, 'id'>,
      invocations: readonly Invocation[],
      rest: Partial<Request> = {},
    ) =>
      writeRequest(core.writer, {
        companyId,
        invocations,
        origin: 'system',
        actor: null,
        requestId: uuidv7(),
        ...rest,
      })

    /** Company with a cash payment type. */
    async function open(): Promise<Opened> {
      const { rows } = await core.pool.query<{ id: number }>(`select nextval('ops.company_ids') as id`)
      const id = (rows[0] as { id: number }).id
      await core.found(id)
      const [timezone, logo_url] = ['America/Sao_Paulo', null]
      await run({ id }, [
        invoke(registerCompany, { id, name: 'Loja', cnpj: '11.222.333/0001-81', plan: 'api', timezone, logo_url }),
      ])
      const paid = await run({ id }, [
        invoke(createPaymentType, { name: 'Dinheiro', kind: 'cash', fee_percentage: '0.00', due_days: 30 }),
      ])
      if (isRefusal(paid)) throw new Error('setup: payment type refused')
      return { id, known: new Map([['payment_type', [(paid.record as { id: number }).id]]]) }
    }

    async function send({ steps, origin, key }: Call, { id, known }: Opened): Promise<void> {
      const tried = steps
        .flatMap((each) => {
          const invocation = invocationOf(each, known)
          return invocation ? [{ kind: kindOf(each), invocation }] : []
        })
        // A command that looks rows up is a request by itself.
        .filter(({ invocation: { command } }) => steps.length === 1 || !(command.lookup || command.isAlone))
      if (tried.length === 0) return
      const requestHash = createHash('sha256').update(JSON.stringify(steps)).digest('hex')
      const results: (string | null)[] = []
      const compose: Request['compose'] = (all) => {
        results.push(...all.map((result) => (isRefusal(result) ? null : result.json)))
        return { outcome: 'updated', json: '' }
      }
      const answer = await run(
        { id },
        tried.map(({ invocation }) => invocation),
        {
          origin,
          idempotency: key === null ? undefined : { key, requestHash },
          // A single command has its own response, so its event carries the key.
          ...(tried.length > 1 && { compose }),
        },
      )
      if (tried.length === 1 && !isRefusal(answer)) results.push(answer.json)
      for (const [position, body] of results.entries()) {
        const kind = tried[position]?.kind
        if (!body || kind === undefined) continue
        const ids = known.get(kind) ?? []
        const { id: recordId } = JSON.parse(body)
        known.set(kind, ids.includes(recordId) ? ids : [...ids, recordId])
      }
    }

    async function eventsOf({ id: companyId }: Opened): Promise<Envelope[]> {
      const events: Envelope[] = []
      for await (const event of core.store.read(streamName(companyId), 0)) events.push(event)
      return events
    }

    /** Revisions without gaps, non-decreasing times, and a chain of hashes. */
    async function expectChain({ id: companyId }: Opened, events: readonly Envelope[]): Promise<void> {
      let previous = { hash: GENESIS_HASH, recorded_at: '' }
      for (const [revision, event] of events.entries()) {
        const { hash, ...rest } = event
        expect(rest).to.include({ revision, stream: streamName(companyId), previous_hash: previous.hash })
        expect(hashEnvelope(rest)).to.equal(hash)
        expect(event.recorded_at >= previous.recorded_at).to.equal(true)
        previous = event
      }
      const { rows } = await core.pool.query(
        'select revision, hash, last_recorded_at from ops.ledgers where company_id = $1',
        [companyId],
      )
      expect(rows).to.deep.equal([
        { revision: events.length - 1, hash: previous.hash, last_recorded_at: previous.recorded_at },
      ])
    }

    /** Secrets of a company outside its ledger, in every form that an event could contain. */
    async function secretsOf({ id: companyId }: Opened): Promise<string[]> {
      const { rows } = await core.pool.query<{ secret: string }>(
        `select password_hash as secret from ops.persons where $1 > 0
       union all
       select unnest(array[encode(hash, 'hex'), replace(encode(hash, 'base64'), '=', '')]) from ops.api_key_secrets where company_id = $1`,
        [companyId],
      )
      return [...SECRETS, ...rows.map((row) => row.secret)]
    }

    /** Each event matches the catalogue, to the last member, and contains no secret. */
    function expectCatalogued(events: readonly Envelope[], secrets: readonly string[]): void {
      for (const event of events) {
        const type = EVENT_TYPES[event.type as EventName]
        expect(type, event.type).to.be.an('object')
        expect(event.version).to.equal(type.version)
        expect(type.data.parse(event.data)).to.deep.equal(event.data)
        expect(listSubjectKinds(type).map((kind) => `${kind}/${(event.data as { id: number }).id}`)).to.include(
          event.subject,
        )
        const text = JSON.stringify(event)
        for (const secret of secrets) expect(text).to.not.include(secret)
        seen.add(event.type)
      }
    }

    it('any history replays to equal tables, byte for byte [LEDGER-5, LEDGER-10, OPS-45]', async () => {
      await explore(
        fc.asyncProperty(groupsOfCalls, async (groups) => {
          const companies = [await open(), await open()] as const
          for (const calls of groups) await Promise.all(calls.map((each) => send(each, companies[each.company])))
          for (const company of companies) {
            const events = await eventsOf(company)
            await expectChain(company, events)
            expectSealed(events)
            expectCatalogued(await openedEvents(core, company.id), await secretsOf(company))
          }
          for (const { id } of companies) {
            const found = await core.verifyTables(id)
            expect(found).to.deep.include({ kind: 'verified', differences: [] })
            const revision = found.kind === 'verified' ? found.revision : -1
            for (const verified of [-1, 1, ...[1, 2, 3].map((part) => Math.floor((revision * part) / 4)), revision - 1])
              expect(
                await core.verifyChanges([{ company_id: id, revision: verified }], async () => {}),
                `since ${verified} of ${revision}`,
              ).to.deep.equal([{ company_id: id, revision }])
          }
          const { parity } = await core.rebuild()
          expect(parity?.filter(({ equal }) => !equal)).to.deep.equal([])
        }),
        runs,
      )
      // Random: a rare event type may be missing.
      const missing = [...expected].filter((type) => !seen.has(type))
      expect(missing.length, missing.join()).to.be.below(7)
    }).timeout(240_000)
  })
