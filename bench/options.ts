import { parseArgs } from 'node:util'

/** Options of `npm run bench -- …`. */
export interface Options {
  /** Names of benchmarks, each also as prefix before a dash; null for all but the long ones. */
  readonly only: readonly string[] | null
  /** Length of one round. */
  readonly seconds: number
  readonly rounds: number
  /** Directory of another checkout to compare with. */
  readonly against: string | null
  /** Flags of Node for the measured service, such as `--cpu-prof`. */
  readonly node: readonly string[]
}

const USAGE = `npm run bench -- [--only NAME,NAME…] [--against DIRECTORY] [--rounds N] [--seconds N] [--node FLAGS]
BENCH_DATABASE_URL names a Postgres on which databases are created and dropped again; without it an embedded one is started.
EVENTSTORE_URL names an empty EventStoreDB for the ledgers of sales, uploads, batches, lists, webhooks and a rebuild.`

/** Parses the command line. @throws with the usage if it is invalid */
export function readOptions(args: string[]): Options {
  const text = { type: 'string' } as const
  try {
    const { values } = parseArgs({
      args,
      options: {
        only: text,
        seconds: text,
        rounds: text,
        against: text,
        node: text,
      },
    })
    return {
      only: values.only?.split(',').filter((name) => name !== '') ?? null,
      seconds: positive(values.seconds, 2),
      rounds: positive(values.rounds, 7),
      against: values.against ?? null,
      node: values.node?.split(' ').filter((flag) => flag !== '') ?? [],
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

const matches = (asked: string, name: string): boolean => name === asked || name.startsWith(`${asked}-`)

/** Whether `--only` selects a benchmark: `sales-64` selects `sales-64-idle` too. */
export const isSelected = ({ only }: Pick<Options, 'only'>, name: string): boolean =>
  only === null || only.some((asked) => matches(asked, name))

/** Whether `--only` names one of them: long benchmarks are not part of a run of all. */
export const isNamed = (options: Pick<Options, 'only'>, names: readonly string[]): boolean =>
  options.only !== null && names.some((name) => isSelected(options, name))

/** @throws if `--only` has a name that selects none of these benchmarks */
export function assertKnown({ only }: Pick<Options, 'only'>, names: readonly string[]): void {
  const unknown = only?.filter((asked) => !names.some((name) => matches(asked, name))) ?? []
  if (unknown.length > 0 || only?.length === 0)
    throw new Error(`no benchmark is called ${unknown.join(', ')}; there are ${names.join(', ')}`)
}
