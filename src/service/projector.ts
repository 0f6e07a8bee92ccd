import { purgeLoginLimits } from '#access/login-limits.ts'
import { purgeSessions } from '#access/sessions.ts'
import { purgeTokens } from '#access/sync-access.ts'
import { sealOnSchedule } from '#audit/sealing.ts'
import { purgeFormer } from '#ledger/rebuild/version.ts'
import { purgeAnswers } from '#ledger/write/idempotency.ts'
import { purgeNotifications } from '#payments/notification-log.ts'
import { purgeSweeps } from '#payments/sweep.ts'
import { schedulePurge } from '#postgres/purge.ts'
import { keepStatistics } from '#postgres/statistics.ts'
import { purgeDeliveries } from '#webhooks/outbox.ts'
import type { Running, Shared } from './role.ts'

/** Whatever is kept for a while only. Any number of processes may purge at once. */
const PURGES = [
  purgeAnswers,
  purgeTokens,
  purgeSessions,
  purgeLoginLimits,
  purgeDeliveries,
  purgeNotifications,
  purgeSweeps,
  purgeFormer,
]

/**
 * Keeps the read model level with a store outside Postgres, has Postgres know tables that grow, purges what is no longer needed,
 * and seals ledgers on schedule.
 */
export function startProjector({ config, core, metrics, logger, log }: Shared): Running {
  const follower = core.follow()
  if (follower)
    metrics.gauge('tillbook_projection_companies_behind', 'Companies whose rows stay behind their events', follower.lag)
  metrics.gauge(
    'tillbook_ledgers_ahead_of_clock',
    'Ledgers that take no writes, because their last event lies ahead of the clock',
    core.ledgersAhead,
  )
  const purge = schedulePurge(
    PURGES.map((purge) => () => purge(core.pool)),
    (error) => log('what is no longer needed could not be purged', error),
  )
  const statistics = keepStatistics(core.pool, (error) => log('tables that have grown could not be analyzed', error))
  const sealing = sealOnSchedule(core, config, {
    onSealed: ({ company_id, revision, hash }) => logger.info({ company_id, revision, hash }, 'a ledger was sealed'),
    onError: (error) => log('a ledger could not be sealed', error),
  })
  return {
    async stop() {
      purge.stop()
      await Promise.all([follower?.stop(), statistics.stop(), sealing.stop()])
    },
  }
}
