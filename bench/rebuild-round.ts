import { lowerHeapGrowth } from '#lib/heap.ts'
import type { Core } from '#service/core.ts'
import { countOwn, gaugeOf, type Spent } from './cost.ts'
import { readAll } from './history.ts'
import { withCore } from './shop.ts'

/**
 * One round of the rebuild benchmark: a separate process, like an operator's, rebuilds all tables and reads the same
 * events without applying them, in the given order. Prints the figures as JSON.
 */

/** Input of a round, in the variable ROUND. */
export interface RoundOrder {
  readonly databaseUrl: string
  /** Store of the ledgers, if it is not Postgres. */
  readonly eventStoreUrl?: string
  /** Last revision of each company. */
  readonly ends: readonly { readonly companyId: number; readonly revision: number }[]
  readonly first: 'rebuild' | 'reading'
}

/** Events per second, and peak memory during the rebuild. */
export interface RoundFigures {
  readonly rebuild: number
  readonly reading: number
  readonly peak_mib: number
  /** Cost of the rebuild, for all its events. */
  readonly spent: Spent | null
  readonly events: number
}

const SAMPLE_MS = 100
const MEBIBYTE = 1_048_576

const { databaseUrl, eventStoreUrl, ends, first } = JSON.parse(process.env.ROUND ?? '') as RoundOrder
const EVENTS = ends.reduce((sum, { revision }) => sum + revision + 1, 0)

lowerHeapGrowth()

const gauge = await gaugeOf(countOwn(databaseUrl), databaseUrl)

await withCore(databaseUrl, play, eventStoreUrl)

async function play(core: Core): Promise<void> {
  const early = first === 'reading' ? await readEverything(core) : null
  const { value, spent } = await gauge(() => rebuildOnce(core))
  const { rate, peak_mib, events } = value
  const reading = early ?? (await readEverything(core))
  const figures: RoundFigures = { rebuild: rate, reading, peak_mib, spent, events }
  console.log(JSON.stringify(figures))
}

async function rebuildOnce(core: Core): Promise<{ rate: number; peak_mib: number; events: number }> {
  let peak_mib = 0
  const timer = setInterval(() => {
    peak_mib = Math.max(peak_mib, Math.round(process.memoryUsage().rss / MEBIBYTE))
  }, SAMPLE_MS)
  const start = performance.now()
  try {
    const { events, parity } = await core.rebuild()
    const unequal = parity?.filter(({ equal }) => !equal) ?? []
    if (events < EVENTS || !parity || unequal.length > 0)
      throw new Error(`the rebuild made something else: ${JSON.stringify({ events, unequal })}`)
    return { rate: (events * 1000) / (performance.now() - start), peak_mib, events }
  } finally {
    clearInterval(timer)
  }
}

async function readEverything(core: Core): Promise<number> {
  const start = performance.now()
  for (const { companyId, revision } of ends) await readAll(core, companyId, revision)
  return (EVENTS * 1000) / (performance.now() - start)
}
