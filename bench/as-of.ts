import { createCustomer } from '../commands/customers/create-customer.ts'
import { createReceivable, settleReceivable } from '../commands/receivables/receivable-commands.ts'
import { withCompanyAsOf } from '../src/audit/as-of.ts'
import type { Core } from '../src/core.ts'
import { invoke, isRefusal } from '../src/ledger/command.ts'
import { streamOf } from '../src/ledger/envelope.ts'
import type { Books } from './books.ts'
import type { Environment } from './environment.ts'
import { isSelected, type Options } from './options.ts'
import { compare, type Line } from './report.ts'
import { measureInTurns, type Side } from './rounds.ts'
import { createShops, run, withCore } from './shop.ts'

const EVENTS = 50_000
export const AS_OF_BENCHMARK = `as-of-${EVENTS}`
/** Commands of one request, as many as a batch may have. */
const BATCH = 500

/** A company of 50,000 events as it was at its last one, against reading the same events without applying them. */
export async function benchAsOf({ database }: Environment, options: Options, _books: Books): Promise<Line[]> {
  if (!isSelected(options, AS_OF_BENCHMARK)) return []
  const [shop] = await createShops(database.url, 1)
  if (!shop) throw new Error('there is no shop to look back at')
  const figures = await withCore(database.url, async (core) => {
    const revision = await fill(core, shop.companyId)
    const sides: Side[] = [
      { name: 'as of', measure: perSecond(revision + 1, () => lookBack(core, shop.companyId, revision)) },
      { name: 'reading', measure: perSecond(revision + 1, () => readAll(core, shop.companyId, revision)) },
    ]
    return measureInTurns(sides, options)
  })
  const result = { name: AS_OF_BENCHMARK, unit: 'events/s', target: null }
  return [compare(figures, { value: 'as of', floor: 'reading' }, result)]
}

/** Customers who owe, and pay. Returns the revision of the last event. */
async function fill(core: Core, companyId: number): Promise<number> {
  let revision = -1
  for (let count = 0; revision < EVENTS; count += BATCH) {
    const numbers = Array.from({ length: BATCH }, (_, index) => count + index)
    const customers = numbers.map((number) =>
      invoke(createCustomer, { person_type: 'PF', name: `Cliente nº ${number}` }),
    )
    const ids = await run(core, companyId, customers)
    const due = ids.map((customer_id) => ({
      description: 'Mensalidade',
      amount: '150.00',
      due_date: '2026-03-10',
      customer_id,
    }))
    const accounts = await run(
      core,
      companyId,
      due.map((account) => invoke(createReceivable, account)),
    )
    const payments = accounts.map((id) => invoke(settleReceivable, { id, payment_method: 'pix' as const }))
    await run(core, companyId, payments)
    const { rows } = await core.pool.query<{ revision: number }>('select revision from ledgers where company_id = $1', [
      companyId,
    ])
    revision = rows[0]?.revision ?? -1
  }
  return revision
}

/** Does it again until the time is over, at least once. */
const perSecond = (events: number, work: () => Promise<void>) => async (seconds: number) => {
  const start = performance.now()
  let times = 0
  do {
    await work()
    times += 1
  } while (performance.now() - start < seconds * 1000)
  return (times * events * 1000) / (performance.now() - start)
}

async function lookBack(core: Core, companyId: number, revision: number): Promise<void> {
  const found = await withCompanyAsOf(core, companyId, { revision }, async ({ pool }) => {
    const { rows } = await pool.query<{ count: number }>('select count(*) from customers')
    return { customers: rows[0]?.count ?? 0 }
  })
  if (isRefusal(found) || found.customers < EVENTS / 3) throw new Error('the company as it was has lost its customers')
}

async function readAll(core: Core, companyId: number, revision: number): Promise<void> {
  let last = -1
  for await (const event of core.store.read(streamOf(companyId), 0)) last = event.revision
  if (last !== revision) throw new Error(`the ledger ends at ${last}, not at ${revision}`)
}
