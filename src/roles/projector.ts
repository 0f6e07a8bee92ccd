import { purgeTokens } from '../access/tokens.ts'
import { purgeAnswers, schedulePurge } from '../ledger/purge.ts'
import { purgeNotifications } from '../payments/notification-log.ts'
import { purgeSweeps } from '../payments/sweep-claims.ts'
import { purgeDeliveries } from '../webhooks/purge.ts'
import type { Running, Shared } from './role.ts'

/** Whatever is kept for a while only. Any number of processes may purge at once. */
const PURGES = [purgeAnswers, purgeTokens, purgeDeliveries, purgeNotifications, purgeSweeps]

/** Keeps the read model level with a store outside Postgres, and the database free of what is no longer needed. */
export function startProjector({ core, log }: Shared): Running {
  const follower = core.follow()
  const purge = schedulePurge(
    PURGES.map((purge) => () => purge(core.pool)),
    (error) => log('what is no longer needed could not be purged', error),
  )
  return {
    async stop() {
      purge.stop()
      await follower?.stop()
    },
  }
}
