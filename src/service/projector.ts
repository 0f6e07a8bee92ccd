import { repeat } from '#background/repeat.ts'
import { checkTablesOnSchedule, tableCheckFigures } from '#integrity/audit/table-checks.ts'
import { checkpointFigures, scheduleCheckpoints } from '#integrity/proofs/checkpoint-schedule.ts'
import { growTreesOnSchedule } from '#integrity/proofs/tree-growth.ts'
import { keepStatistics } from '#postgres/statistics.ts'
import { scheduleDueErasures } from '#privacy/due-erasures.ts'
import { eraseLateWrites, LATE_WRITES_EVERY_MS } from '#privacy/late-writes.ts'
import { refreshAllSalesRollups } from '#projections/refresh-sales-rollups.ts'
import { startAttestors } from './attestors.ts'
import { purgeOnSchedule } from './retention.ts'
import type { RunningRole, SharedServices } from './role.ts'

/** Opening a page refreshes missing sums. A longer interval recomputes the current hour less often. */
const SUMS_EVERY_MS = 15 * 60_000

/**
 * Background role for tables and ledgers. Keeps the read model level with an external event store, analyzes growing
 * tables, purges expired data, refreshes rollups and ledger trees, creates checkpoints on schedule, erases persons on
 * their due date, erases personal data that was written after an erasure, and compares each company's tables with its
 * ledger.
 */
export function startProjector(shared: SharedServices): RunningRole {
  const { config, core, metrics, log } = shared
  const follower = core.follow()
  if (follower)
    metrics.gauge('tillbook_projection_companies_behind', 'Companies whose rows stay behind their events', follower.lag)
  metrics.gauge(
    'tillbook_ledgers_ahead_of_clock',
    'Ledgers that take no writes, because their last event lies ahead of the clock',
    core.ledgersAhead,
  )
  metrics.gauge(
    'tillbook_companies_without_keys',
    'Companies that are read-only, because keys of their persons are missing',
    async () => (await core.missingKeys()).length,
  )
  const roles = [
    purgeOnSchedule(core.pool, (error) => log('what is no longer needed could not be purged', error)),
    keepStatistics(core.pool, (error) => log('tables that have grown could not be analyzed', error)),
    startSealing(shared),
    growTreesOnSchedule(core, (error) => log('trees of ledgers could not be grown', error)),
    growSumsOnSchedule(shared),
    startTableChecks(shared, () => (follower?.lag() ?? 0) > 0),
    scheduleDueErasures({
      ...core,
      retentionYears: config.RETENTION_YEARS,
      onError: (error) => log('who was to be forgotten today could not be', error),
    }),
    wipeOnSchedule(shared),
  ]
  return {
    async stop() {
      await Promise.all([follower?.stop(), ...roles.map((role) => role.stop())])
    },
  }
}

function growSumsOnSchedule({ core, log }: SharedServices): RunningRole {
  const onError = (error: unknown) => log('sums of sales could not be grown', error)
  return repeat((stopping) => refreshAllSalesRollups(core.pool, { stopping, onError }), SUMS_EVERY_MS, onError)
}

function wipeOnSchedule({ core, forgottenList, log }: SharedServices): RunningRole {
  const onError = (error: unknown) =>
    log('what was written late of persons who are forgotten could not be wiped', error)
  return repeat(
    async (stopping) => {
      await forgottenList.sync().catch(onError)
      await eraseLateWrites(core.pool, { stopping, onError })
    },
    LATE_WRITES_EVERY_MS,
    onError,
  )
}

/** Comparisons of tables with ledgers, and their metrics. */
function startTableChecks({ core, metrics, logger, log }: SharedServices, isBehind: () => boolean): RunningRole {
  const figures = metrics.oncePerScrape(() => tableCheckFigures(core.pool))
  metrics.gauge(
    'tillbook_tables_unequal_companies',
    'Companies whose tables differed from a replay of their ledger when they were last compared',
    async () => (await figures()).unequal,
  )
  metrics.gauge(
    'tillbook_tables_check_overdue_seconds',
    'For how long the longest awaited comparison of tables with a ledger has been due',
    async () => (await figures()).overdue_seconds,
  )
  return checkTablesOnSchedule(core, {
    isBehind,
    onDifferent: (company_id, revision, differences) =>
      logger.error({ company_id, revision, differences }, 'tables differ from what the ledger says'),
    onError: (error) => log('tables could not be compared with a ledger', error),
  })
}

/** Checkpoint schedule and its metrics. */
function startSealing({
  config,
  core,
  metrics,
  logger,
  log,
}: Pick<SharedServices, 'config' | 'core' | 'metrics' | 'logger' | 'log'>) {
  const { sealing, pool } = core
  if (!sealing) return { stop: async () => {} }
  const figures = metrics.oncePerScrape(() => checkpointFigures(pool, sealing.now()))
  metrics.gauge(
    'tillbook_sealing_faults',
    'Ledgers, and the installation itself, that could not be sealed when that was last tried',
    async () => (await figures()).faults,
  )
  metrics.gauge('tillbook_sealing_round_age_seconds', 'Time since ledgers were last sealed on schedule', async () =>
    ageOf((await figures()).roundAge),
  )
  metrics.gauge('tillbook_seal_age_seconds', 'Age of the newest checkpoint of the installation log', async () =>
    ageOf((await figures()).sealAge),
  )
  const attestors = startAttestors({ config, core, metrics, logger, log })
  const rounds = scheduleCheckpoints(sealing, config.SEAL_EVERY_HOURS, {
    onSealed({ origin, size, root }) {
      logger.info({ origin, size, root: root.toString('base64') }, 'ledgers were sealed')
      attestors.now()
    },
    onError: (error) => log('a ledger could not be sealed', error),
  })
  return {
    async stop() {
      await Promise.all([rounds.stop(), attestors.stop()])
    },
  }
}

/** @throws if there is none; the metric is then omitted. */
function ageOf(seconds: number | null): number {
  if (seconds === null) throw new Error('nothing was sealed yet')
  return seconds
}
