import { withCompanyAsOf } from '#audit/as-of.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Core } from '#service/core.ts'
import type { Books } from './books.ts'
import type { Environment } from './environment.ts'
import { fill, readAll } from './history.ts'
import { isSelected, type Options } from './options.ts'
import { compare, type Line } from './report.ts'
import { measureInTurns, type Side } from './rounds.ts'
import { createShops, withCore } from './shop.ts'

const EVENTS = 50_000
export const AS_OF_BENCHMARK = `as-of-${EVENTS}`

/** A company of 50,000 events as it was at its last one, against reading the same events without applying them. */
export async function benchAsOf({ database }: Environment, options: Options, _books: Books): Promise<Line[]> {
  if (!isSelected(options, AS_OF_BENCHMARK)) return []
  const [shop] = await createShops(database.url, 1)
  if (!shop) throw new Error('there is no shop to look back at')
  const figures = await withCore(database.url, async (core) => {
    const revision = await fill(core, shop.companyId, EVENTS)
    const sides: Side[] = [
      { name: 'as of', measure: perSecond(revision + 1, () => lookBack(core, shop.companyId, revision)) },
      { name: 'reading', measure: perSecond(revision + 1, () => readAll(core, shop.companyId, revision)) },
    ]
    return measureInTurns(sides, options)
  })
  const result = { name: AS_OF_BENCHMARK, unit: 'events/s', target: null }
  return [compare(figures, { value: 'as of', floor: 'reading' }, result)]
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
