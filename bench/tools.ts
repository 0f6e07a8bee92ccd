import type { Books } from './books.ts'
import { type Call, generate } from './load.ts'
import { isSelected, type Options } from './options.ts'
import { compareTimes, type Line } from './report.ts'
import { createSales, saleTools } from './requests.ts'
import { measureInTurns, percentile, type Side } from './rounds.ts'
import type { Environment } from './servers.ts'

const TOOL = 'tool-call'
export const TOOL_BENCHMARKS: readonly string[] = [TOOL]

/** Relative to the same request to API v1. */
const TARGET = 1.5

/** A sale by the tool of agents, and the same sale by REST, one after the other: p95. */
export async function benchTools({ service, shops }: Environment, options: Options, books: Books): Promise<Line[]> {
  if (!isSelected(options, TOOL)) return []
  const { url } = service
  const side = (name: string, next: () => Call): Side => ({
    name,
    async measure(seconds) {
      const times: number[] = []
      const load = { url, connections: 1, seconds, next }
      const { answered } = await generate({ ...load, onAnswer: (_, { took_ms }) => times.push(took_ms) })
      books.acknowledge('service', answered)
      return percentile(times, 0.95)
    },
  })
  const figures = await measureInTurns([side(TOOL, saleTools(shops)), side('REST', createSales(shops))], options)
  return [compareTimes(figures, { name: TOOL, value: TOOL, floor: 'REST', unit: 'ms (p95)', target: TARGET })]
}
