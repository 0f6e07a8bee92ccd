import { parseArgs } from 'node:util'

/** Options of `npm run bench -- …`. */
export interface Options {
  /** File for the results as JSON. */
  readonly json: string | null
  /** Only benchmarks with this name, or this name and a dash as prefix; long ones run only if they are named. */
  readonly only: string | null
  /** Length of one round. */
  readonly seconds: number
  readonly rounds: number
  /** Without the floors: costs only, in a third of the time. */
  readonly alone: boolean
  /** Profiles both processes. The costs are then somewhat higher. */
  readonly flame: boolean
  /** Directory for a CPU profile of the service. */
  readonly profile: string | null
  /** Directory of another checkout to compare with. */
  readonly against: string | null
  /** Simulated day: companies, shards, duration in minutes, and load relative to a real day. */
  readonly companies: number
  readonly shards: number
  readonly minutes: number
  readonly times: number
}

const USAGE = `npm run bench -- [--json FILE] [--only NAME] [--seconds N] [--rounds N] [--alone] [--flame] [--profile DIRECTORY] [--against DIRECTORY]
of the simulated day: [--companies N] [--shards N] [--minutes N] [--times N]
BENCH_DATABASE_URL names a Postgres to use, on which a database is created and dropped again; without it an embedded one is started.
EVENTSTORE_URL names an empty EventStoreDB: sales, uploads, batches and a rebuild are then measured with ledgers there too.`

/** Parses the command line. @throws with the usage if it is invalid */
export function readOptions(args: string[]): Options {
  const text = { type: 'string' } as const
  try {
    const { values } = parseArgs({
      args,
      options: {
        json: text,
        only: text,
        seconds: text,
        rounds: text,
        alone: { type: 'boolean' },
        flame: { type: 'boolean' },
        profile: text,
        against: text,
        companies: text,
        shards: text,
        minutes: text,
        times: text,
      },
    })
    return {
      json: values.json ?? null,
      only: values.only ?? null,
      seconds: positive(values.seconds, 2),
      rounds: positive(values.rounds, 7),
      alone: values.alone ?? false,
      flame: values.flame ?? false,
      profile: values.profile ?? null,
      against: values.against ?? null,
      companies: positive(values.companies, 20_000),
      shards: positive(values.shards, 1),
      minutes: positive(values.minutes, 10),
      times: positive(values.times, 2),
    }
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${USAGE}`)
  }
}

function positive(text: string | undefined, byDefault: number): number {
  if (text === undefined) return byDefault
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new Error(`${text} is not a whole number above 0`)
  return value
}

/** Whether `--only` selects a benchmark: `sales-64` selects `sales-64-idle` too. */
export const isSelected = ({ only }: Options, name: string): boolean =>
  only === null || name === only || name.startsWith(`${only}-`)

/** Whether one of them is named: long benchmarks are not part of a run of all. */
export const isNamed = (options: Options, names: readonly string[]): boolean =>
  options.only !== null && names.some((name) => isSelected(options, name))
