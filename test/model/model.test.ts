import { expect } from 'chai'
import fc from 'fast-check'
import { verifyLedger } from '#integrity/verify.ts'
import { type Envelope, streamName } from '#ledger/command.ts'
import { type Json, startApi, type TestApi } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { draws, TITLE } from '../support/random.ts'
import { aCase, type Call, type Case } from './calls.ts'
import { checkOrder } from './check.ts'
import { shownCustomer } from './customers.ts'
import { shownItem } from './items.ts'
import { type Observation, type Played, play } from './play.ts'
import { shownReceivable } from './receivables.ts'
import { shownSale } from './sales.ts'
import { answered, type Outcome, refused, type Sale, type State } from './state.ts'
import { shownAs } from './wire-form.ts'

/** Random histories, each in a new company. A seed repeats them, as far as concurrency can be repeated. */
const DRAWS = draws(300)
/** Companies that run concurrently. */
const AT_A_TIME = 12

describe(`the service compared with its model (${TITLE})`, function () {
  this.timeout(0)
  const database = useDatabase()
  const logged: unknown[] = []
  const outcomes = new Map<string, number>()
  let api: TestApi
  let other: TestApi

  before(async () => {
    const log = (message: string, error: unknown) => logged.push(message, error)
    api = await startApi(database.url, { log })
    other = await startApi(database.url, { log })
  })
  after(async () => {
    await other.close()
    await api.close()
  })

  async function eventsOf({ companyId, core }: Played): Promise<Envelope[]> {
    const events: Envelope[] = []
    for await (const event of core.store.read(streamName(companyId), 0)) events.push(event)
    return events
  }

  /** Runs a case and checks it against the model. */
  async function hold(one: Case): Promise<void> {
    const played = await play([api, other], one)
    await expectAsModel(played, checkOrder(played, await eventsOf(played)))
    for (const { call, outcome, isReplayed } of played.observations) {
      const { code = outcome.status } = (outcome.body ?? {}) as { code?: string }
      const name = `${call.act} ${isReplayed ? 'replayed' : code}`
      outcomes.set(name, (outcomes.get(name) ?? 0) + 1)
    }
  }

  /** The final tables equal the model's state. */
  async function expectAsModel({ companyId, core }: Played, state: State): Promise<void> {
    const { rows } = await core.pool.query<{ act: Call['act']; doc: Json }>(
      `select 'getItem' as act, id, (doc::jsonb || jsonb_build_object('stock', stock::text))::json as doc
       from read.catalog_items join read.item_stocks using (company_id, id) where company_id = $1 and deleted_at is null
       union all select 'getCustomer', id, doc from read.customers where company_id = $1 and deleted_at is null
       union all select 'getReceivable', id, doc from read.receivables where company_id = $1 and deleted_at is null
       union all select 'getSale', id, doc from read.sales where company_id = $1
       order by act, id`,
      [companyId],
    )
    const live = <R extends { id: number; deleted?: boolean }>(all: ReadonlyMap<number, R>) =>
      [...all.values()].filter((one) => !one.deleted).sort((a, b) => a.id - b.id)
    expect(rows.map(({ act, doc }) => shownAs(act)(doc))).to.deep.equal([
      ...live(state.customers).map(shownCustomer),
      ...live(state.items).map(shownItem),
      ...live(state.receivables).map(shownReceivable),
      ...live<Sale & { deleted?: boolean }>(state.sales).map(shownSale),
    ])
  }

  const property = () => fc.asyncProperty(aCase, hold)

  it('responds to every call as one order of all calls explains [LEDGER-7]', async () => {
    const cases = DRAWS.flatMap(({ seed, runs }) =>
      fc.sample(aCase, { seed, numRuns: runs }).map((history, place) => ({ history, seed, path: String(place) })),
    )
    let next = 0
    let failed: (typeof cases)[number] | null = null
    const worker = async () => {
      while (next < cases.length && failed === null) {
        const one = cases[next++] as (typeof cases)[number]
        await hold(one.history).catch((error: unknown) => {
          failed ??= one
          throw new Error(`${error instanceof Error ? error.message : error}\n${JSON.stringify(one)}`)
        })
      }
    }
    const results = await Promise.allSettled(Array.from({ length: AT_A_TIME }, worker))
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []))
    if (failed) {
      const { seed, path } = failed
      // The same case again, shrunk as long as it fails.
      const shrunk = await fc.check(property(), { seed, path, numRuns: 1 })
      const smaller = shrunk.failed ? `\nand, smaller: ${fc.defaultReportMessage(shrunk)}` : ''
      throw new Error(`${failures.map((error) => error.message).join('\n')}${smaller}`)
    }
    expect(logged).to.deep.equal([])
  })

  it('and was called with nearly all outcomes of the model', () => {
    // Random: a rare outcome may be missing.
    const missing = KNOWN.filter((outcome) => !outcomes.has(outcome))
    expect(missing).to.have.length.below(KNOWN.length / 8)
  })

  it('and leaves valid ledgers, and tables that equal a replay', async () => {
    const { rows } = await api.core.pool.query<{ id: number }>('select company_id as id from ops.ledgers')
    for (const { id } of rows) expect(await verifyLedger(api.core, id)).to.include({ valid: true })
    const { parity } = await api.core.rebuild()
    expect(parity?.filter(({ equal }) => !equal)).to.deep.equal([])
    expect(rows.length).to.be.at.least(DRAWS[0]?.runs ?? 0)
  })
})

