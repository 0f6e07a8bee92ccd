import type { Core } from '../src/core.ts'
import type { Books } from './books.ts'
import type { Environment } from './environment.ts'
import { fill, readAll } from './history.ts'
import { isSelected, type Options } from './options.ts'
import { compare, type Line } from './report.ts'
import { createShops, withCore } from './shop.ts'

const COMPANIES = 4
const EVENTS = 200_000
export const REBUILD_BENCHMARK = `rebuild-${EVENTS}`
/** Applying events may be so much slower than reading them. */
const TARGET = 0.3
const SAMPLE_MS = 100
const MEBIBYTE = 1_048_576

/** All tables anew from 200,000 events of four companies, against reading the same events without applying them. */
export async function benchRebuild({ database }: Environment, options: Options, _books: Books): Promise<Line[]> {
  if (!isSelected(options, REBUILD_BENCHMARK)) return []
  const shops = await createShops(database.url, COMPANIES)
  return withCore(database.url, async (core) => {
    const ends = new Map<number, number>()
    for (const { companyId } of shops) ends.set(companyId, await fill(core, companyId, EVENTS / COMPANIES))
    const figures = new Map<string, number[]>([
      ['rebuild', []],
      ['reading', []],
    ])
    const peaks: number[] = []
    // One after the other, without a warm-up: each takes long enough.
    for (let round = 0; round < options.rounds; round++) {
      const { rate, peak } = await rebuildOnce(core)
      figures.get('rebuild')?.push(rate)
      peaks.push(peak)
      figures.get('reading')?.push(await readEverything(core, ends))
    }
    console.log(`rebuild: at most ${Math.max(...peaks)} MiB of the process's memory`)
    const result = { name: REBUILD_BENCHMARK, unit: 'events/s', target: TARGET }
    return [compare(figures, { value: 'rebuild', floor: 'reading' }, result)]
  })
}

/** Events a second, and the most memory that the process had meanwhile. */
async function rebuildOnce(core: Core): Promise<{ rate: number; peak: number }> {
  let peak = 0
  const sample = () => {
    peak = Math.max(peak, Math.round(process.memoryUsage().rss / MEBIBYTE))
  }
  const timer = setInterval(sample, SAMPLE_MS)
  const start = performance.now()
  try {
    const { events, parity } = await core.rebuild()
    const unequal = parity?.filter(({ equal }) => !equal) ?? []
    if (events < EVENTS || unequal.length > 0)
      throw new Error(`the rebuild made something else: ${JSON.stringify(unequal)}`)
    return { rate: (events * 1000) / (performance.now() - start), peak }
  } finally {
    clearInterval(timer)
  }
}

async function readEverything(core: Core, ends: ReadonlyMap<number, number>): Promise<number> {
  const start = performance.now()
  let events = 0
  for (const [companyId, revision] of ends) {
    await readAll(core, companyId, revision)
    events += revision + 1
  }
  return (events * 1000) / (performance.now() - start)
}
