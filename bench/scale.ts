import type { Asked } from './calls.ts'
import { CROWD, measureCosts, runCalls } from './costs.ts'
import type { Environment } from './environment.ts'
import type { Measured } from './model/model.ts'
import { KINDS } from './model/workload.ts'
import { isNamed, isSelected, type Options } from './options.ts'
import { type Line, lowerIsBetter } from './report.ts'
import { measureInTurns, type Side } from './rounds.ts'
import { type Stage, withStage } from './stage.ts'

const HOMES = [1, 2, 4] as const
const SALES = 'scale-sales'
const READS = 'scale-reads'
const COSTS = 'scale-costs'
const OTHERS = HOMES.slice(1).flatMap((homes) => [`${SALES}-${homes}`, `${READS}-${homes}`, `${SALES}-${homes}-spread`])
export const SCALE_BENCHMARKS: readonly string[] = [...OTHERS, COSTS]

const COMPANIES_OF_HOME = 64
/** Calls under way at once at each home; as many more as there are homes. */
const CONNECTIONS_OF_HOME = 16
/** A sale or read may cost at most so many times what it costs with one home. */
const TARGET = 1.1

/**
 * Processor time of a sale and of a read, service and Postgres together, with one home and with several that each have as much
 * to do; and `spread`, with as much to do in all: groups of a home are smaller then. It takes minutes, so it has to be asked for
 * by name.
 */
export async function benchScale(environment: Environment, options: Options): Promise<Line[]> {
  const lines: Line[] = []
  if (isNamed(options, OTHERS)) lines.push(...(await benchHomes(environment, options)))
  if (isNamed(options, [COSTS])) await priceCalls(environment, options, printInputs)
  return lines
}

async function benchHomes(environment: Environment, options: Options): Promise<Line[]> {
  const stagesOf = async (numbers: readonly number[], stages: readonly Stage[]): Promise<Line[]> => {
    const [homes, ...rest] = numbers
    if (homes === undefined) return compareStages(stages, options)
    const wanted = { homes, companiesOfHome: COMPANIES_OF_HOME }
    return withStage(environment, wanted, (stage) => stagesOf(rest, [...stages, stage]))
  }
  return stagesOf(HOMES, [])
}

async function compareStages(stages: readonly Stage[], options: Options): Promise<Line[]> {
  const sides = stages.flatMap((stage) => {
    const homes = stage.homes.length
    return [
      side(`${SALES}-${homes}`, stage, 'sale', CONNECTIONS_OF_HOME * homes),
      side(`${READS}-${homes}`, stage, 'poll', CONNECTIONS_OF_HOME * homes),
      ...(homes > 1 ? [side(`${SALES}-${homes}-spread`, stage, 'sale', CONNECTIONS_OF_HOME)] : []),
    ]
  })
  const measured = sides.filter(({ name }) => name.endsWith('-1') || isSelected(options, name))
  const figures = await measureInTurns(measured, options)
  return measured
    .filter(({ name }) => !name.endsWith('-1'))
    .map(({ name }) => {
      const floor = name.startsWith(SALES) ? `${SALES}-1` : `${READS}-1`
      const target = name.endsWith('-spread') ? null : TARGET
      return lowerIsBetter(figures, { value: name, floor }, { name, unit: 'µs a call', target })
    })
}

function side(name: string, stage: Stage, kind: Asked, connections: number): Side {
  // Homes in turns, so that calls that follow each other go to different ones.
  const companies = Array.from({ length: COMPANIES_OF_HOME }, (_, place) => place).flatMap((place) =>
    stage.homes.flatMap(({ companies }) => companies[place] ?? []),
  )
  return {
    name,
    async measure(seconds) {
      const { service_us, postgres_us } = await runCalls(stage, companies, { kind, connections, seconds })
      return service_us + postgres_us
    },
  }
}

/** A service of one home, half of whose companies have a webhook, and what its calls cost. */
export async function priceCalls<T>(
  environment: Environment,
  options: Options,
  work: (measured: Measured) => T,
): Promise<T> {
  const receiver = await environment.start('dist/bench/webhook-receiver.js', {})
  const told = CROWD
  const webhookOf = (place: number) => (place < told ? `${receiver.url}/hooks/${place}` : null)
  return withStage(environment, { homes: 1, companiesOfHome: 2 * CROWD, webhookOf }, async (stage) => {
    const companies = stage.homes.flatMap((home) => home.companies)
    const priced = { ...stage, receiver, told: companies.slice(0, told), untold: companies.slice(told) }
    const of = `${new Date().toISOString().slice(0, 10)}, ${environment.database.description}, Node ${process.version}`
    return work(await measureCosts(priced, { rounds: options.rounds, seconds: options.seconds, of }))
  })
}

/** As bench/model/measured.ts has them. */
function printInputs(measured: Measured): void {
  for (const kind of KINDS) {
    const { alone, crowded, alone_ms } = measured.costs[kind]
    console.log(
      `${COSTS}: ${kind}: alone ${alone.service_us} + ${alone.postgres_us} µs, ${alone_ms} ms; ` +
        `among ${CROWD} ${crowded.service_us} + ${crowded.postgres_us} µs (service + Postgres)`,
    )
  }
  console.log(JSON.stringify(measured, null, 2))
}
