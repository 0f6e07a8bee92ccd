import { randomBytes } from 'node:crypto'
import { type Directory, openDirectory } from '#sharding/directory.ts'
import { type Company, keyOf } from './companies.ts'
import { CROWD } from './costs.ts'
import type { Environment } from './environment.ts'
import { isNamed, type Options } from './options.ts'
import { meterOf } from './processor.ts'
import { type Line, lowerIsBetter } from './report.ts'
import { measureInTurns, type Side } from './rounds.ts'
import { withStage } from './stage.ts'

const NAME = 'scale-directory'
const KNOWN = `${NAME}-known`
const ASKED = `${NAME}-asked`
const UNKNOWN = `${NAME}-unknown`
const FLOOR = 'an empty statement'
export const DIRECTORY_BENCHMARKS: readonly string[] = [KNOWN, ASKED, UNKNOWN]

const COMPANIES = 500

/**
 * Processor time of a look-up by API key (this process and Postgres), 32 at a time: of a cached key, of an uncached
 * one, and of an unknown key, which is never cached.
 */
export async function benchDirectory(environment: Environment, options: Options): Promise<Line[]> {
  if (!isNamed(options, DIRECTORY_BENCHMARKS)) return []
  return withStage(environment, { shards: 2, companiesOfShard: COMPANIES / 2 }, async ({ shards }) => {
    const url = (shards[0] as (typeof shards)[0]).database.url
    const companies = shards.flatMap((shard) => shard.companies)
    const directory = openDirectory({ databaseUrl: url, log: (message, error) => console.error(message, error) })
    try {
      const figures = await measureInTurns(await sidesOf(directory, companies, url), options)
      return DIRECTORY_BENCHMARKS.map((name) =>
        lowerIsBetter(figures, { value: name, floor: FLOOR }, { name, unit: 'µs a look-up', target: null }),
      )
    } finally {
      await directory.close()
    }
  })
}

async function sidesOf(directory: Directory, companies: readonly Company[], url: string): Promise<Side[]> {
  const meter = await meterOf([], [url])
  if (!meter) throw new Error('the processor time of these processes cannot be told')
  let count = 0
  const next = () => companies[count++ % companies.length] as Company
  const find = async (companyId: number) => {
    const [place] = await directory.find('api_key', keyOf(companyId).hash)
    if (place?.companyId !== companyId) throw new Error(`the key of company ${companyId} leads to ${place?.companyId}`)
  }
  const side = (name: string, once: () => Promise<unknown>): Side => ({
    name,
    async measure(seconds) {
      const until = performance.now() + seconds * 1_000
      let calls = 0
      const own = process.cpuUsage()
      const { postgres_us } = await meter.measure(async () => {
        while (performance.now() < until) {
          await Promise.all(Array.from({ length: CROWD }, once))
          calls += CROWD
        }
      })
      const { user, system } = process.cpuUsage(own)
      return (user + system + postgres_us) / calls
    },
  })
  return [
    side(KNOWN, () => find(next().companyId)),
    side(ASKED, () => {
      const { companyId } = next()
      directory.forget(companyId)
      return find(companyId)
    }),
    side(UNKNOWN, async () => {
      const found = await directory.find('api_key', randomBytes(32))
      if (found.length > 0) throw new Error('a key that nobody has was found')
    }),
    side(FLOOR, () => directory.pool.query({ name: 'nothing', text: 'select 1' })),
  ]
}
