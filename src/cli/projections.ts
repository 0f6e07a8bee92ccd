import { setTimeout as delay } from 'node:timers/promises'
import { checkTables } from '#integrity/audit/table-checks.ts'
import type { RowDifference } from '#ledger/rebuild/verify-tables.ts'
import { isOnThisShard } from '#postgres/migration-condition.ts'
import { readModel } from '#projections/index.ts'
import type { Core } from '#service/core.ts'
import { companyIdFrom, onEachShard, type Verb, type Verbs } from './verb.ts'

/** What was found of one company. */
interface Told {
  readonly company_id: number
  readonly revision: number
  readonly equal: boolean
  readonly differences: readonly RowDifference[]
}

const verifyVerb: Verb<'projections verify'> = {
  async run(context, { company }) {
    if (company !== undefined) {
      const { core, companyId } = await companyIdFrom(context, company)
      return verifyOne(core, companyId)
    }
    const told: Told[] = []
    for (const { core } of await context.homes()) {
      const { rows } = await core.pool.query<{ company_id: number }>(LIVING_HERE)
      for (const { company_id } of rows) told.push(await verifyOne(core, company_id))
    }
    return told.sort((a, b) => a.company_id - b.company_id)
  },
  isBad: (result) => [result].flat().some((each) => !(each as Told).equal),
}

/** Of a company that has left, or is arriving, the tables say nothing here. */
const LIVING_HERE = `select company_id from ledgers where ${isOnThisShard('company_id')}`

/** @throws Error while a rebuild is under way: nothing could be said of the tables. */
async function verifyOne(core: Core, companyId: number): Promise<Told> {
  const found = await checkTables(core, companyId)
  if (found.kind !== 'verified') throw new Error('the tables are being made anew: verify them when that is done')
  const { revision, differences } = found
  return { company_id: companyId, revision, equal: differences.length === 0, differences }
}

/** Of what it takes of Postgres and of the processor the service needs most. */
const RESTS = 3
const GENTLE = { parallel: 1, pace: (spent_ms: number) => delay(spent_ms * RESTS) }

export const verbs: Verbs<'projections'> = {
  'projections verify': verifyVerb,
  'projections rebuild': {
    yields: true,
    async run(context, { 'at-once': isAtOnce }) {
      const pace = isAtOnce ? {} : GENTLE
      const onProgress = (count: number) => process.stderr.write(`${count} events\n`)
      return onEachShard(await context.homes({ upgrades: true }), async (core) => {
        const { events, companies, parity } = await core.rebuild({ onProgress, ...pace })
        return { version: readModel.version, events, companies, parity }
      })
    },
  },
}
