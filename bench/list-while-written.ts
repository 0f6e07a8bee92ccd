import type { Books } from './books.ts'
import { costingOf } from './cost.ts'
import { Tally } from './day/tally.ts'
import type { Environment } from './environment.ts'
import { generate } from './load.ts'
import { isSelected, type Options } from './options.ts'
import { sendPaced } from './paced.ts'
import type { Line } from './report.ts'
import { measureInTurns, median, type Side, spread } from './rounds.ts'
import { createSaleRequests } from './sale-requests.ts'
import { LIMIT, requestsForOtherPages } from './sales-list.ts'

export const LIST_WHILE_WRITTEN_BENCHMARK = 'list-while-written'

/** Sales in the list at the start. */
const SALES = 1_000
const WRITES_PER_SECOND = 100
const READS_PER_SECOND = 20
const TARGET_MS = 30

/** GET /sales?limit=200 of a company that sells 100 times a second, so that no cached page is current: p95. */
export async function benchListWhileWritten(environment: Environment, options: Options, books: Books): Promise<Line[]> {
  if (!isSelected(options, LIST_WHILE_WRITTEN_BENCHMARK)) return []
  const { service, listShop, database } = environment
  const { url } = service
  const sale = createSaleRequests([listShop])
  const filled = await generate({ url, connections: 32, seconds: 60, status: 201, next: sale, requests: SALES })
  books.acknowledge('service', filled.answered)
  const page = requestsForOtherPages(listShop.key)
  const costing = await costingOf(service, database, `page of ${LIMIT}, five sales and all`)

  async function readWhileWriting(seconds: number): Promise<{ p95_ms: number; pages: number }> {
    const askedAt = new Map<string, number>()
    const next = () => {
      const request = page()
      askedAt.set(request, performance.timeOrigin + performance.now())
      return request
    }
    const [written, read] = await Promise.all([
      sendPaced({ url, perSecond: WRITES_PER_SECOND, seconds, status: 201, next: sale }),
      sendPaced({ url, perSecond: READS_PER_SECOND, seconds, status: 200, next }),
    ])
    books.acknowledge('service', written.size)
    const tally = new Tally()
    for (const [request, at] of read) tally.answered(at - (askedAt.get(request) ?? at))
    return { p95_ms: tally.percentile(0.95), pages: read.size }
  }
  const side: Side = {
    name: 'service',
    measure: async (seconds) =>
      (
        await costing.round(
          () => readWhileWriting(seconds),
          ({ pages }) => pages,
        )
      ).p95_ms,
  }
  const times = (await measureInTurns([side], options)).get('service') ?? []
  const value = Math.round(median(times) * 10) / 10
  const line: Line = {
    name: LIST_WHILE_WRITTEN_BENCHMARK,
    value,
    unit: 'ms (p95)',
    floor: TARGET_MS,
    ratio: Math.round((value / TARGET_MS) * 1000) / 1000,
    target: 1,
    higher_is_better: false,
    against: 'what it may take',
    spreads: [spread(times)],
    cost: costing.cost(),
  }
  return [line]
}
