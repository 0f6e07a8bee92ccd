import { expect } from 'chai'
import fc from 'fast-check'
import { verifyLedger } from '#integrity/verify.ts'
import { type Envelope, streamOf } from '#ledger/command.ts'
import { type Json, startApi, type TestApi } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { draws, TITLE } from '../support/random.ts'
import { aCase, type Call, type Case } from './calls.ts'
import { checkOrder } from './check.ts'
import { shownCustomer } from './customers.ts'
import { shownItem } from './items.ts'
import { type Played, play } from './play.ts'
import { shownReceivable } from './receivables.ts'
import { shownSale } from './sales.ts'
import type { Sale, State } from './state.ts'
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
    for await (const event of core.store.read(streamOf(companyId), 0)) events.push(event)
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
