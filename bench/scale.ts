import { CROWD, measureCosts, type Running, runCalls } from './costs.ts'
import type { Environment } from './environment.ts'
import type { Measured } from './model/model.ts'
import { KINDS } from './model/workload.ts'
import { isNamed, isSelected, type Options } from './options.ts'
import { type Line, lowerIsBetter } from './report.ts'
import { measureInTurns, median, type Side } from './rounds.ts'
import { type Stage, withStage } from './stage.ts'

const SHARDS = [1, 2, 4] as const
const SALES = 'scale-sales'
const READS = 'scale-reads'
const FULL = 'scale-full'
const COSTS = 'scale-costs'
const OTHERS = SHARDS.slice(1).flatMap((shards) => [SALES, READS, FULL].map((name) => `${name}-${shards}`))
export const SCALE_BENCHMARKS: readonly string[] = [...OTHERS, COSTS]

const COMPANIES_OF_SHARD = 64
/** Without the projector, which is measured separately. */
const CALLED_ROLES = 'api,dispatcher'
/** Calls per shard: the busiest minute of a day of 100,000 companies. */
const PER_SECOND = 40
/** Connections per shard that send the next call after each response. */
const CONNECTIONS_OF_SHARD = 16
/** Highest cost of a sale or read, relative to one shard. */
const TARGET = 1.1

/**
 * Processor time of a sale and of a read (service and Postgres), with one shard and with several at the same rate per
 * shard; and
 * `full`, at the maximum load of a process. It takes minutes, so it must be named.
 */
export async function benchScale(environment: Environment, options: Options): Promise<Line[]> {
  const lines: Line[] = []
  if (isNamed(options, OTHERS)) lines.push(...(await benchShards(environment, options)))
  if (isNamed(options, [COSTS])) await priceCalls(environment, options, printInputs)
  return lines
}

async function benchShards(environment: Environment, options: Options): Promise<Line[]> {
  const stagesOf = async (numbers: readonly number[], stages: readonly Stage[]): Promise<Line[]> => {
    const [shards, ...rest] = numbers
    if (shards === undefined) return compareStages(stages, options)
    const wanted = { shards, companiesOfShard: COMPANIES_OF_SHARD, roles: CALLED_ROLES }
    return withStage(environment, wanted, (stage) => stagesOf(rest, [...stages, stage]))
  }
  return stagesOf(SHARDS, [])
}

async function compareStages(stages: readonly Stage[], options: Options): Promise<Line[]> {
  const groups = new Map<string, number[]>()
  const sides = stages
    .flatMap((stage) => {
      const shards = stage.shards.length
      const steady = { perSecond: PER_SECOND * shards }
      const full = { connections: CONNECTIONS_OF_SHARD * shards }
      return [
        side(`${SALES}-${shards}`, stage, { kind: 'sale', pace: steady }, groups),
        side(`${READS}-${shards}`, stage, { kind: 'poll', pace: steady }, groups),
        side(`${FULL}-${shards}`, stage, { kind: 'sale', pace: full }, groups),
      ]
    })
    .filter(({ name }) => OTHERS.some((other) => isSelected(options, other) && [other, floorOf(other)].includes(name)))
  const figures = await measureInTurns(sides, options)
  for (const [name, sizes] of groups) console.log(`${name}: ${median(sizes).toFixed(1)} sales share a commit`)
  return sides
    .filter(({ name }) => !name.endsWith('-1'))
    .map(({ name }) => {
      const floor = floorOf(name)
      const target = name.startsWith(FULL) ? null : TARGET
      return lowerIsBetter(figures, { value: name, floor }, { name, unit: 'µs a call', target })
    })
}

/** The same benchmark with one shard. */
const floorOf = (name: string): string => name.replace(/\d+$/, '1')

function side(
  name: string,
  stage: Stage,
  running: Pick<Running, 'kind' | 'pace'>,
  groups: Map<string, number[]>,
): Side {
  // Alternates between shards, so that consecutive calls go to different ones.
  const companies = Array.from({ length: COMPANIES_OF_SHARD }, (_, place) => place).flatMap((place) =>
    stage.shards.flatMap(({ companies }) => companies[place] ?? []),
  )
  return {
    name,
    async measure(seconds) {
      const before = await groupsOf(stage.service.url)
      const { service_us, postgres_us } = await runCalls(stage, companies, { ...running, seconds })
      const after = await groupsOf(stage.service.url)
      if (running.kind === 'sale') {
        const size = (after.commands - before.commands) / (after.groups - before.groups)
        groups.set(name, [...(groups.get(name) ?? []), size])
      }
      return service_us + postgres_us
    },
  }
}

/** Committed groups of the writers of all shards. */
async function groupsOf(url: string): Promise<{ readonly commands: number; readonly groups: number }> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const sumOf = (what: 'sum' | 'count') =>
    [...text.matchAll(new RegExp(`^tillbook_writer_group_commands_${what}(?:\\{[^}]*\\})? (\\S+)`, 'gm'))].reduce(
      (sum, [, figure]) => sum + Number(figure),
      0,
    )
  return { commands: sumOf('sum'), groups: sumOf('count') }
}

/** Measures the costs of calls on a service of one shard, in which half of the companies have a webhook. */
export async function priceCalls<T>(
  environment: Environment,
  options: Options,
  work: (measured: Measured) => T,
): Promise<T> {
  const receiver = await environment.start('dist/bench/webhook-receiver.js', {})
  const told = CROWD
  const webhookOf = (place: number) => (place < told ? `${receiver.url}/hooks/${place}` : null)
  return withStage(
    environment,
    { shards: 1, companiesOfShard: 2 * CROWD, webhookOf, roles: CALLED_ROLES },
    async (stage) => {
      const companies = stage.shards.flatMap((shard) => shard.companies)
      const priced = { ...stage, receiver, told: companies.slice(0, told), untold: companies.slice(told) }
      const of = `${new Date().toISOString().slice(0, 10)}, ${environment.database.description}, Node ${process.version}`
      return work(await measureCosts(priced, { rounds: options.rounds, seconds: options.seconds, of }))
    },
  )
}

/** Prints the content of bench/model/measured.ts. */
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