/** Outcomes that random cases must produce, or they would prove little. */
const KNOWN = [
  'createItem 201',
  'createItem duplicate_resource',
  'putItem 200',
  'putItem 201',
  'putItem duplicate_resource',
  'patchItem 200',
  'patchItem insufficient_stock',
  'patchItem not_found',
  'patchItem validation_failed',
  'deleteItem 204',
  'getItem 200',
  'getItem not_found',
  'listItems 200',
  'batchItems 200',
  'batchItems 207',
  'createCustomer 201',
  'createCustomer duplicate_resource',
  'putCustomer 200',
  'putCustomer duplicate_resource',
  'patchCustomer 200',
  'deleteCustomer 204',
  'batchCustomers 207',
  'createReceivable duplicate_resource',
  'putReceivable 200',
  'patchReceivable 200',
  'deleteReceivable 204',
  'settle 200',
  'settle already_settled',
  'settle idempotency_key_reuse',
  'sell 201',
  'sell replayed',
  'sell duplicate_resource',
  'sell idempotency_key_reuse',
  'sell insufficient_stock',
  'sell payment_mismatch',
  'sell validation_failed',
  'cancel 200',
  'cancel managed_by_pdv',
  'upload 200',
]

const ITEM = { external_id: null, name: 'Café', price: '5.00', barcode: null }
const cafe = (stock: string): Outcome => answered(200, { id: 1, ...ITEM, stock })
const creation: Call = { act: 'createItem', body: { name: 'Café', price: 5, stock: 1 } }
const reading: Call = { act: 'getItem', id: 1 }
const adding = (stock_adjustment: number): Call => ({ act: 'patchItem', id: 1, body: { stock_adjustment } })
const lacking: Outcome = refused(422, 'insufficient_stock', {
  catalog_item_id: 1,
  requested: '1.000',
  available: '0.000',
  items: [{ catalog_item_id: 1, requested: '1.000', available: '0.000' }],
})

/** Call during an interval, with the revision of its response. */
const seen = (requestId: string, call: Call, outcome: Outcome, [began, ended]: [number, number], revision: number) =>
  ({ requestId, call, outcome, began, ended, revision, isReplayed: false }) satisfies Observation

/** Ledger with the events of these requests, after one earlier event. */
const ledger = (...causes: readonly (readonly [requestId: string, type: string])[]) =>
  [['', 'CompanyRegistered'] as const, ...causes].map(
    ([request_id, type], revision) => ({ request_id, type, revision, subject: 'catalog_item/1' }) as Envelope,
  )

const created = seen('a', creation, { ...cafe('1.000'), status: 201 }, [0, 1], 1)
const check = (observations: readonly Observation[], events: readonly Envelope[]) =>
  checkOrder({ companyId: 1, start: 0, observations }, events)

describe('linearizability check', () => {
  const two = ledger(['a', 'CatalogItemCreated'], ['b', 'StockAdjusted'])
  const taken = seen('b', adding(-1), cafe('0.000'), [2, 5], 2)

  it('accepts reads before, during and after a write', () => {
    const reads = [
      seen('c', reading, cafe('1.000'), [3, 6], 1),
      seen('d', reading, cafe('0.000'), [3, 4], 2),
      seen('e', reading, cafe('0.000'), [6, 7], 2),
    ]
    expect(check([created, taken, ...reads], two).items.get(1)).to.include({ stock: 0 })
  })

  it('rejects a write with a response other than the one at its revision', () => {
    const wrong = { ...taken, outcome: cafe('1.000') }
    expect(() => check([created, wrong], two)).to.throw('should be')
  })

  it('rejects two clients that both got the last unit', () => {
    const again = seen('c', adding(-1), cafe('0.000'), [2, 5], 3)
    const events = ledger(['a', 'CatalogItemCreated'], ['b', 'StockAdjusted'], ['c', 'StockAdjusted'])
    expect(() => check([created, taken, again], events)).to.throw('should be')
  })

  it('rejects a read older than an earlier response', () => {
    const stale = seen('c', reading, cafe('1.000'), [6, 7], 1)
    expect(() => check([created, taken, stale], two)).to.throw('though it had been answered at 1')
  })

  it('rejects a record that differs from the one at its revision', () => {
    const mixed = seen('c', reading, cafe('0.000'), [3, 6], 1)
    expect(() => check([created, taken, mixed], two)).to.throw('nowhere between 1 and 1')
  })

  it('accepts a refusal that was correct between request and response, and no other', () => {
    const refusal = (time: [number, number]) => seen('c', adding(-1), lacking, time, 1)
    expect(check([created, taken, refusal([3, 6])], two).items.get(1)).to.include({ stock: 0 })
    const later = seen('d', reading, cafe('1.000'), [2, 3], 1)
    expect(() => check([created, taken, refusal([1, 2]), { ...later, began: 2 }], two)).to.throw(
      'nowhere between 1 and 1',
    )
  })

  it('rejects a write ordered before one that had finished when it began', () => {
    const late = seen('a', creation, { ...cafe('1.000'), status: 201 }, [8, 9], 1)
    const early = seen('d', { act: 'listItems' }, answered(200, []), [0, 1], 0)
    const noted = { ...early, began: 6, ended: 7, revision: 1, outcome: answered(200, [cafe('1.000').body]) }
    expect(() => check([late, noted], ledger(['a', 'CatalogItemCreated']))).to.throw('was over before it began')
  })

  it('rejects events without a call, or too many for a call', () => {
    expect(() => check([created], two)).to.throw('has no call')
    expect(() => check([created], ledger(['a', 'CatalogItemCreated'], ['a', 'StockAdjusted']))).to.throw(
      'which should be 1',
    )
  })
})
