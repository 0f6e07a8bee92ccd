import { streamName } from '#ledger/command.ts'
import { lowerHeapGrowth } from '#lib/fair-sharing.ts'
import type { Core } from '#service/core.ts'
import { countOwn, gaugeOf, type Spent } from './cost.ts'
import { withCore } from './shop.ts'

/**
 * One round of a rebuild or a comparison: a separate process, like an operator's, works through all events and reads
 * them without applying them, in the given order. Prints the figures as JSON.
 */

/** Input of a round, in the variable ROUND. */
export interface RoundOrder {
  readonly databaseUrl: string
  /** Store of the ledgers, if it is not Postgres. */
  readonly eventStoreUrl: string | undefined
  /** Last revision of each company. */
  readonly ends: readonly { readonly companyId: number; readonly revision: number }[]
  readonly work: keyof typeof WORKS
  readonly first: 'work' | 'reading'
}

/** Events per second. */
export interface RoundFigures {
  readonly rate: number
  readonly reading: number
  /** Cost of the work, for all its events. */
  readonly spent: Spent | null
  readonly events: number
}

const { databaseUrl, eventStoreUrl, ends, work, first } = JSON.parse(process.env.ROUND ?? '') as RoundOrder
const EVENTS = ends.reduce((sum, { revision }) => sum + revision + 1, 0)

/** New events of a company in a day, by its mean of sales; and comparisons of them, by turns. */
const CHANGED = 47
const COMPARISONS = 200

const WORKS = { rebuild: rebuildAll, comparison: compareAll, 'comparison-of-changes': compareChanges }

lowerHeapGrowth()

const gauge = await gaugeOf(countOwn(databaseUrl), databaseUrl)

await withCore(databaseUrl, measure, eventStoreUrl)

async function measure(core: Core): Promise<void> {
  const early = first === 'reading' ? (await perSecond(() => readAll(core))).rate : null
  const { value, spent } = await gauge(() => perSecond(() => WORKS[work](core)))
  const { rate, events } = value
  const reading = early ?? (await perSecond(() => readAll(core))).rate
  const figures: RoundFigures = { rate, reading, spent, events }
  console.log(JSON.stringify(figures))
}

/** Number of worked events, and their rate. */
async function perSecond(once: () => Promise<number>): Promise<{ rate: number; events: number }> {
  const start = performance.now()
  const events = await once()
  return { rate: (events * 1_000) / (performance.now() - start), events }
}

async function rebuildAll(core: Core): Promise<number> {
  const { events, parity } = await core.rebuild()
  const unequal = parity?.filter(({ equal }) => !equal) ?? []
  if (events < EVENTS || !parity || unequal.length > 0)
    throw new Error(`the rebuild made something else: ${JSON.stringify({ events, unequal })}`)
  return events
}

async function compareAll(core: Core): Promise<number> {
  for (const { companyId } of ends) {
    const found = await core.verifyTables(companyId)
    if (found.kind !== 'verified' || found.differences.length > 0)
      throw new Error(`the tables of company ${companyId} are not equal to its ledger: ${JSON.stringify(found)}`)
  }
  return EVENTS
}

async function readAll(core: Core): Promise<number> {
  for (const { companyId, revision } of ends) {
    let last = -1
    for await (const event of core.store.read(streamName(companyId), 0)) last = event.revision
    if (last !== revision) throw new Error(`the ledger ends at ${last}, not at ${revision}`)
  }
  return EVENTS
}

async function compareChanges(core: Core): Promise<number> {
  const checks = Array.from({ length: COMPARISONS }, (_, place) => {
    const { companyId, revision } = ends[place % ends.length] as RoundOrder['ends'][number]
    return { company_id: companyId, revision: revision - CHANGED }
  })
  const equal = await core.verifyChanges(checks, async () => {})
  if (equal.length < COMPARISONS)
    throw new Error(`${COMPARISONS - equal.length} comparisons of changes found none equal`)
  return COMPARISONS * CHANGED
}
