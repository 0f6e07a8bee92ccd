import { RESTS, unhurried } from '#background/pace.ts'
import { checkTables } from '#integrity/audit/table-checks.ts'
import { ESTIMATED_RATE } from '#ledger/rebuild/build.ts'
import type { RowDifference, TableParity } from '#ledger/rebuild/compare-tables.ts'
import { readModel } from '#projections/index.ts'
import type { Core } from '#service/core.ts'
import { type Context, companyIdFrom, countEvents, type Verb, type Verbs } from './verb.ts'

/** Result for one company. */
interface TableVerification {
  readonly company_id: number
  readonly revision: number
  readonly equal: boolean
  readonly differences: readonly RowDifference[]
}

const verifyVerb: Verb<'projections verify'> = {
  async run(context, { company }) {
    if (company !== undefined) {
      const { core, companyId } = await companyIdFrom(context, company)
      context.progress.begin('events', await countEvents(core, companyId))
      return verifyOne(context, core, companyId)
    }
    const core = await context.core()
    context.progress.begin('events', await countEvents(core))
    const { rows } = await core.pool.query<{ company_id: number }>('select company_id from ledgers order by company_id')
    const results: TableVerification[] = []
    for (const { company_id } of rows) results.push(await verifyOne(context, core, company_id))
    return results
  },
  isBad: (result) => [result].flat().some((each) => !(each as TableVerification).equal),
}

/** @throws Error during a rebuild: the tables cannot be compared then. */
async function verifyOne({ progress }: Context, core: Core, companyId: number): Promise<TableVerification> {
  const found = await checkTables(core, companyId, { onApplied: progress.add })
  if (found.kind !== 'verified') throw new Error('the tables are being rebuilt; verify them afterwards')
  const { revision, differences } = found
  return { company_id: companyId, revision, equal: differences.length === 0, differences }
}

/** The comparison of the former tables with the new ones, for people. */
function wordsOf(parity: readonly TableParity[] | null): string {
  if (parity === null) return 'nothing to compare with'
  const differing = parity.filter(({ equal }) => !equal).map(({ table }) => table)
  return differing.length === 0 ? `${parity.length} tables equal` : `differing: ${differing.join(', ')}`
}

const PACED = { parallel: 1, pace: unhurried() }

export const verbs: Verbs<'projections'> = {
  'projections verify': verifyVerb,
  'projections rebuild': {
    yields: true,
    async run(context, { 'at-once': isAtOnce }) {
      const pace = isAtOnce ? {} : PACED
      const core = await context.core({ upgrades: true })
      context.progress.begin(
        'events',
        await countEvents(core),
        isAtOnce ? ESTIMATED_RATE : ESTIMATED_RATE / (1 + RESTS),
      )
      const { events, companies, parity } = await core.rebuild({ onApplied: context.progress.add, ...pace })
      return { version: readModel.version, events, companies, parity: context.json ? parity : wordsOf(parity) }
    },
  },
}
